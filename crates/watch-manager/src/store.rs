//! The objects of one kind: takes lists and changes, returns the differences. Pure. `dispatcher` writes it,
//! `backlog` queues the differences, [`StoreHandle`] reads it under a lock.
//!
//! A list is compared in place: its objects replace the stored ones as they come, and when it is complete, what
//! it did not contain is deleted. A list that breaks off and starts again therefore loses no delete and needs no
//! second copy.
//!
//! A kind that is watched in several namespaces has one list for each; they may be under way at the same time.
//! Each has its own pass number. Worked example: `a/x` was seen in pass 1 of namespace `a`, `b/y` in pass 2 of
//! namespace `b`. The list of `a` starts again as pass 3 and ends without `x`: objects of `a` with another pass
//! than 3 are deleted, `b/y` is not an object of `a` and stays.

mod handle;

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

pub use self::handle::StoreHandle;
pub(crate) use self::handle::Stores;
use crate::event::{GvkStatus, KindStatus};
use crate::interest::Part;
use crate::object::{ObjectKey, Remains, WatchedObject};

/// An object from its first appearance to its end. An object of the same name that comes later has another
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectId(pub(crate) u64);

/// The pass of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pass(u64);

#[derive(Debug, Clone)]
pub(crate) struct Store {
    ids: HashMap<Arc<ObjectKey>, ObjectId>,
    /// In the order of their first appearance, which is how a registrar that joins later receives them.
    objects: BTreeMap<ObjectId, Slot>,
    next_id: u64,
    passes: u64,
    synced: bool,
    status: KindStatus,
    undecodable: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    object: Arc<WatchedObject>,
    /// The list in which it was last seen.
    pass: Pass,
}

/// A difference that a registrar has to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Added {
        id: ObjectId,
        object: Arc<WatchedObject>,
    },
    Updated {
        id: ObjectId,
        old: Arc<WatchedObject>,
        new: Arc<WatchedObject>,
    },
    /// `old` is the stored form, `object` the final one.
    Deleted {
        id: ObjectId,
        old: Arc<WatchedObject>,
        object: Arc<WatchedObject>,
    },
}

// === impl Store: read ===

impl Store {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            ids: HashMap::new(),
            objects: BTreeMap::new(),
            next_id: 0,
            passes: 0,
            synced: false,
            status: KindStatus { status: GvkStatus::Pending, since: now, attempts: 0, last_contact: None },
            undecodable: 0,
        }
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<WatchedObject>> {
        self.objects.values().map(|slot| &slot.object)
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Arc<WatchedObject>> {
        self.objects.get(self.ids.get(key)?).map(|slot| &slot.object)
    }

    /// The numbers of all objects so far. Those that come later have greater ones.
    pub(crate) fn numbers(&self) -> RangeInclusive<ObjectId> {
        ObjectId(0)..=ObjectId(self.next_id)
    }

    /// The objects with these numbers, as a registrar that joins receives them.
    pub(crate) fn snapshot(
        &self,
        numbers: RangeInclusive<ObjectId>,
    ) -> impl Iterator<Item = (ObjectId, &Arc<WatchedObject>)> {
        self.objects.range(numbers).map(|(id, slot)| (*id, &slot.object))
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }
}

// === impl Store: write ===

impl Store {
    /// Sets the state; a state of the same kind keeps its time.
    pub(crate) fn set_status(&mut self, status: GvkStatus, attempts: u32, now: Instant) {
        if std::mem::discriminant(&status) != std::mem::discriminant(&self.status.status) {
            self.status.since = now;
        }
        self.status.status = status;
        self.status.attempts = attempts;
    }

    pub(crate) fn set_synced(&mut self, synced: bool) {
        self.synced = synced;
    }

    /// Notes that the server sent something.
    pub(crate) fn contact(&mut self, now: Instant) {
        self.status.last_contact = Some(now);
    }

    pub(crate) fn count_undecodable(&mut self) {
        self.undecodable = self.undecodable.saturating_add(1);
    }

    /// A list starts, or starts again.
    pub(crate) fn begin_list(&mut self) -> Pass {
        self.passes = self.passes.wrapping_add(1);
        Pass(self.passes)
    }

    /// Stores an object of a list, or one that the watch added or modified. An object that is stored already in
    /// this form is not a difference; one of which only the metadata was known is updated. Another uid means that the delete of the former object was missed.
    pub(crate) fn apply(&mut self, object: Arc<WatchedObject>, pass: Pass) -> Vec<Change> {
        let id = self.ids.get(object.key()).copied();
        let Some((id, slot)) = id.and_then(|id| Some((id, self.objects.get_mut(&id)?))) else {
            return vec![self.insert(object, pass)];
        };
        if slot.object.uid() != object.uid() {
            let deleted = self.objects.remove(&id).map(|slot| Change::deleted(id, &slot.object));
            return deleted.into_iter().chain([self.insert(object, pass)]).collect();
        }
        slot.pass = pass;
        let known = slot.object.is_same_version(&object);
        if known && slot.object.is_partial() == object.is_partial() {
            return Vec::new();
        }
        let old = std::mem::replace(&mut slot.object, Arc::clone(&object));
        // No registrar wants the rest any more: no change.
        let shrinks = known && object.is_partial();
        if shrinks { Vec::new() } else { vec![Change::Updated { id, old, new: object }] }
    }

    /// An object of a list, or one that the watch added or modified, cannot be read: the stored form stays, unless it is that of
    /// another object.
    pub(crate) fn keep(&mut self, remains: &Remains, pass: Pass) -> Option<Change> {
        let id = *self.ids.get(remains.key.as_ref()?)?;
        let slot = self.objects.get_mut(&id)?;
        if remains.uid.as_deref().is_none_or(|uid| uid == slot.object.uid()) {
            slot.pass = pass;
            return None;
        }
        self.delete_unread(remains)
    }

    /// The watch deleted an object whose final form cannot be read.
    pub(crate) fn delete_unread(&mut self, remains: &Remains) -> Option<Change> {
        let id = self.ids.remove(remains.key.as_ref()?)?;
        self.objects.remove(&id).map(|slot| Change::deleted(id, &slot.object))
    }

    fn insert(&mut self, object: Arc<WatchedObject>, pass: Pass) -> Change {
        self.next_id = self.next_id.wrapping_add(1);
        let id = ObjectId(self.next_id);
        // The key is that of the stored object, also where another had the name before.
        self.ids.remove(object.key());
        self.ids.insert(object.shared_key(), id);
        self.objects.insert(id, Slot { object: Arc::clone(&object), pass });
        Change::Added { id, object }
    }

    /// The watch deleted the object; `last` is its final form.
    pub(crate) fn delete(&mut self, last: Arc<WatchedObject>) -> Option<Change> {
        let id = self.ids.remove(last.key())?;
        let Slot { object: old, .. } = self.objects.remove(&id)?;
        // A delete that names another object than the stored one still ends the stored one, under its own
        // identity.
        let object = if old.uid() == last.uid() { last } else { Arc::clone(&old) };
        Some(Change::Deleted { id, old, object })
    }

    /// A list of the objects that are `meant` is complete: what it did not contain is gone.
    pub(crate) fn finish_list(&mut self, meant: impl Fn(&ObjectKey) -> bool, pass: Pass) -> Vec<Change> {
        self.remove_if(|slot| slot.pass != pass && meant(slot.object.key()))
    }

    /// The objects that are `meant` are no longer served: they are gone.
    pub(crate) fn clear(&mut self, meant: impl Fn(&ObjectKey) -> bool) -> Vec<Change> {
        self.remove_if(|slot| meant(slot.object.key()))
    }

    /// Removes the objects that no part watches any more.
    pub(crate) fn retain<'a>(&mut self, parts: impl Iterator<Item = &'a Part> + Clone) -> Vec<Change> {
        self.remove_if(|slot| !parts.clone().any(|part| is_in(slot.object.key(), part)))
    }

    /// Reported in the order in which they appeared.
    fn remove_if(&mut self, mut gone: impl FnMut(&Slot) -> bool) -> Vec<Change> {
        let mut changes = Vec::new();
        self.objects.retain(|id, slot| {
            let is_gone = gone(slot);
            if is_gone {
                self.ids.remove(slot.object.key());
                changes.push(Change::deleted(*id, &slot.object));
            }
            !is_gone
        });
        changes
    }

    /// Frees the objects. No registrar is left to be notified.
    pub(crate) fn close(&mut self, now: Instant) {
        self.ids = HashMap::new();
        self.objects = BTreeMap::new();
        self.synced = false;
        self.set_status(GvkStatus::Closed, 0, now);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.status.status == GvkStatus::Closed
    }
}

// === impl Change ===

impl Change {
    pub(crate) fn id(&self) -> ObjectId {
        match self {
            Self::Added { id, .. } | Self::Updated { id, .. } | Self::Deleted { id, .. } => *id,
        }
    }

    /// The end of an object whose final form is not known.
    pub(crate) fn deleted(id: ObjectId, old: &Arc<WatchedObject>) -> Self {
        Self::Deleted { id, old: Arc::clone(old), object: Arc::clone(old) }
    }
}

pub(crate) fn is_in(key: &ObjectKey, part: &Part) -> bool {
    part.as_deref().is_none_or(|namespace| key.namespace() == Some(namespace))
}

#[cfg(test)]
mod tests;
