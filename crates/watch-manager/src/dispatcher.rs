//! Joins the pure parts: the intents, one store per kind, one backlog per registrar. A command goes in; changed
//! stores and backlogs, and the watches to start and stop, come out. It performs no I/O and has no clock, so
//! that its tests can walk through every interleaving; `driver` runs it.
//!
//! No command takes long: a registrar that joins late is given what the store holds in portions, and everything else goes on
//! between them; see `kind`.
//!
//! Worked example, with portions of one object. Registrar `a` follows a kind and has read everything; the store holds `x@1` (version 1
//! of `x`) and `y@2`. Registrar `b` joins late, and reads nothing until the end. Each row is one command:
//!
//! | command | store afterwards | queued for `a` | backlog of `b` afterwards |
//! |---|---|---|---|
//! | `Assign(b)`: the first portion | `x@1 y@2` | | `x@1` |
//! | `Step(Applied(x@3))` | `x@3 y@2` | apply `x@3` | `x@3`: the queued object is replaced |
//! | `Step(Deleted(y))` | `x@3` | delete `y` | `x@3`: `y` was to come with a later portion |
//! | `Step(Applied(z@5))` | `x@3 z@5` | apply `z@5` | `x@3 z@5`: `z` is newer than the snapshot |
//! | `Replay`: the rest, which is empty | `x@3 z@5` | | `x@3 z@5`, the end of the snapshot, the state |
//!
//! So `b` is given each object once and in its last form, is given no delete of an object that it never had, and has at the end of
//! the snapshot what the store has.
//!
//! Consumers run on other threads meanwhile. A step changes the store and releases its lock before it queues anything: a consumer
//! that is given `x@3` finds `x@3` or a later form in the store, never `x@1`. Locks are taken in the order control, list of stores,
//! store, backlog (`Replay` holds the store's while it fills a backlog), and the calls of handles hold one at a time. So the driver
//! never waits for a backlog whose reader waits for the driver's lock of the store.

mod kind;
mod watch;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use self::kind::Kind;
use crate::event::GvkStatus;
use crate::intents::{Gvk, Intents, RegistrarId, Stay, StoreKey};
use crate::interest::{Part, Selection};
use crate::object::{Remains, WatchedObject};
use crate::queue::EventQueue;
use crate::store::Stores;

/// One run of a watch. What arrives late from a stopped run is recognised by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Incarnation(pub(crate) u64);

/// One watch: a kind, or the objects that a field selector selects, in all namespaces or in one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WatchId {
    pub(crate) gvk: Gvk,
    pub(crate) fields: Option<Arc<str>>,
    pub(crate) part: Part,
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    intents: Intents,
    kinds: HashMap<StoreKey, Kind>,
    queues: HashMap<RegistrarId, Arc<EventQueue>>,
    stores: Arc<Stores>,
    /// The last incarnation.
    counter: u64,
    /// Objects that a registrar is given at once.
    portion: usize,
    /// Registrars that have not been given all objects of a store yet, in the order of their turns.
    replays: VecDeque<(StoreKey, RegistrarId)>,
}

/// An input.
#[derive(Debug)]
pub(crate) enum Command {
    /// A registrar changed its intents.
    Assign(RegistrarId, Arc<EventQueue>),
    /// A registrar is gone.
    Drop(RegistrarId),
    /// A watch made a step.
    Step(WatchId, Incarnation, Step),
    /// A kind without registrars is to end, unless one has joined it since.
    Expire(StoreKey, Incarnation),
    /// Gives the next registrar whose turn it is another portion of a snapshot; see [`Dispatcher::is_replaying`].
    Replay,
}

/// A report of one watch.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The state, and the failed attempts since the watch was last ready.
    Status(GvkStatus, u32),
    /// The server sent something without consequences for the objects.
    Contact,
    /// A list starts, or starts again.
    ListStarted,
    /// A page of the list.
    Listed(Vec<Arc<WatchedObject>>),
    ListDone,
    Applied(Arc<WatchedObject>),
    Deleted(Arc<WatchedObject>),
    /// The list has an object, or the watch added or modified one, that cannot be read.
    Unreadable(Remains),
    /// The watch deleted an object whose final form cannot be read.
    UnreadableDeleted(Remains),
    /// The kind is not served any more.
    Gone,
}

/// An action that the driver has to perform.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Start {
        id: WatchId,
        incarnation: Incarnation,
        selection: Selection,
        /// It counts as ready, because what it follows was followed until this time.
        followed_until: Option<Instant>,
    },
    Stop(WatchId),
    /// The watch covers more objects than before: it lists them all again.
    StartOver(WatchId),
    /// The kind has no registrars: send [`Command::Expire`] after the linger time, and when no registrar that asks for it is
    /// still to be assigned.
    Linger(StoreKey, Incarnation),
}

// === impl WatchId ===

impl WatchId {
    fn new(store: &StoreKey, part: Part) -> Self {
        Self { gvk: Arc::clone(&store.gvk), fields: store.fields.clone(), part }
    }

    /// The store that it fills.
    pub(crate) fn store(&self) -> StoreKey {
        StoreKey { gvk: Arc::clone(&self.gvk), fields: self.fields.clone() }
    }
}

// === impl Step ===

impl Step {
    /// Returns true if it reports that objects exist, or do not.
    pub(crate) fn reports_objects(&self) -> bool {
        matches!(self, Self::Listed(_) | Self::ListDone | Self::Applied(_) | Self::Deleted(_))
            || self.is_unreadable()
    }

    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::UnreadableDeleted(_))
    }
}

// === impl Dispatcher ===

impl Dispatcher {
    /// A registrar that joins is given `portion` objects at once.
    pub(crate) fn new(stores: Arc<Stores>, portion: usize) -> Self {
        Self {
            intents: Intents::default(),
            kinds: HashMap::new(),
            queues: HashMap::new(),
            stores,
            counter: 0,
            portion,
            replays: VecDeque::new(),
        }
    }

    pub(crate) fn run(&mut self, now: Instant, command: Command) -> Vec<Effect> {
        match command {
            Command::Assign(id, queue) => {
                let intents = queue.intents();
                self.queues.insert(id, queue);
                self.assign(now, id, intents)
            }
            Command::Drop(id) => {
                // Intents in nothing: it leaves its kinds as if it had removed each.
                let effects = self.assign(now, id, HashMap::new());
                self.queues.remove(&id);
                effects
            }
            Command::Step(watch, incarnation, step) => {
                // A stopped watch may have a step on its way; its kind may be gone, or have another incarnation.
                let kind = self.kinds.get_mut(&watch.store());
                kind.map_or_else(Vec::new, |kind| {
                    kind.step(now, &watch, incarnation, step, &mut self.counter)
                })
            }
            Command::Expire(store, token) => {
                // A registrar that has joined since has cleared the token; one that has left again has set another.
                let expired = self.kinds.get(&store).is_some_and(|kind| kind.idle == Some(token));
                if expired { self.stop(&store) } else { Vec::new() }
            }
            Command::Replay => {
                if let Some((store, id)) = self.replays.pop_front() {
                    self.replay(now, store, id);
                }
                Vec::new()
            }
        }
    }

    /// Returns true if a snapshot is not queued completely: send [`Command::Replay`].
    pub(crate) fn is_replaying(&self) -> bool {
        !self.replays.is_empty()
    }

    pub(crate) fn contains(&self, store: &StoreKey) -> bool {
        self.kinds.contains_key(store)
    }

    /// The kinds that wait for a [`Command::Expire`].
    pub(crate) fn idle(&self) -> Vec<(StoreKey, Incarnation)> {
        self.kinds.iter().filter_map(|(store, kind)| Some((store.clone(), kind.idle?))).collect()
    }

    fn assign(&mut self, now: Instant, id: RegistrarId, intents: HashMap<Gvk, Stay>) -> Vec<Effect> {
        // Leaving first: a kind that is asked for in another scope is left and joined, and has one subscriber of the registrar.
        let difference = self.intents.assign(id, intents);
        for store in &difference.left {
            if let Some(kind) = self.kinds.get_mut(store) {
                kind.leave(id);
            }
        }
        let mut effects = Vec::new();
        let joins: Vec<_> = difference.joined.iter().map(|(gvk, stay)| stay.store(gvk)).collect();
        for ((_, stay), store) in difference.joined.into_iter().zip(&joins) {
            effects.extend(self.join(now, id, store, stay));
        }
        // Last, and without the kinds just joined: a change of the scope must not close the store, nor stop a watch that the new
        // scope needs as well.
        for store in difference.left.iter().filter(|store| !joins.contains(store)) {
            effects.extend(self.left(now, store));
        }
        effects
    }

    fn join(&mut self, now: Instant, id: RegistrarId, store: &StoreKey, stay: Stay) -> Vec<Effect> {
        let Some(queue) = self.queues.get(&id).map(Arc::clone) else { return Vec::new() };
        let stores = &self.stores;
        let kind = self.kinds.entry(store.clone()).or_insert_with(|| Kind::new(stores.open(store)));
        kind.join(id, queue, stay);
        // Before the snapshot: what no watch covers any more must not be part of it.
        let effects = kind.reconcile(now, store, &mut self.counter);
        kind.begin_replay(id);
        self.replay(now, store.clone(), id);
        effects
    }

    fn replay(&mut self, now: Instant, store: StoreKey, id: RegistrarId) {
        let kind = self.kinds.get_mut(&store);
        if kind.is_some_and(|kind| kind.replay(now, id, self.portion)) {
            // At the back: several registrars that join at once take turns.
            self.replays.push_back((store, id));
        }
    }

    /// The last registrar may have left the kind.
    fn left(&mut self, now: Instant, store: &StoreKey) -> Vec<Effect> {
        let Some(kind) = self.kinds.get_mut(store) else { return Vec::new() };
        if !kind.is_empty() {
            return kind.reconcile(now, store, &mut self.counter);
        }
        self.counter = self.counter.wrapping_add(1);
        kind.idle = Some(Incarnation(self.counter));
        vec![Effect::Linger(store.clone(), Incarnation(self.counter))]
    }

    fn stop(&mut self, store: &StoreKey) -> Vec<Effect> {
        // Handles may hold the store: it is emptied and says that it is closed, and is not only forgotten.
        self.stores.close(store);
        let parts = self.kinds.remove(store).into_iter().flat_map(Kind::into_parts);
        parts.map(|part| Effect::Stop(WatchId::new(store, part))).collect()
    }
}

#[cfg(test)]
mod tests;
