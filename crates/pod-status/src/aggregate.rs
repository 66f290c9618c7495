//! From the reports of all pods to the status of one parent. Pure: the same set of inputs gives the same
//! status, in whatever order and however often each arrives.
//!
//! The aggregation is pessimistic. A member that has not reported is waited for; it is never assumed to agree.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use crate::condition;
use crate::parent::{ParentKey, ParentRef};
use crate::readiness::Failure;
use crate::report::{Entry, Member, PodError};
use crate::rollout::{self, Activated};
use crate::shape::Shape;
use crate::stored::Stored;
use crate::strict::Announced;

/// A parent as it was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parent {
    /// The object.
    pub key: ParentKey,
    /// `metadata.generation`
    pub generation: i64,
    /// How long this generation has been waiting to be activated, by the aggregators' own clocks.
    pub waited: Duration,
    /// This generation is activated at once, see [`Shape::at_once`].
    pub at_once: bool,
    /// The activation of a strict rollout, as it was read.
    pub(crate) announced: Option<Announced>,
    pub(crate) stored: Stored,
}

impl Parent {
    /// A parent without a status.
    pub fn new(key: ParentKey, generation: i64) -> Self {
        let stored = Stored::ours(Value::Null);
        Self { key, generation, waited: Duration::ZERO, at_once: false, announced: None, stored }
    }

    /// Sets the stored status, which this aggregator has written.
    #[must_use]
    pub fn with_status(mut self, status: Value) -> Self {
        self.stored = Stored::ours(status);
        self
    }

    pub(crate) fn of(object: &DynamicObject, reference: &ParentRef, shape: &Shape, manager: &str) -> Self {
        let meta = &object.metadata;
        let status = object.data.get("status").cloned().unwrap_or_default();
        let stored = Stored::of(status, meta.managed_fields.as_deref().unwrap_or_default(), manager);
        let key = ParentKey::new(reference.clone(), meta.uid.clone().unwrap_or_default());
        let generation = meta.generation.unwrap_or_default();
        let waited = Activated::read(&stored.status, &key.uid).waited(generation);
        Self { key, generation, waited, at_once: shape.is_at_once(object), announced: None, stored }
    }
}

/// One entry, and the run that wrote it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reported {
    /// The run.
    pub member: Member,
    /// Its entry.
    pub entry: Entry,
}

impl Reported {
    /// An entry of a run.
    pub fn new(member: Member, entry: Entry) -> Self {
        Self { member, entry }
    }
}

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
    let votes = votes(parent, members, reported);
    let activated = rollout::decide(shape, parent, &votes);
    let conditions = condition::of(shape, parent, &votes, &activated, now);
    let mut status = Map::from_iter([
        ("observedGeneration".to_owned(), json!(parent.generation)),
        ("conditions".to_owned(), Value::Array(parent.stored.merged(&conditions))),
    ]);
    if !shape.direct {
        status.insert("byPod".to_owned(), Value::Array(by_pod(shape, parent.generation, &votes)));
    }
    if let Some(field) = activated.field(&parent.key.uid) {
        status.insert("activation".to_owned(), field);
    }
    if let Some(latch) = &shape.latch {
        let was = parent.stored.status.get(latch).and_then(Value::as_bool).unwrap_or(false);
        let is = votes.iter().any(Vote::is_clean);
        status.insert(latch.clone(), json!(was || is));
    }
    let unchanged = status.iter().all(|(name, value)| parent.stored.has(name, value));
    if unchanged { Decision::Unchanged } else { Decision::Write(status) }
}

/// The names of the members that keep `parent` from being enforced, or ingested if its kind is not enforced.
pub(crate) fn waiting_for(
    shape: &Shape,
    parent: &Parent,
    members: &[Member],
    reported: &[Reported],
) -> Vec<String> {
    let votes = votes(parent, members, reported);
    let late = votes.iter().filter(|vote| condition::is_late(shape, parent.generation, vote));
    let mut names: Vec<String> = late.map(|vote| vote.member.id.clone()).collect();
    names.dedup();
    names
}

/// The entry of one member about this very object, if it has reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote<'a> {
    pub(crate) member: &'a Member,
    pub(crate) entry: Option<&'a Entry>,
}

impl Vote<'_> {
    /// Whether the member has ingested the object, at whatever generation.
    pub(crate) fn is_clean(&self) -> bool {
        self.entry.is_some_and(|entry| entry.errors.is_empty())
    }

    /// Whether the member has an outcome for this generation. An entry for a later generation than was read
    /// cannot be judged; the parent will be read again.
    pub(crate) fn is_about(&self, generation: i64) -> bool {
        self.entry.is_some_and(|entry| entry.generation == generation)
    }
}

/// One vote per member, ordered by id.
pub(crate) fn votes<'a>(parent: &Parent, members: &'a [Member], reported: &'a [Reported]) -> Vec<Vote<'a>> {
    let mut votes: Vec<Vote<'a>> = Vec::new();
    let mut members: Vec<&Member> = members.iter().collect();
    members.sort();
    members.dedup_by(|a, b| a.is_same_run(b));
    for member in members {
        let entry = reported
            .iter()
            .filter(|report| report.member.is_same_run(member) && report.entry.parent == parent.key)
            .map(|report| &report.entry)
            .max_by_key(|entry| precedence(entry));
        votes.push(Vote { member, entry });
    }
    votes
}

/// The order of several entries of one run: the last written counts. Without numbers it is the newest
/// generation, of equal ones the one with errors; the text makes the choice independent of the order.
fn precedence(entry: &Entry) -> (u64, i64, bool, String) {
    let text = json!([entry.errors, entry.detail, entry.enforcing]).to_string();
    (entry.sequence, entry.generation, !entry.errors.is_empty(), text)
}

/// The entries by id, one for each. Beyond the limit, those that fail or are behind are kept and the others left out.
///
/// A StatefulSet's pod has the name of its predecessor, which is a member until its fence is over. Of the two, the one
/// that fails or is behind is shown: a list with the key `id` (`x-kubernetes-list-type: map`) refuses both.
fn by_pod(shape: &Shape, generation: i64, votes: &[Vote<'_>]) -> Vec<Value> {
    let is_right = |vote: &Vote<'_>| vote.is_clean() && vote.is_about(generation);
    let mut reported: Vec<&Vote<'_>> = votes.iter().filter(|vote| vote.entry.is_some()).collect();
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
        let shown = |error: &PodError| error.clone().class(Failure::Permanent);
        fields
            .insert("errors".to_owned(), entry.errors.iter().map(shown).map(|error| json!(error)).collect());
    }
    fields
}

#[cfg(test)]
mod tests;
