//! A parent as it was read, and the vote of each member about it.

use std::cmp::Ordering;
use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::parent::{ParentKey, ParentRef};
use crate::report::{Entry, Member};
use crate::rollout::Rollout;
use crate::shape::Shape;
use crate::stored::Stored;
use crate::strict_rollout::Announced;

/// A parent as it was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parent {
    /// The object that is decided about.
    pub key: ParentKey,
    /// The `metadata.generation` that was read.
    pub generation: i64,
    /// The time for which this generation has been waiting to be activated, by the aggregators' own clocks.
    pub waited: Duration,
    /// This generation is activated at once, see [`Shape::at_once`].
    pub at_once: bool,
    /// The activation of a strict rollout, as it was read.
    pub(crate) announced: Option<Announced>,
    pub(crate) stored: Stored,
}

impl Parent {
    /// Returns a parent without a status.
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

    /// Takes the status out of the object.
    pub(crate) fn of(
        object: &mut DynamicObject,
        reference: &ParentRef,
        shape: &Shape,
        manager: &str,
    ) -> Self {
        let at_once = shape.is_at_once(object);
        let status = object.data.get_mut("status").map(Value::take).unwrap_or_default();
        let meta = &object.metadata;
        let stored = Stored::of(status, meta.managed_fields.as_deref().unwrap_or_default(), manager);
        let key = ParentKey::new(reference.clone(), meta.uid.clone().unwrap_or_default());
        let generation = meta.generation.unwrap_or_default();
        Self { key, generation, waited: Duration::ZERO, at_once, announced: None, stored }
    }
}

/// One entry, and the run that wrote it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reported {
    /// The run that reported.
    pub member: Member,
    /// The entry that the run reported.
    pub entry: Entry,
}

impl Reported {
    /// Returns an entry of a run.
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
    /// Returns true if the member has ingested the object, at whatever generation.
    pub(crate) fn is_clean(&self) -> bool {
        self.entry.is_some_and(|entry| entry.errors.is_empty())
    }

    /// Returns true if the member has an outcome for this generation. An entry for a later generation than was read
    /// cannot be judged; the parent will be read again.
    pub(crate) fn is_about(&self, generation: i64) -> bool {
        self.entry.is_some_and(|entry| entry.generation == generation)
    }

    /// Returns true if the detail has this value at its JSON pointer.
    pub(crate) fn states(&self, statement: Option<&(String, Value)>) -> bool {
        let detail = self.entry.map(|entry| &entry.detail);
        detail.zip(statement).is_some_and(|(detail, (pointer, value))| detail.pointer(pointer) == Some(value))
    }

    /// Returns true if the member has an operation that enforces.
    pub(crate) fn can_enforce(&self, shape: &Shape) -> bool {
        !self.member.operations.is_disjoint(&shape.enforcing)
    }

    /// Returns true if the member can enforce, and reports that it does.
    pub(crate) fn is_enforced(&self, shape: &Shape, generation: i64) -> bool {
        let Some(entry) = self.entry.filter(|_| self.can_enforce(shape)) else { return false };
        if shape.rollout != Rollout::Immediate && entry.enforcing != Some(generation) {
            return false;
        }
        match &shape.enforced_field {
            None => self.is_clean(),
            Some(field) => entry.detail.get(field).and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

/// One vote per member, ordered by id. `reported` are entries with the runs that wrote them.
pub(crate) fn votes<'a>(
    parent: &Parent,
    members: &'a [Member],
    reported: impl Iterator<Item = (&'a Member, &'a Entry)>,
) -> Vec<Vote<'a>> {
    let about: Vec<_> = reported.filter(|(_, entry)| entry.parent == parent.key).collect();
    let mut members: Vec<&Member> = members.iter().collect();
    members.sort();
    members.dedup_by(|a, b| a.is_same_run(b));
    let vote = |member: &'a Member| {
        let entries = about.iter().filter(|(run, _)| run.is_same_run(member)).map(|(_, entry)| *entry);
        Vote { member, entry: entries.max_by(|a, b| precedence(a, b)) }
    };
    members.into_iter().map(vote).collect()
}

/// The order of several entries of one run: the last written counts. Without numbers it is the newest
/// generation, of equal ones the one with errors; the text makes the choice independent of the order.
fn precedence(a: &Entry, b: &Entry) -> Ordering {
    let key = |entry: &Entry| (entry.sequence, entry.generation, !entry.errors.is_empty());
    let text = |entry: &Entry| json!([entry.errors, entry.detail, entry.enforcing]).to_string();
    key(a).cmp(&key(b)).then_with(|| text(a).cmp(&text(b)))
}
