//! From the reports of all pods to the status of one parent. Pure: the same set of inputs gives the same
//! status, in whatever order and however often each arrives.
//!
//! The aggregation is pessimistic. A member that has not reported is waited for; it is never assumed to agree.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use crate::activation_decision;
use crate::condition;
use crate::readiness::ErrorClass;
use crate::report::{Entry, Member, PodError};
use crate::shape::{SUMMARY, Shape};
use crate::summary;
use crate::vote::{Parent, Reported, Vote, votes};

/// The consequence for the parent's status.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The stored status is right.
    Unchanged,
    /// The fields of the status that this crate owns, complete. Other fields belong to other writers.
    Write(Map<String, Value>),
}

/// Aggregates `reported` into the status of `parent`.
///
/// `members` are all runs that must be waited for; entries of others, and entries about another object of the
/// same name (by uid), count for nothing. `now` is used only for conditions whose status changes.
pub fn aggregate(
    shape: &Shape,
    parent: &Parent,
    members: &[Member],
    reported: &[Reported],
    now: &Time,
) -> Decision {
    let reported = reported.iter().map(|report| (&report.member, &report.entry));
    decide(shape, parent, &votes(parent, members, reported), now)
}

/// Aggregates votes into the status of `parent`.
pub(crate) fn decide(shape: &Shape, parent: &Parent, votes: &[Vote<'_>], now: &Time) -> Decision {
    let activated = activation_decision::decide(shape, parent, votes);
    let conditions = condition::of(shape, parent, votes, &activated, now);
    let mut status = Map::from_iter([
        ("observedGeneration".to_owned(), json!(parent.generation)),
        ("conditions".to_owned(), Value::Array(parent.stored.merged(&conditions))),
    ]);
    // Each pod applies its own entry there: a list from here would take the entries over.
    if !shape.direct {
        status.insert("byPod".to_owned(), Value::Array(by_pod(shape, parent.generation, votes)));
    }
    if shape.summary {
        status.insert(SUMMARY.to_owned(), summary::of(shape, parent.generation, votes));
    }
    if let Some(field) = activated.field(&parent.key.uid) {
        status.insert("activation".to_owned(), field);
    }
    if let Some(latch) = &shape.latch {
        let was = parent.stored.status.get(latch).and_then(Value::as_bool).unwrap_or(false);
        let is = votes.iter().any(Vote::is_clean);
        status.insert(latch.clone(), json!(was || is));
    }
    // Only our fields are compared: another manager's change of the status does not cause a write.
    let unchanged = status.iter().all(|(name, value)| parent.stored.has(name, value));
    if unchanged { Decision::Unchanged } else { Decision::Write(status) }
}

/// The names of the members that keep `parent` from being enforced, or ingested if its kind is not enforced.
pub(crate) fn waiting_for(shape: &Shape, parent: &Parent, votes: &[Vote<'_>]) -> Vec<String> {
    let late = votes.iter().filter(|vote| condition::is_late(shape, parent.generation, vote));
    let mut names: Vec<String> = late.map(|vote| vote.member.id.clone()).collect();
    names.dedup();
    names
}

/// The entries by id, one for each. Beyond the limit, those that fail or are behind are kept and the others left out.
///
/// A StatefulSet's pod has the name of its predecessor, which is a member until its fence is over. Of the two, the one
/// that fails or is behind is shown: a list with the key `id` (`x-kubernetes-list-type: map`) refuses both.
fn by_pod(shape: &Shape, generation: i64, votes: &[Vote<'_>]) -> Vec<Value> {
    let is_right = |vote: &Vote<'_>| vote.is_clean() && vote.is_about(generation);
    let mut reported: Vec<&Vote<'_>> = votes.iter().filter(|vote| vote.entry.is_some()).collect();
    // `false` sorts before `true`. Example: a-0 (old run, failed), a-0 (new run, right), b: the first a-0 stays, and b.
    reported.sort_by_key(|vote| (&vote.member.id, is_right(vote)));
    reported.dedup_by_key(|vote| &vote.member.id);
    if reported.len() > shape.by_pod_limit {
        reported.sort_by_key(|vote| is_right(vote));
        reported.truncate(shape.by_pod_limit);
        reported.sort_by(|a, b| a.member.cmp(b.member));
    }
    let entry = |vote: &&Vote<'_>| Some(Value::Object(by_pod_entry(shape, vote.member, vote.entry?)));
    reported.iter().filter_map(entry).collect()
}

/// The entry, in the field names of Gatekeeper's `byPod`. The detail cannot overwrite any of them.
pub(crate) fn by_pod_entry(shape: &Shape, member: &Member, entry: &Entry) -> Map<String, Value> {
    let mut fields = entry.detail.as_object().cloned().unwrap_or_default();
    fields.insert("id".to_owned(), json!(member.id));
    fields.insert(shape.uid_field.clone(), json!(entry.parent.uid));
    fields.insert("observedGeneration".to_owned(), json!(entry.generation));
    fields.insert("operations".to_owned(), json!(member.operations));
    fields.remove("errors");
    if !entry.errors.is_empty() {
        // The class is not one of Gatekeeper's fields: a schema would prune it, and every comparison find a difference.
        let shown = |error: &PodError| error.clone().class(ErrorClass::Permanent);
        fields
            .insert("errors".to_owned(), entry.errors.iter().map(shown).map(|error| json!(error)).collect());
    }
    fields
}

#[cfg(test)]
mod tests;
