//! Stores what this pod has ingested: a cheap handle for the controllers, and one driver that writes.
//!
//! The wanted state is held in memory, so no report object is read back before it is written, and a slow or
//! failing API server costs the callers nothing: changes meanwhile collapse into one write per object.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tracing::Instrument;

use crate::desired::{DesiredReports, OwnReports};
use crate::epoch::Epochs;
use crate::error::Error;
use crate::follow::Follow;
use crate::gatekeeper::PodStatusKind;
use crate::identity::PodIdentity;
use crate::objects::Objects;
use crate::parent::ParentKey;
use crate::permit::Permit;
use crate::readiness::{Missing, ReadinessTracker};
use crate::report::{Member, PodError, ReportKind};
use crate::shape::Shape;
use crate::strict::{self, Schedule};
use crate::writer::Driver;

/// The settings of a [`StatusReporter`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReporterConfig {
    /// The kind of the report objects.
    pub kind: ReportKind,
    /// The size in bytes beyond which a report object gets no more entries. Default 16 KiB, about a hundred
    /// entries.
    pub shard_bytes: usize,
    /// A change is written when nothing has changed for this long. Default 300 ms.
    pub debounce: Duration,
    /// A change waits no longer than this, however busy it is. Default 2 s.
    pub max_delay: Duration,
    /// The period of comparing the stored objects with the wanted ones. Default 5 min. Objects that another
    /// client changes or deletes are noticed by a watch.
    pub verify_every: Duration,
    /// Least time between writes beyond a burst of 20. Default 200 ms.
    pub write_interval: Duration,
    /// After a shutdown was asked for, the driver ends within this time, whatever is unsaved. Default 5 s.
    pub shutdown_limit: Duration,
    /// The permit of a run ends when its registration could not be renewed for this long. Default none.
    pub fence: Option<Duration>,
    /// The activations of strict rollouts are read in this period. Default none.
    pub strict: Option<Duration>,
    /// Parents of these kinds get an object of their own, as Gatekeeper has it, in place of an entry in a shard. The
    /// definitions must be installed. Default none.
    pub per_parent: Vec<PodStatusKind>,
    /// Parents of these shapes get their entry of `byPod` from the pod itself, by server-side apply. Default none.
    pub direct: Vec<Shape>,
    /// The field manager of the writes, at most 64 characters. Default `pod-status`.
    pub field_manager: String,
    /// Watches of the host that take the place of the reporter's own, of its objects' metadata. Default none.
    pub follow: Option<Arc<dyn Follow>>,
}

impl Default for ReporterConfig {
    fn default() -> Self {
        Self {
            kind: ReportKind::default(),
            shard_bytes: 16 * 1024,
            debounce: Duration::from_millis(300),
            max_delay: Duration::from_secs(2),
            verify_every: Duration::from_secs(300),
            write_interval: Duration::from_millis(200),
            shutdown_limit: Duration::from_secs(5),
            fence: None,
            strict: None,
            per_parent: Vec::new(),
            direct: Vec::new(),
            field_manager: "pod-status".to_owned(),
            follow: None,
        }
    }
}

impl ReporterConfig {
    /// Sets the kind of the report objects.
    #[must_use]
    pub fn kind(mut self, kind: ReportKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the size beyond which a report object gets no more entries.
    #[must_use]
    pub fn shard_bytes(mut self, bytes: usize) -> Self {
        self.shard_bytes = bytes;
        self
    }

    /// Sets how long a change waits for silence.
    #[must_use]
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.debounce = debounce;
        self
    }

    /// Writes an object of its own for each parent that one of these kinds is for: for clusters with fewer than some
    /// 5,000 objects (pods times parents). Every start of a pod writes all of its objects.
    #[must_use]
    pub fn per_parent(mut self, kinds: impl IntoIterator<Item = PodStatusKind>) -> Self {
        self.per_parent = kinds.into_iter().collect();
        self
    }

    /// Applies this pod's entries to `status.byPod` of the parents of these shapes, with a field manager of this pod.
    /// Each schema must declare `byPod` as `x-kubernetes-list-type: map` with the key `id`, and keep the fields
    /// `podUID`, `incarnation` and `enforcing`. For at most three pods: N pods write each parent, and each write is
    /// sent to all watchers. Set [`Shape::direct`] in the aggregator's shapes too.
    #[must_use]
    pub fn direct(mut self, shapes: impl IntoIterator<Item = Shape>) -> Self {
        self.direct = shapes.into_iter().collect();
        self
    }

    /// Takes the changes of this pod's objects from watches of the host.
    #[must_use]
    pub fn follow(mut self, host: Arc<dyn Follow>) -> Self {
        self.follow = Some(host);
        self
    }

    /// Compares the stored reports with the wanted ones in this period.
    #[must_use]
    pub fn verify_every(mut self, period: Duration) -> Self {
        self.verify_every = period;
        self
    }

    /// Ends the permit of a run whose registration could not be renewed for `fence`, at least 2 seconds; use
    /// 60 seconds unless the API server is closer than that. The host must ask [`StatusReporter::permit`]
    /// before each answer.
    #[must_use]
    pub fn fence(mut self, fence: Duration) -> Self {
        self.fence = Some(fence.max(Duration::from_secs(2)));
        self
    }
}

impl ReporterConfig {
    /// Reads the activations of strict rollouts in this period, at least 100 ms; a second is usual. A pod refuses for about as
    /// long when it switches. Without a fence, it gets one of 60 seconds. The definition [`ReportKind::epoch_crd`] must be installed.
    #[must_use]
    pub fn strict(mut self, period: Duration) -> Self {
        self.strict = Some(period.max(Duration::from_millis(100)));
        self.fence.get_or_insert(Duration::from_secs(60));
        self
    }
}

/// A handle by which controllers report what this pod has ingested. Clones are handles of the same reporter.
#[derive(Clone, Debug)]
pub struct StatusReporter {
    desired: Arc<Mutex<DesiredReports>>,
    /// Notifies the driver of changes and of requests to flush and to finish.
    wake: Arc<watch::Sender<Request>>,
    progress: watch::Receiver<Progress>,
    permit: Permit,
    schedule: Schedule,
}

/// The requests of the handles to the driver. Every field only ever grows, so none can get lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Counts the changes.
    pub(crate) changes: u64,
    /// Everything up to this version of the desired state is to be stored without delay.
    pub(crate) flush: u64,
    /// Store everything, then end.
    pub(crate) finish: bool,
}

/// The progress of the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The registration of this run is stored.
    pub(crate) registered: bool,
    /// Everything up to this version of the desired state is stored.
    pub(crate) stored: u64,
}

impl StatusReporter {
    /// A reporter for `identity`, and its driver, which the caller runs until it ends.
    ///
    /// The driver ends after [`StatusReporter::shutdown`] or when all handles are gone, once everything is
    /// stored or [`ReporterConfig::shutdown_limit`] is over, and when the Pod object is deleted while the
    /// process runs. Dropping it is safe at any time: the next run with the same identity replaces what it
    /// left.
    pub fn new(
        client: kube::Client,
        identity: PodIdentity,
        config: ReporterConfig,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let ttl = config.fence.or(identity.ttl());
        let span = tracing::info_span!("pod_status_reporter", pod = identity.name);
        let member = Member {
            id: identity.name.clone(),
            uid: identity.uid.clone(),
            incarnation: identity.incarnation.clone(),
            operations: identity.operations.clone(),
            ttl_seconds: ttl.map(|ttl| ttl.as_secs()),
            heartbeat: ttl.map(|_| 0),
            stopped: false,
            incomplete: false,
        };
        let own = OwnReports { per_parent: config.per_parent.clone(), direct: config.direct.clone() };
        let desired = Arc::new(Mutex::new(DesiredReports::new(member, config.shard_bytes, own)));
        let (wake, requests) = watch::channel(Request::default());
        let (report_progress, progress) = watch::channel(Progress::default());
        let schedule = Schedule::new(config.fence.unwrap_or_default());
        let permit = Permit::new(config.fence).with_schedule(config.strict.map(|_| schedule.clone()));
        let epochs = Epochs::new(client.clone(), &config.kind, &identity.namespace);
        let reads = config.strict.map(|period| strict::follow(schedule.clone(), epochs, period));
        let objects = Objects::new(client, identity, &config, ttl);
        let driver =
            Driver::new(desired.clone(), requests, report_progress, objects, permit.clone(), &config);
        let driver = async move {
            tokio::select! {
                () = driver.run(config.shutdown_limit) => {}
                () = or_never(reads) => {}
            }
        };
        let driver = driver.instrument(span);
        (Self { desired, wake: Arc::new(wake), progress, permit, schedule }, driver)
    }

    /// Reports the outcome of ingesting `generation` of `parent`. Call it *after* the outcome is in force:
    /// a status must never be ahead of the facts. Neither blocks nor fails.
    ///
    /// `detail` holds further fields for the `byPod` entry: a value that serializes to an object of at most
    /// 4 KiB, or `()`. An outcome that is already reported costs nothing; one for an older generation than
    /// reported, or for a parent that was removed, changes nothing. At most 16 errors of 256 bytes are kept.
    pub fn ingested(
        &self,
        parent: &ParentKey,
        generation: i64,
        outcome: Result<(), Vec<PodError>>,
        detail: impl Serialize,
    ) {
        if locked(&self.desired).ingested(parent, generation, outcome, &detail) {
            self.request(|request| request.changes = request.changes.wrapping_add(1));
        }
    }

    /// Reports that `generation` of `parent` is in force, where the rollout is coordinated: the generation that
    /// is ingested may be a newer one. Does nothing for a parent that was not ingested.
    pub fn enforcing(&self, parent: &ParentKey, generation: i64) {
        let _span =
            tracing::debug_span!("pod_status_switch", parent = %parent.reference, generation).entered();
        if locked(&self.desired).enforcing(parent, Some(generation)) {
            self.request(|request| request.changes = request.changes.wrapping_add(1));
        }
    }

    /// Withdraws what was reported about `parent`, which does not exist any more. Outcomes for it that arrive
    /// later change nothing.
    pub fn removed(&self, parent: &ParentKey) {
        if locked(&self.desired).removed(parent) {
            self.request(|request| request.changes = request.changes.wrapping_add(1));
        }
    }

    /// Waits until the registration of this run is stored. From then on the run counts as a member.
    ///
    /// Wait for this *before* the first list of the parents: a process that lists first and registers later
    /// could serve an old generation after the aggregator has counted everybody. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`]
    pub async fn registered(&self) -> Result<(), Error> {
        self.wait(|progress| progress.registered).await
    }

    /// Waits until everything reported so far is stored, without the usual delay. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`]
    pub async fn flush(&self) -> Result<(), Error> {
        let version = locked(&self.desired).version();
        self.request(|request| request.flush = request.flush.max(version));
        self.wait(|progress| progress.stored >= version).await
    }

    /// Waits until the pod may serve: `tracker` is ready, and the failures of what it has given up are stored, with the fact
    /// that there are some ([`Member::incomplete`]). Otherwise a status could call enforced what this pod serves without. Returns what was given up. Cancel-safe.
    ///
    /// Report each failure before [`crate::readiness::ReadinessSource::fail`], so that it is among those that are waited for.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`]
    pub async fn may_serve(&self, tracker: &ReadinessTracker) -> Result<Vec<Missing>, Error> {
        // The sender lives as long as the tracker.
        let _ = tracker.ready().wait_for(|readiness| readiness.is_ready()).await;
        let given_up = tracker.given_up();
        if !given_up.is_empty() {
            locked(&self.desired).give_up();
            self.flush().await?;
        }
        Ok(given_up)
    }

    /// The generations that are in force in strict rollouts, with [`ReporterConfig::strict`].
    pub fn schedule(&self) -> Schedule {
        self.schedule.clone()
    }

    /// The permit to answer as an enforcing pod.
    pub fn permit(&self) -> Permit {
        self.permit.clone()
    }

    /// Stores what is reported and ends the driver. Call it after the last answer: a pod also reports that
    /// it has stopped serving, and from then on no statement waits for it. A process outside any pod
    /// withdraws all its reports; those of a pod stay as long as the pod.
    ///
    /// Returns after [`ReporterConfig::shutdown_limit`] at the latest. Cancel-safe.
    pub async fn shutdown(&self) {
        self.request(|request| request.finish = true);
        let mut progress = self.progress.clone();
        // The driver closes the channel when it ends.
        while progress.changed().await.is_ok() {}
    }

    fn request(&self, change: impl FnOnce(&mut Request)) {
        self.wake.send_modify(change);
    }

    async fn wait(&self, reached: impl FnMut(&Progress) -> bool) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        progress.wait_for(reached).await.map(drop).map_err(|_| Error::DriverEnded)
    }
}

async fn or_never(reads: Option<impl Future<Output = ()>>) {
    match reads {
        Some(reads) => reads.await,
        None => std::future::pending().await,
    }
}

/// A panic while the desired state is locked can only be a failed allocation: the state is intact.
pub(crate) fn locked(desired: &Mutex<DesiredReports>) -> MutexGuard<'_, DesiredReports> {
    desired.lock().unwrap_or_else(PoisonError::into_inner)
}
