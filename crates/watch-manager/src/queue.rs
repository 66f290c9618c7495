//! The backlog of one registrar under a lock, with a wake-up for its consumer. The driver fills it, the registrar
//! empties it.

use std::collections::HashMap;
#[cfg(test)]
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::core::GroupVersionKind;
use tokio::sync::{Notify, watch};

use crate::backlog::{Backlog, BacklogStats};
use crate::error::{Error, NotReadyError};
use crate::event::{GvkStatus, WatchEvent};
use crate::intents::{Epoch, Gvk, Stay};
use crate::ready::WatchReadiness;

#[derive(Debug)]
pub(crate) struct EventQueue {
    backlog: Mutex<Backlog>,
    notify: Notify,
    /// Sends when a status or the readiness of a kind changes.
    status: watch::Sender<()>,
}

enum Next {
    Event(WatchEvent),
    Wait,
    End,
}

// === impl EventQueue: the driver's side ===

impl Default for EventQueue {
    fn default() -> Self {
        Self { backlog: Mutex::default(), notify: Notify::new(), status: watch::Sender::new(()) }
    }
}

impl EventQueue {
    /// The queue of an ordered backlog.
    pub(crate) fn ordered(bound: usize) -> Self {
        Self { backlog: Mutex::new(Backlog::ordered(bound)), ..Self::default() }
    }

    pub(crate) fn intents(&self) -> HashMap<Gvk, Stay> {
        self.lock().intents()
    }

    /// Changes the backlog and wakes the consumer.
    pub(crate) fn deliver(&self, fill: impl FnOnce(&mut Backlog)) {
        let mut backlog = self.lock();
        fill(&mut backlog);
        let waiting = !backlog.is_empty();
        drop(backlog);
        if waiting {
            self.notify.notify_one();
        }
    }

    /// Wakes those who wait for a status.
    pub(crate) fn announce(&self) {
        if self.status.receiver_count() > 0 {
            self.status.send_replace(());
        }
    }

    /// No event will be added; those that are queued are still delivered. No kind is ready from now on.
    pub(crate) fn finish(&self) {
        self.lock().end();
        self.notify.notify_one();
        self.announce();
    }
}

// === impl EventQueue: the registrar's side ===

impl EventQueue {
    /// Changes the kinds that are asked for.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Backlog) -> T) -> T {
        let result = change(&mut self.lock());
        self.announce();
        result
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Backlog) -> T) -> T {
        look(&self.lock())
    }

    pub(crate) fn stats(&self) -> BacklogStats {
        self.look(Backlog::stats)
    }

    /// No event will be added, and none is delivered any more.
    pub(crate) fn discard(&self) {
        let mut ended = Backlog::default();
        ended.end();
        *self.lock() = ended;
        self.notify.notify_one();
        self.announce();
    }

    /// Waits until `accept`, which is the caller's and runs without the lock, returns true. Cancel-safe.
    pub(crate) async fn wait_until(
        &self,
        accept: impl Fn(&WatchReadiness) -> bool,
    ) -> Result<WatchReadiness, Error> {
        let accepted = |readiness: WatchReadiness| Some(readiness).filter(|readiness| accept(readiness));
        self.wait_for(WatchReadiness::of, accepted).await
    }

    /// Waits until `accept` returns something for what `look` sees under the lock. Cancel-safe.
    async fn wait_for<S, T>(
        &self,
        look: impl Fn(&Backlog) -> S,
        accept: impl Fn(S) -> Option<T>,
    ) -> Result<T, Error> {
        let mut changes = self.status.subscribe();
        loop {
            let (seen, finished) = self.look(|backlog| (look(backlog), backlog.has_ended()));
            if let Some(accepted) = accept(seen) {
                return Ok(accepted);
            }
            if finished || changes.changed().await.is_err() {
                return Err(Error::ShutDown);
            }
        }
    }

    /// Waits until the snapshot of this stay of the kind is queued.
    pub(crate) async fn wait_synced(
        &self,
        gvk: &GroupVersionKind,
        epoch: Epoch,
    ) -> Result<(), NotReadyError> {
        self.wait_in(gvk, epoch, |backlog| backlog.is_synced(gvk)).await
    }

    /// Waits until the reader has worked through the snapshot of this stay of the kind.
    pub(crate) async fn wait_consumed(
        &self,
        gvk: &GroupVersionKind,
        epoch: Epoch,
    ) -> Result<(), NotReadyError> {
        self.wait_in(gvk, epoch, |backlog| backlog.is_consumed(gvk)).await
    }

    /// Waits for a state of the kind, in this stay.
    async fn wait_in(
        &self,
        gvk: &GroupVersionKind,
        epoch: Epoch,
        accept: impl Fn(&Backlog) -> bool,
    ) -> Result<(), NotReadyError> {
        let look = |backlog: &Backlog| match backlog.epoch(gvk) {
            Some(now) if now == epoch => accept(backlog).then_some(Ok(())),
            _ => Some(Err(NotReadyError::Removed { kind: gvk.kind.clone() })),
        };
        let reached = self.wait_for(look, |reached| reached);
        reached.await.unwrap_or(Err(NotReadyError::ShutDown))
    }

    pub(crate) fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.look(|backlog| backlog.status(gvk).cloned())
    }

    pub(crate) fn readiness(&self) -> WatchReadiness {
        self.look(WatchReadiness::of)
    }

    /// The next event; `None` at the end. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<WatchEvent> {
        if self.lock().acknowledge() {
            self.announce();
        }
        loop {
            match self.try_next() {
                Next::Event(event) => return Some(event),
                Next::End => return None,
                Next::Wait => self.notify.notified().await,
            }
        }
    }

    /// At least one and at most `limit` events, as many as are there; empty at the end. Cancel-safe.
    pub(crate) async fn next_batch(&self, limit: usize) -> Vec<WatchEvent> {
        let Some(first) = self.next().await else { return Vec::new() };
        let mut backlog = self.lock();
        let mut events = Vec::with_capacity(limit.min(backlog.stats().depth.saturating_add(1)));
        events.push(first);
        while events.len() < limit
            && let Some(event) = backlog.pop()
        {
            events.push(event);
        }
        events
    }

    fn try_next(&self) -> Next {
        let mut backlog = self.lock();
        let event = backlog.pop();
        // One notification wakes one waiting stream, which passes it on while there is more.
        let end = backlog.has_ended();
        let more = end || !backlog.is_empty();
        drop(backlog);
        if more {
            self.notify.notify_one();
        }
        match event {
            Some(event) => Next::Event(event),
            None if end => Next::End,
            None => Next::Wait,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn fork(&self) -> Arc<Self> {
        Arc::new(Self { backlog: Mutex::new(self.lock().clone()), ..Self::default() })
    }
}
