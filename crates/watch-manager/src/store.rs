//! The objects of one kind: takes lists and changes, says what is different. Pure but for the read lock of
//! [`StoreHandle`]. `switchboard` writes it; `replay` queues what it says.
//!
//! A list is compared in place: its objects replace what is there as they come, and when it is complete
//! what it did not contain is gone. A list that breaks off and starts again therefore loses no delete and
//! needs no second copy.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::event::GvkStatus;
use crate::object::{ObjectKey, WatchedObject};

/// Reads the objects of one kind. A handle keeps no watch alive and starts none: when the last registrar
/// leaves the kind it is empty and [closed](Self::is_closed), for ever.
#[derive(Debug, Clone)]
pub struct StoreHandle {
    shared: Arc<RwLock<Store>>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    objects: HashMap<Arc<ObjectKey>, Slot>,
    /// Counts the lists; a slot remembers in which it was last seen.
    pass: u64,
    progress: Progress,
    status: GvkStatus,
    undecodable: u64,
    closed: bool,
}

#[derive(Debug, Clone)]
struct Slot {
    object: Arc<WatchedObject>,
    pass: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Progress {
    /// No list has been completed since the kind was last served.
    #[default]
    Empty,
    /// A complete list is being compared with a new one.
    Relisting,
    Complete,
}

/// A difference that a registrar has to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Added(Arc<WatchedObject>),
    Updated(Arc<WatchedObject>),
    Deleted(Arc<WatchedObject>),
    /// Another object took the name: the old one's delete was missed.
    Replaced {
        old: Arc<WatchedObject>,
        new: Arc<WatchedObject>,
    },
}

// === impl StoreHandle ===

impl StoreHandle {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// The object of this name; `namespace` is `None` for a cluster-scoped kind.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<WatchedObject>> {
        let key = ObjectKey::new(namespace, name);
        self.read().objects.get(&key).map(|slot| Arc::clone(&slot.object))
    }

    /// All objects at this moment, in no particular order. Clones one pointer per object, so that readers
    /// never hold up the watch.
    pub fn objects(&self) -> Vec<Arc<WatchedObject>> {
        self.read().objects.values().map(|slot| Arc::clone(&slot.object)).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the objects are those of a complete list and no list is under way.
    pub fn is_synced(&self) -> bool {
        self.read().is_synced()
    }

    /// Whether the last registrar has left the kind. A later registrar's objects are in another store: ask
    /// the manager again.
    pub fn is_closed(&self) -> bool {
        self.read().closed
    }

    /// The state of the kind's watch.
    pub fn status(&self) -> GvkStatus {
        self.read().status.clone()
    }

    /// How many objects the server sent that are not Kubernetes objects. They are skipped.
    pub fn undecodable(&self) -> u64 {
        self.read().undecodable
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.shared.write().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Store ===

impl Store {
    pub(crate) fn is_synced(&self) -> bool {
        self.progress == Progress::Complete
    }

    pub(crate) fn status(&self) -> &GvkStatus {
        &self.status
    }

    pub(crate) fn set_status(&mut self, status: GvkStatus) {
        self.status = status;
    }

    pub(crate) fn count_undecodable(&mut self) {
        self.undecodable = self.undecodable.saturating_add(1);
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<WatchedObject>> {
        self.objects.values().map(|slot| &slot.object)
    }

    /// A list starts, or starts again.
    pub(crate) fn begin_list(&mut self) {
        self.pass = self.pass.wrapping_add(1);
        if self.progress == Progress::Complete {
            self.progress = Progress::Relisting;
        }
    }

    /// An object of a list, or one that the watch added or modified. An object that is stored already is no
    /// difference.
    pub(crate) fn apply(&mut self, object: Arc<WatchedObject>) -> Option<Change> {
        let slot = Slot { object: Arc::clone(&object), pass: self.pass };
        let Some(previous) = self.objects.insert(object.shared_key(), slot) else {
            return Some(Change::Added(object));
        };
        let old = previous.object;
        if old.uid() != object.uid() {
            return Some(Change::Replaced { old, new: object });
        }
        (old.resource_version() != object.resource_version()).then_some(Change::Updated(object))
    }

    /// The watch deleted the object; `last` is its final form.
    pub(crate) fn delete(&mut self, last: Arc<WatchedObject>) -> Option<Change> {
        let old = self.objects.remove(last.key())?.object;
        // A delete that names another object than the stored one still ends the stored one, under its own
        // identity.
        let gone = if old.uid() == last.uid() { last } else { old };
        Some(Change::Deleted(gone))
    }

    /// The list is complete: what it did not contain is gone.
    pub(crate) fn finish_list(&mut self) -> Vec<Change> {
        self.progress = Progress::Complete;
        let pass = self.pass;
        self.objects
            .extract_if(|_, slot| slot.pass != pass)
            .map(|(_, slot)| Change::Deleted(slot.object))
            .collect()
    }

    /// The kind is no longer served: all its objects are gone.
    pub(crate) fn clear(&mut self) -> Vec<Change> {
        self.progress = Progress::Empty;
        self.objects.drain().map(|(_, slot)| Change::Deleted(slot.object)).collect()
    }

    /// Nobody wants the kind: frees the objects and tells nobody.
    pub(crate) fn close(&mut self) {
        *self = Self { closed: true, ..Self::default() };
    }
}

#[cfg(test)]
mod tests;
