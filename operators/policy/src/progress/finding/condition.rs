//! Conditions of any type, judged by their names.
//!
//! `True` is good for most: `Ready`, `Available`, `Established`. It is bad for names that say failure (`ReplicaFailure`), and
//! it means work for names that say an activity (`RollingOut`, `Deleting`), which are `False` most of the time.

use serde_json::Value;

use super::{About, Finding, Level, text};

/// Parts of names of conditions that report a failure while they are true.
const FAILURES: [&str; 10] = [
    "Failure",
    "Failed",
    "Error",
    "Stalled",
    "Degraded",
    "Invalid",
    "Conflict",
    "Blocked",
    "Denied",
    "Unreachable",
];
/// Parts of names of conditions that report a delay while they are true.
const DELAYS: [&str; 7] =
    ["Remaining", "Pressure", "Unavailable", "Paused", "Suspended", "Limited", "DisruptionTarget"];

/// Activities whose names do not end with `ing`. `ScalingActive` is none: it says that an autoscaler can work.
const ACTIVITIES: [&str; 3] = ["RollingOut", "ScalingUp", "ScalingDown"];

/// The conditions of an object: what has a type.
pub(super) fn all(object: &Value) -> impl Iterator<Item = &Value> {
    let all = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    all.filter(|condition| text(condition, "/type").is_some_and(|r#type| !r#type.is_empty()))
}

/// A finding for each condition; what is as it should be is a note.
pub(super) fn conditions(object: &Value) -> Vec<Finding> {
    all(object)
        .map(|condition| Finding::new(level(condition), About::Condition, sentence(condition)))
        .collect()
}

fn level(condition: &Value) -> Level {
    let of = |field: &str| text(condition, field).unwrap_or_default();
    let (kind, reason, status) = (of("/type"), of("/reason"), of("/status"));
    let has = |parts: &[&str]| parts.iter().any(|part| kind.contains(part));
    let is_activity = kind.ends_with("ing") || ACTIVITIES.contains(&kind);
    // A Deployment says True when it is complete and False when it gave up; others say False when there is nothing to do.
    let gave_up = ["Deadline", "Error", "Failed"].iter().any(|part| reason.contains(part));
    let is_good = match kind {
        "Progressing" => status != "False" || !gave_up,
        _ if has(&FAILURES) || has(&DELAYS) || is_activity => status == "False",
        _ => status == "True",
    };
    match (is_good, status) {
        (true, _) => Level::Note,
        (false, "True") if has(&FAILURES) => Level::Blocking,
        (false, _) => Level::Waiting,
    }
}

/// `Available=False MinimumReplicasUnavailable since 2026-01-01T00:00:00Z: Deployment does not have minimum availability.`
fn sentence(condition: &Value) -> String {
    let part = |name: &str, before: &str| {
        let value = text(condition, name).filter(|value| !value.is_empty());
        value.map_or_else(String::new, |value| format!("{before}{value}"))
    };
    format!(
        "{}={}{}{}{}",
        part("/type", ""),
        part("/status", ""),
        part("/reason", " "),
        part("/lastTransitionTime", " since "),
        part("/message", ": ")
    )
}
