//! The aggregator's part of a coordinated rollout: when a generation is activated.
//!
//! A deadline must survive the aggregator, and no clock of another machine may decide. So the time that a generation has
//! waited is kept in the parent, in quarters of the deadline: `status.activation.waiting: {generation: 4, seconds: 30}`.
//! With a deadline of 60 s, an aggregator that dies after 40 s leaves 30 s to its successor. A failover makes the wait longer
//! by at most a quarter and the time without an aggregator, and a term of at least a quarter always brings the end nearer.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::aggregate::{Parent, Vote};
use crate::shape::Shape;
use crate::strict::Announced;

/// The way in which a new generation of a parent comes into force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rollout {
    /// Each pod enforces it as soon as it has ingested it.
    #[default]
    Immediate,
    /// Each pod enforces it when all have ingested it.
    Coordinated {
        /// The end of the wait.
        deadline: Deadline,
    },
    /// As `Coordinated`, and no pod judges by an older generation after any pod has judged by a newer one; see
    /// [`crate::Schedule`]. A change takes the time of the fence, and each pod refuses for about a second. All pods need the
    /// same [`crate::ReporterConfig::fence`], and [`crate::ReporterConfig::strict`].
    Strict {
        /// The end of the wait. A pod that has not ingested a generation refuses while that is in force.
        deadline: Deadline,
    },
}

impl Rollout {
    /// A coordinated rollout that activates a generation after 60 seconds although some pod has not ingested it, if the kind is
    /// [`crate::MissingSemantics::Looser`], and otherwise holds it.
    pub fn coordinated() -> Self {
        Self::Coordinated { deadline: Deadline::default() }
    }

    /// The deadline of a coordinated rollout.
    pub(crate) fn deadline(self) -> Option<Deadline> {
        match self {
            Self::Immediate => None,
            Self::Coordinated { deadline } | Self::Strict { deadline } => Some(deadline),
        }
    }
}

/// What becomes of a generation that some pod does not ingest, after a time by the aggregators' own clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// It waits for ever.
    Never,
    /// It is activated: one pod must not keep a policy from the others. `Enforced` is false with the reason
    /// `DeadlineActivated` until all pods enforce it. In a coordinated rollout of a kind that is not
    /// [`crate::MissingSemantics::Looser`] it is as `Hold`; in a strict one the pod that lacks the generation refuses.
    Activate(Duration),
    /// It waits for ever. `Enforced` is false with the reason `DeadlineExceeded`.
    Hold(Duration),
}

impl Default for Deadline {
    fn default() -> Self {
        Self::Activate(Duration::from_secs(60))
    }
}

impl Deadline {
    fn time(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Activate(time) | Self::Hold(time) => Some(time),
        }
    }

    /// The steps in which the time is stored: a quarter of it, in whole seconds.
    fn step(time: Duration) -> u64 {
        time.as_secs().div_ceil(4).max(1)
    }

    /// The part of the time waited that is stored, in seconds.
    fn stored(self, waited: Duration) -> Option<u64> {
        let time = self.time()?;
        if waited >= time {
            return Some(time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)));
        }
        let step = Self::step(time);
        let seconds = waited.as_secs().saturating_sub(waited.as_secs().checked_rem(step)?);
        Some(seconds).filter(|seconds| *seconds > 0)
    }

    /// The time waited at which something is to be done: another step is to be stored, or the deadline has come.
    pub(crate) fn next(self, waited: Duration) -> Option<Duration> {
        let time = self.time().filter(|time| waited < *time)?;
        let step = Self::step(time);
        let next = waited.as_secs().checked_div(step)?.checked_add(1)?.checked_mul(step)?;
        Some(Duration::from_secs(next).min(time))
    }
}

/// `status.activation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activated {
    /// Never an older one than was stored.
    pub(crate) generation: Option<i64>,
    /// It was activated although some pod had not ingested it.
    pub(crate) is_overdue: bool,
    /// A newer generation has waited for so many seconds.
    waiting: Option<(i64, u64)>,
    /// The newer generation is held after its deadline.
    pub(crate) is_held: bool,
    /// The newer generation waits for pods without a fence, which a strict rollout needs.
    pub(crate) is_unfenced: bool,
}

const OVERDUE: &str = "DeadlineActivated";

impl Activated {
    /// What is stored about this very object.
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

    /// How long `generation` has waited.
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

/// Whether a generation may be activated: there are members, and each has ingested it or a newer one.
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
    let is_held = is_late && !is_unfenced;
    Activated { waiting, is_held, is_unfenced, ..known }
}

/// What is to be written into the object with the activations of a strict rollout, if anything. `switching` is how long this
/// process has known the stored activation, `lead` the longest of the pods.
pub(crate) fn announce(
    shape: &Shape,
    parent: &Parent,
    votes: &[Vote<'_>],
    switching: Duration,
    lead: Duration,
) -> Option<Announced> {
    if let Some(pending) = parent.announced.filter(|announced| !announced.settled) {
        let judges = |vote: &&Vote<'_>| !vote.member.operations.is_disjoint(&shape.enforcing);
        let has_switched = |vote: &Vote<'_>| {
            vote.entry.is_some_and(|entry| entry.enforcing.is_some_and(|by| by >= pending.generation))
        };
        let mut judges = votes.iter().filter(judges).peekable();
        let is_proven = judges.peek().is_some() && judges.all(has_switched);
        // Whoever answers a lead after the write has seen it, and another lead later has switched.
        let is_over = !votes.is_empty() && switching >= lead.saturating_mul(2);
        return (is_proven || is_over).then_some(Announced { settled: true, ..pending });
    }
    let desired = desired(shape, parent, votes);
    let newest = parent.announced.map(|announced| announced.generation);
    let generation = desired.generation.filter(|generation| Some(*generation) > newest)?;
    Some(Announced { generation, settled: false, late: desired.is_overdue })
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers; a test may overflow loudly")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However often the aggregator changes, no generation is overdue too early, and each term that is long enough
        /// brings the deadline nearer.
        #[test]
        fn the_time_waited_survives_the_aggregator(time in 1..400u64, terms in prop::collection::vec(0..200u64, 1..20)) {
            let deadline = Deadline::Activate(Duration::from_secs(time));
            let (mut stored, mut passed) = (0, 0);
            for term in terms {
                passed += term;
                let waited = stored + term;
                let next = deadline.stored(Duration::from_secs(waited)).unwrap_or_default();
                prop_assert!(next >= stored && next <= passed.min(time));
                prop_assert!(term < Deadline::step(Duration::from_secs(time)) || next > stored || next == time);
                stored = next;
            }
        }

        #[test]
        fn every_step_is_looked_at(time in 1..400_000u64, waited in 0..400_000u64) {
            let deadline = Deadline::Hold(Duration::from_millis(time));
            let waited = Duration::from_millis(waited);
            match deadline.next(waited) {
                None => prop_assert!(waited >= Duration::from_millis(time)),
                Some(next) => {
                    prop_assert!(next > waited && next <= Duration::from_millis(time));
                    prop_assert!(deadline.stored(next) > deadline.stored(waited));
                }
            }
        }
    }

    #[test]
    fn an_aggregator_that_dies_after_40_of_60_seconds_leaves_30() {
        let deadline = Deadline::default();
        assert_eq!(deadline.stored(Duration::from_secs(14)), None, "nothing is written for a short wait");
        assert_eq!(deadline.stored(Duration::from_secs(40)), Some(30));
        assert_eq!(deadline.next(Duration::from_secs(40)), Some(Duration::from_secs(45)));
        assert_eq!(Deadline::Never.stored(Duration::from_secs(40)), None);
        assert_eq!(Deadline::Never.next(Duration::from_secs(40)), None);
    }
}
