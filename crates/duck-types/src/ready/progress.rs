//! The progress of an object, and the conditions that it is read from.

use serde::Deserialize;

/// The progress of an object towards its specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The specification is reached.
    Current,
    /// The controller is at work, or has not seen the specification yet.
    InProgress(String),
    /// The controller has given up.
    Failed(String),
    /// The object is being deleted.
    Terminating,
    /// The rules give no answer, for this reason: an object without a kind, or a pod in an unknown phase.
    Unknown(String),
}

/// As much of a condition as the rules need; the conditions of some kinds have no more.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Signal {
    pub(super) r#type: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Signal {
    pub(super) fn is(&self, r#type: &str, status: &str) -> bool {
        self.r#type == r#type && self.status == status
    }
}
