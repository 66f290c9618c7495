//! Reading the objects of a kind: the handle that callers hold, and the list of all handles.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::core::{GroupVersionKind, Selector};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Store;
use crate::error::Error;
use crate::event::{GvkStatus, KindStatus};
use crate::intents::{Gvk, StoreKey};
use crate::object::{ObjectKey, WatchedObject};

/// Reads the objects of one kind. A handle keeps no watch alive and starts none: when the last registrar
/// leaves the kind, or the driver ends, it is empty and [closed](Self::is_closed), for ever.
///
/// Its methods are those of `kube::runtime::reflector::Store`, but [`get`](Self::get) takes a namespace and a name. It contains the union of what the registrars of the
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
    /// By kind, then by field selector; first that of all objects.
    by_kind: HashMap<Gvk, BTreeMap<Option<Arc<str>>, StoreHandle>>,
    /// The driver has ended: a store that is asked for now is closed.
    ended: bool,
}

// === impl StoreHandle ===

impl StoreHandle {
    fn new() -> Self {
        let store = RwLock::new(Store::new(Instant::now().into_std()));
        Self { shared: Arc::new(Shared { store, changed: watch::Sender::new(()) }) }
    }

    /// Returns the object of this name; `namespace` is `None` for a cluster-scoped kind.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<WatchedObject>> {
        let key = ObjectKey::new(namespace, name);
        self.read().get(&key).map(Arc::clone)
    }

    /// Returns the object that kube-runtime's reference names.
    #[cfg(feature = "runtime")]
    pub fn get_ref<K: kube::runtime::reflector::Lookup>(
        &self,
        reference: &kube::runtime::reflector::ObjectRef<K>,
    ) -> Option<Arc<WatchedObject>> {
        self.get(reference.namespace.as_deref(), &reference.name)
    }

    /// Returns an object that satisfies the predicate. Stops at the first. No lock is held meanwhile: the predicate may take long, or
    /// read this store.
    pub fn find(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Option<Arc<WatchedObject>> {
        self.state().into_iter().find(|object| predicate(object))
    }

    /// Returns all objects at this moment, in the order in which they were first seen. Clones one pointer per object, so that readers
    /// never delay the watch.
    pub fn state(&self) -> Vec<Arc<WatchedObject>> {
        self.read().objects().map(Arc::clone).collect()
    }

    /// Returns the objects that satisfy the predicate. As in [`find`](Self::find), no lock is held meanwhile.
    pub fn state_filter(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Vec<Arc<WatchedObject>> {
        let mut objects = self.state();
        objects.retain(|object| predicate(object));
        objects
    }

    /// Returns the objects whose labels match the selector.
    pub fn state_filter_selector(&self, selector: &Selector) -> Vec<Arc<WatchedObject>> {
        let requirements: Vec<_> = selector.clone().into_iter().collect();
        self.state_filter(|object| object.satisfies(&requirements))
    }

    /// Returns all objects at this moment; the same as [`state`](Self::state).
    pub fn objects(&self) -> Vec<Arc<WatchedObject>> {
        self.state()
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// The number of objects and the length of their texts.
    #[cfg(feature = "metrics")]
    pub(crate) fn size(&self) -> (usize, usize) {
        let store = self.read();
        (store.len(), store.objects().map(|object| object.json().len()).sum())
    }

    /// Returns true if it holds no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the objects are those of a complete list and no list is under way.
    pub fn is_synced(&self) -> bool {
        self.read().synced
    }

    /// Waits until the store is synced.
    ///
    /// # Guarantees
    /// It is cancel-safe, and any number of callers may wait.
    ///
    /// # Assumptions
    /// The driver runs. There is no deadline: a kind that is not served is not synced until it is.
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

    /// Returns the state of the kind's watch; the worst if it has several. [`GvkStatus::Closed`] when the store is
    /// [closed](Self::is_closed).
    pub fn status(&self) -> GvkStatus {
        self.read().status.status.clone()
    }

    /// Returns the state of the kind's watch with its time, failed attempts and last sign of life.
    pub fn kind_status(&self) -> KindStatus {
        self.read().status.clone()
    }

    /// Returns the number of objects and messages from the server that could not be read. What they were about keeps its previous
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
        if let Some(store) = open.get(key) {
            return store.clone();
        }
        let store = StoreHandle::new();
        if open.ended {
            close(&store);
        } else {
            let stores = open.by_kind.entry(Arc::clone(&key.gvk)).or_default();
            stores.insert(key.fields.clone(), store.clone());
        }
        store
    }

    pub(crate) fn get(&self, key: &StoreKey) -> Option<StoreHandle> {
        self.lock().get(key).cloned()
    }

    /// The stores of a kind: first that of all objects, then those of field selectors, in their order.
    pub(crate) fn of_kind(&self, gvk: &GroupVersionKind) -> Vec<StoreHandle> {
        self.lock().by_kind.get(gvk).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    pub(crate) fn close(&self, key: &StoreKey) {
        let store = self.lock().remove(key);
        store.iter().for_each(close);
    }

    /// Closes the stores of kinds that are not kept.
    pub(crate) fn retain(&self, keep: impl Fn(&StoreKey) -> bool) {
        let closed: Vec<_> = {
            let mut open = self.lock();
            let closed: Vec<_> = open.keys().filter(|key| !keep(key)).collect();
            closed.iter().filter_map(|key| open.remove(key)).collect()
        };
        closed.iter().for_each(close);
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
        let fork = |stores: &BTreeMap<Option<Arc<str>>, StoreHandle>| {
            stores.iter().map(|(fields, store)| (fields.clone(), store.fork())).collect()
        };
        let by_kind = open.by_kind.iter().map(|(gvk, stores)| (gvk.clone(), fork(stores))).collect();
        Self { open: Mutex::new(Open { by_kind, ended: open.ended }) }
    }
}

// === impl Open ===

impl Open {
    fn get(&self, key: &StoreKey) -> Option<&StoreHandle> {
        self.by_kind.get(&key.gvk)?.get(&key.fields)
    }

    fn remove(&mut self, key: &StoreKey) -> Option<StoreHandle> {
        let stores = self.by_kind.get_mut(&key.gvk)?;
        let store = stores.remove(&key.fields);
        if stores.is_empty() {
            self.by_kind.remove(&key.gvk);
        }
        store
    }

    fn keys(&self) -> impl Iterator<Item = StoreKey> {
        let of_kind = |(gvk, stores): (&Gvk, &BTreeMap<Option<Arc<str>>, StoreHandle>)| {
            let key = |fields: &Option<Arc<str>>| StoreKey { gvk: Arc::clone(gvk), fields: fields.clone() };
            stores.keys().map(key).collect::<Vec<_>>()
        };
        self.by_kind.iter().flat_map(of_kind)
    }
}

fn close(store: &StoreHandle) {
    store.write().close(Instant::now().into_std());
    store.notify();
}
