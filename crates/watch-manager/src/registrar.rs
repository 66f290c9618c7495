//! The handle of one consumer: the kinds it asks for, and their events. Its calls change its intents and return;
//! `manager` carries out what follows.

use std::fmt;
use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use kube::core::GroupVersionKind;

use crate::backlog::{Backlog, BacklogStats, Replaced, Wanted};
use crate::control::{Alive, Control};
use crate::error::Error;
use crate::event::{GvkStatus, WatchEvent};
use crate::handle::WatchHandle;
use crate::intents::{RegistrarId, StoreKey};
use crate::interest::Interest;
use crate::queue::EventQueue;
use crate::ready::WatchReadiness;

/// The kinds and events of one consumer. Dropping it removes its kinds, ends its streams and frees its name.
///
/// It never fails on account of a kind: a kind that is not served, or that the client may not list, has a
/// [status](Self::status), and starts when that changes.
///
/// A registrar that does not read delays no other one. Its backlog holds the latest state of each object once, so
/// it is at most as long as the number of live objects, plus one delete for each object that it was given, plus
/// two events for each kind; see [`backlog`](Self::backlog) for its depth and age.
#[must_use = "a dropped registrar watches nothing"]
pub struct Registrar {
    id: RegistrarId,
    name: Arc<str>,
    queue: Arc<EventQueue>,
    control: Arc<Control>,
    _alive: Arc<Alive>,
}

// === impl Registrar ===

impl Registrar {
    pub(crate) fn register(
        control: &Arc<Control>,
        alive: &Arc<Alive>,
        name: &str,
        queue: EventQueue,
    ) -> Result<Self, Error> {
        let name: Arc<str> = name.into();
        let (id, queue) = control.register(&name, queue)?;
        Ok(Self { id, name, queue, control: Arc::clone(control), _alive: Arc::clone(alive) })
    }

    /// Returns the name it was made with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for a kind: all its objects, then every change. Does nothing if the kind is asked for in this scope
    /// already; in another scope, the kind starts again.
    ///
    /// When the driver has ended, the handle reports that: its store is closed, and its waits end with
    /// [`NotReadyError::ShutDown`](crate::NotReadyError::ShutDown).
    pub fn add(&self, interest: impl Into<Interest>) -> WatchHandle {
        let (gvk, scope) = interest.into().into_parts();
        let gvk = Arc::new(gvk);
        let stores = self.control.stores();
        let key = StoreKey::new(&gvk, &scope);
        stores.open(&key);
        let (wanted, epoch) = self.queue.change(|backlog| {
            let wanted = backlog.want(&gvk, &scope);
            (wanted, backlog.epoch(&gvk).unwrap_or_default())
        });
        if wanted != Wanted::Already {
            self.control.post(self.id);
        }
        WatchHandle::new(key, epoch, Arc::clone(&self.queue), Arc::clone(stores))
    }

    /// Removes a kind. When this returns, no event of it is delivered any more, not even one that was
    /// queued; no deletes are made up for its objects. Returns true if it was asked for.
    pub fn remove(&self, gvk: &GroupVersionKind) -> bool {
        let removed = self.queue.change(|backlog| backlog.unwant(gvk));
        if removed {
            self.control.post(self.id);
        }
        removed
    }

    /// Makes `interests` the only kinds. A kind in both the old and the new list is not affected. A registrar has one
    /// interest in a kind: of several in this list, the last counts, and the kind is in [`Replaced::repeated`].
    pub fn replace(&self, interests: impl IntoIterator<Item = impl Into<Interest>>) -> Replaced {
        // Before the lock: the iterator is the caller's, and may call this registrar.
        let interests: Vec<Interest> = interests.into_iter().map(Into::into).collect();
        let replaced = self.queue.change(|backlog| backlog.want_only(interests));
        if !replaced.is_empty() {
            self.control.post(self.id);
        }
        // After `post`: the driver may close a store whose kind it does not know yet.
        for key in self.queue.look(Backlog::stores) {
            self.control.stores().open(&key);
        }
        replaced
    }

    /// Delivers every object of a kind again, as if the kind were removed and added in the same scope. The server is not
    /// asked. For a consumer that has lost what it knew, or looks at everything once in a while. `None` if the kind is not
    /// asked for.
    pub fn resync(&self, gvk: &GroupVersionKind) -> Option<WatchHandle> {
        if self.queue.change(|backlog| backlog.begin_again(gvk)) {
            self.control.post(self.id);
        }
        self.handle(gvk)
    }

    /// Returns the handle of a kind; `None` if it is not asked for.
    pub fn handle(&self, gvk: &GroupVersionKind) -> Option<WatchHandle> {
        let (key, epoch) = self.queue.look(|backlog| backlog.stay(gvk))?;
        let (queue, stores) = (Arc::clone(&self.queue), Arc::clone(self.control.stores()));
        Some(WatchHandle::new(key, epoch, queue, stores))
    }

    /// Returns the state of a kind; `None` if it is not asked for.
    pub fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.queue.status(gvk)
    }

    /// Returns the kinds that are not completely queued yet.
    pub fn readiness(&self) -> WatchReadiness {
        self.queue.readiness()
    }

    /// Returns the size and age of the undelivered events.
    pub fn backlog(&self) -> BacklogStats {
        self.queue.stats()
    }

    /// Waits until `accept` returns true, for instance [`WatchReadiness::is_ready`], and returns what it has accepted.
    ///
    /// # Guarantees
    /// - It is cancel-safe, and any number of callers may wait.
    /// - `accept` is called at once, and again after changes. No lock is held while it runs.
    ///
    /// # Assumptions
    /// The driver runs. There is no deadline: a kind that is not served keeps [`WatchReadiness::is_ready`] false until it is.
    ///
    /// # Errors
    /// [`Error::ShutDown`] when the driver ends before `accept` has returned true.
    pub async fn wait_until(
        &self,
        accept: impl Fn(&WatchReadiness) -> bool,
    ) -> Result<WatchReadiness, Error> {
        self.queue.wait_until(accept).await
    }

    /// Waits for the next event and returns it; `None` when the driver has ended and every event was delivered.
    ///
    /// # Guarantees
    /// - It is cancel-safe: an event is removed from the backlog in the moment in which it is returned.
    /// - The events of a kind begin with a snapshot, then follow the changes: no gap, nothing old after new. No event of a kind is
    ///   returned after [`remove`](Self::remove).
    /// - The call reports that the events before it have been worked through; see
    ///   [`WatchHandle::consumed`](crate::WatchHandle::consumed).
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.queue.next().await
    }

    /// Waits for an event, and returns it with those queued behind it, at most `limit` but at least one; empty at the end. Cheaper
    /// than [`next`](Self::next) for a consumer that publishes after a batch.
    ///
    /// # Guarantees
    /// As [`next`](Self::next). It waits only for the first event.
    pub async fn next_batch(&mut self, limit: usize) -> Vec<WatchEvent> {
        self.queue.next_batch(limit).await
    }

    /// Returns the events as a stream, which can be polled while the kinds are changed.
    ///
    /// # Guarantees
    /// - As [`next`](Self::next). The stream can be dropped at any time: no event is lost, another stream goes on.
    /// - It ends with the registrar, or when the driver has ended and every event was delivered.
    /// - Several streams of a registrar share its events; each event goes to one.
    ///
    /// # Assumptions
    /// The driver runs. While the stream is not polled, events stay in the backlog, see [`backlog`](Self::backlog).
    pub fn events(&self) -> impl Stream<Item = WatchEvent> + Send + Unpin + use<> {
        let events = stream::unfold(Arc::clone(&self.queue), async |queue| {
            let event = queue.next().await?;
            Some((event, queue))
        });
        events.boxed()
    }
}

impl Registrar {
    pub(crate) fn queue(&self) -> &Arc<EventQueue> {
        &self.queue
    }
}

impl Drop for Registrar {
    fn drop(&mut self) {
        self.queue.discard();
        self.control.unregister(self.id, &self.name);
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar").field("name", &self.name).finish_non_exhaustive()
    }
}
