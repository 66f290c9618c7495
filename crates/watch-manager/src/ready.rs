//! Whether a registrar has everything it asked for: a kind is ready when a complete list of it has been
//! queued for the registrar, never when a list has merely begun. Read from `replay`'s backlog; what to do
//! about a kind that cannot become ready is the caller's policy.

use kube::core::GroupVersionKind;

use crate::event::GvkStatus;
use crate::replay::Backlog;
use crate::roster::sort_key;

/// The kinds of a roster that are not ready, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    waiting: Vec<(GroupVersionKind, GvkStatus)>,
}

// === impl Readiness ===

impl Readiness {
    pub(crate) fn of(backlog: &Backlog) -> Self {
        let mut waiting: Vec<_> =
            backlog.unsynced().map(|(gvk, status)| ((**gvk).clone(), status.clone())).collect();
        waiting.sort_by(|(a, _), (b, _)| sort_key(a).cmp(&sort_key(b)));
        Self { waiting }
    }

    /// Every kind of the roster is ready. An empty roster is.
    pub fn is_ready(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Every kind is ready, or waits for an administrator, or is not served: nothing is on its way.
    pub fn is_settled(&self) -> bool {
        self.waiting.iter().all(|(_, status)| status.is_stuck() || *status == GvkStatus::Pending)
    }

    /// The kinds that are not ready, by group, version and kind.
    pub fn waiting(&self) -> &[(GroupVersionKind, GvkStatus)] {
        &self.waiting
    }
}
