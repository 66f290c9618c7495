//! The decisions that are under way: at most a few at a time, one for each parent, and none waits for another.
//!
//! A parent that changes while its decision is under way is decided about again afterwards. One that changes while it waits for
//! its turn is decided about by the new reports: of 10,000 parents the last waits for half a minute, and a report
//! that arrives meanwhile must not be missed. A parent of which a status claims what a pod contradicts comes
//! before all others. A parent whose request fails is left alone for a while; all others go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use crate::backoffs::Backoffs;
use crate::cluster::{Cluster, Written};
use crate::decision::DecisionJob;
use crate::membership::Count;
use crate::parent::ParentRef;

/// Parents that are read and written at the same time.
const CONCURRENCY: usize = 32;
/// And beyond these, parents that are urgent: they wait for no answer about another.
const URGENT: usize = 32;

/// The result of one decision.
pub(crate) struct Settled {
    pub(crate) parent: ParentRef,
    pub(crate) written: kube::Result<Written>,
    /// The parent, its reports or the members have changed meanwhile.
    pub(crate) is_outdated: bool,
    /// The members by which it was decided.
    pub(crate) count: Arc<Count>,
}

pub(crate) struct Decisions {
    cluster: Arc<Cluster>,
    /// The parents that a pod contradicts, by all that is known: until they are decided about, their statuses claim too much.
    urgent: VecDeque<ParentRef>,
    queue: VecDeque<ParentRef>,
    /// The jobs of the parents in `urgent` and `queue`, and whether they are in the former. A parent in both has one.
    jobs: BTreeMap<ParentRef, (DecisionJob, bool)>,
    running: FuturesUnordered<BoxFuture<'static, (DecisionJob, kube::Result<Written>)>>,
    /// The parents in `running`.
    busy: BTreeSet<ParentRef>,
    /// Those of them that have changed since.
    outdated: BTreeSet<ParentRef>,
    backoffs: Backoffs<ParentRef>,
}

impl Decisions {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            urgent: VecDeque::new(),
            queue: VecDeque::new(),
            jobs: BTreeMap::new(),
            running: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            outdated: BTreeSet::new(),
            backoffs: Backoffs::default(),
        }
    }

    /// Returns true if the parent is being decided about.
    pub(crate) fn is_busy(&self, parent: &ParentRef) -> bool {
        self.busy.contains(parent)
    }

    /// Returns true if the parent may be decided about, now or in its turn. If not, it will be: when it is settled, or
    /// has waited.
    pub(crate) fn admits(&mut self, parent: &ParentRef, now: Instant) -> bool {
        if self.busy.contains(parent) {
            self.outdated.insert(parent.clone());
            return false;
        }
        !self.backoffs.is_waiting(parent, now)
    }

    /// Decides when it is the parent's turn. A job that waits already is replaced, and keeps its place, or gets one among the
    /// urgent ones.
    pub(crate) fn push(&mut self, job: DecisionJob, is_urgent: bool) {
        let parent = job.parent.clone();
        let known = self.jobs.remove(&parent).map(|(waiting, was_urgent)| (waiting.began, was_urgent));
        let was_urgent = known.is_some_and(|(_, was_urgent)| was_urgent);
        if is_urgent && !was_urgent {
            self.urgent.push_back(parent.clone());
        } else if known.is_none() {
            self.queue.push_back(parent.clone());
        }
        let began = known.map_or(job.began, |(began, _)| began);
        self.jobs.insert(parent, (DecisionJob { began, ..job }, is_urgent || was_urgent));
    }

    /// The time at which a parent that failed is to be decided about again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.backoffs.next()
    }

    /// The parents that have waited long enough after a failure.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ParentRef> {
        self.backoffs.take_due(now)
    }

    /// Notes that the request for a parent failed. Returns the time until the next attempt.
    pub(crate) fn failed(&mut self, parent: ParentRef, error: &kube::Error) -> Duration {
        self.backoffs.failed(parent, error, Instant::now())
    }

    /// Notes that the status of a parent is right, or the parent gone.
    pub(crate) fn succeeded(&mut self, parent: &ParentRef) {
        self.backoffs.succeeded(parent);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty() && self.jobs.is_empty()
    }

    /// The next decision that is settled; never, without any. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Settled {
        while let Some(job) = self.take() {
            self.busy.insert(job.parent.clone());
            self.running.push(Box::pin(decide(self.cluster.clone(), job)));
        }
        let Some((job, written)) = self.running.next().await else {
            return std::future::pending().await;
        };
        let DecisionJob { parent, count, .. } = job;
        self.busy.remove(&parent);
        let is_outdated = self.outdated.remove(&parent);
        Settled { parent, written, is_outdated, count }
    }

    /// The next job, if there is room for it.
    fn take(&mut self) -> Option<DecisionJob> {
        loop {
            let (queue, limit) = if self.urgent.is_empty() {
                (&mut self.queue, CONCURRENCY)
            } else {
                (&mut self.urgent, CONCURRENCY.saturating_add(URGENT))
            };
            let parent = (self.running.len() < limit).then(|| queue.pop_front()).flatten()?;
            // Nothing, if it was in both queues.
            if let Some((job, _)) = self.jobs.remove(&parent) {
                return Some(job);
            }
        }
    }
}

/// The generation is recorded when the parent is read.
fn span(parent: &ParentRef) -> Span {
    tracing::debug_span!("pod_status_reconcile", %parent, generation = field::Empty)
}

async fn decide(cluster: Arc<Cluster>, job: DecisionJob) -> (DecisionJob, kube::Result<Written>) {
    let written = cluster.reconcile(&job).instrument(span(&job.parent)).await;
    metrics::histogram!("pod_status_aggregate_lag_seconds").record(job.began.elapsed().as_secs_f64());
    (job, written)
}
