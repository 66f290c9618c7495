//! The open connections and requests, each with the signal that ends it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::eviction::{Admission, Peer, Phase, Roster};
use crate::limits::Limits;

/// The open connections: a roster, with the means to end the ones that it evicts.
#[derive(Debug)]
pub(crate) struct Places(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    roster: Roster,
    evictions: BTreeMap<u64, CancellationToken>,
}

/// An entry of the roster, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    id: u64,
    evicted: CancellationToken,
}

impl Places {
    pub(crate) fn new(limit: usize, per_peer: usize) -> Arc<Self> {
        let inner = Inner { roster: Roster::new(limit, per_peer), evictions: BTreeMap::new() };
        Arc::new(Self(Mutex::new(inner)))
    }

    /// A place for a newcomer, or `None` where everything that is there is busy.
    pub(crate) fn take(self: &Arc<Self>, peer: Peer, phase: Phase) -> Option<Place> {
        let mut inner = self.lock();
        let Admission::Admitted { id, evicted } = inner.roster.admit(peer, phase) else { return None };
        if let Some(token) = evicted.and_then(|evicted| inner.evictions.remove(&evicted)) {
            token.cancel();
        }
        let token = CancellationToken::new();
        inner.evictions.insert(id, token.clone());
        Some(Place { places: self.clone(), id, evicted: token })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub(crate) fn mark(&self, phase: Phase) {
        self.places.lock().roster.mark(self.id, phase);
    }

    pub(crate) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.places.lock();
        inner.roster.remove(self.id);
        inner.evictions.remove(&self.id);
    }
}

/// One connection: its place, and what it is doing.
#[derive(Debug)]
pub(crate) struct Connection {
    place: Place,
    activity: watch::Sender<Activity>,
}

#[derive(Clone, Copy, Debug)]
struct Activity {
    reading: usize,
    judging: usize,
    asked: bool,
    since: Instant,
}

impl Activity {
    fn phase(&self) -> Phase {
        match self {
            Self { judging: 1.., .. } => Phase::Busy,
            Self { reading: 1.., .. } => Phase::Reading,
            Self { asked: true, .. } => Phase::Idle,
            Self { .. } => Phase::Silent,
        }
    }
}

impl Connection {
    pub(crate) fn new(place: Place) -> Arc<Self> {
        let activity = Activity { reading: 0, judging: 0, asked: false, since: Instant::now() };
        Arc::new(Self { place, activity: watch::Sender::new(activity) })
    }

    pub(crate) async fn evicted(&self) {
        self.place.evicted().await;
    }

    /// Waits until the connection has been without a request for longer than the limits allow.
    pub(crate) async fn silent_for_too_long(&self, limits: &Limits) {
        let mut activity = self.activity.subscribe();
        loop {
            let now = *activity.borrow_and_update();
            let patience = if now.asked { limits.idle } else { limits.first_request };
            let over = match now.phase() {
                Phase::Silent | Phase::Idle => now.since.checked_add(patience),
                Phase::Reading | Phase::Busy => None,
            };
            let until = async {
                match over {
                    Some(over) => sleep_until(over).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = until => return,
                changed = activity.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Begins a request, which is being read until [`Exchange::received`] and then judged until the drop.
    pub(crate) fn begin(self: &Arc<Self>, place: Place) -> Arc<Exchange> {
        self.change(|activity| activity.reading = activity.reading.saturating_add(1));
        Arc::new(Exchange { connection: self.clone(), place, state: Mutex::new(false) })
    }

    fn change(&self, change: impl FnOnce(&mut Activity)) {
        let mut phase = Phase::Silent;
        self.activity.send_modify(|activity| {
            change(activity);
            activity.asked = true;
            activity.since = Instant::now();
            phase = activity.phase();
        });
        self.place.mark(phase);
    }
}

/// One request on a connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    connection: Arc<Connection>,
    place: Place,
    /// The body is complete.
    state: Mutex<bool>,
}

impl Exchange {
    pub(crate) async fn evicted(&self) {
        self.place.evicted().await;
    }

    /// The body is complete: from now on the request is not evicted.
    pub(crate) fn received(&self) {
        let mut received = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *received, true) {
            self.place.mark(Phase::Busy);
            self.connection.change(|activity| {
                activity.reading = activity.reading.saturating_sub(1);
                activity.judging = activity.judging.saturating_add(1);
            });
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let received = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.connection.change(|activity| {
            let count = if received { &mut activity.judging } else { &mut activity.reading };
            *count = count.saturating_sub(1);
        });
    }
}
