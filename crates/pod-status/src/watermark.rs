//! The high-water mark of a set of parents: how many are enforced everywhere, and which has waited longest.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::parent::ParentRef;

/// Pods that are named in a message.
const NAMED_PODS: usize = 5;

/// The state of one parent as its status states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// The condition that matters: `Enforced`, or `Ingested` for a kind that is not enforced.
    is_true: bool,
    since: Option<Time>,
    message: String,
    /// The generation that is activated, where the rollout is coordinated.
    activated: Option<i64>,
}

impl Standing {
    /// The generation that the pods are to switch to, and whether all have.
    pub(crate) fn activation(&self) -> Option<(i64, bool)> {
        Some((self.activated?, self.is_true))
    }

    /// The standing that `status`, as it is stored or about to be, gives a parent.
    pub(crate) fn of(status: &Map<String, Value>) -> Self {
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
        Self {
            activated: activation.and_then(Value::as_i64),
            is_true: condition.status == "True",
            since: Some(condition.last_transition_time),
            message: condition.message,
        }
    }
}

/// The standings of all parents that this process has decided on, by kind.
#[derive(Debug, Default)]
pub(crate) struct Standings {
    kinds: BTreeMap<String, BTreeMap<ParentRef, Standing>>,
    /// The times at which parents were first seen waiting.
    waiting: BTreeMap<ParentRef, Instant>,
}

impl Standings {
    pub(crate) fn set(&mut self, parent: ParentRef, standing: Standing) {
        if !standing.is_true {
            self.waiting.entry(parent.clone()).or_insert_with(Instant::now);
        } else if let Some(since) = self.waiting.remove(&parent) {
            metrics::histogram!("pod_status_time_to_enforced_seconds").record(since.elapsed().as_secs_f64());
        }
        self.kinds.entry(parent.kind.clone()).or_default().insert(parent, standing);
    }

    pub(crate) fn remove(&mut self, parent: &ParentRef) {
        self.waiting.remove(parent);
        if let Some(parents) = self.kinds.get_mut(&parent.kind) {
            parents.remove(parent);
        }
    }

    /// The marks, by kind. Also sets the gauges.
    pub(crate) fn marks(&self) -> BTreeMap<String, HighWaterMark> {
        let marks = self.kinds.iter().map(|(kind, parents)| {
            let mark = HighWaterMark::of(parents);
            let gauge = |state: &'static str, count: usize| {
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                metrics::gauge!("pod_status_parents", "kind" => kind.clone(), "state" => state).set(count);
            };
            gauge("enforced", mark.enforced);
            gauge("waiting", mark.total.saturating_sub(mark.enforced));
            (kind.clone(), mark)
        });
        marks.collect()
    }
}

/// The progress of enforcement over a set of parents.
///
/// ```
/// # use pod_status::HighWaterMark;
/// let mark = HighWaterMark::default();
/// assert_eq!(mark.to_string(), "0 of 0 enforced everywhere");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HighWaterMark {
    /// Parents whose present generation is enforced by all pods.
    pub enforced: usize,
    /// All parents.
    pub total: usize,
    /// The parent that has waited longest.
    pub oldest: Option<Waiting>,
}

/// A parent that is not enforced everywhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waiting {
    /// The parent.
    pub parent: ParentRef,
    /// The time at which its condition ceased to be true; nothing if it has none.
    pub since: Option<Time>,
    /// The message of its condition, which names the pods.
    pub message: String,
}

impl HighWaterMark {
    fn of(parents: &BTreeMap<ParentRef, Standing>) -> Self {
        let waiting = parents.iter().filter(|(_, standing)| !standing.is_true);
        let oldest = waiting.min_by_key(|(_, standing)| standing.since.as_ref().map(|since| since.0));
        Self {
            enforced: parents.values().filter(|standing| standing.is_true).count(),
            total: parents.len(),
            oldest: oldest.map(|(parent, standing)| Waiting {
                parent: parent.clone(),
                since: standing.since.clone(),
                message: standing.message.clone(),
            }),
        }
    }

    /// The mark as a condition `AllEnforced`, for an object that stands for the whole set. `previous` is the
    /// stored condition, whose transition time is kept while its status stays.
    pub fn condition(&self, generation: i64, previous: Option<&Condition>, now: &Time) -> Condition {
        let is_complete = self.enforced == self.total;
        let status = if is_complete { "True" } else { "False" };
        let kept = previous.filter(|previous| previous.status == status);
        Condition {
            type_: "AllEnforced".to_owned(),
            status: status.to_owned(),
            reason: if is_complete { "EnforcedByAllPods" } else { "WaitingForPods" }.to_owned(),
            message: self.to_string(),
            observed_generation: Some(generation),
            last_transition_time: kept.map_or_else(|| now.clone(), |kept| kept.last_transition_time.clone()),
        }
    }
}

impl std::fmt::Display for HighWaterMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} enforced everywhere", self.enforced, self.total)?;
        let Some(oldest) = &self.oldest else { return Ok(()) };
        write!(f, "; {} {} waits", oldest.parent.kind, oldest.parent.name)?;
        if let Some(since) = &oldest.since {
            write!(f, " since {}", since.0)?;
        }
        write!(f, ": {}", oldest.message)
    }
}

/// The first few of `names`, and the number of the others.
pub(crate) fn few<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED_PODS);
    let named: Vec<&str> = names.take(NAMED_PODS).collect();
    let named = named.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn standing(status: &str, second: i64) -> Standing {
        let since = Time(Timestamp::from_second(second).unwrap());
        let condition = json!({
            "type": "Enforced", "status": status, "reason": "", "message": "waiting for a, b", "lastTransitionTime": since,
        });
        Standing::of(&Map::from_iter([("conditions".to_owned(), json!([condition]))]))
    }

    #[test]
    fn the_mark_counts_and_names_the_oldest() {
        let mut standings = Standings::default();
        let parent = |name: &str| ParentRef::new("g", "Policy", name);
        standings.set(parent("p"), standing("True", 0));
        standings.set(parent("q"), standing("Unknown", 200));
        standings.set(parent("r"), standing("False", 100));
        let mark = standings.marks().remove("Policy").unwrap();
        assert_eq!(
            mark.to_string(),
            "1 of 3 enforced everywhere; Policy r waits since 1970-01-01T00:01:40Z: waiting for a, b"
        );
        let now = Time(Timestamp::from_second(300).unwrap());
        let first = mark.condition(1, None, &now);
        assert_eq!((first.status.as_str(), &first.last_transition_time), ("False", &now));
        let later = Time(Timestamp::from_second(400).unwrap());
        assert_eq!(mark.condition(1, Some(&first), &later), first);
        standings.remove(&parent("r"));
        standings.set(parent("q"), standing("True", 400));
        let mark = standings.marks().remove("Policy").unwrap();
        assert_eq!(mark.to_string(), "2 of 2 enforced everywhere");
        assert_eq!(mark.condition(1, Some(&first), &later).last_transition_time, later);
    }
}
