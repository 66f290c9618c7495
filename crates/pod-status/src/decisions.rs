//! The decisions that are under way: at most a few at a time, one for each parent, and none waits for another.
//!
//! A parent that changes while its decision is under way is decided about again afterwards. One that changes while it waits for
//! its turn is decided about by the new reports: of 10,000 parents the last waits for half a minute, and a pod that has said
//! meanwhile that it does not enforce it must not be overheard. A parent whose request fails is left alone for a while; all
//! others go on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use crate::cluster::{Cluster, Held, Written};
use crate::epoch::Epoch;
use crate::parent::ParentRef;
use crate::parked::Parked;
use crate::report::{Member, PodReport};
use crate::shape::Shape;

/// Parents that are read and written at the same time.
const CONCURRENCY: usize = 32;

/// One decision to be made. Its reports were read *before* its members were listed.
pub(crate) struct Job {
    pub(crate) shape: Shape,
    pub(crate) parent: ParentRef,
    pub(crate) count: Arc<Count>,
    pub(crate) reports: Vec<Arc<PodReport>>,
    pub(crate) held: Option<Held>,
    /// The activations, for a strict rollout.
    pub(crate) epoch: Option<Arc<Epoch>>,
    /// The first change that the decision is about was noted.
    pub(crate) began: Instant,
}

/// The runs that were known when they were counted.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) members: Vec<Member>,
    /// They do not serve, but their pods exist.
    pub(crate) excluded: Vec<Member>,
    /// Their pods do not exist, and the processes have ended or fenced themselves.
    pub(crate) gone: Vec<Member>,
}

impl Count {
    /// Sets the gauge.
    pub(crate) fn publish(&self) {
        for (state, runs) in [("active", &self.members), ("stopped", &self.excluded), ("gone", &self.gone)] {
            let runs = u32::try_from(runs.len()).unwrap_or(u32::MAX);
            metrics::gauge!("pod_status_members", "state" => state).set(runs);
        }
    }
}

/// The result of one decision.
pub(crate) struct Settled {
    pub(crate) parent: ParentRef,
    pub(crate) written: kube::Result<Written>,
    /// The parent, its reports or the members have changed meanwhile.
    pub(crate) is_outdated: bool,
}

pub(crate) struct Decisions {
    cluster: Arc<Cluster>,
    queue: VecDeque<ParentRef>,
    /// The jobs of the parents in `queue`.
    jobs: BTreeMap<ParentRef, Job>,
    running: FuturesUnordered<BoxFuture<'static, (ParentRef, kube::Result<Written>)>>,
    /// The parents in `running`.
    busy: BTreeSet<ParentRef>,
    /// Those of them that have changed since.
    outdated: BTreeSet<ParentRef>,
    parked: Parked<ParentRef>,
}

impl Decisions {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            queue: VecDeque::new(),
            jobs: BTreeMap::new(),
            running: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            outdated: BTreeSet::new(),
            parked: Parked::default(),
        }
    }

    /// Whether the parent may be decided about, now or in its turn. If not, it will be: when it is settled, or has waited.
    pub(crate) fn admits(&mut self, parent: &ParentRef, now: Instant) -> bool {
        if self.busy.contains(parent) {
            self.outdated.insert(parent.clone());
            return false;
        }
        !self.parked.is_waiting(parent, now)
    }

    /// Whether the parent is decided about, or will be without any event.
    pub(crate) fn is_engaged(&self, parent: &ParentRef) -> bool {
        self.busy.contains(parent) || self.jobs.contains_key(parent) || self.parked.is_queued(parent)
    }

    /// Decides when it is the parent's turn. A job that waits already is replaced, and keeps its place.
    pub(crate) fn push(&mut self, job: Job) {
        let parent = job.parent.clone();
        match self.jobs.get_mut(&parent) {
            Some(waiting) => *waiting = Job { began: waiting.began, ..job },
            None => {
                self.queue.push_back(parent.clone());
                self.jobs.insert(parent, job);
            }
        }
    }

    /// The time at which a parent that failed is to be decided about again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.parked.next()
    }

    /// The parents that have waited long enough after a failure.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ParentRef> {
        self.parked.take_due(now)
    }

    /// Notes that the request for a parent failed. Returns the time until the next attempt.
    pub(crate) fn failed(&mut self, parent: ParentRef, error: &kube::Error) -> Duration {
        self.parked.failed(parent, error, Instant::now())
    }

    /// Notes that the status of a parent is right, or the parent gone.
    pub(crate) fn succeeded(&mut self, parent: &ParentRef) {
        self.parked.succeeded(parent);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty() && self.jobs.is_empty()
    }

    /// The next decision that is settled; never, without any. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Settled {
        while self.running.len() < CONCURRENCY
            && let Some(parent) = self.queue.pop_front()
        {
            let Some(job) = self.jobs.remove(&parent) else { continue };
            self.busy.insert(parent);
            self.running.push(Box::pin(decide(self.cluster.clone(), job)));
        }
        let Some((parent, written)) = self.running.next().await else {
            return std::future::pending().await;
        };
        self.busy.remove(&parent);
        let is_outdated = self.outdated.remove(&parent);
        Settled { parent, written, is_outdated }
    }
}

/// The generation is recorded when the parent is read.
fn span(parent: &ParentRef) -> Span {
    tracing::debug_span!("pod_status_reconcile", %parent, generation = field::Empty)
}

async fn decide(cluster: Arc<Cluster>, job: Job) -> (ParentRef, kube::Result<Written>) {
    let written = cluster.reconcile(&job).instrument(span(&job.parent)).await;
    metrics::histogram!("pod_status_aggregate_lag_seconds").record(job.began.elapsed().as_secs_f64());
    (job.parent, written)
}
