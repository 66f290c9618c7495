//! What the handles tell the driver, and what the driver lets everybody read. Requests are sets and not
//! queues: a registrar that changes its roster a thousand times before the driver looks is noted once, so
//! every call is immediate and nothing grows without bound.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::core::GroupVersionKind;
use tokio::sync::Notify;

use crate::error::Error;
use crate::registrar::Mailbox;
use crate::roster::{Gvk, RegistrarId};
use crate::store::StoreHandle;

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    names: HashMap<Arc<str>, RegistrarId>,
    registrars: BTreeMap<RegistrarId, Arc<Mailbox>>,
    next_id: u64,
    /// Registrars that the driver has heard of, and has to be told of when they go.
    known: BTreeSet<RegistrarId>,
    requests: Requests,
    stores: HashMap<Gvk, StoreHandle>,
}

/// What has been asked for since the driver looked last.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) wishes: BTreeMap<RegistrarId, Arc<Mailbox>>,
    pub(crate) dropped: BTreeSet<RegistrarId>,
    pub(crate) hints: HashSet<Gvk>,
    pub(crate) over: bool,
}

// === impl Inbox: the handles' side ===

impl Inbox {
    pub(crate) fn enrol(&self, name: &Arc<str>) -> Result<(RegistrarId, Arc<Mailbox>), Error> {
        let mut state = self.lock();
        if state.requests.over {
            return Err(Error::ShutDown);
        }
        if state.names.contains_key(name) {
            return Err(Error::DuplicateName { name: name.to_string() });
        }
        state.next_id = state.next_id.saturating_add(1);
        let id = RegistrarId(state.next_id);
        let mailbox = Arc::new(Mailbox::default());
        state.names.insert(Arc::clone(name), id);
        state.registrars.insert(id, Arc::clone(&mailbox));
        Ok((id, mailbox))
    }

    /// The registrar is gone; its name is free.
    pub(crate) fn leave(&self, id: RegistrarId, name: &str) {
        let mut state = self.lock();
        state.names.remove(name);
        state.registrars.remove(&id);
        state.requests.wishes.remove(&id);
        if state.known.remove(&id) {
            state.requests.dropped.insert(id);
        }
        drop(state);
        self.bell.notify_one();
    }

    /// The registrar's roster changed.
    pub(crate) fn post(&self, id: RegistrarId) {
        let mut state = self.lock();
        if let Some(mailbox) = state.registrars.get(&id).map(Arc::clone) {
            state.requests.wishes.insert(id, mailbox);
        }
        drop(state);
        self.bell.notify_one();
    }

    /// Only a kind that is watched has use for the hint.
    pub(crate) fn hint(&self, gvk: &GroupVersionKind) {
        let mut state = self.lock();
        if let Some((gvk, _)) = state.stores.get_key_value(gvk) {
            let gvk = Arc::clone(gvk);
            state.requests.hints.insert(gvk);
        }
        drop(state);
        self.bell.notify_one();
    }

    pub(crate) fn end(&self) {
        self.lock().requests.over = true;
        self.bell.notify_one();
    }

    pub(crate) fn store(&self, gvk: &GroupVersionKind) -> Option<StoreHandle> {
        self.lock().stores.get(gvk).cloned()
    }

    pub(crate) fn watched(&self) -> Vec<Gvk> {
        self.lock().stores.keys().map(Arc::clone).collect()
    }
}

// === impl Inbox: the driver's side ===

impl Inbox {
    /// Waits for a request. Cancel-safe.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    pub(crate) fn take(&self) -> Requests {
        let mut state = self.lock();
        let over = state.requests.over;
        let requests = std::mem::take(&mut state.requests);
        state.requests.over = over;
        state.known.extend(requests.wishes.keys());
        requests
    }

    pub(crate) fn publish(&self, gvk: Gvk, store: StoreHandle) {
        self.lock().stores.insert(gvk, store);
    }

    pub(crate) fn withdraw(&self, gvk: &Gvk) {
        self.lock().stores.remove(gvk);
    }

    /// The driver has ended: every stream ends, every store closes, nothing can be made any more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.requests = Requests { over: true, ..Requests::default() };
        let registrars: Vec<_> = state.registrars.values().map(Arc::clone).collect();
        let stores = std::mem::take(&mut state.stores);
        drop(state);
        for mailbox in registrars {
            mailbox.finish();
        }
        for store in stores.into_values() {
            store.write().close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
