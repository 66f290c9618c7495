//! The undelivered events of one registrar: a snapshot of each kind it joins, then every change, with no gap, no
//! duplicate and nothing stale after new. Pure; `queue` puts a lock and a wake-up around it.
//!
//! An object has at most one item, its latest state, so a registrar that never reads costs at most the live
//! objects plus the deletes that it has not been given, and delays no other registrar.
//!
//! An ordered backlog queues every change instead, up to a bound; see `offer`.
//!
//! Items lie in one queue, oldest first. A superseded item becomes a hole; holes are removed when they are the
//! larger part, so each event costs constant time. Worked example: apply `a` v1, apply `b`, delete `a` before
//! anything is read: `[a1] [a1 b] [- b]`. The reader was never given `a`, so its delete is not delivered.

mod index;
mod offer;
mod report;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use kube::core::GroupVersionKind;

use self::index::Index;
pub(crate) use self::report::Wanted;
pub use self::report::{BacklogStats, Replaced};
use crate::event::{EventKind, GvkStatus, WatchEvent};
use crate::intents::{Epoch, Gvk, Stay, StoreKey};
use crate::interest::{Interest, Scope};
use crate::object::WatchedObject;
use crate::store::ObjectId;

/// Holes that are tolerated before the queue is compacted.
const HOLES: usize = 64;
/// Room for so many items is kept when the backlog is empty. A snapshot's is given back.
const KEPT: usize = 1_024;
/// The first sequence number. An item may also be put in front of all others.
const FIRST: u64 = u64::MAX / 2;

/// The kinds of one registrar and its undelivered events.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    slots: HashMap<Gvk, usize>,
    kinds: Vec<Option<KindQueue>>,
    items: VecDeque<Item>,
    /// The sequence number of the first item.
    first: u64,
    holes: usize,
    next_epoch: u64,
    /// Every change is queued as long as at most so many items of a kind have a successor.
    ordered: Option<usize>,
    /// The end of a snapshot was delivered, and the reader has not come back for more.
    unacknowledged: bool,
    /// No event will be added any more.
    ended: bool,
}

/// One kind of a registrar.
#[derive(Debug, Clone)]
struct KindQueue {
    gvk: Gvk,
    epoch: Epoch,
    scope: Scope,
    status: GvkStatus,
    /// The status that the reader was given last.
    reported: GvkStatus,
    /// True once the end of the snapshot was queued.
    synced: bool,
    /// Sequence numbers of the queued items.
    objects: Index,
    /// Queued items that a later one of the same object follows; only in an ordered backlog.
    superseded: usize,
    /// Changes of an object are merged, until the queued objects are delivered.
    lagging: bool,
    lagged_at: Option<u64>,
    status_at: Option<u64>,
    synced_at: Option<u64>,
    snapshot: Snapshot,
}

/// The way of a snapshot to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Snapshot {
    Queued,
    /// The reader was given its end.
    Delivered,
    /// The reader came back for more: it has worked through the snapshot.
    Consumed,
}

#[derive(Debug, Clone)]
struct Item {
    since: Instant,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    /// An event that a later one has superseded.
    Hole,
    Object {
        slot: usize,
        id: ObjectId,
        /// True if the reader was given the object.
        held: bool,
        gone: bool,
        object: Arc<WatchedObject>,
    },
    Status(usize),
    Synced(usize),
    Lagged(usize),
}

// === impl Backlog: the registrar's side ===

impl Default for Backlog {
    fn default() -> Self {
        Self {
            slots: HashMap::new(),
            kinds: Vec::new(),
            items: VecDeque::new(),
            first: FIRST,
            holes: 0,
            next_epoch: 0,
            ordered: None,
            unacknowledged: false,
            ended: false,
        }
    }
}

impl Backlog {
    /// A backlog that queues every change, while at most `bound` items of a kind have a successor.
    pub(crate) fn ordered(bound: usize) -> Self {
        Self { ordered: Some(bound), ..Self::default() }
    }

    /// Asks for a kind. Another scope than before restarts it.
    pub(crate) fn want(&mut self, gvk: &Gvk, scope: &Scope) -> Wanted {
        match self.kind(gvk) {
            Some(kind) if kind.scope == *scope => return Wanted::Already,
            Some(_) => {}
            None => {
                self.begin(gvk, scope);
                return Wanted::Added;
            }
        }
        self.unwant(gvk);
        self.begin(gvk, scope);
        Wanted::Rescoped
    }

    /// Restarts a kind in the scope that it has. Returns true if it was asked for.
    pub(crate) fn begin_again(&mut self, gvk: &GroupVersionKind) -> bool {
        let Some(kind) = self.kind(gvk) else { return false };
        let (gvk, scope) = (Arc::clone(&kind.gvk), kind.scope.clone());
        self.unwant(&gvk);
        self.begin(&gvk, &scope);
        true
    }

    /// Begins a stay of the kind.
    fn begin(&mut self, gvk: &Gvk, scope: &Scope) {
        self.next_epoch = self.next_epoch.wrapping_add(1);
        let kind = KindQueue::new(gvk, Epoch(self.next_epoch), scope);
        let free = self.kinds.iter().position(Option::is_none).unwrap_or(self.kinds.len());
        match self.kinds.get_mut(free) {
            Some(slot) => *slot = Some(kind),
            None => self.kinds.push(Some(kind)),
        }
        self.slots.insert(Arc::clone(gvk), free);
    }

    /// Removes the kind and its undelivered events. Returns true if it was asked for.
    pub(crate) fn unwant(&mut self, gvk: &GroupVersionKind) -> bool {
        let Some(slot) = self.slots.remove(gvk) else {
            return false;
        };
        if let Some(kind) = self.kinds.get_mut(slot).and_then(Option::take) {
            let places = kind.objects.values().chain(kind.status_at).chain(kind.synced_at);
            for at in places.chain(kind.lagged_at) {
                self.cancel(at);
            }
            if kind.superseded > 0 {
                self.cancel_objects(slot);
            }
        }
        self.compact();
        true
    }

    /// Makes `interests` the only kinds.
    pub(crate) fn want_only(&mut self, interests: impl IntoIterator<Item = Interest>) -> Replaced {
        let (mut desired, mut repeated) = (HashMap::new(), HashSet::new());
        for (gvk, scope) in interests.into_iter().map(Interest::into_parts) {
            if desired.insert(gvk.clone(), scope).is_some() {
                repeated.insert(gvk);
            }
        }
        let removed = self.slots.keys().filter(|gvk| !desired.contains_key(&***gvk));
        let removed = removed.map(|gvk| (**gvk).clone()).collect();
        let repeated = repeated.into_iter().collect();
        let mut replaced = Replaced { removed, repeated, ..Replaced::default() };
        for gvk in &replaced.removed {
            self.unwant(gvk);
        }
        for (gvk, scope) in desired {
            let list = match self.want(&Arc::new(gvk.clone()), &scope) {
                Wanted::Added => &mut replaced.added,
                Wanted::Rescoped => &mut replaced.rescoped,
                Wanted::Already => &mut replaced.kept,
            };
            list.push(gvk);
        }
        replaced.sort();
        replaced
    }

    /// The kinds that are asked for.
    pub(crate) fn intents(&self) -> HashMap<Gvk, Stay> {
        let stay = |(gvk, slot): (&Gvk, &usize)| {
            let kind = self.kinds.get(*slot)?.as_ref()?;
            let stay = Stay { epoch: kind.epoch, slot: *slot, scope: kind.scope.clone() };
            Some((Arc::clone(gvk), stay))
        };
        self.slots.iter().filter_map(stay).collect()
    }

    /// The stores of the kinds that are asked for.
    pub(crate) fn stores(&self) -> Vec<StoreKey> {
        self.kinds.iter().flatten().map(KindQueue::store).collect()
    }

    /// The store of a kind that is asked for, and since when it is.
    pub(crate) fn stay(&self, gvk: &GroupVersionKind) -> Option<(StoreKey, Epoch)> {
        self.kind(gvk).map(|kind| (kind.store(), kind.epoch))
    }

    pub(crate) fn epoch(&self, gvk: &GroupVersionKind) -> Option<Epoch> {
        self.kind(gvk).map(|kind| kind.epoch)
    }

    pub(crate) fn status(&self, gvk: &GroupVersionKind) -> Option<&GvkStatus> {
        self.kind(gvk).map(|kind| self.status_of(kind))
    }

    fn status_of<'a>(&self, kind: &'a KindQueue) -> &'a GvkStatus {
        if self.ended { &GvkStatus::Closed } else { &kind.status }
    }

    pub(crate) fn is_synced(&self, gvk: &GroupVersionKind) -> bool {
        !self.ended && self.kind(gvk).is_some_and(|kind| kind.synced)
    }

    /// The kinds whose snapshot has not been queued completely; at the end, all.
    pub(crate) fn unsynced(&self) -> impl Iterator<Item = (&Gvk, &GvkStatus)> {
        let kinds = self.kinds.iter().flatten().filter(|kind| self.ended || !kind.synced);
        kinds.map(|kind| (&kind.gvk, self.status_of(kind)))
    }

    /// Nothing fills the backlog any more. What is queued can be read.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns true if the reader has worked through the snapshot of the kind.
    pub(crate) fn is_consumed(&self, gvk: &GroupVersionKind) -> bool {
        self.is_synced(gvk) && self.kind(gvk).is_some_and(|kind| kind.snapshot == Snapshot::Consumed)
    }

    /// Notes that the reader asks for an event, so has worked through those that it was given. Returns true if that was not known.
    pub(crate) fn acknowledge(&mut self) -> bool {
        if !std::mem::take(&mut self.unacknowledged) {
            return false;
        }
        for kind in self.kinds.iter_mut().flatten().filter(|kind| kind.snapshot == Snapshot::Delivered) {
            kind.snapshot = Snapshot::Consumed;
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.len() == self.holes
    }

    pub(crate) fn stats(&self) -> BacklogStats {
        let oldest = self.items.iter().find(|item| !matches!(item.content, Content::Hole));
        let depth = self.items.len().saturating_sub(self.holes);
        BacklogStats { depth, oldest: oldest.map(|item| item.since) }
    }

    /// Removes and returns the oldest event.
    pub(crate) fn pop(&mut self) -> Option<WatchEvent> {
        loop {
            let item = self.pop_item()?;
            let at = self.first;
            self.first = at.wrapping_add(1);
            let (slot, kind) = match item.content {
                Content::Hole => {
                    self.holes = self.holes.saturating_sub(1);
                    continue;
                }
                Content::Object { slot, id, gone, object, .. } => {
                    self.queue(slot)?.take_object(id, at);
                    (slot, if gone { EventKind::Deleted(object) } else { EventKind::Applied(object) })
                }
                Content::Status(slot) => (slot, EventKind::Status(self.queue(slot)?.take_status())),
                Content::Synced(slot) => {
                    self.unacknowledged = true;
                    let kind = self.queue(slot)?;
                    kind.synced_at = None;
                    // The end of a later list, in an ordered backlog, takes nothing back.
                    if kind.snapshot == Snapshot::Queued {
                        kind.snapshot = Snapshot::Delivered;
                    }
                    (slot, EventKind::Synced)
                }
                Content::Lagged(slot) => {
                    self.queue(slot)?.lagged_at = None;
                    (slot, EventKind::Lagged)
                }
            };
            let KindQueue { gvk, epoch, .. } = self.queue(slot)?;
            return Some(WatchEvent { gvk: Arc::clone(gvk), kind, epoch: epoch.0 });
        }
    }

    fn pop_item(&mut self) -> Option<Item> {
        let item = self.items.pop_front();
        if self.items.is_empty() && self.items.capacity() > KEPT {
            self.items = VecDeque::new();
        }
        item
    }

    fn kind(&self, gvk: &GroupVersionKind) -> Option<&KindQueue> {
        self.kinds.get(*self.slots.get(gvk)?)?.as_ref()
    }

    fn queue(&mut self, slot: usize) -> Option<&mut KindQueue> {
        self.kinds.get_mut(slot)?.as_mut()
    }
}

// === impl KindQueue ===

impl KindQueue {
    fn new(gvk: &Gvk, epoch: Epoch, scope: &Scope) -> Self {
        Self {
            gvk: Arc::clone(gvk),
            epoch,
            scope: scope.clone(),
            status: GvkStatus::Pending,
            reported: GvkStatus::Pending,
            synced: false,
            objects: Index::default(),
            superseded: 0,
            lagging: false,
            lagged_at: None,
            status_at: None,
            synced_at: None,
            snapshot: Snapshot::Queued,
        }
    }

    fn store(&self) -> StoreKey {
        StoreKey::new(&self.gvk, &self.scope)
    }

    /// The item of an object at `at` is taken.
    fn take_object(&mut self, id: ObjectId, at: u64) {
        if self.superseded > 0 && self.objects.get(id) != Some(at) {
            self.superseded = self.superseded.saturating_sub(1);
        } else {
            self.remove_object(id);
        }
    }

    fn remove_object(&mut self, id: ObjectId) {
        self.objects.remove(id);
        self.lagging = self.lagging && !self.objects.is_empty();
    }

    fn take_status(&mut self) -> GvkStatus {
        self.status_at = None;
        self.reported = self.status.clone();
        self.status.clone()
    }
}

#[cfg(test)]
mod tests;
