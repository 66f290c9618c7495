//! The conditions `Reconciling` and `Stalled`, which kstatus (Flux, Helm) reads. Each is present only while it is true, and
//! never both are.
//!
//! Flux gives up at the first `Stalled=True`, so it is said only of what does not change without a user: an error that some
//! pod does not retry, a pod that says that it will not enforce what it has ingested ([`crate::Shape::idle_until_changed`]), and a
//! rollout that is held after its deadline, whatever holds it. A lack of pods that can enforce
//! (`NoEnforcementPoint`), or of a fence in one of them (`FenceMissing`), is not enough by itself: it is about the pods of the
//! moment, whose successors may be starting, and nothing is wrong with the parent.

use crate::answer::{Answer, INGEST_ERROR, NOT_ENFORCING};

const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";

/// The reasons that these conditions have in this release and in those before.
const REASONS: [&str; 10] = [
    "Activating",
    "DeadlineActivated",
    "DeadlineExceeded",
    "FenceMissing",
    INGEST_ERROR,
    "IngestRetried",
    "NoEnforcementPoint",
    "NoPods",
    NOT_ENFORCING,
    "WaitingForPods",
];

/// Returns true if this crate writes these conditions with that reason.
pub(crate) fn is_reason(reason: &str) -> bool {
    REASONS.contains(&reason)
}

/// Returns true for the types of these conditions.
pub(crate) fn is_progress(type_: &str) -> bool {
    [RECONCILING, STALLED].contains(&type_)
}

/// The condition to be present, if any. It repeats the reason and the message of the one that it explains, which is
/// `Ingested` or `Ready`. `is_stuck`: the time of a rollout is over and it is not activated, or a pod will not enforce it.
pub(crate) fn of(ingested: &Answer, ready: &Answer, is_stuck: bool) -> Option<(&'static str, Answer)> {
    if ready.is_true() {
        return None;
    }
    let (type_, explained) = if ingested.reason == INGEST_ERROR {
        (STALLED, ingested)
    } else if is_stuck {
        (STALLED, ready)
    } else {
        (RECONCILING, ready)
    };
    Some((type_, Answer { status: "True", ..explained.clone() }))
}
