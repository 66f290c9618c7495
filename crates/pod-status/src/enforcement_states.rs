//! Enforcement state of each parent in the present term of the aggregator, from which the high-water marks are made. No I/O.
//!
//! A parent that is named and not decided about counts, and is not enforced. So does one whose status could not be read
//! or written: what was proven for its last generation says nothing about the present one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::answer::NOTHING_TO_ENFORCE;
use crate::parent::{ParentKind, ParentRef};
use crate::watermark::{HighWaterMark, HighWaterMarks, Waiting};

/// The state of one parent as its status states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EnforcementState {
    /// The condition that matters is true, or there is nothing to enforce: `Enforced`, or `Ingested` for a kind that is not enforced.
    is_true: bool,
    /// The condition is true.
    claims: bool,
    /// The status could not be read or written.
    is_unwritable: bool,
    since: Option<Time>,
    /// The time since then.
    age: Duration,
    message: String,
    pods: Vec<String>,
    /// The generation that the condition is about.
    generation: Option<i64>,
    /// The generation that is activated, where the rollout is coordinated.
    activated: Option<i64>,
}

impl EnforcementState {
    /// The generation that the pods are to switch to, and whether all have.
    pub(crate) fn activation(&self) -> Option<(i64, bool)> {
        Some((self.activated?, self.is_true))
    }

    /// The generation of which the status claims that it is enforced.
    pub(crate) fn claimed(&self) -> Option<i64> {
        self.generation.filter(|_| self.claims)
    }

    /// Sets the pods that the parent waits for, if it does.
    #[must_use]
    pub(crate) fn waiting_for(mut self, pods: impl FnOnce() -> Vec<String>) -> Self {
        if !self.is_true {
            self.pods = pods();
        }
        self
    }

    /// The state that `status`, as it is stored or about to be, gives a parent.
    pub(crate) fn of(status: &Map<String, Value>, now: &Time) -> Self {
        let conditions = status.get("conditions").and_then(Value::as_array).map(Vec::as_slice);
        let find = |type_: &str| {
            let is_wanted = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(type_);
            conditions.unwrap_or_default().iter().find(is_wanted)
        };
        let Some(Ok(condition)) = find("Enforced").or_else(|| find("Ingested")).map(Condition::deserialize)
        else {
            return Self::default();
        };
        let activation = status.get("activation").and_then(|activation| activation.get("generation"));
        let age = now.0.duration_since(condition.last_transition_time.0);
        let claims = condition.status == "True";
        Self {
            activated: activation.and_then(Value::as_i64),
            is_true: claims || condition.reason == NOTHING_TO_ENFORCE,
            claims,
            is_unwritable: false,
            generation: condition.observed_generation,
            // Clocks of two machines differ: a time that is yet to come is now.
            age: Duration::try_from(age).unwrap_or_default(),
            since: Some(condition.last_transition_time),
            message: condition.message,
            pods: Vec::new(),
        }
    }
}

/// The states of all parents that this process knows, by kind.
#[derive(Debug, Default)]
pub(crate) struct EnforcementStates {
    /// The parents that are not enforced, and nothing for those that are. Boxed, as a map has room for eleven and most
    /// have one.
    kinds: BTreeMap<ParentKind, BTreeMap<ParentRef, Option<Box<Waiting>>>>,
    /// The times at which decisions first found parents waiting.
    seen: BTreeMap<ParentRef, Instant>,
    /// The parents that the first marks of the term need a decision about.
    undecided: BTreeSet<ParentRef>,
    is_published: bool,
    /// The kinds of which the host has named all parents.
    listed: BTreeSet<ParentKind>,
}

impl EnforcementStates {
    /// A parent has been named.
    pub(crate) fn expect(&mut self, parent: &ParentRef) {
        if self.kinds.get(&parent.into()).is_some_and(|parents| parents.contains_key(parent)) {
            return;
        }
        // Later ones do not hold the marks back: in a busy cluster some parent is always new.
        if !self.is_published {
            self.undecided.insert(parent.clone());
        }
        self.waits(
            parent,
            EnforcementState { message: "not decided about yet".to_owned(), ..EnforcementState::default() },
        );
    }

    /// The status of a parent is right.
    pub(crate) fn set(&mut self, parent: &ParentRef, state: EnforcementState) {
        self.undecided.remove(parent);
        if !state.is_true {
            self.seen.entry(parent.clone()).or_insert_with(Instant::now);
            return self.waits(parent, state);
        }
        if let Some(since) = self.seen.remove(parent) {
            metrics::histogram!("pod_status_time_to_enforced_seconds").record(since.elapsed().as_secs_f64());
        }
        self.kinds.entry(parent.into()).or_default().insert(parent.clone(), None);
    }

    /// The status of a parent could not be read or written.
    pub(crate) fn fails(&mut self, parent: &ParentRef, reason: &str) {
        self.undecided.remove(parent);
        let message = format!("its status cannot be read or written: {reason}");
        self.waits(parent, EnforcementState { message, is_unwritable: true, ..EnforcementState::default() });
    }

    /// There is no such parent, or its status is not to be written.
    pub(crate) fn remove(&mut self, parent: &ParentRef) {
        self.undecided.remove(parent);
        self.seen.remove(parent);
        if let Some(parents) = self.kinds.get_mut(&parent.into()) {
            parents.remove(parent);
        }
    }

    /// The host has named all parents of these kinds.
    pub(crate) fn set_listed(&mut self, kinds: BTreeSet<ParentKind>) {
        self.listed = kinds;
    }

    /// A parent that waits already has waited since the earlier of the two times: the condition changes its
    /// transition time from `Unknown` to `False` too.
    fn waits(&mut self, parent: &ParentRef, state: EnforcementState) {
        let now = Instant::now();
        let EnforcementState { since, age, message, pods, is_unwritable, .. } = state;
        let began = now.checked_sub(age).unwrap_or(now);
        // Example: `Unknown` since 12:00:00, written as `False` at 12:00:50. It has waited since 12:00:00. `since` is for people and
        // by the API server's clock; `began` is the same by ours, with which ages are computed.
        let mut waiting = Waiting { parent: parent.clone(), since, pods, message, began, is_unwritable };
        let known = self.kinds.entry(parent.into()).or_default().entry(parent.clone()).or_default();
        if let Some(known) = known {
            waiting.began = waiting.began.min(known.began);
            waiting.since =
                [known.since.take(), waiting.since].into_iter().flatten().min_by_key(|time| time.0);
        }
        *known = Some(Box::new(waiting));
    }

    /// Publishes the marks, once every parent that was known at the first batch is decided about.
    pub(crate) fn publish(&mut self, marks: &watch::Sender<HighWaterMarks>) {
        if !self.undecided.is_empty() {
            return;
        }
        self.is_published = true;
        // An empty set that is listed is complete; one that is not may be only not known yet.
        self.kinds.retain(|kind, parents| !parents.is_empty() || self.listed.contains(kind));
        for kind in &self.listed {
            self.kinds.entry(kind.clone()).or_default();
        }
        let mark = |(kind, parents)| (ParentKind::clone(kind), self.mark(kind, parents));
        let new: BTreeMap<_, _> = self.kinds.iter().map(mark).collect();
        for (kind, mark) in &new {
            let oldest = mark.oldest.as_ref().map(|oldest| oldest.began.elapsed());
            mark.set_gauges(kind, oldest.unwrap_or_default().as_secs_f64());
        }
        HighWaterMarks::new(new).publish(marks);
    }

    fn mark(&self, kind: &ParentKind, parents: &BTreeMap<ParentRef, Option<Box<Waiting>>>) -> HighWaterMark {
        let oldest = parents.values().flatten().min_by_key(|waiting| waiting.began);
        HighWaterMark {
            enforced: parents.values().filter(|waiting| waiting.is_none()).count(),
            total: parents.len(),
            unwritable: parents.values().flatten().filter(|waiting| waiting.is_unwritable).count(),
            is_listed: self.listed.contains(kind),
            oldest: oldest.map(|waiting| Waiting::clone(waiting)),
        }
    }
}

#[cfg(test)]
mod tests;
