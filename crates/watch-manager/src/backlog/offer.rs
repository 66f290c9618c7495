//! The dispatcher's side of a backlog: what it queues, and how a later state of an object replaces an earlier one.

use std::sync::Arc;
use std::time::Instant;

use super::{Backlog, Content, HOLES, Item, KindQueue};
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
        let next = self.next();
        let Some(kind) = self.staying(slot, epoch) else { return };
        let Some(at) = kind.objects.get(id) else {
            kind.objects.insert(id, next);
            let content = Content::Object { slot, id, held, gone, object: Arc::clone(object) };
            self.items.push_back(Item { since, content });
            return;
        };
        // A delete of an object that the reader was never given is not mentioned.
        if gone && !self.is_held(at) {
            if let Some(kind) = self.staying(slot, epoch) {
                kind.objects.remove(id);
            }
            self.cancel(at);
            self.compact();
        } else if let Some(Content::Object { gone: was_gone, object: queued, .. }) = self.content(at) {
            (*was_gone, *queued) = (gone, Arc::clone(object));
        }
    }

    /// Queues the end of the snapshot, once.
    pub(crate) fn offer_synced(&mut self, slot: usize, epoch: Epoch, since: Instant) {
        let next = self.next();
        let Some(kind) = self.staying(slot, epoch).filter(|kind| !kind.synced) else { return };
        kind.synced = true;
        kind.synced_at = Some(next);
        self.items.push_back(Item { since, content: Content::Synced(slot) });
    }

    /// The kind is no longer served: the next complete list is a new snapshot.
    pub(crate) fn unsync(&mut self, slot: usize, epoch: Epoch) {
        let Some(kind) = self.staying(slot, epoch) else { return };
        kind.synced = false;
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
            let (Content::Object { slot, .. } | Content::Status(slot) | Content::Synced(slot)) =
                &item.content
            else {
                continue;
            };
            let Some(kind) = self.kinds.get_mut(*slot).and_then(Option::as_mut) else { continue };
            match &item.content {
                Content::Object { id, .. } => kind.objects.insert(*id, at),
                Content::Status(_) => kind.status_at = Some(at),
                Content::Synced(_) => kind.synced_at = Some(at),
                Content::Hole => {}
            }
        }
    }
}
