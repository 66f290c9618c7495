//! From the reports of all pods to the status of one parent. Pure: the same set of inputs gives the same
//! status, in whatever order and however often each arrives.
//!
//! The fold is pessimistic. A member that has not reported is waited for; it is never assumed to agree.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use crate::condition;
use crate::parent::ParentKey;
use crate::report::{Entry, Member};
use crate::shape::Shape;

/// The parent as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Which object it is.
    pub key: ParentKey,
    /// `metadata.generation`
    pub generation: i64,
}

/// One entry, and the run that wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Who reports.
    pub member: Member,
    /// What.
    pub entry: Entry,
}

/// What is to be done about the parent's status.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The stored status says it all.
    Unchanged,
    /// The fields of the status that this crate owns, complete. Other fields belong to other writers.
    Write(Map<String, Value>),
}

/// Folds `reported` into the status of `parent`.
///
/// `members` are all runs that exist and must be heard; entries of others, and entries about another object
/// of the same name (by uid), count for nothing. `previous` is the stored status, `null` if there is none.
/// `now` is used only for conditions whose status changes.
pub fn aggregate(
    shape: &Shape,
    parent: &Parent,
    members: &[Member],
    reported: &[Reported],
    previous: &Value,
    now: &Time,
) -> Decision {
    let votes = votes(parent, members, reported);
    let by_pod: Vec<Value> =
        votes.iter().filter_map(|vote| Some(by_pod_entry(shape, vote.member, vote.entry?))).collect();
    let conditions = condition::of(shape, parent.generation, &votes, previous, now);
    let mut status = Map::from_iter([
        ("byPod".to_owned(), Value::Array(by_pod)),
        ("observedGeneration".to_owned(), json!(parent.generation)),
        ("conditions".to_owned(), json!(conditions)),
    ]);
    if let Some(latch) = &shape.latch {
        let was = previous.get(latch).and_then(Value::as_bool).unwrap_or(false);
        let is = votes.iter().any(Vote::is_clean);
        status.insert(latch.clone(), json!(was || is));
    }
    let unchanged = status.iter().all(|(name, value)| previous.get(name) == Some(value));
    if unchanged { Decision::Unchanged } else { Decision::Write(status) }
}

/// What one member says about this very object: an entry, or nothing yet.
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
}

/// One vote per member, ordered by id.
fn votes<'a>(parent: &Parent, members: &'a [Member], reported: &'a [Reported]) -> Vec<Vote<'a>> {
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

/// Which of several entries of one run counts: the newest, of equally new ones the one with errors. The
/// text only makes the choice independent of the order.
fn precedence(entry: &Entry) -> (i64, bool, String) {
    (entry.generation, !entry.errors.is_empty(), json!([entry.errors, entry.detail]).to_string())
}

/// The entry, in the field names of Gatekeeper's `byPod`. The detail cannot overwrite any of them.
fn by_pod_entry(shape: &Shape, member: &Member, entry: &Entry) -> Value {
    let mut fields = entry.detail.as_object().cloned().unwrap_or_default();
    fields.insert("id".to_owned(), json!(member.id));
    fields.insert(shape.uid_field.clone(), json!(entry.parent.uid));
    fields.insert("observedGeneration".to_owned(), json!(entry.generation));
    fields.insert("operations".to_owned(), json!(member.operations));
    fields.remove("errors");
    if !entry.errors.is_empty() {
        fields.insert("errors".to_owned(), json!(entry.errors));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
