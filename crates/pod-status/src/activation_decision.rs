//! The aggregator's part of a coordinated rollout: when a generation is activated.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::rollout::{Deadline, Rollout};
use crate::shape::Shape;
use crate::strict_rollout::Announced;
use crate::vote::{Parent, Vote};

/// `status.activation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activated {
    /// Never an older one than was stored.
    pub(crate) generation: Option<i64>,
    /// It was activated although some pod had not ingested it.
    pub(crate) is_overdue: bool,
    /// A newer generation has waited for so many seconds.
    waiting: Option<(i64, u64)>,
    /// The time of the newer generation is over, and it is not activated.
    pub(crate) is_held: bool,
    /// The newer generation waits for pods without a fence, which a strict rollout needs.
    pub(crate) is_unfenced: bool,
}

const OVERDUE: &str = "DeadlineActivated";

impl Activated {
    /// Reads what is stored about this very object.
    pub(crate) fn read(status: &Value, uid: &str) -> Self {
        let stored = status.get("activation").filter(|stored| stored.get("uid") == Some(&json!(uid)));
        let Some(stored) = stored else { return Self::default() };
        let number = |pointer: &str| stored.pointer(pointer).and_then(Value::as_i64);
        let seconds = number("/waiting/seconds").and_then(|seconds| u64::try_from(seconds).ok());
        Self {
            generation: number("/generation"),
            is_overdue: stored.get("reason").and_then(Value::as_str) == Some(OVERDUE),
            waiting: number("/waiting/generation").zip(seconds),
            is_held: false,
            is_unfenced: false,
        }
    }

    fn announced(announced: Option<Announced>) -> Self {
        Self {
            generation: announced.map(|announced| announced.generation),
            is_overdue: announced.is_some_and(|announced| announced.late),
            ..Self::default()
        }
    }

    /// Returns how long `generation` has waited.
    pub(crate) fn waited(&self, generation: i64) -> Duration {
        let seconds = self.waiting.filter(|(waiting, _)| *waiting == generation);
        Duration::from_secs(seconds.map_or(0, |(_, seconds)| seconds))
    }

    /// The field of the status; nothing as long as nothing is to be said.
    pub(crate) fn field(&self, uid: &str) -> Option<Value> {
        let mut field = Map::from_iter([("uid".to_owned(), json!(uid))]);
        if let Some(generation) = self.generation {
            field.insert("generation".to_owned(), json!(generation));
        }
        if self.is_overdue {
            field.insert("reason".to_owned(), json!(OVERDUE));
        }
        if let Some((generation, seconds)) = self.waiting {
            field.insert("waiting".to_owned(), json!({"generation": generation, "seconds": seconds}));
        }
        (field.len() > 1).then_some(Value::Object(field))
    }
}

/// Returns true if a generation may be activated: there are members, and each has ingested it or a newer one.
pub fn may_activate(generation: i64, ingested: impl IntoIterator<Item = Option<i64>>) -> bool {
    let mut ingested = ingested.into_iter().peekable();
    ingested.peek().is_some() && ingested.all(|ingested| ingested.is_some_and(|known| known >= generation))
}

/// The new `status.activation`. In a strict rollout the object with the activations is ahead of it.
pub(crate) fn decide(shape: &Shape, parent: &Parent, votes: &[Vote<'_>]) -> Activated {
    let decided = desired(shape, parent, votes);
    let announced = Activated::announced(parent.announced);
    let is_ahead =
        matches!(shape.rollout, Rollout::Strict { .. }) && decided.generation != announced.generation;
    if is_ahead { announced } else { decided }
}

/// Returns the activation that the status should have.
fn desired(shape: &Shape, parent: &Parent, votes: &[Vote<'_>]) -> Activated {
    let Some(deadline) = shape.deadline() else { return Activated::default() };
    let is_strict = matches!(shape.rollout, Rollout::Strict { .. });
    let stored = Activated::read(&parent.stored.status, &parent.key.uid);
    let known = if is_strict { Activated::announced(parent.announced) } else { stored };
    let known = Activated { waiting: None, ..known };
    if known.generation.is_some_and(|activated| activated >= parent.generation) {
        return known;
    }
    // Strictly all pods that answer switch to this very generation: one that reports a newer one may not have it.
    let ingested = votes.iter().map(|vote| {
        let entry = vote.entry.filter(|_| vote.is_clean())?;
        (!is_strict || entry.generation == parent.generation).then_some(entry.generation)
    });
    let is_unfenced = is_strict && votes.iter().any(|vote| vote.member.ttl_seconds.is_none());
    let is_agreed = (parent.at_once && !is_strict) || may_activate(parent.generation, ingested);
    let is_late = !votes.is_empty() && deadline.time().is_some_and(|time| parent.waited >= time);
    let is_overdue = is_late && matches!(deadline, Deadline::Activate(_));
    if (is_agreed || is_overdue) && !is_unfenced {
        let generation = Some(parent.generation);
        return Activated { generation, is_overdue: !is_agreed, ..Activated::default() };
    }
    let waiting = deadline.stored(parent.waited).map(|seconds| (parent.generation, seconds));
    Activated { waiting, is_held: is_late, is_unfenced, ..known }
}

/// Returns what is to be written into the object with the activations of a strict rollout, if anything. `switching` is
/// how long this process has known the stored activation, `lead` the longest of the pods.
pub(crate) fn announce(
    shape: &Shape,
    parent: &Parent,
    votes: &[Vote<'_>],
    switching: Duration,
    lead: Duration,
) -> Option<Announced> {
    if let Some(pending) = parent.announced.filter(|announced| !announced.settled) {
        let judges = |vote: &&Vote<'_>| vote.can_enforce(shape);
        let has_switched = |vote: &Vote<'_>| {
            vote.entry.is_some_and(|entry| entry.enforcing.is_some_and(|by| by >= pending.generation))
        };
        let mut judges = votes.iter().filter(judges).peekable();
        let is_proven = judges.peek().is_some() && judges.all(has_switched);
        // A pod that answers a lead after the write has seen it, and another lead later has switched.
        let is_over = !votes.is_empty() && switching >= lead.saturating_mul(2);
        return (is_proven || is_over).then_some(Announced { settled: true, ..pending });
    }
    let desired = desired(shape, parent, votes);
    let newest = parent.announced.map(|announced| announced.generation);
    let generation = desired.generation.filter(|generation| Some(*generation) > newest)?;
    Some(Announced { generation, settled: false, late: desired.is_overdue })
}
