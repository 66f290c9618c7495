//! The conditions `Ingested`, `Enforced` and `Ready`: each claims only what every member has reported for
//! the very generation it names.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Deserialize;
use serde_json::Value;

use crate::fold::Vote;
use crate::shape::Shape;

/// At most this many pods are named in a message.
const NAMED_PODS: usize = 5;

/// What is known about one question.
#[derive(Clone, Debug)]
struct Answer {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Answer {
    fn yes(reason: &'static str, message: String) -> Self {
        Self { status: "True", reason, message }
    }
    fn no(reason: &'static str, message: String) -> Self {
        Self { status: "False", reason, message }
    }
    fn unknown(reason: &'static str, message: String) -> Self {
        Self { status: "Unknown", reason, message }
    }
}

/// The conditions for `generation`. Those whose status is as in `previous` keep their transition time.
pub(crate) fn of(
    shape: &Shape,
    generation: i64,
    votes: &[Vote<'_>],
    previous: &Value,
    now: &Time,
) -> Vec<Condition> {
    let ingested = ingested(generation, votes);
    let mut answers = vec![("Ingested", ingested.clone())];
    let ready = if shape.enforcing.is_empty() {
        ingested
    } else {
        let enforced = enforced(shape, &ingested, votes);
        answers.push(("Enforced", enforced.clone()));
        enforced
    };
    answers.push(("Ready", ready));
    let condition = |(type_, answer): (&str, Answer)| Condition {
        last_transition_time: transition_time(previous, type_, answer.status).unwrap_or_else(|| now.clone()),
        message: answer.message,
        observed_generation: Some(generation),
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
    // An entry for a later generation than was read cannot be judged; the parent will be read again.
    let is_heard = |vote: &&Vote<'_>| vote.entry.is_some_and(|entry| entry.generation == generation);
    let (heard, waiting): (Vec<&Vote<'_>>, Vec<&Vote<'_>>) = votes.iter().partition(is_heard);
    let failed: Vec<&Vote<'_>> = heard.iter().copied().filter(|vote| !vote.is_clean()).collect();
    if !failed.is_empty() {
        return Answer::no("IngestError", format!("see status.byPod of {}", listed(&failed)));
    }
    if !waiting.is_empty() {
        let message = format!(
            "{} of {} pods have ingested generation {generation}; waiting for {}",
            heard.len(),
            votes.len(),
            listed(&waiting)
        );
        return Answer::unknown("WaitingForPods", message);
    }
    Answer::yes("IngestedByAllPods", format!("{} of {} pods", heard.len(), votes.len()))
}

/// Asks those members that enforce at all, once every member has ingested: a member that only audits may
/// still hold the parent back, but cannot make it enforced.
fn enforced(shape: &Shape, ingested: &Answer, votes: &[Vote<'_>]) -> Answer {
    let enforcing: Vec<&Vote<'_>> =
        votes.iter().filter(|vote| !vote.member.operations.is_disjoint(&shape.enforcing)).collect();
    if !votes.is_empty() && enforcing.is_empty() {
        let operations: Vec<&str> = shape.enforcing.iter().map(String::as_str).collect();
        let message = format!("no pod has an operation that enforces: {}", operations.join(", "));
        return Answer::no("NoEnforcementPoint", message);
    }
    if ingested.status != "True" {
        return ingested.clone();
    }
    let idle: Vec<&Vote<'_>> = enforcing.iter().copied().filter(|vote| !is_enforced(shape, vote)).collect();
    if !idle.is_empty() {
        return Answer::no("NotEnforcing", format!("ingested but not enforced by {}", listed(&idle)));
    }
    Answer::yes("EnforcedByAllPods", format!("{} of {} pods", enforcing.len(), enforcing.len()))
}

fn is_enforced(shape: &Shape, vote: &Vote<'_>) -> bool {
    let Some(field) = &shape.enforced_field else {
        return vote.is_clean();
    };
    let value = vote.entry.and_then(|entry| entry.detail.get(field));
    value.and_then(Value::as_bool).unwrap_or(false)
}

fn listed(votes: &[&Vote<'_>]) -> String {
    let named: Vec<&str> = votes.iter().take(NAMED_PODS).map(|vote| vote.member.id.as_str()).collect();
    let named = named.join(", ");
    match votes.len().saturating_sub(NAMED_PODS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// When the condition took the status it has, if it had it before.
fn transition_time(previous: &Value, type_: &str, status: &str) -> Option<Time> {
    let conditions = previous.get("conditions")?.as_array()?;
    let known = conditions.iter().find(|condition| condition.get("type") == Some(&Value::from(type_)))?;
    if known.get("status")? != status {
        return None;
    }
    Time::deserialize(known.get("lastTransitionTime")?).ok()
}
