//! A parent as it was read, and the vote of each member about it.

use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::parent::{ParentKey, ParentRef};
use crate::report::{Entry, Member};
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
        Self {
            key,
            generation,
            waited: Duration::ZERO,
            at_once: shape.is_at_once(object),
            announced: None,
            stored,
        }
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
