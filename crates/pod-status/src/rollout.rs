//! The ways in which a new generation comes into force, and the deadline of a wait for all pods.
//!
//! A deadline must survive the aggregator, and no clock of another machine may decide. So the time that a generation has
//! waited is kept in the parent, in quarters of the deadline: `status.activation.waiting: {generation: 4, seconds: 30}`.
//! With a deadline of 60 s, an aggregator that dies after 40 s leaves 30 s to its successor. A failover makes the wait longer
//! by at most a quarter and the time without an aggregator, and a term of at least a quarter always brings the end nearer.

use std::time::Duration;

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
    /// Returns a coordinated rollout that activates a generation after 60 seconds although some pod has not ingested it, if the kind is
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

/// The treatment of a generation that some pod does not ingest, after a time by the aggregators' own clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// It waits for ever.
    Never,
    /// It is activated: one pod must not keep a policy from the others. `Enforced` is false with the reason
    /// `DeadlineActivated` until all pods enforce it. In a coordinated rollout of a kind that is not
    /// [`crate::MissingSemantics::Looser`] it is as `Hold`; in a strict one the pod that lacks the generation refuses.
    Activate(Duration),
    /// It waits for ever. `Enforced` is false with the reason `DeadlineExceeded`, and `Stalled` is true.
    Hold(Duration),
}

impl Default for Deadline {
    fn default() -> Self {
        Self::Activate(Duration::from_secs(60))
    }
}

impl Deadline {
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Activate(time) | Self::Hold(time) => Some(time),
        }
    }

    /// The steps in which the time is stored: a quarter of it, in whole seconds.
    pub(crate) fn step(time: Duration) -> u64 {
        time.as_secs().div_ceil(4).max(1)
    }

    /// The part of the time waited that is stored, in seconds.
    pub(crate) fn stored(self, waited: Duration) -> Option<u64> {
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
