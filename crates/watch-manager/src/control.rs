//! The requests of the handles to the driver. They are sets and not queues: a registrar that changes its kinds a
//! thousand times before the driver looks is noted once, so every call is immediate and nothing grows without
//! bound.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::core::GroupVersionKind;
use tokio::sync::Notify;

use crate::backlog::Backlog;
use crate::error::Error;
use crate::intents::{RegistrarId, StoreKey, sort_key};
use crate::queue::EventQueue;
use crate::store::Stores;
use crate::telemetry;

#[derive(Debug, Default)]
pub(crate) struct Control {
    state: Mutex<State>,
    notify: Notify,
    stores: Arc<Stores>,
}

/// Held by every handle; when the last is dropped, the driver ends.
pub(crate) struct Alive {
    control: Arc<Control>,
}

#[derive(Debug, Default)]
struct State {
    names: HashMap<Arc<str>, RegistrarId>,
    registrars: BTreeMap<RegistrarId, (Arc<str>, Arc<EventQueue>)>,
    next_id: u64,
    /// Registrars that the driver knows, and is notified of when they go.
    known: BTreeSet<RegistrarId>,
    requests: Requests,
}

/// The requests since the driver looked last.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) changed: BTreeMap<RegistrarId, Arc<EventQueue>>,
    pub(crate) dropped: BTreeSet<RegistrarId>,
    /// Kinds to discover at once.
    pub(crate) hints: HashSet<GroupVersionKind>,
    pub(crate) flush: bool,
    pub(crate) over: bool,
}

// === impl Control: the handles' side ===

impl Control {
    pub(crate) fn stores(&self) -> &Arc<Stores> {
        &self.stores
    }

    /// Makes a registrar with this queue.
    pub(crate) fn register(
        &self,
        name: &Arc<str>,
        queue: EventQueue,
    ) -> Result<(RegistrarId, Arc<EventQueue>), Error> {
        let mut state = self.lock();
        if state.requests.over {
            return Err(Error::ShutDown);
        }
        if state.names.contains_key(name) {
            return Err(Error::DuplicateName { name: name.to_string() });
        }
        state.next_id = state.next_id.saturating_add(1);
        let id = RegistrarId(state.next_id);
        let queue = Arc::new(queue);
        state.names.insert(Arc::clone(name), id);
        state.registrars.insert(id, (Arc::clone(name), Arc::clone(&queue)));
        Ok((id, queue))
    }

    /// The registrar is gone; its name is free.
    pub(crate) fn unregister(&self, id: RegistrarId, name: &str) {
        let mut state = self.lock();
        state.names.remove(name);
        state.registrars.remove(&id);
        telemetry::left(name);
        state.requests.changed.remove(&id);
        if state.known.remove(&id) {
            state.requests.dropped.insert(id);
        }
        drop(state);
        self.notify.notify_one();
    }

    /// The registrar's kinds changed.
    pub(crate) fn post(&self, id: RegistrarId) {
        let mut state = self.lock();
        if let Some(queue) = state.registrars.get(&id).map(|(_, queue)| Arc::clone(queue)) {
            state.requests.changed.insert(id, queue);
        }
        drop(state);
        self.notify.notify_one();
    }

    /// Only a kind that is asked for has use for the hint.
    pub(crate) fn hint(&self, gvk: &GroupVersionKind) {
        if !self.stores.of_kind(gvk).is_empty() {
            self.lock().requests.hints.insert(gvk.clone());
            self.notify.notify_one();
        }
    }

    pub(crate) fn flush(&self) {
        self.lock().requests.flush = true;
        self.notify.notify_one();
    }

    pub(crate) fn end(&self) {
        self.lock().requests.over = true;
        self.notify.notify_one();
    }

    /// The registrars by name.
    pub(crate) fn registrars(&self) -> Vec<(Arc<str>, Arc<EventQueue>)> {
        self.lock().registrars.values().cloned().collect()
    }

    /// The kinds that registrars ask for.
    pub(crate) fn intended(&self) -> Vec<GroupVersionKind> {
        let kinds: HashSet<_> = self.intended_stores().into_iter().map(|store| store.gvk).collect();
        let mut kinds: Vec<_> = kinds.into_iter().map(|gvk| (*gvk).clone()).collect();
        kinds.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        kinds
    }

    /// The stores of what registrars ask for.
    fn intended_stores(&self) -> HashSet<StoreKey> {
        self.registrars().iter().flat_map(|(_, queue)| queue.look(Backlog::stores)).collect()
    }
}

// === impl Control: the driver's side ===

impl Control {
    /// Waits for a request. Cancel-safe.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    pub(crate) fn take(&self) -> Requests {
        let mut state = self.lock();
        let over = state.requests.over;
        let requests = std::mem::take(&mut state.requests);
        state.requests.over = over;
        state.known.extend(requests.changed.keys());
        requests
    }

    /// Calls `close` if no change of a registrar's kinds waits to be taken, and lets none be posted meanwhile. Otherwise the
    /// driver is notified, and may try again.
    ///
    /// Worked example: one registrar leaves the kind `A`, and another asks for it before `A` is closed. Its call returns the
    /// store of `A`, so it has posted its change before that: `A` is not closed. If the call is not so far, the store that it
    /// returns is opened after the close.
    pub(crate) fn if_taken(&self, close: impl FnOnce()) {
        let state = self.lock();
        if state.requests.changed.is_empty() {
            close();
        }
    }

    /// Closes the stores of kinds that were removed before the driver saw them. A store of a kind that is asked
    /// for in this moment is kept.
    pub(crate) fn prune(&self, runs: impl Fn(&StoreKey) -> bool) {
        let intended = self.intended_stores();
        self.if_taken(|| self.stores.retain(|store| runs(store) || intended.contains(store)));
    }

    /// The driver has ended: every stream ends, every store closes, nothing can be made any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.requests = Requests { over: true, ..Requests::default() };
        let queues: Vec<_> = state.registrars.values().map(|(_, queue)| Arc::clone(queue)).collect();
        drop(state);
        for queue in queues {
            queue.finish();
        }
        self.stores.end();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Alive ===

impl Alive {
    pub(crate) fn new(control: &Arc<Control>) -> Self {
        Self { control: Arc::clone(control) }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.control.end();
    }
}
