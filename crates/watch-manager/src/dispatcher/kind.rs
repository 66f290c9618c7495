//! One kind: its store, its watches (one, or one per namespace), and the registrars that joined it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use super::{Effect, Incarnation, Step, WatchId};
use crate::event::GvkStatus;
use crate::intents::{Epoch, Gvk, RegistrarId, Stay};
use crate::interest::{Filter, Part, Scope, Selection};
use crate::object::WatchedObject;
use crate::queue::EventQueue;
use crate::store::{Change, Pass, StoreHandle, is_in};

#[derive(Debug)]
pub(crate) struct Kind {
    pub(super) store: StoreHandle,
    pub(super) watches: BTreeMap<Part, Watch>,
    /// In the order in which they joined.
    pub(super) subscribers: Vec<Subscriber>,
    /// Set while the kind has no registrars and lingers.
    pub(super) idle: Option<Incarnation>,
}

/// One watch of the kind.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    pub(super) incarnation: Incarnation,
    pub(super) selection: Selection,
    status: GvkStatus,
    attempts: u32,
    pass: Pass,
    /// A list of this incarnation is complete and none is under way.
    complete: bool,
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
    /// It was given the snapshot.
    joined: bool,
}

/// The consequences of one step.
#[derive(Debug, Default)]
struct Update {
    changes: Vec<Change>,
    status: bool,
    /// A list is complete, or the kind is not served any more.
    synced: Option<bool>,
}

// === impl Kind: registrars and watches ===

impl Kind {
    pub(super) fn new(store: StoreHandle) -> Self {
        Self { store, watches: BTreeMap::new(), subscribers: Vec::new(), idle: None }
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
        self.subscribers.push(Subscriber { id, epoch, slot, queue, scope, filter: None, joined: false });
    }

    /// Makes the watches the union of the scopes. A watch whose selection changes starts again, on the same store.
    pub(super) fn reconcile(&mut self, now: Instant, gvk: &Gvk, counter: &mut u64) -> Vec<Effect> {
        let union = Scope::union(self.subscribers.iter().map(|subscriber| &subscriber.scope));
        self.refilter(now, &union);
        let id = |part: &Part| WatchId { gvk: Arc::clone(gvk), part: part.clone() };
        let mut effects = Vec::new();
        self.watches.retain(|part, watch| {
            let current = union.get(part) == Some(&watch.selection);
            if !current {
                effects.push(Effect::Stop(id(part)));
            }
            current
        });
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

    /// Prepares for other watches. The server applies a field selector of which the client can only test the text, so
    /// objects that were stored under another one are removed unless they pass that test: the list adds what the test
    /// wrongly refused. A registrar is told of the end of what it holds and will not see any more.
    ///
    /// Worked example: registrars want `node=1` and `node=2`, so all objects are stored. The second leaves. What is not
    /// on node 1 goes, and the first, which tested by itself so far, is not told.
    fn refilter(&mut self, now: Instant, union: &BTreeMap<Part, Selection>) {
        let tests = self.new_tests(union);
        let stays = |object: &WatchedObject| {
            tests.iter().all(|(part, test)| !is_in(object, part) || test.accepts(object))
        };
        let store = self.store.read();
        for subscriber in &mut self.subscribers {
            let filter = subscriber.scope.filter(union);
            if !subscriber.joined || tests.is_empty() && filter == subscriber.filter {
                subscriber.filter = filter;
                continue;
            }
            let held = store.snapshot().filter(|(_, object)| subscriber.accepts(object));
            let mut held: Vec<_> = held.collect();
            subscriber.filter = filter;
            held.retain(|(_, object)| !stays(object) || !subscriber.accepts(object));
            subscriber.queue.deliver(|backlog| {
                for (id, object) in held {
                    backlog.offer(subscriber.slot, subscriber.epoch, now, &Change::deleted(id, object));
                }
            });
        }
        drop(store);
        if !tests.is_empty() {
            self.store.write().keep(stays);
        }
    }

    /// The field selectors that have to be tested once, for the parts in which another one, or none, applied before.
    fn new_tests(&self, union: &BTreeMap<Part, Selection>) -> Vec<(Part, Filter)> {
        let is_new = |part: &Part, selection: &Selection| {
            let meeting =
                self.watches.iter().filter(|(other, _)| *other == part || other.is_none() || part.is_none());
            meeting.into_iter().any(|(_, watch)| watch.selection.fields() != selection.fields())
        };
        let parts = union.iter().filter(|(part, selection)| is_new(part, selection));
        parts
            .filter_map(|(part, selection)| Some((part.clone(), Filter::fields(selection.fields()?))))
            .collect()
    }

    /// Queues the state so far for a registrar that joins. What follows reaches it like the others: the caller
    /// holds the dispatcher, so nothing comes in between.
    pub(super) fn replay(&mut self, now: Instant, id: RegistrarId) {
        let watches = &self.watches;
        let Some(subscriber) = self.subscribers.iter_mut().find(|subscriber| subscriber.id == id) else {
            return;
        };
        subscriber.joined = true;
        let subscriber = &*subscriber;
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
    pub(super) fn step(&mut self, now: Instant, part: &Part, incarnation: Incarnation, step: Step) {
        let Some(watch) = self.watches.get_mut(part).filter(|watch| watch.incarnation == incarnation) else {
            return;
        };
        let update = watch.apply(&self.store, now, part, step);
        if update.status || update.synced.is_some() {
            self.update_store(now);
        }
        for subscriber in &self.subscribers {
            subscriber.offer(now, part, &self.watches, &update);
        }
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

// === impl Watch ===

impl Watch {
    fn new(incarnation: Incarnation, selection: Selection) -> Self {
        let (status, pass) = (GvkStatus::Pending, Pass::default());
        Self { incarnation, selection, status, attempts: 0, pass, complete: false }
    }

    fn apply(&mut self, handle: &StoreHandle, now: Instant, part: &Part, step: Step) -> Update {
        let mut store = handle.write();
        if !matches!(step, Step::Status(..) | Step::Gone | Step::ListStarted) {
            store.contact(now);
        }
        match step {
            Step::Status(status, attempts) => {
                self.attempts = attempts;
                self.status = status;
                Update { status: true, ..Update::default() }
            }
            Step::Contact => Update::default(),
            Step::ListStarted => {
                self.pass = store.begin_list();
                self.complete = false;
                store.set_synced(false);
                Update::default()
            }
            Step::Listed(objects) => {
                let changes = objects.into_iter().flat_map(|object| store.apply(object, self.pass));
                Update::of(changes.collect())
            }
            Step::ListDone => {
                self.complete = true;
                Update { synced: Some(true), ..Update::of(store.finish_list(part, self.pass)) }
            }
            Step::Applied(object) => Update::of(store.apply(object, self.pass)),
            Step::Deleted(object) => Update::of(store.delete(object).into_iter().collect()),
            Step::Undecodable => {
                store.count_undecodable();
                Update::default()
            }
            Step::Gone => {
                self.complete = false;
                Update { synced: Some(false), ..Update::of(store.clear(part)) }
            }
        }
    }
}

// === impl Subscriber ===

impl Subscriber {
    /// Whether every watch that serves the scope is complete.
    fn is_covered(&self, watches: &BTreeMap<Part, Watch>) -> bool {
        watches.iter().all(|(part, watch)| watch.complete || !self.scope.uses(part))
    }

    fn status(&self, watches: &BTreeMap<Part, Watch>) -> GvkStatus {
        let mine = watches.iter().filter(|(part, _)| self.scope.uses(part));
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
        if !self.scope.uses(part) {
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

// === impl Update ===

impl Update {
    fn of(changes: Vec<Change>) -> Self {
        Self { changes, ..Self::default() }
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
