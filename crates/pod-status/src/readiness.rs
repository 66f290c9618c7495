//! Readiness: a pod may serve once everything that existed at its start has been *ingested*, not merely cached.
//!
//! Expectations come from the very stream that the controllers work on: what the first list contains is
//! expected, what the stream reports as deleted is not. Hence nothing has to be listed a second time, and the two
//! views cannot disagree. `expectations` holds the rules, without locks; this file is the handle.
//!
//! It fails closed: what cannot be listed or ingested keeps the pod from serving until it can, or is gone. A
//! [`GiveUpPolicy`] may give up on permanent failures instead, and [`ReadinessTracker::given_up`] names them.
//!
//! Once ready, always ready: this is about the start, not about lag later on.

mod expectations;
mod ingest_time;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::missing::MissingSemantics;
use crate::parent::ParentKey;
use expectations::{Expectations, SourceId};
use ingest_time::IngestTimes;

/// The readiness of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readiness {
    /// Something that existed at the start has not been ingested.
    Waiting,
    /// Everything has. This is final.
    Ready,
}

impl Readiness {
    /// Returns true if the pod may serve.
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }
}

/// The treatment of an expectation that cannot be met. It concerns the sources that are [`MissingSemantics::Looser`]; all
/// others block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// It blocks until the object is repaired or deleted, or the list succeeds.
    #[default]
    Block,
    /// It is given up, and named by [`ReadinessTracker::given_up`]: the pod serves without it.
    GiveUp,
}

/// The treatment of permanent failures in the sources that are [`MissingSemantics::Looser`]. Blocks by default; transient
/// failures always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GiveUpPolicy {
    /// The treatment of an object whose ingestion fails permanently.
    pub permanent: OnError,
    /// The treatment of a kind that can permanently not be listed.
    pub unlistable: OnError,
}

impl GiveUpPolicy {
    /// Sets the treatment of objects whose ingestion fails permanently.
    #[must_use]
    pub fn permanent(mut self, on_error: OnError) -> Self {
        self.permanent = on_error;
        self
    }

    /// Sets the treatment of kinds that can permanently not be listed.
    #[must_use]
    pub fn unlistable(mut self, on_error: OnError) -> Self {
        self.unlistable = on_error;
        self
    }
}

/// The class of an error, by which it is retried or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Trying again cannot help until the object or a permission changes.
    #[default]
    Permanent,
    /// It will be tried again.
    Transient,
}

impl ErrorClass {
    pub(crate) fn is_permanent(&self) -> bool {
        *self == Self::Permanent
    }
}

/// An expectation that is not met. Its `Display` is a line for a verbose readiness probe.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// [`ReadinessTracker::seal`] has not been called.
    Seal,
    /// The first list of a source is not complete.
    List {
        /// The source, with those it belongs to.
        source: String,
        /// The last failure, if any.
        reason: Option<String>,
    },
    /// An object has not been ingested.
    Object {
        /// The source, with those it belongs to.
        source: String,
        /// The object.
        object: ParentKey,
        /// The generation that existed at the start.
        generation: i64,
        /// The last failure, if any.
        reason: Option<String>,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Self::Seal => return f.write_str("sources are still being declared"),
            Self::List { source, reason } => {
                write!(f, "{source}: not listed yet")?;
                reason
            }
            Self::Object { source, object, generation, reason } => {
                let reference = &object.reference;
                write!(f, "{source}: {} ", reference.kind)?;
                if let Some(namespace) = &reference.namespace {
                    write!(f, "{namespace}/")?;
                }
                write!(f, "{} not ingested at generation {generation}", reference.name)?;
                reason
            }
        };
        reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

/// The objects that the pod still has to ingest before it may serve. Clones are the same tracker.
///
/// ```
/// # use pod_status::{ParentKey, ParentRef, ReadinessTracker, readiness::GiveUpPolicy};
/// # let key = ParentKey::new(ParentRef::new("", "T", "t"), "u");
/// let tracker = ReadinessTracker::new(GiveUpPolicy::default());
/// let templates = tracker.source("templates");
/// tracker.seal();
///
/// templates.list_begins(); // Init
/// templates.expect(&key, 1); // InitApply
/// templates.list_ends(); // InitDone
/// assert!(!tracker.ready().borrow().is_ready());
/// assert_eq!(tracker.explain()[0].to_string(), "templates: T t not ingested at generation 1");
///
/// templates.observe(&key, 1); // the policy set that contains it is in force
/// assert!(tracker.ready().borrow().is_ready());
/// ```
#[derive(Clone, Debug)]
pub struct ReadinessTracker {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    expectations: Mutex<Expectations>,
    times: Mutex<IngestTimes>,
    readiness: watch::Sender<Readiness>,
}

impl Inner {
    /// A panic while the expectations are locked can only be a failed allocation: the state is intact.
    fn expectations(&self) -> MutexGuard<'_, Expectations> {
        self.expectations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn times(&self) -> MutexGuard<'_, IngestTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Expectations) -> R) -> R {
        let mut expectations = self.expectations();
        let result = change(&mut expectations);
        let is_settled = expectations.settle();
        // Sent after the expectations are unlocked: a caller of `explain` may hold a borrow of the readiness, which the send waits
        // for. Ready is final, so the order of sends does not matter.
        drop(expectations);
        if is_settled {
            self.readiness.send_replace(Readiness::Ready);
        }
        result
    }
}

impl ReadinessTracker {
    /// Returns a tracker that waits for its sources to be declared.
    pub fn new(policy: GiveUpPolicy) -> Self {
        let inner = Inner {
            expectations: Mutex::new(Expectations::new(policy)),
            times: Mutex::default(),
            readiness: watch::Sender::new(Readiness::Waiting),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Declares a kind of object whose first list must be ingested. Once the tracker is ready, a source
    /// changes nothing.
    pub fn source(&self, name: impl Into<String>) -> ReadinessSource {
        let id = self.inner.change(|expectations| expectations.source(name.into()));
        ReadinessSource { inner: self.inner.clone(), id }
    }

    /// Notes that all sources are declared. Without it the tracker never becomes ready.
    pub fn seal(&self) {
        self.inner.change(Expectations::seal);
    }

    /// Returns the readiness, now and when it changes.
    pub fn ready(&self) -> watch::Receiver<Readiness> {
        self.inner.readiness.subscribe()
    }

    /// Returns everything that is missing; empty exactly when ready.
    pub fn explain(&self) -> Vec<Missing> {
        self.inner.expectations().explain()
    }

    /// Returns the expectations that the policy or [`ReadinessTracker::give_up`] gave up, also after the tracker has
    /// become ready. The pod serves without them.
    pub fn given_up(&self) -> Vec<Missing> {
        self.inner.expectations().given_up()
    }

    /// Gives up what is missing in the sources that are [`MissingSemantics::Looser`], now and later, and returns what that is:
    /// for a deadline of the host's choosing. What is missing in other sources, or a missing [`ReadinessTracker::seal`], keeps
    /// the tracker waiting; [`ReadinessTracker::explain`] names it.
    pub fn give_up(&self) -> Vec<Missing> {
        self.inner.change(Expectations::give_up)
    }
}

/// One kind of object that readiness depends on. Clones are the same source.
///
/// The calls follow the events of a watch. Their order relative to the ingestion does not matter.
#[derive(Clone, Debug)]
pub struct ReadinessSource {
    inner: Arc<Inner>,
    id: SourceId,
}

impl ReadinessSource {
    /// Declares what a missing object of this source does to the pod's decisions. Without it, nothing is given up.
    #[must_use]
    pub fn missing(self, semantics: MissingSemantics) -> Self {
        self.inner.change(|expectations| expectations.set_missing(self.id, semantics));
        self
    }

    /// Notes that a list begins (`Init`). When it ends, objects that it does not contain are not expected any more.
    pub fn list_begins(&self) {
        self.inner.times().list_begins(self.id);
        self.inner.change(|expectations| expectations.list_begins(self.id));
    }

    /// Notes that an object exists (`InitApply`, and harmlessly `Apply`). Objects that appear after the first list are
    /// not waited for; one that takes the name of an expected object takes its place.
    ///
    /// The histogram `pod_status_time_to_ingest_seconds` measures from here until [`ReadinessSource::observe`].
    pub fn expect(&self, object: &ParentKey, generation: i64) {
        self.inner.times().received(self.id, object, generation, Instant::now());
        self.inner.change(|expectations| expectations.expect(self.id, object, generation));
    }

    /// Notes that the list is complete (`InitDone`).
    pub fn list_ends(&self) {
        self.inner.times().list_ends(self.id);
        self.inner.change(|expectations| expectations.list_ends(self.id));
    }

    /// Notes that the kind cannot be listed. A later list makes up for it.
    pub fn list_fails(&self, failure: ErrorClass, reason: impl Into<String>) {
        self.inner.change(|expectations| expectations.list_fails(self.id, failure, reason.into()));
    }

    /// Notes that the object has been ingested at `generation` and is in force. Another object of the same name, or an
    /// older generation than expected, does not count.
    pub fn observe(&self, object: &ParentKey, generation: i64) {
        let taken = self.inner.times().ingested(self.id, object, generation, Instant::now());
        if let Some(taken) = taken {
            metrics::histogram!("pod_status_time_to_ingest_seconds").record(taken.as_secs_f64());
        }
        self.inner.change(|expectations| expectations.observe(self.id, object, generation));
    }

    /// Notes that the object could not be ingested at `generation`.
    pub fn fail(&self, object: &ParentKey, generation: i64, failure: ErrorClass, reason: impl Into<String>) {
        self.inner
            .change(|expectations| expectations.fail(self.id, object, generation, failure, reason.into()));
    }

    /// Notes that the object is gone (`Delete`), and everything that depends on it.
    pub fn cancel(&self, object: &ParentKey) {
        self.inner.times().removed(self.id, object);
        self.inner.change(|expectations| expectations.cancel(self.id, object));
    }

    /// Declares a source that exists because of `object`, such as the kind that a template defines. It is
    /// waited for as long as `object` is expected here.
    ///
    /// Declare it *before* [`ReadinessSource::observe`] of `object`, or the tracker may be ready in between.
    /// Asking again for the same object and name gives the same source.
    pub fn child(&self, object: &ParentKey, name: impl Into<String>) -> ReadinessSource {
        let id = self.inner.change(|expectations| expectations.child(self.id, object, name.into()));
        ReadinessSource { inner: self.inner.clone(), id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_holds_a_borrow_of_the_readiness_may_ask_what_is_missing() {
        let tracker = ReadinessTracker::new(GiveUpPolicy::default());
        let source = tracker.source("pods");
        source.list_begins();
        tracker.seal();
        let readiness = tracker.ready();
        let borrow = readiness.borrow();
        let ends = std::thread::spawn(move || source.list_ends());
        while !tracker.explain().is_empty() {
            std::thread::yield_now();
        }
        drop(borrow);
        ends.join().unwrap();
        assert!(tracker.ready().borrow().is_ready());
    }
}
