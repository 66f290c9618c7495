//! The result of a decision about one parent.

use crate::decision::WaitingGeneration;
use crate::enforcement_states::EnforcementState;
use crate::epoch::Plan;

/// The result for one parent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// The stored status is right.
    Done(Box<EnforcementState>, Next),
    /// The parent does not exist.
    Gone,
    /// The parent was written by another client after it was read.
    Stale,
    /// The parent is there, and its kind has no subresource `status`: its status cannot be written.
    NoSubresource {
        /// The stored status is `Enforced=True`, and cannot be corrected.
        claims: bool,
    },
}

impl Written {
    /// Returns true if no status claims of a pod what it has given up.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self, Self::Done(..) | Self::Gone | Self::NoSubresource { claims: false })
    }

    /// The same, of this resource version of the parent.
    pub(super) fn at(self, version: Option<String>) -> Self {
        match self {
            Self::Done(state, next) => Self::Done(state, Next { version, ..next }),
            other => other,
        }
    }
}

/// The work left for a parent whose status is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Next {
    pub(crate) waiting: Option<WaitingGeneration>,
    /// A change of the activations of a strict rollout.
    pub(crate) plan: Option<Box<Plan>>,
    /// The resource version of the parent that is decided about with this.
    pub(crate) version: Option<String>,
}
