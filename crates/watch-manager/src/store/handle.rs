//! Reading the objects of a kind: the handle that callers hold, and the list of all handles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::core::{GroupVersionKind, Selector};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Store;
use crate::error::Error;
use crate::event::{GvkStatus, KindStatus};
use crate::intents::StoreKey;
use crate::object::{ObjectKey, WatchedObject};

/// Reads the objects of one kind. A handle keeps no watch alive and starts none: when the last registrar
/// leaves the kind, or the driver ends, it is empty and [closed](Self::is_closed), for ever.
///
/// It has the methods of `kube::runtime::reflector::Store`. It contains the union of what the registrars of the
/// kind asked for, see [`Scope`](crate::Scope).
#[derive(Debug, Clone)]
pub struct StoreHandle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: RwLock<Store>,
    /// Sends when the kind becomes synced, changes its status or closes.
    changed: watch::Sender<()>,
}

/// The stores of all kinds that are asked for.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_key: HashMap<StoreKey, StoreHandle>,
    /// The driver has ended: a store that is asked for now is closed.
    ended: bool,
}

// === impl StoreHandle ===

impl StoreHandle {
    fn new() -> Self {
        let store = RwLock::new(Store::new(Instant::now().into_std()));
        Self { shared: Arc::new(Shared { store, changed: watch::Sender::new(()) }) }
    }

    /// The object of this name; `namespace` is `None` for a cluster-scoped kind.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<WatchedObject>> {
        let key = ObjectKey::new(namespace, name);
        self.read().get(&key).map(Arc::clone)
    }

    /// The object that kube-runtime's reference names.
    #[cfg(feature = "runtime")]
    pub fn get_ref<K: kube::runtime::reflector::Lookup>(
        &self,
        reference: &kube::runtime::reflector::ObjectRef<K>,
    ) -> Option<Arc<WatchedObject>> {
        self.get(reference.namespace.as_deref(), &reference.name)
    }

    /// An object that satisfies the predicate. Stops at the first. No lock is held meanwhile: the predicate may take long, or
    /// read this store.
    pub fn find(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Option<Arc<WatchedObject>> {
        self.state().into_iter().find(|object| predicate(object))
    }

    /// All objects at this moment, in the order in which they were first seen. Clones one pointer per object, so that readers
    /// never delay the watch.
    pub fn state(&self) -> Vec<Arc<WatchedObject>> {
        self.read().objects().map(Arc::clone).collect()
    }

    /// The objects that satisfy the predicate. As in [`find`](Self::find), no lock is held meanwhile.
    pub fn state_filter(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Vec<Arc<WatchedObject>> {
        let mut objects = self.state();
        objects.retain(|object| predicate(object));
        objects
    }

    /// The objects whose labels match the selector.
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<WatchedObject>> {
        let requirements: Vec<_> = selector.clone().into_iter().collect();
        self.state_filter(|object| object.satisfies(&requirements))
    }

    /// All objects at this moment; the same as [`state`](Self::state).
    pub fn objects(&self) -> Vec<Arc<WatchedObject>> {
        self.state()
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// The number of objects and the length of their texts.
    #[cfg(feature = "metrics")]
    pub(crate) fn size(&self) -> (usize, usize) {
        let store = self.read();
        (store.len(), store.objects().map(|object| object.json().len()).sum())
    }

    /// Returns true if there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the objects are those of a complete list and no list is under way.
    pub fn is_synced(&self) -> bool {
        self.read().synced
    }

    /// Waits until the store is synced. Cancel-safe.
    ///
    /// # Errors
    /// [`Error::Closed`] when the last registrar leaves the kind, or the driver ends.
    pub async fn wait_until_ready(&self) -> Result<(), Error> {
        let mut changes = self.shared.changed.subscribe();
        loop {
            let (synced, closed) = {
                let store = self.read();
                (store.synced, store.is_closed())
            };
            if closed {
                return Err(Error::Closed);
            }
            if synced {
                return Ok(());
            }
            // The sender lives as long as this handle.
            let _ = changes.changed().await;
        }
    }

    /// Returns true if the last registrar has left the kind, or the driver has ended. A later registrar's objects are
    /// in another store: ask the manager again.
    pub fn is_closed(&self) -> bool {
        self.read().is_closed()
    }

    /// The state of the kind's watch; the worst if it has several. [`GvkStatus::Closed`] when the store is
    /// [closed](Self::is_closed).
    pub fn status(&self) -> GvkStatus {
        self.read().status.status.clone()
    }

    /// The state of the kind's watch with its time, failed attempts and last sign of life.
    pub fn kind_status(&self) -> KindStatus {
        self.read().status.clone()
    }

    /// The number of objects and messages from the server that could not be read. What they were about keeps its previous
    /// state.
    pub fn undecodable(&self) -> u64 {
        self.read().undecodable
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.shared.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.shared.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait for a status or the end of a list.
    pub(crate) fn notify(&self) {
        self.shared.changed.send_replace(());
    }

    #[cfg(test)]
    pub(crate) fn fork(&self) -> Self {
        let copy = Self::new();
        *copy.write() = self.read().clone();
        copy
    }
}

// === impl Stores ===

impl Stores {
    /// The store of a kind, made on first use; closed when the driver has ended.
    pub(crate) fn open(&self, key: &StoreKey) -> StoreHandle {
        let mut open = self.lock();
        if let Some(store) = open.by_key.get(key) {
            return store.clone();
        }
        let store = StoreHandle::new();
        if open.ended {
            close(&store);
        } else {
            open.by_key.insert(key.clone(), store.clone());
        }
        store
    }

    pub(crate) fn get(&self, key: &StoreKey) -> Option<StoreHandle> {
        self.lock().by_key.get(key).cloned()
    }

    /// The stores of a kind: first that of all objects, then those of field selectors, in their order.
    pub(crate) fn of_kind(&self, gvk: &GroupVersionKind) -> Vec<StoreHandle> {
        let open = self.lock();
        let mut stores: Vec<_> = open.by_key.iter().filter(|(key, _)| *key.gvk == *gvk).collect();
        stores.sort_by(|(a, _), (b, _)| a.fields.cmp(&b.fields));
        stores.into_iter().map(|(_, store)| store.clone()).collect()
    }

    pub(crate) fn close(&self, key: &StoreKey) {
        let store = self.lock().by_key.remove(key);
        store.iter().for_each(close);
    }

    /// Closes the stores of kinds that are not kept.
    pub(crate) fn retain(&self, keep: impl Fn(&StoreKey) -> bool) {
        let closed: Vec<_> = self.lock().by_key.extract_if(|key, _| !keep(key)).collect();
        closed.iter().for_each(|(_, store)| close(store));
    }

    /// Closes all stores, and those that are asked for from now on.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.retain(|_| false);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn fork(&self) -> Self {
        let open = self.lock();
        let copies = open.by_key.iter().map(|(key, store)| (key.clone(), store.fork())).collect();
        Self { open: Mutex::new(Open { by_key: copies, ended: open.ended }) }
    }
}

fn close(store: &StoreHandle) {
    store.write().close(Instant::now().into_std());
    store.notify();
}
