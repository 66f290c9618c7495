//! One kind, or what a field selector selects of it: its store, its watches (one, or one per namespace), and the
//! registrars that joined it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use super::watch::{Region, Update, Watch};
use super::{Effect, Incarnation, Step, WatchId};
use crate::event::{GvkStatus, Verb};
use crate::intents::{Epoch, RegistrarId, Stay, StoreKey};
use crate::interest::{Filter, Part, Scope};
use crate::object::WatchedObject;
use crate::queue::EventQueue;
use crate::store::{Change, StoreHandle};

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
}

// === impl Kind: registrars and watches ===

impl Kind {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store, watches: BTreeMap::new(), subscribers: Vec::new(), idle: None, refused: false }
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
        self.subscribers.push(Subscriber { id, epoch, slot, queue, scope, filter });
    }

    /// Makes the watches the union of the scopes. A watch whose selection changes starts again, on the same store.
    pub(super) fn reconcile(&mut self, key: &StoreKey, counter: &mut u64) -> Vec<Effect> {
        let union = Scope::union(self.subscribers.iter().map(|subscriber| &subscriber.scope), self.refused);
        self.refused &= union.contains_key(&None);
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
            effects.push(Effect::StartOver(id(&None)));
        }
        for (part, selection) in union {
            if let Entry::Vacant(vacant) = self.watches.entry(part) {
                *counter = counter.wrapping_add(1);
                let incarnation = Incarnation(*counter);
                effects.push(Effect::Start(id(vacant.key()), incarnation, selection.clone()));
                vacant.insert(Watch::new(incarnation, selection));
            }
        }
        if !effects.is_empty() {
            let mut store = self.store.write();
            // No registrar wants what no watch covers, so there is nothing to report.
            store.retain(self.watches.keys());
            store.set_synced(self.watches.values().all(|watch| watch.complete));
        }
        effects
    }

    /// Queues the state so far for a registrar that joins. What follows reaches it like the others: the caller
    /// holds the dispatcher, so nothing comes in between.
    pub(super) fn replay(&mut self, now: Instant, id: RegistrarId) {
        let watches = &self.watches;
        let Some(subscriber) = self.subscribers.iter().find(|subscriber| subscriber.id == id) else { return };
        let synced = subscriber.is_covered(watches);
        let status = subscriber.status(watches);
        let store = self.store.read();
        let Subscriber { epoch, slot, filter, .. } = subscriber;
        subscriber.queue.deliver(|backlog| {
            backlog.reserve(*slot, *epoch, if filter.is_none() { store.len() } else { 0 });
            for (id, object) in store.snapshot() {
                if subscriber.accepts(object) {
                    backlog.offer_added(*slot, *epoch, now, id, object);
                }
            }
            if synced {
                backlog.offer_synced(*slot, *epoch, now);
            }
            backlog.offer_status(*slot, *epoch, now, &status);
        });
        subscriber.queue.announce();
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
        let update = watch.step(&mut self.store.write(), now, &region, step);
        let effects = if update.status { self.follow_access(&id.store(), counter) } else { Vec::new() };
        if update.status || update.synced.is_some() {
            self.update_store(now);
        }
        for subscriber in &self.subscribers {
            subscriber.offer(now, part, &self.watches, &update);
        }
        effects
    }

    /// While the watch of all namespaces is forbidden, those that were asked for by name have watches of their own: access
    /// to them may suffice for the registrars that want no more. They end when the watch of all is ready.
    fn follow_access(&mut self, key: &StoreKey, counter: &mut u64) -> Vec<Effect> {
        let refused = match self.watches.get(&None).map(|watch| &watch.status) {
            Some(GvkStatus::Ready) => false,
            Some(GvkStatus::Forbidden { verb: Verb::List | Verb::Watch, .. }) => true,
            _ => self.refused,
        };
        if refused == self.refused || self.subscribers.is_empty() {
            return Vec::new();
        }
        self.refused = refused;
        self.reconcile(key, counter)
    }

    /// Brings the state of the store up to date with its watches.
    fn update_store(&self, now: Instant) {
        let mut store = self.store.write();
        store.set_synced(self.watches.values().all(|watch| watch.complete));
        let attempts = self.watches.values().map(|watch| watch.attempts).max().unwrap_or_default();
        store.set_status(GvkStatus::worst(self.watches.values().map(|watch| &watch.status)), attempts, now);
        drop(store);
        self.store.notify();
    }
}

// === impl Subscriber ===

impl Subscriber {
    /// Whether every watch that serves the scope is complete.
    fn is_covered(&self, watches: &BTreeMap<Part, Watch>) -> bool {
        watches.iter().all(|(part, watch)| watch.complete || !self.uses(part, watches))
    }

    fn uses(&self, part: &Part, watches: &BTreeMap<Part, Watch>) -> bool {
        // Others than that of all namespaces are beside it only while it is refused.
        self.scope.uses(part, watches.len() > 1)
    }

    fn status(&self, watches: &BTreeMap<Part, Watch>) -> GvkStatus {
        let mine = watches.iter().filter(|(part, _)| self.uses(part, watches));
        GvkStatus::worst(mine.map(|(_, watch)| &watch.status))
    }

    /// Whether the registrar is given the object. One that wants complete objects is not given metadata alone, which
    /// others may have asked for before.
    fn accepts(&self, object: &WatchedObject) -> bool {
        (self.scope.accepts_metadata() || !object.is_partial())
            && self.filter.as_ref().is_none_or(|filter| filter.accepts(object))
    }

    /// Changes first: the end of a snapshot follows its objects.
    fn offer(&self, now: Instant, part: &Part, watches: &BTreeMap<Part, Watch>, update: &Update) {
        if !self.uses(part, watches) {
            return;
        }
        let covered = update.synced == Some(true) && self.is_covered(watches);
        let status = update.status.then(|| self.status(watches));
        let Self { slot, epoch, filter, .. } = self;
        self.queue.deliver(|backlog| {
            for change in &update.changes {
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
    /// Whether an object is concerned of which only the metadata is or was known.
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
    /// complete object is no news for whoever wanted metadata.
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
