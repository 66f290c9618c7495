//! The dispatcher's side of a backlog: what it queues, and how a later state of an object replaces an earlier one.
//!
//! An ordered backlog queues every change. When more than its bound of items of a kind have a successor, they are
//! merged, and the kind goes on merging until its queued objects are delivered. Worked example with the bound 1:
//! `[a1] [a2] [b1]` and then `a3`: two items of `a` have a successor, so the queue becomes `[lagged] [a3] [b1]`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::{Backlog, Content, HOLES, Index, Item, KindQueue, Snapshot};
use crate::event::GvkStatus;
use crate::intents::Epoch;
use crate::object::WatchedObject;
use crate::store::{Change, ObjectId};

// === impl Backlog: the dispatcher's side ===

impl Backlog {
    /// Makes room for a snapshot.
    pub(crate) fn reserve(&mut self, slot: usize, epoch: Epoch, objects: usize) {
        if let Some(kind) = self.staying(slot, epoch) {
            kind.objects.reserve(objects);
            self.items.reserve(objects);
        }
    }

    /// Queues a difference of the store. Ignored if the kind is not asked for in this epoch, which keeps a removed
    /// kind silent.
    pub(crate) fn offer(&mut self, slot: usize, epoch: Epoch, since: Instant, change: &Change) {
        match change {
            Change::Added { id, object } => self.offer_added(slot, epoch, since, *id, object),
            Change::Updated { id, new, .. } => self.offer_one(slot, epoch, since, *id, new, (true, false)),
            Change::Deleted { id, object, .. } => {
                self.offer_one(slot, epoch, since, *id, object, (true, true))
            }
        }
    }

    /// Queues an object that the reader was not given yet.
    pub(crate) fn offer_added(
        &mut self,
        slot: usize,
        epoch: Epoch,
        since: Instant,
        id: ObjectId,
        object: &Arc<WatchedObject>,
    ) {
        self.offer_one(slot, epoch, since, id, object, (false, false));
    }

    fn offer_one(
        &mut self,
        slot: usize,
        epoch: Epoch,
        since: Instant,
        id: ObjectId,
        object: &Arc<WatchedObject>,
        (held, gone): (bool, bool),
    ) {
        let (next, ordered) = (self.next(), self.ordered);
        let Some(kind) = self.staying(slot, epoch) else { return };
        let queued = kind.objects.insert_new(id, next);
        if queued.is_none() || ordered.is_some() && !kind.lagging {
            if queued.is_some() {
                kind.objects.insert(id, next);
                kind.superseded = kind.superseded.saturating_add(1);
            }
            let lags = ordered.is_some_and(|bound| kind.superseded > bound);
            let content = Content::Object { slot, id, held, gone, object: Arc::clone(object) };
            self.items.push_back(Item { since, content });
            if lags {
                self.merge(slot, since);
            }
            return;
        }
        let Some(at) = queued else { return };
        // A delete of an object that the reader was never given is not mentioned.
        if gone && !self.is_held(at) {
            if let Some(kind) = self.staying(slot, epoch) {
                kind.remove_object(id);
            }
            self.cancel(at);
            self.compact();
        } else if let Some(Content::Object { gone: was_gone, object: queued, .. }) = self.content(at) {
            (*was_gone, *queued) = (gone, Arc::clone(object));
        }
    }

    /// Merges the items of each object of the kind, and notes that in front of them.
    fn merge(&mut self, slot: usize, since: Instant) {
        let mut places: HashMap<ObjectId, u64> = HashMap::new();
        let numbered = (self.first..).zip(&self.items);
        let items: Vec<_> = numbered.filter_map(|(at, item)| Some((at, item.object_of(slot)?))).collect();
        for (at, (id, gone, object)) in items {
            let Some(first) = places.get(&id).copied() else {
                places.insert(id, at);
                continue;
            };
            if let Some(Content::Object { gone: was_gone, object: queued, .. }) = self.content(first) {
                (*was_gone, *queued) = (gone, object);
            }
            self.cancel(at);
        }
        places.retain(|_, at| {
            let unseen = matches!(self.content(*at), Some(Content::Object { held: false, gone: true, .. }));
            if unseen {
                self.cancel(*at);
            }
            !unseen
        });
        // As old as what it stands before: the age of the backlog is that of its first item.
        let since = self.items.front().map_or(since, |item| item.since);
        self.items.push_front(Item { since, content: Content::Lagged(slot) });
        self.first = self.first.wrapping_sub(1);
        let front = self.first;
        if let Some(kind) = self.queue(slot) {
            (kind.superseded, kind.lagging, kind.objects) = (0, true, Index::default());
            places.into_iter().for_each(|(id, at)| kind.objects.insert(id, at));
            if let Some(former) = kind.lagged_at.replace(front) {
                self.cancel(former);
            }
        }
        self.compact();
    }

    /// Removes all items of objects of the kind in `slot`.
    pub(super) fn cancel_objects(&mut self, slot: usize) {
        for item in self.items.iter_mut().filter(|item| item.object_of(slot).is_some()) {
            item.content = Content::Hole;
            self.holes = self.holes.saturating_add(1);
        }
    }

    /// Queues the end of a complete list: of the snapshot only, unless the backlog is ordered.
    pub(crate) fn offer_synced(&mut self, slot: usize, epoch: Epoch, since: Instant) {
        let (next, every) = (self.next(), self.ordered.is_some());
        let Some(kind) = self.staying(slot, epoch).filter(|kind| every || !kind.synced) else { return };
        kind.synced = true;
        let former = kind.synced_at.replace(next);
        self.items.push_back(Item { since, content: Content::Synced(slot) });
        if let Some(at) = former {
            self.cancel(at);
            self.compact();
        }
    }

    /// The kind is no longer served: the next complete list is a new snapshot.
    pub(crate) fn unsync(&mut self, slot: usize, epoch: Epoch) {
        let Some(kind) = self.staying(slot, epoch) else { return };
        (kind.synced, kind.snapshot) = (false, Snapshot::Queued);
        if let Some(at) = kind.synced_at.take() {
            self.cancel(at);
        }
    }

    /// Queues a change of state, behind the objects that it is about. Only the latest is delivered, and none if
    /// the reader was given it already.
    pub(crate) fn offer_status(&mut self, slot: usize, epoch: Epoch, since: Instant, status: &GvkStatus) {
        let Some(kind) = self.staying(slot, epoch).filter(|kind| kind.status != *status) else { return };
        kind.status = status.clone();
        let (former, news) = (kind.status_at.take(), kind.status != kind.reported);
        if let Some(at) = former {
            self.cancel(at);
            self.compact();
        }
        if news {
            let next = self.next();
            if let Some(kind) = self.staying(slot, epoch) {
                kind.status_at = Some(next);
                self.items.push_back(Item { since, content: Content::Status(slot) });
            }
        }
    }

    pub(super) fn staying(&mut self, slot: usize, epoch: Epoch) -> Option<&mut KindQueue> {
        self.queue(slot).filter(|kind| kind.epoch == epoch)
    }

    /// The sequence number of the next item.
    pub(super) fn next(&self) -> u64 {
        self.first.wrapping_add(self.items.len() as u64)
    }

    pub(super) fn content(&mut self, at: u64) -> Option<&mut Content> {
        let position = usize::try_from(at.wrapping_sub(self.first)).ok()?;
        self.items.get_mut(position).map(|item| &mut item.content)
    }

    fn is_held(&mut self, at: u64) -> bool {
        matches!(self.content(at), Some(Content::Object { held: true, .. }))
    }

    pub(super) fn cancel(&mut self, at: u64) {
        if let Some(content) = self.content(at) {
            *content = Content::Hole;
            self.holes = self.holes.saturating_add(1);
        }
    }

    /// Removes the holes once they are more than the items. The items before a hole keep their number; those
    /// behind it get new ones.
    pub(super) fn compact(&mut self) {
        if self.holes <= HOLES || self.holes.saturating_mul(2) <= self.items.len() {
            return;
        }
        self.items.retain(|item| !matches!(item.content, Content::Hole));
        self.holes = 0;
        for (at, item) in (self.first..).zip(&self.items) {
            let Some(slot) = item.slot() else { continue };
            let Some(kind) = self.kinds.get_mut(slot).and_then(Option::as_mut) else { continue };
            match &item.content {
                Content::Object { id, .. } => kind.objects.insert(*id, at),
                Content::Status(_) => kind.status_at = Some(at),
                Content::Synced(_) => kind.synced_at = Some(at),
                Content::Lagged(_) => kind.lagged_at = Some(at),
                Content::Hole => {}
            }
        }
    }
}

// === impl Item ===

impl Item {
    fn slot(&self) -> Option<usize> {
        match &self.content {
            Content::Hole => None,
            Content::Object { slot, .. }
            | Content::Status(slot)
            | Content::Synced(slot)
            | Content::Lagged(slot) => Some(*slot),
        }
    }

    /// The object of the item, if it is one of the kind in `wanted`.
    fn object_of(&self, wanted: usize) -> Option<(ObjectId, bool, Arc<WatchedObject>)> {
        match &self.content {
            Content::Object { slot, id, gone, object, .. } if *slot == wanted => {
                Some((*id, *gone, Arc::clone(object)))
            }
            _ => None,
        }
    }
}
