//! A condition as every Kubernetes status has it, with a schema for the definitions of the demos.

use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A statement about an object, with the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word, for programs.
    pub reason: String,
    /// A sentence that tells the user what to do.
    pub message: String,
    /// The generation that the statement is about.
    pub observed_generation: i64,
    /// The time when the status changed.
    pub last_transition_time: String,
}

// === impl Condition ===

impl Condition {
    /// A condition; its time is that of the one in `before` with the same type and status, or now.
    #[must_use]
    pub fn new(
        before: &[Self],
        r#type: &str,
        holds: bool,
        (reason, message): (&str, &str),
        generation: Option<i64>,
    ) -> Self {
        let status = if holds { "True" } else { "False" };
        let same = before.iter().find(|old| old.r#type == r#type && old.status == status);
        let now = || Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self {
            r#type: r#type.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: generation.unwrap_or_default(),
            last_transition_time: same.map_or_else(now, |old| old.last_transition_time.clone()),
        }
    }

    /// True if one of these conditions has this type, this reason, and speaks about this generation.
    #[must_use]
    pub fn says(all: &[Self], r#type: &str, reason: &str, generation: Option<i64>) -> bool {
        let wanted = |condition: &Self| {
            condition.r#type == r#type
                && condition.reason == reason
                && condition.observed_generation == generation.unwrap_or_default()
        };
        all.iter().any(wanted)
    }
}
