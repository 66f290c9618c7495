//! One kind, or what a field selector selects of it: its store, its watches (one, or one per namespace), and the
//! registrars that joined it.
//!
//! A registrar that joins is given the objects of the store in portions, by their numbers, which grow in the order of
//! appearance. Of an object that it was not given yet it is given no change: it will be given its form at that time, or nothing
//! if it is gone. Worked example with portions of one: the store holds 1 to 3, the registrar was given 1. Now 1 changes, 3 is
//! deleted, and 4 is added: it is given 1 and 4. Then it is given 2, and the end of the snapshot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use super::watch::{Region, Update, Watch};
use super::{Effect, Incarnation, Step, WatchId};
use crate::event::{GvkStatus, Verb};
use crate::intents::{Epoch, RegistrarId, Stay, StoreKey};
use crate::interest::{Filter, Part, Scope, Selection};
use crate::object::WatchedObject;
use crate::queue::EventQueue;
use crate::store::{Change, ObjectId, StoreHandle};

#[derive(Debug)]
pub(crate) struct Kind {
    pub(super) store: StoreHandle,
    pub(super) watches: BTreeMap<Part, Watch>,
    /// In the order in which they joined.
    pub(super) subscribers: Vec<Subscriber>,
    /// Set while the kind has no registrars and lingers.
    pub(super) idle: Option<Incarnation>,
    /// The watch of all namespaces is forbidden, and was not ready since.
    pub(super) refused: bool,
    /// The watch of all namespaces began while watches of some were ready, and was not ready since.
    pub(super) arrives: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Subscriber {
    pub(super) id: RegistrarId,
    pub(super) epoch: Epoch,
    pub(super) slot: usize,
    pub(super) queue: Arc<EventQueue>,
    scope: Scope,
    /// `None` if the scope is all objects.
    filter: Option<Filter>,
    /// The end of the snapshot was queued, and the kind is served since.
    synced: bool,
    /// The numbers of the objects that it is still to be given, of those that were there when it joined.
    pub(super) pending: Option<RangeInclusive<ObjectId>>,
}

// === impl Kind: registrars and watches ===

impl Kind {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self {
            store,
            watches: BTreeMap::new(),
            subscribers: Vec::new(),
            idle: None,
            refused: false,
            arrives: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    pub(super) fn into_parts(self) -> impl Iterator<Item = Part> {
        self.watches.into_keys()
    }

    pub(super) fn leave(&mut self, id: RegistrarId) {
        self.subscribers.retain(|subscriber| subscriber.id != id);
    }

    pub(super) fn join(&mut self, id: RegistrarId, queue: Arc<EventQueue>, stay: Stay) {
        self.idle = None;
        let Stay { epoch, slot, scope } = stay;
        let filter = scope.filter();
        let subscriber = Subscriber { id, epoch, slot, queue, scope, filter, synced: false, pending: None };
        self.subscribers.push(subscriber);
    }

    /// Makes the watches the union of the scopes. A watch whose selection changes starts again, on the same store; it
    /// counts as ready if what it follows was followed until now.
    pub(super) fn reconcile(&mut self, now: Instant, key: &StoreKey, counter: &mut u64) -> Vec<Effect> {
        let union = self.union();
        let covered = self.covered(now);
        let id = |part: &Part| WatchId::new(key, part.clone());
        let mut effects = Vec::new();
        self.watches.retain(|part, watch| {
            let current = union.get(part) == Some(&watch.selection);
            if !current {
                effects.push(Effect::Stop(id(part)));
            }
            current
        });
        // The watch of all namespaces did not follow those that had their own.
        if !effects.is_empty()
            && let Some(watch) = self.watches.get_mut(&None)
        {
            (watch.outdated, watch.complete) = (true, false);
            watch.followed_until = watch.followed_until.or(Some(now));
            effects.push(Effect::StartOver(id(&None)));
        }
        for (part, selection) in union {
            if let Entry::Vacant(vacant) = self.watches.entry(part) {
                *counter = counter.wrapping_add(1);
                let (id, incarnation) = (id(vacant.key()), Incarnation(*counter));
                let all = covered.get(&None).filter(|_| id.part.is_some());
                let followed_until = covered.get(vacant.key()).or(all).copied();
                let watch = Watch::new(incarnation, selection.clone(), followed_until);
                effects.push(Effect::Start { id, incarnation, selection, followed_until });
                vacant.insert(watch);
            }
        }
        if !effects.is_empty() {
            let mut store = self.store.write();
            // What is dropped here was in no registrar's selection, so no event is due.
            store.retain(self.watches.keys());
            store.set_synced(is_complete(&self.watches));
        }
        effects
    }

    /// The watches that the scopes need.
    fn union(&mut self) -> BTreeMap<Part, Selection> {
        let scopes = self.subscribers.iter().map(|subscriber| &subscriber.scope);
        let named = Scope::union(scopes.clone().filter(|scope| !scope.is_all()), false);
        let is_followed = |part: &Part| self.watches.get(part).is_some_and(|watch| watch.status.is_ready());
        // A registrar of some namespaces goes on with its watches until that of all is ready.
        self.arrives |= !self.watches.contains_key(&None) && named.keys().any(is_followed);
        let union = Scope::union(scopes, self.refused || self.arrives);
        self.refused &= union.contains_key(&None);
        self.arrives &= union.contains_key(&None);
        union
    }

    /// The parts that ready watches follow, and until when they did.
    fn covered(&self, now: Instant) -> BTreeMap<Part, Instant> {
        // Beside others, the watch of all does not follow everything.
        let apart = self.watches.len() > 1;
        let ready = self.watches.iter().filter(|(_, watch)| watch.status.is_ready());
        let ready = ready.filter(|(part, _)| part.is_some() || !apart);
        ready.map(|(part, watch)| (part.clone(), watch.followed_until.unwrap_or(now))).collect()
    }

    /// A registrar that joined is to be given what the store holds now.
    pub(super) fn begin_replay(&mut self, id: RegistrarId) {
        let joined = self.subscribers.iter_mut().find(|subscriber| subscriber.id == id);
        let Some(subscriber) = joined else { return };
        let store = self.store.read();
        subscriber.pending = Some(store.numbers());
        if subscriber.filter.is_none() {
            let (slot, epoch) = (subscriber.slot, subscriber.epoch);
            subscriber.queue.deliver(|backlog| backlog.reserve(slot, epoch, store.len()));
        }
    }

    /// Queues the next portion for a registrar that joined, and behind the last one the end of the snapshot and the state.
    /// Returns true if there is more to come.
    pub(super) fn replay(&mut self, now: Instant, id: RegistrarId, portion: usize) -> bool {
        let Self { subscribers, watches, store, .. } = self;
        let joined = subscribers.iter_mut().find(|subscriber| subscriber.id == id);
        let Some(subscriber) = joined else { return false };
        let Some(numbers) = subscriber.pending.take() else { return false };
        let (last, store) = (*numbers.end(), store.read());
        let Subscriber { epoch, slot, .. } = *subscriber;
        // Objects that have gone since are not in the store, and those that came since have greater numbers: both were settled by
        // `offer`.
        let mut rest = store.snapshot(numbers);
        subscriber.queue.deliver(|backlog| {
            for (id, object) in rest.by_ref().take(portion).filter(|(_, object)| subscriber.accepts(object)) {
                backlog.offer_added(slot, epoch, now, id, object);
            }
        });
        if let Some((next, _)) = rest.next() {
            subscriber.pending = Some(next..=last);
            return true;
        }
        subscriber.synced = subscriber.is_covered(watches);
        let status = subscriber.status(watches);
        subscriber.queue.deliver(|backlog| {
            if subscriber.synced {
                backlog.offer_synced(slot, epoch, now);
            }
            backlog.offer_status(slot, epoch, now, &status);
        });
        subscriber.queue.announce();
        false
    }
}

// === impl Kind: steps ===

impl Kind {
    /// Brings the store up to date and queues the consequences for every registrar.
    pub(super) fn step(
        &mut self,
        now: Instant,
        id: &WatchId,
        incarnation: Incarnation,
        step: Step,
        counter: &mut u64,
    ) -> Vec<Effect> {
        let part = &id.part;
        let region = Region::new(part, &self.watches);
        let Some(watch) = self.watches.get_mut(part).filter(|watch| watch.incarnation == incarnation) else {
            return Vec::new();
        };
        // The store's lock ends with this statement, before the backlogs are filled; see the worked example of `dispatcher`.
        let update = watch.step(&mut self.store.write(), now, &region, step);
        let effects = if update.status { self.follow_access(now, &id.store(), counter) } else { Vec::new() };
        if update.status || update.synced.is_some() {
            self.update_store(now);
        }
        for subscriber in &mut self.subscribers {
            subscriber.offer(now, part, &self.watches, &update);
        }
        effects
    }

    /// While the watch of all namespaces is forbidden, those that were asked for by name have watches of their own: access
    /// to them may suffice for the registrars that want no more. They end when the watch of all is ready.
    fn follow_access(&mut self, now: Instant, key: &StoreKey, counter: &mut u64) -> Vec<Effect> {
        let before = (self.refused, self.arrives);
        (self.refused, self.arrives) = match self.watches.get(&None).map(|watch| &watch.status) {
            Some(GvkStatus::Ready) => (false, false),
            Some(GvkStatus::Forbidden { verb: Verb::List | Verb::Watch, .. }) => (true, self.arrives),
            _ => before,
        };
        if (self.refused, self.arrives) == before || self.subscribers.is_empty() {
            return Vec::new();
        }
        self.reconcile(now, key, counter)
    }

    /// Brings the state of the store up to date with its watches.
    fn update_store(&self, now: Instant) {
        let mut store = self.store.write();
        store.set_synced(is_complete(&self.watches));
        let attempts = self.watches.values().map(|watch| watch.attempts).max().unwrap_or_default();
        store.set_status(GvkStatus::worst(self.watches.values().map(|watch| &watch.status)), attempts, now);
        drop(store);
        self.store.notify();
    }
}

/// Returns true if namespaces have watches beside that of all. Those request what suffices for the registrars that
/// named them, so no watch covers everything.
fn are_apart(watches: &BTreeMap<Part, Watch>) -> bool {
    watches.len() > 1 && watches.contains_key(&None)
}

fn is_complete(watches: &BTreeMap<Part, Watch>) -> bool {
    !are_apart(watches) && watches.values().all(|watch| watch.complete)
}

// === impl Subscriber ===

impl Subscriber {
    /// Returns true if every watch that serves the scope is complete.
    fn is_covered(&self, watches: &BTreeMap<Part, Watch>) -> bool {
        !(self.scope.is_all() && are_apart(watches))
            && watches.iter().all(|(part, watch)| watch.complete || !self.uses(part, watches))
    }

    fn uses(&self, part: &Part, watches: &BTreeMap<Part, Watch>) -> bool {
        // Others than that of all namespaces are beside it only while it is refused, or not ready yet.
        self.scope.uses(part, watches.len() > 1)
    }

    fn status<'a>(&self, watches: &'a BTreeMap<Part, Watch>) -> GvkStatus {
        let mine = watches.iter().filter(|(part, _)| self.uses(part, watches));
        // While a watch lists again, it is ready only for registrars that have received every object.
        let status = |watch: &'a Watch| match &watch.status {
            GvkStatus::Ready if !watch.complete && !self.synced => &GvkStatus::Listing,
            status => status,
        };
        GvkStatus::worst(mine.map(|(_, watch)| status(watch)))
    }

    /// Returns true if the registrar is given the object. One that wants complete objects is not given metadata alone,
    /// which others may have asked for before.
    fn accepts(&self, object: &WatchedObject) -> bool {
        (self.scope.accepts_metadata() || !object.is_partial())
            && self.filter.as_ref().is_none_or(|filter| filter.accepts(object))
    }

    /// Returns true if the object comes with a later portion of the snapshot.
    fn is_to_be_given(&self, id: ObjectId) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.contains(&id))
    }

    /// Changes first: the end of a snapshot follows its objects.
    fn offer(&mut self, now: Instant, part: &Part, watches: &BTreeMap<Part, Watch>, update: &Update) {
        if !self.uses(part, watches) {
            return;
        }
        // The end of the snapshot and the state follow its objects.
        let replays = self.pending.is_some();
        let covered = update.synced == Some(true) && !replays && self.is_covered(watches);
        self.synced = covered || self.synced && update.synced != Some(false);
        let status = (update.status && !replays).then(|| self.status(watches));
        let Self { slot, epoch, filter, queue, .. } = &*self;
        queue.deliver(|backlog| {
            for change in update.changes.iter().filter(|change| !self.is_to_be_given(change.id())) {
                if filter.is_none() && !change.is_partial() {
                    backlog.offer(*slot, *epoch, now, change);
                } else if let Some(change) = change.seen_by(self) {
                    backlog.offer(*slot, *epoch, now, &change);
                }
            }
            if covered {
                backlog.offer_synced(*slot, *epoch, now);
            } else if update.synced == Some(false) {
                backlog.unsync(*slot, *epoch);
            }
            if let Some(status) = &status {
                backlog.offer_status(*slot, *epoch, now, status);
            }
        });
        if update.synced.is_some() || status.is_some() {
            self.queue.announce();
        }
    }
}

// === impl Change ===

impl Change {
    /// Returns true if an object is concerned of which only the metadata is or was known.
    fn is_partial(&self) -> bool {
        match self {
            Self::Added { object, .. } => object.is_partial(),
            Self::Updated { old, new, .. } => old.is_partial() || new.is_partial(),
            Self::Deleted { old, .. } => old.is_partial(),
        }
    }

    /// The change for a registrar that sees only a part. An object that enters the part is added, one that
    /// leaves it is deleted. The final form of a deleted object may be outside the part, because the update that
    /// removes the last finalizer may change labels too: what the registrar holds decides. That metadata became a
    /// complete object is not a change for a registrar that wants metadata.
    fn seen_by(&self, subscriber: &Subscriber) -> Option<Self> {
        match self {
            Self::Added { object, .. } => subscriber.accepts(object).then(|| self.clone()),
            Self::Deleted { old, .. } => subscriber.accepts(old).then(|| self.clone()),
            Self::Updated { id, old, new } => match (subscriber.accepts(old), subscriber.accepts(new)) {
                (true, true) => (!old.is_same_version(new)).then(|| self.clone()),
                (false, true) => Some(Self::Added { id: *id, object: Arc::clone(new) }),
                (true, false) => Some(Self::deleted(*id, old)),
                (false, false) => None,
            },
        }
    }
}
