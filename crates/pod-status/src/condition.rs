//! The conditions `Ingested`, `Enforced` and `Ready`: each claims only what every member has reported for
//! the very generation it names. Beside them is `Reconciling` or `Stalled` while `Ready` is not true, see [`progress`].
//!
//! `Ingested` speaks of all members now. `Enforced` speaks of all pods that serve, and once proven for a
//! generation it stays until a pod reports otherwise. This holds for a joining pod, too: it registered
//! after the members of the proof were listed, so it lists the parents later, finds this generation or a newer
//! one, and does not serve before it has ingested it (see [`crate::ReadinessTracker`]).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Deserialize;

use crate::activation_decision::Activated;
use crate::answer::{Answer, INGEST_ERROR, NOT_ENFORCING, NOTHING_TO_ENFORCE};
use crate::progress;
use crate::readiness::ErrorClass;
use crate::shape::Shape;
use crate::vote::{Parent, Vote};
use crate::watermark::few;

/// The most characters of a pod's reason in a message.
const LONGEST_REASON: usize = 500;

/// The conditions for the generation that was read. Those whose status stays keep their transition time.
pub(crate) fn of(
    shape: &Shape,
    parent: &Parent,
    votes: &[Vote<'_>],
    activated: &Activated,
    now: &Time,
) -> Vec<Condition> {
    let ingested = ingested(parent.generation, votes);
    let mut answers = vec![("Ingested", ingested.clone())];
    let ready = if shape.enforcing.is_empty() {
        ingested.clone()
    } else {
        let enforced = enforced(shape, parent, &ingested, votes, activated);
        answers.push(("Enforced", enforced.clone()));
        if enforced.reason == NOTHING_TO_ENFORCE { Answer { status: "True", ..enforced } } else { enforced }
    };
    let is_stuck = activated.is_held || is_idle_until_changed(shape, parent.generation, votes, &ready);
    let progress = progress::of(&ingested, &ready, is_stuck);
    answers.push(("Ready", ready));
    answers.extend(progress.filter(|(type_, _)| !parent.stored.is_taken(type_)));
    let condition = |(type_, answer): (&str, Answer)| Condition {
        last_transition_time: transition_time(parent, type_, answer.status).unwrap_or_else(|| now.clone()),
        message: answer.message,
        observed_generation: Some(parent.generation),
        reason: answer.reason.to_owned(),
        status: answer.status.to_owned(),
        type_: type_.to_owned(),
    };
    answers.into_iter().map(condition).collect()
}

fn ingested(generation: i64, votes: &[Vote<'_>]) -> Answer {
    if votes.is_empty() {
        return Answer::unknown("NoPods", "no pod has registered".to_owned());
    }
    let (reported, waiting): (Vec<&Vote<'_>>, Vec<&Vote<'_>>) =
        votes.iter().partition(|vote| vote.is_about(generation));
    let failed: Vec<&Vote<'_>> = reported.iter().copied().filter(|vote| !vote.is_clean()).collect();
    let is_retried = |vote: &&Vote<'_>| {
        vote.entry.is_some_and(|entry| entry.errors.iter().all(|error| error.class == ErrorClass::Transient))
    };
    if !failed.is_empty() && failed.iter().all(is_retried) {
        let message = format!("{} will try again; see status.byPod", listed(&failed));
        return Answer::no("IngestRetried", message);
    }
    if !failed.is_empty() {
        return Answer::no(INGEST_ERROR, format!("see status.byPod of {}", listed(&failed)));
    }
    if !waiting.is_empty() {
        let message = format!(
            "{} of {} pods have ingested generation {generation}; waiting for {}",
            reported.len(),
            votes.len(),
            listed(&waiting)
        );
        return Answer::unknown("WaitingForPods", message);
    }
    Answer::yes("IngestedByAllPods", format!("{} of {} pods", reported.len(), votes.len()))
}

fn enforced(
    shape: &Shape,
    parent: &Parent,
    ingested: &Answer,
    votes: &[Vote<'_>],
    activated: &Activated,
) -> Answer {
    let enforcing: Vec<&Vote<'_>> = votes.iter().filter(|vote| vote.can_enforce(shape)).collect();
    let now = proof(shape, parent.generation, ingested, votes, &enforcing, activated);
    if now.is_true() || is_contradicted(shape, parent.generation, &enforcing) {
        return now;
    }
    proven(parent).unwrap_or(now)
}

/// Asks those members that enforce at all, once every member has ingested: a member that only audits may
/// still hold the parent back, but cannot make it enforced.
fn proof(
    shape: &Shape,
    generation: i64,
    ingested: &Answer,
    votes: &[Vote<'_>],
    enforcing: &[&Vote<'_>],
    activated: &Activated,
) -> Answer {
    if !votes.is_empty() && enforcing.is_empty() {
        let operations: Vec<&str> = shape.enforcing.iter().map(String::as_str).collect();
        let message = format!("no pod has an operation that enforces: {}", operations.join(", "));
        return Answer::no("NoEnforcementPoint", message);
    }
    if !ingested.is_true() || activated.is_unfenced {
        return late(generation, ingested, activated).unwrap_or_else(|| ingested.clone());
    }
    let idle: Vec<&Vote<'_>> =
        enforcing.iter().copied().filter(|vote| !vote.is_enforced(shape, generation)).collect();
    if !idle.is_empty() && idle.iter().all(|vote| vote.states(shape.nothing_to_enforce.as_ref())) {
        let message = idle_reason(shape, &idle).unwrap_or_else(|| "it asks nothing of the pods".to_owned());
        return Answer::no(NOTHING_TO_ENFORCE, message);
    }
    if !idle.is_empty() && activated.generation == Some(generation) {
        return Answer::no("Activating", format!("activated, waiting for {}", listed(&idle)));
    }
    if !idle.is_empty() {
        let reason = idle_reason(shape, &idle).map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("ingested but not enforced by {}{reason}", listed(&idle));
        return Answer::no(NOT_ENFORCING, message);
    }
    Answer::yes("EnforcedByAllPods", format!("{} of {} pods", enforcing.len(), enforcing.len()))
}

/// The answer after the deadline, while some pod has not ingested the generation.
fn late(generation: i64, ingested: &Answer, activated: &Activated) -> Option<Answer> {
    if activated.is_unfenced {
        let message = "a strict rollout needs a fence in every pod, and one has none".to_owned();
        return Some(Answer::no("FenceMissing", message));
    }
    if activated.is_held {
        let message = format!("not activated although its time is over: {}", ingested.message);
        return Some(Answer::no("DeadlineExceeded", message));
    }
    let is_overdue = activated.is_overdue && activated.generation == Some(generation);
    let message = || format!("activated because its time was over: {}", ingested.message);
    is_overdue.then(|| Answer::no("DeadlineActivated", message()))
}

/// Returns true if a pod reports that it does not enforce the generation, or none reports that it does. A pod that
/// has not reported at all is joining: it does not serve, unless it has given up something.
fn is_contradicted(shape: &Shape, generation: i64, enforcing: &[&Vote<'_>]) -> bool {
    let agrees = |vote: &&&Vote<'_>| {
        vote.is_about(generation) && vote.is_clean() && vote.is_enforced(shape, generation)
    };
    let reported = || enforcing.iter().filter(|vote| vote.entry.is_some() || vote.member.incomplete);
    reported().next().is_none() || !reported().all(|vote| agrees(&vote))
}

/// Returns true if the generation is ingested, and some pod says that it will not enforce it before a user acts.
fn is_idle_until_changed(shape: &Shape, generation: i64, votes: &[Vote<'_>], ready: &Answer) -> bool {
    let is_idle = |vote: &&Vote<'_>| vote.can_enforce(shape) && !vote.is_enforced(shape, generation);
    ready.reason == NOT_ENFORCING
        && votes.iter().filter(is_idle).any(|vote| vote.states(shape.idle_until_changed.as_ref()))
}

/// The stored proof for this generation, if this aggregator or a predecessor has written it.
fn proven(parent: &Parent) -> Option<Answer> {
    let stored = Condition::deserialize(parent.stored.condition("Enforced")?).ok()?;
    let is_proof = parent.stored.is_ours
        && stored.status == "True"
        && stored.observed_generation == Some(parent.generation);
    is_proof.then(|| Answer::yes("EnforcedByAllPods", stored.message))
}

/// The first reason that one of the members gives for not enforcing, cut where it is long.
fn idle_reason(shape: &Shape, idle: &[&Vote<'_>]) -> Option<String> {
    let pointer = shape.idle_reason.as_ref()?;
    let reason = idle.iter().find_map(|vote| vote.entry?.detail.pointer(pointer)?.as_str())?;
    Some(reason.chars().take(LONGEST_REASON).collect())
}

/// Returns true if the member keeps the generation from being enforced, or ingested.
pub(crate) fn is_late(shape: &Shape, generation: i64, vote: &Vote<'_>) -> bool {
    let is_idle = vote.can_enforce(shape) && !vote.is_enforced(shape, generation);
    !vote.is_about(generation) || !vote.is_clean() || is_idle
}

fn listed(votes: &[&Vote<'_>]) -> String {
    few(votes.iter().map(|vote| vote.member.id.as_str()))
}

/// The time at which the condition took the status it has, if it had it before.
fn transition_time(parent: &Parent, type_: &str, status: &str) -> Option<Time> {
    let known = parent.stored.condition(type_)?;
    if known.get("status")? != status {
        return None;
    }
    Time::deserialize(known.get("lastTransitionTime")?).ok()
}
