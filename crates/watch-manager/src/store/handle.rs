//! Reading the objects of a kind: the handle that callers hold, and the list of all handles.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::core::GroupVersionKind;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Store;
use crate::error::Error;
use crate::event::{GvkStatus, KindStatus};
use crate::intents::Gvk;
use crate::object::{ObjectKey, WatchedObject};

/// Reads the objects of one kind. A handle keeps no watch alive and starts none: when the last registrar
/// leaves the kind, it is empty and [closed](Self::is_closed), for ever.
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
    by_kind: Mutex<HashMap<Gvk, StoreHandle>>,
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
        self.read().objects.get(&key).map(|slot| Arc::clone(&slot.object))
    }

    /// The object that kube-runtime's reference names.
    #[cfg(feature = "runtime")]
    pub fn get_ref<K: kube::runtime::reflector::Lookup>(
        &self,
        reference: &kube::runtime::reflector::ObjectRef<K>,
    ) -> Option<Arc<WatchedObject>> {
        self.get(reference.namespace.as_deref(), &reference.name)
    }

    /// An object that satisfies the predicate. Stops at the first.
    pub fn find(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Option<Arc<WatchedObject>> {
        self.read().objects().find(|object| predicate(object)).map(Arc::clone)
    }

    /// All objects at this moment, in no particular order. Clones one pointer per object, so that readers
    /// never delay the watch.
    pub fn state(&self) -> Vec<Arc<WatchedObject>> {
        self.read().objects().map(Arc::clone).collect()
    }

    /// The objects that satisfy the predicate.
    pub fn state_filter(&self, predicate: impl Fn(&WatchedObject) -> bool) -> Vec<Arc<WatchedObject>> {
        self.read().objects().filter(|object| predicate(object)).map(Arc::clone).collect()
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

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the objects are those of a complete list and no list is under way.
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
                (store.synced, store.closed)
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

    /// Whether the last registrar has left the kind. A later registrar's objects are in another store: ask
    /// the manager again.
    pub fn is_closed(&self) -> bool {
        self.read().closed
    }

    /// The state of the kind's watch; the worst if it has several.
    pub fn status(&self) -> GvkStatus {
        self.read().status.status.clone()
    }

    /// The state of the kind's watch with its time, failed attempts and last sign of life.
    pub fn kind_status(&self) -> KindStatus {
        self.read().status.clone()
    }

    /// The number of messages from the server that were not Kubernetes objects. They are skipped.
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
    /// The store of a kind, made on first use.
    pub(crate) fn open(&self, gvk: &Gvk) -> StoreHandle {
        let mut stores = self.lock();
        if let Some(store) = stores.get(gvk) {
            return store.clone();
        }
        stores.entry(Arc::clone(gvk)).or_insert_with(StoreHandle::new).clone()
    }

    pub(crate) fn get(&self, gvk: &GroupVersionKind) -> Option<StoreHandle> {
        self.lock().get(gvk).cloned()
    }

    pub(crate) fn close(&self, gvk: &GroupVersionKind) {
        let store = self.lock().remove(gvk);
        store.iter().for_each(close);
    }

    /// Closes the stores of kinds that are not kept.
    pub(crate) fn retain(&self, keep: impl Fn(&Gvk) -> bool) {
        let closed: Vec<_> = self.lock().extract_if(|gvk, _| !keep(gvk)).collect();
        closed.iter().for_each(|(_, store)| close(store));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Gvk, StoreHandle>> {
        self.by_kind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn fork(&self) -> Self {
        let copies = self.lock().iter().map(|(gvk, store)| (Arc::clone(gvk), store.fork())).collect();
        Self { by_kind: Mutex::new(copies) }
    }
}

fn close(store: &StoreHandle) {
    store.write().close();
    store.notify();
}
