//! One decision to be made about a parent, and what the one before it has left to be done.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::epoch::Epoch;
use crate::membership::Count;
use crate::parent::ParentRef;
use crate::report::PodReport;
use crate::shape::Shape;
use crate::vote::Parent;

/// One decision to be made. Its reports were read *before* its members were listed.
pub(crate) struct DecisionJob {
    pub(crate) shape: Shape,
    pub(crate) parent: ParentRef,
    pub(crate) count: Arc<Count>,
    pub(crate) reports: Vec<Arc<PodReport>>,
    pub(crate) waiting: Option<WaitingGeneration>,
    /// The activations, for a strict rollout.
    pub(crate) epoch: Option<Arc<Epoch>>,
    /// The first change that the decision is about was noted.
    pub(crate) began: Instant,
}

/// A generation that waits to be activated, or that a strict rollout is switching to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitingGeneration {
    uid: String,
    generation: i64,
    is_switching: bool,
    since: Instant,
    /// So long after `since` it is to be decided about again, if nothing happens before.
    wake: Duration,
}

impl WaitingGeneration {
    pub(crate) fn new(
        parent: &Parent,
        generation: i64,
        is_switching: bool,
        waited: Duration,
        wake: Duration,
    ) -> Self {
        let since = Instant::now().checked_sub(waited).unwrap_or_else(Instant::now);
        Self { uid: parent.key.uid.clone(), generation, is_switching, since, wake }
    }

    /// The time at which it is to be decided about again.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.checked_add(self.wake)
    }

    /// Returns how long `parent` has waited at this generation, if this is about it.
    pub(crate) fn waited(&self, parent: &Parent) -> Option<Duration> {
        let is_same = self.uid == parent.key.uid && self.generation == parent.generation;
        (is_same && !self.is_switching).then(|| self.since.elapsed())
    }

    /// Returns how long the activation of `parent` has been known, if this is about it.
    pub(crate) fn switching(&self, parent: &Parent) -> Option<Duration> {
        let generation = parent.announced.map(|announced| announced.generation);
        let is_same = self.uid == parent.key.uid && Some(self.generation) == generation;
        (is_same && self.is_switching).then(|| self.since.elapsed())
    }
}
