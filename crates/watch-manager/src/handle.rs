//! The handle of one kind of one registrar: its state, its store, and its readiness as a future.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::core::GroupVersionKind;
use tokio::time::timeout;

use crate::backlog::Backlog;
use crate::error::NotReadyError;
use crate::event::GvkStatus;
use crate::intents::{Epoch, StoreKey};
use crate::queue::EventQueue;
use crate::store::{StoreHandle, Stores};

/// One kind that a registrar asks for. Dropping the handle does not remove the kind.
///
/// A handle belongs to one stay of the kind: after the kind was removed and added again it reports
/// [`NotReadyError::Removed`].
#[must_use = "a kind that is not served or forbidden is not an error of the call: wait until it is ready, or discard the handle with `let _ =`"]
#[derive(Clone)]
pub struct WatchHandle {
    key: StoreKey,
    epoch: Epoch,
    queue: Arc<EventQueue>,
    stores: Arc<Stores>,
    /// The store at the time of the call that made the handle.
    store: StoreHandle,
}

// === impl WatchHandle ===

impl WatchHandle {
    pub(crate) fn new(key: StoreKey, epoch: Epoch, queue: Arc<EventQueue>, stores: Arc<Stores>) -> Self {
        let store = stores.open(&key);
        Self { key, epoch, queue, stores, store }
    }

    /// Returns the kind, as it was asked for.
    pub fn gvk(&self) -> &GroupVersionKind {
        &self.key.gvk
    }

    /// Returns the state of the kind for this registrar; `None` if it was removed.
    pub fn status(&self) -> Option<GvkStatus> {
        let stays = |backlog: &Backlog| backlog.epoch(&self.key.gvk) == Some(self.epoch);
        self.queue.look(|backlog| backlog.status(&self.key.gvk).filter(|_| stays(backlog)).cloned())
    }

    /// Returns the objects of the kind, of those that the interest's field selector selects. The store exists as soon as the kind
    /// is asked for, empty at first; closed if no registrar asks for it any more.
    pub fn store(&self) -> StoreHandle {
        self.stores.get(&self.key).unwrap_or_else(|| self.store.clone())
    }

    /// Waits until every object that existed when the kind was listed is queued for the registrar.
    ///
    /// # Guarantees
    /// It is cancel-safe, and any number of callers may wait. It returns at once if the kind is ready already.
    ///
    /// # Assumptions
    /// The driver runs. There is no deadline: a kind that is not served, or forbidden, becomes ready when that changes. Use
    /// [`ready_within`](Self::ready_within) to give up with its state.
    ///
    /// # Errors
    /// [`NotReadyError::Removed`] when the registrar removes the kind, [`NotReadyError::ShutDown`] when the driver ends.
    pub async fn ready(&self) -> Result<(), NotReadyError> {
        self.queue.wait_synced(&self.key.gvk, self.epoch).await
    }

    /// Waits until the registrar's consumer has worked through the snapshot: it was given every object and
    /// [`Synced`](crate::EventKind::Synced), and asked for the next event after that. For a consumer that must not
    /// answer before it knows everything.
    ///
    /// # Guarantees
    /// It is cancel-safe, and any number of callers may wait.
    ///
    /// # Assumptions
    /// As [`ready`](Self::ready). The registrar has a single reader: one stream, or calls of `next` one after the other.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub async fn consumed(&self) -> Result<(), NotReadyError> {
        self.queue.wait_consumed(&self.key.gvk, self.epoch).await
    }

    /// Waits as [`ready`](Self::ready) does, for at most `limit`.
    ///
    /// # Guarantees
    /// It is cancel-safe. The kind goes on starting after the time is over.
    ///
    /// # Errors
    /// As [`ready`](Self::ready), and [`NotReadyError::TimedOut`] with the state of the kind.
    pub async fn ready_within(&self, limit: Duration) -> Result<(), NotReadyError> {
        timeout(limit, self.ready()).await.unwrap_or_else(|_| {
            let status = self.status().unwrap_or_default();
            Err(NotReadyError::TimedOut { kind: self.key.gvk.kind.clone(), status })
        })
    }
}

impl fmt::Debug for WatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchHandle").field("gvk", &self.key.gvk).finish_non_exhaustive()
    }
}
