//! Strict rollout: no pod judges by an old generation after any pod has judged by the new one.
//!
//! Watches give no bound on how old a pod's knowledge is. In strict mode the activations are in *one* object, and each pod
//! reads it again and again by a consistent read. A read that began at `t` shows every activation that was written before
//! `t`, so a pod whose last read began at `t` knows them all. It answers until `t + D`, where `D` is the fence, and not later.
//!
//! Let an activation be written at `w`. A pod that has not seen it has no read after `w` and answers until `w + D` at the
//! latest. A pod that has seen it does not know `w`, but between which of its reads it was: the last one without it began at
//! `s`, the first one with it was answered at `a`, and `s ≤ w ≤ a`. With a lead `L > D`
//!
//! - it judges by the old generation until `s + L`, hence not after `w + L`,
//! - by none, and refuses, from `s + L` to `a + L`: as long as a read takes, and the pause between two,
//! - and by the new one from `a + L` on, hence not before `w + L`.
//!
//! With `D` = 60 s, `L` = 67 s and a read each second, a policy that is activated at 12:00:00.0 is in force at 12:01:07; a pod
//! that read at 11:59:59.8 and at 12:00:00.8 (answered at .9) refuses from 12:01:06.8 to 12:01:07.9.
//!
//! Only the clock of the pod itself is asked, and only for differences: no time is written anywhere. A pod that joins has no
//! earlier read, and refuses until `a + L`, unless the aggregator has marked the activation as *settled*: then every pod that
//! answers has switched. The next generation is activated when the last one is settled.
//!
//! `strict_rollout/check.rs` visits every state of this protocol, and of variants that break it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

#[cfg(test)]
mod check;
mod read;

pub(crate) use read::follow;

/// Generations of one parent that a pod keeps compiled, beside the one in force.
const KEPT: usize = 8;

/// The error of a pod that must not judge by a parent at this moment. Answer with a failure (HTTP 503).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndecidedError {
    /// The activations could not be read in time: there may be one that this pod does not know.
    #[error("this pod could not read the activations in time")]
    Stale,
    /// Another pod may judge by the old generation, or already by the new one.
    #[error("this pod is switching to a new generation")]
    Switching,
    /// The generation that is in force was not compiled by this pod.
    #[error("generation {0} is in force, and this pod has not compiled it")]
    NotCompiled(i64),
}

/// The activation of one parent, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Announced {
    pub(crate) generation: i64,
    /// Every pod that answers has switched.
    #[serde(default)]
    pub(crate) settled: bool,
    /// It was activated by its deadline.
    #[serde(default)]
    pub(crate) late: bool,
}

/// The time between the write of an activation and the instant from which it is in force, for pods with this fence: the fence,
/// a tenth of it and a second. The aggregator waits as long before it makes statements without a pod.
pub(crate) fn lead(fence: Duration) -> Duration {
    fence.saturating_add(fence.checked_div(10).unwrap_or_default()).saturating_add(Duration::from_secs(1))
}

/// The knowledge of one pod about one activation. Times are in milliseconds, on a scale of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn {
    generation: i64,
    previous: Option<i64>,
    /// From then on the previous generation is not in force any more. Nothing: it never was, in this process.
    from: Option<i64>,
    /// From then on the generation is in force.
    to: i64,
}

impl Turn {
    /// The activation is in an answer that came at `answered`, and was not in that to the request of `before`.
    fn new(announced: Announced, known: Option<Self>, before: Option<i64>, answered: i64, lead: i64) -> Self {
        let to = if announced.settled { answered } else { answered.saturating_add(lead) };
        // Without a read before, this pod has just joined: it may have missed the whole switch, and knows no old generation.
        let from = before.map(|before| before.saturating_add(lead));
        Self { generation: announced.generation, previous: known.map(|turn| turn.generation), from, to }
    }

    /// The knowledge after another answer with the activation.
    fn seen_again(self, announced: Announced, answered: i64) -> Self {
        let to = if announced.settled { self.to.min(answered) } else { self.to };
        Self { to, ..self }
    }

    fn in_force(self, now: i64) -> Result<Option<i64>, UndecidedError> {
        // Example with a lead of 67 s: the read that began at 0 s was without the activation, that answered at 1.1 s has it. Written
        // in between, it is in force in every pod by 68.1 s and in none before 67 s: until 67 s this pod judges by the old
        // generation, from 68.1 s by the new one, and refuses in the 1.1 s between.
        match self.from {
            _ if now >= self.to => Ok(Some(self.generation)),
            Some(from) if now < from => Ok(self.previous),
            _ => Err(UndecidedError::Switching),
        }
    }
}

/// The activations as one pod has read them.
#[derive(Debug, Default)]
struct Known {
    /// The start of the last read.
    read: Option<i64>,
    /// By uid of the parent.
    turns: BTreeMap<String, Turn>,
}

impl Known {
    fn read(&mut self, found: &BTreeMap<String, Announced>, started: i64, answered: i64, lead: i64) {
        for (uid, announced) in found {
            let known = self.turns.get(uid).copied();
            let turn = match known {
                Some(turn) if turn.generation > announced.generation => continue,
                Some(turn) if turn.generation == announced.generation => {
                    turn.seen_again(*announced, answered)
                }
                known => Turn::new(*announced, known, self.read, answered, lead),
            };
            self.turns.insert(uid.clone(), turn);
        }
        self.turns.retain(|uid, _| found.contains_key(uid));
        // Last: a new turn above counts from the read before this one, which was without the activation.
        self.read = Some(started);
    }

    fn in_force(&self, uid: &str, now: i64, fence: i64) -> Result<Option<i64>, UndecidedError> {
        if !is_fresh(self.read, now, fence) {
            return Err(UndecidedError::Stale);
        }
        self.turns.get(uid).map_or(Ok(None), |turn| turn.in_force(now))
    }
}

fn is_fresh(read: Option<i64>, now: i64, fence: i64) -> bool {
    read.is_some_and(|read| now <= read.saturating_add(fence))
}

/// The generation of each parent that is in force, in a strict rollout. Clones are the same schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    fence: Duration,
    start: Instant,
    known: Mutex<Known>,
    reads: watch::Sender<u64>,
}

impl Schedule {
    pub(crate) fn new(fence: Duration) -> Self {
        let inner =
            Inner { fence, start: Instant::now(), known: Mutex::default(), reads: watch::Sender::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the generation of the parent with this uid that is in force at this moment; `None` if none was ever
    /// activated. Ask before the decision, and again before the answer: if the two differ, decide again.
    ///
    /// # Errors
    ///
    /// [`UndecidedError`] if this pod must not judge by the parent at this moment. Answer the request with a failure (HTTP 503), or wait for
    /// [`Schedule::changed`]: a switch takes about as long as the pause between two reads.
    pub fn in_force(&self, uid: &str) -> Result<Option<i64>, UndecidedError> {
        let now = self.millis(Instant::now());
        self.known().in_force(uid, now, millis(self.inner.fence))
    }

    /// Waits for the next read of the activations. Look then which generations are in force, and report them by
    /// [`crate::StatusReporter::enforcing`].
    ///
    /// # Guarantees
    ///
    /// - Returns after [`crate::ReporterConfig::strict`] or so while reads succeed, whether or not anything has changed. A read
    ///   that fails is not counted.
    /// - Cancel-safe. A read between two calls is not remembered.
    ///
    /// # Assumptions
    ///
    /// - [`crate::ReporterDriver::run`] is polled by another task, with [`crate::ReporterConfig::strict`]: without it, this waits
    ///   for ever.
    pub async fn changed(&self) {
        // The sender lives in `self`.
        let _ = self.inner.reads.subscribe().changed().await;
    }

    /// Returns how long the answer of a read is waited for: one that is lost must not cost the fence.
    fn limit(&self) -> Duration {
        self.inner.fence.checked_div(4).unwrap_or_default()
    }

    /// Returns true if the last read is recent enough to answer.
    pub(crate) fn is_fresh(&self) -> bool {
        let read = self.known().read;
        is_fresh(read, self.millis(Instant::now()), millis(self.inner.fence))
    }

    /// A consistent read that was started and answered then has found these activations.
    pub(crate) fn read(&self, found: &BTreeMap<String, Announced>, started: Instant, answered: Instant) {
        let (started, answered) = (self.millis(started), self.millis(answered));
        // A read is taken to have begun earlier and to have ended later than it did: times are rounded down.
        let answered = answered.saturating_add(1);
        self.known().read(found, started, answered, millis(lead(self.inner.fence)));
        self.inner.reads.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn millis(&self, time: Instant) -> i64 {
        millis(time.saturating_duration_since(self.inner.start))
    }

    /// A panic while this is locked can only be a failed allocation.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.inner.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The compiled generations of one parent in one pod: the one in force, and those that may come into force.
///
/// ```
/// use pod_status::{Compiled, UndecidedError};
///
/// let mut programs = Compiled::default();
/// programs.insert(1, "deny");
/// programs.insert(2, "deny more"); // generation 1 stays until a newer one is in force
/// assert_eq!(programs.in_force(None), Ok(None), "nothing was activated: judge by nothing");
/// assert_eq!(programs.in_force(Some(1)), Ok(Some(&"deny")));
/// assert_eq!(programs.in_force(Some(2)), Ok(Some(&"deny more")));
/// assert_eq!(programs.in_force(Some(3)), Err(UndecidedError::NotCompiled(3)));
/// ```
#[derive(Clone, Debug)]
pub struct Compiled<P> {
    /// The programs by generation, ascending.
    programs: VecDeque<(i64, P)>,
}

impl<P> Default for Compiled<P> {
    fn default() -> Self {
        Self { programs: VecDeque::new() }
    }
}

impl<P> Compiled<P> {
    /// Keeps a generation that was compiled. Of nine that wait, the oldest beside the one in force is dropped; if it comes into
    /// force after all, this pod refuses until a newer one is.
    pub fn insert(&mut self, generation: i64, program: P) {
        if self.programs.back().is_none_or(|(newest, _)| *newest < generation) {
            self.programs.push_back((generation, program));
        }
        // The first one is in force, and answers requests until another is.
        if self.programs.len() > KEPT.saturating_add(1) {
            self.programs.remove(1);
        }
    }

    /// Returns the program of the generation that [`Schedule::in_force`] names, and drops older ones.
    ///
    /// # Errors
    ///
    /// [`UndecidedError::NotCompiled`] if this pod never compiled the generation, or has dropped it.
    pub fn in_force(&mut self, generation: Option<i64>) -> Result<Option<&P>, UndecidedError> {
        let Some(generation) = generation else { return Ok(None) };
        if self.programs.iter().any(|(known, _)| *known == generation) {
            self.programs.retain(|(known, _)| *known >= generation);
        }
        let program = self.programs.iter().find(|(known, _)| *known == generation);
        program.map(|(_, program)| Some(program)).ok_or(UndecidedError::NotCompiled(generation))
    }
}
