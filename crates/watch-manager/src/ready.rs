//! The readiness of a registrar: a kind is ready when a complete list of it has been queued for the registrar.
//! The consequences of a kind that cannot become ready are the caller's policy.

use kube::core::GroupVersionKind;

use crate::backlog::Backlog;
use crate::event::GvkStatus;
use crate::intents::sort_key;

/// The kinds of a registrar that are not ready, with their states.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchReadiness {
    waiting: Vec<(GroupVersionKind, GvkStatus)>,
    closed: bool,
}

// === impl WatchReadiness ===

impl WatchReadiness {
    pub(crate) fn of(backlog: &Backlog) -> Self {
        let mut waiting: Vec<_> =
            backlog.unsynced().map(|(gvk, status)| ((**gvk).clone(), status.clone())).collect();
        waiting.sort_by(|(a, _), (b, _)| sort_key(a).cmp(&sort_key(b)));
        Self { waiting, closed: backlog.has_ended() }
    }

    /// Returns true if every kind is ready, also if there is none. Never after the end of the driver.
    pub fn is_ready(&self) -> bool {
        self.waiting.is_empty() && !self.closed
    }

    /// Returns true if the driver has ended: nothing is watched any more, and every kind is [`GvkStatus::Closed`].
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if every kind is ready, or waits for an administrator, or is not served: nothing is being listed. Never after the end of
    /// the driver.
    pub fn is_settled(&self) -> bool {
        !self.closed
            && self.waiting.iter().all(|(_, status)| status.is_stuck() || *status == GvkStatus::Pending)
    }

    /// Returns the kinds that are not ready, by group, version and kind.
    pub fn waiting(&self) -> &[(GroupVersionKind, GvkStatus)] {
        &self.waiting
    }
}
