//! Joins the pure parts: the intents, one store per kind, one backlog per registrar. A command goes in; changed
//! stores and backlogs, and the watches to start and stop, come out. It performs no I/O and has no clock, so
//! that its tests can walk through every interleaving; `manager` runs it.

mod kind;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use self::kind::Kind;
use crate::event::GvkStatus;
use crate::intents::{Gvk, Intents, RegistrarId, Stay};
use crate::interest::{Part, Selection};
use crate::object::WatchedObject;
use crate::queue::EventQueue;
use crate::store::Stores;

/// One run of a watch. What arrives late from a stopped run is recognised by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Incarnation(pub(crate) u64);

/// One watch: a kind, in all namespaces or in one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WatchId {
    pub(crate) gvk: Gvk,
    pub(crate) part: Part,
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    intents: Intents,
    kinds: HashMap<Gvk, Kind>,
    queues: HashMap<RegistrarId, Arc<EventQueue>>,
    stores: Arc<Stores>,
    counter: u64,
    /// Whether a kind without registrars waits for a [`Command::Expire`].
    linger: bool,
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
    /// The linger time of a kind is over.
    Expire(Gvk, Incarnation),
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
    /// The server sent something that is not a Kubernetes object.
    Undecodable,
    /// The kind is not served any more.
    Gone,
}

/// An action that the driver has to perform.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Start(WatchId, Incarnation, Selection),
    Stop(WatchId),
    /// The kind has no registrars: send [`Command::Expire`] after the linger time.
    Linger(Gvk, Incarnation),
}

// === impl Dispatcher ===

impl Dispatcher {
    pub(crate) fn new(stores: Arc<Stores>, linger: bool) -> Self {
        Self {
            intents: Intents::default(),
            kinds: HashMap::new(),
            queues: HashMap::new(),
            stores,
            counter: 0,
            linger,
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
                let effects = self.assign(now, id, HashMap::new());
                self.queues.remove(&id);
                effects
            }
            Command::Step(watch, incarnation, step) => {
                if let Some(kind) = self.kinds.get_mut(&watch.gvk) {
                    kind.step(now, &watch.part, incarnation, step);
                }
                Vec::new()
            }
            Command::Expire(gvk, token) => {
                let expired = self.kinds.get(&gvk).is_some_and(|kind| kind.idle == Some(token));
                if expired { self.stop(&gvk) } else { Vec::new() }
            }
        }
    }

    pub(crate) fn contains(&self, gvk: &Gvk) -> bool {
        self.kinds.contains_key(gvk)
    }

    /// The kinds that wait for the end of their linger time.
    pub(crate) fn idle(&self) -> Vec<(Gvk, Incarnation)> {
        self.kinds.iter().filter_map(|(gvk, kind)| Some((Arc::clone(gvk), kind.idle?))).collect()
    }

    fn assign(&mut self, now: Instant, id: RegistrarId, intents: HashMap<Gvk, Stay>) -> Vec<Effect> {
        let difference = self.intents.assign(id, intents);
        for gvk in &difference.left {
            if let Some(kind) = self.kinds.get_mut(gvk) {
                kind.leave(id);
            }
        }
        let mut effects = Vec::new();
        let joins: Vec<_> = difference.joined.iter().map(|(gvk, _)| Arc::clone(gvk)).collect();
        for (gvk, stay) in difference.joined {
            effects.extend(self.join(now, id, gvk, stay));
        }
        for gvk in difference.left.iter().filter(|gvk| !joins.contains(gvk)) {
            effects.extend(self.left(now, gvk));
        }
        effects
    }

    fn join(&mut self, now: Instant, id: RegistrarId, gvk: Gvk, stay: Stay) -> Vec<Effect> {
        let Some(queue) = self.queues.get(&id).map(Arc::clone) else { return Vec::new() };
        let stores = &self.stores;
        let kind = self.kinds.entry(Arc::clone(&gvk)).or_insert_with(|| Kind::new(stores.open(&gvk)));
        kind.join(id, queue, stay);
        let effects = kind.reconcile(now, &gvk, &mut self.counter);
        kind.replay(now, id);
        effects
    }

    /// The last registrar may have left the kind.
    fn left(&mut self, now: Instant, gvk: &Gvk) -> Vec<Effect> {
        let Some(kind) = self.kinds.get_mut(gvk) else { return Vec::new() };
        if !kind.is_empty() {
            return kind.reconcile(now, gvk, &mut self.counter);
        }
        if !self.linger {
            return self.stop(gvk);
        }
        self.counter = self.counter.wrapping_add(1);
        kind.idle = Some(Incarnation(self.counter));
        vec![Effect::Linger(Arc::clone(gvk), Incarnation(self.counter))]
    }

    fn stop(&mut self, gvk: &Gvk) -> Vec<Effect> {
        self.stores.close(gvk);
        let parts = self.kinds.remove(gvk).into_iter().flat_map(Kind::into_parts);
        parts.map(|part| Effect::Stop(WatchId { gvk: Arc::clone(gvk), part })).collect()
    }
}

#[cfg(test)]
mod tests;
