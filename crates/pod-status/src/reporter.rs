//! Stores what this pod has ingested: a cheap handle for the controllers, and one driver that writes.
//!
//! The wanted state is held in memory, so no report object is read back before it is written, and a slow or
//! failing API server costs the callers nothing: changes meanwhile collapse into one write per object.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, OptionFuture};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::desired::{DesiredReports, OwnReports};
use crate::driver_requests::{Progress, Request, locked};
use crate::epoch::Epochs;
use crate::error::{Error, PodErrors};
use crate::identity::PodIdentity;
use crate::objects::Objects;
use crate::parent::ParentKey;
use crate::permit::Permit;
use crate::readiness::{Missing, ReadinessTracker};
use crate::report::Member;
use crate::report_writer::ReportWriter;
use crate::reporter_config::ReporterConfig;
use crate::strict_rollout::{self, Schedule};

/// A handle by which controllers report what this pod has ingested. Clones are handles of the same reporter.
#[derive(Clone, Debug)]
pub struct StatusReporter {
    desired: Arc<Mutex<DesiredReports>>,
    /// Notifies the driver of changes and of requests to flush.
    wake: Arc<watch::Sender<Request>>,
    progress: watch::Receiver<Progress>,
    permit: Permit,
    schedule: Schedule,
    acknowledged_within: Duration,
}

/// The task of a [`StatusReporter`]: the only writer of this run's report objects.
#[must_use = "nothing is stored unless it is run"]
pub struct ReporterDriver {
    writer: ReportWriter,
    /// Reads the activations of strict rollouts; never ends.
    reads: Option<BoxFuture<'static, ()>>,
    limit: Duration,
    span: Span,
}

// === impl StatusReporter ===

impl StatusReporter {
    /// Returns a reporter for `identity`, and its driver, which the caller runs: see [`ReporterDriver::run`].
    pub fn new(
        client: kube::Client,
        identity: PodIdentity,
        config: ReporterConfig,
    ) -> (Self, ReporterDriver) {
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
        let reads =
            config.strict.map(|period| strict_rollout::follow(schedule.clone(), epochs, period).boxed());
        let objects = Objects::new(client, identity, &config, ttl);
        let writer =
            ReportWriter::new(desired.clone(), requests, report_progress, objects, permit.clone(), &config);
        let limit = config.shutdown_limit;
        let acknowledged_within = config.acknowledged_within;
        let handle = Self { desired, wake: Arc::new(wake), progress, permit, schedule, acknowledged_within };
        (handle, ReporterDriver { writer, reads, limit, span })
    }

    /// Reports the outcome of ingesting `generation` of `parent`. Call it *after* the outcome is in force:
    /// a status must never be ahead of the facts. Neither blocks nor fails.
    ///
    /// `detail` holds further fields for the `byPod` entry: a value that serializes to an object of at most
    /// 4 KiB, or `()`. An outcome that is already reported costs nothing; one for an older generation than
    /// reported, or for a parent that was removed, changes nothing. At most 16 errors of 256 bytes are kept; a failure without
    /// any is reported as one without a reason.
    pub fn ingested(
        &self,
        parent: &ParentKey,
        generation: i64,
        outcome: Result<(), PodErrors>,
        detail: impl Serialize,
    ) {
        let outcome = outcome.map_err(|errors| errors.into_iter().collect());
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
    /// could serve an old generation after the aggregator has counted all pods without it.
    ///
    /// # Guarantees
    ///
    /// - Waits as long as the API server takes: [`ReporterDriver::run`] retries, this does not give up.
    /// - Cancel-safe. Once registered, always registered: later calls return at once.
    ///
    /// # Assumptions
    ///
    /// - [`ReporterDriver::run`] is polled by another task.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`] if the driver has returned or was dropped.
    pub async fn registered(&self) -> Result<(), Error> {
        self.wait(|progress| progress.registered).await
    }

    /// Waits until everything reported so far is stored, without the delay of [`ReporterConfig::debounce`].
    ///
    /// # Guarantees
    ///
    /// - Covers each call of [`StatusReporter::ingested`] that has returned before, by any handle; later ones may be stored too.
    /// - Waits as long as the API server takes, also for an object that it refuses. Bound it where that matters.
    /// - Cancel-safe: what was reported is stored all the same.
    ///
    /// # Assumptions
    ///
    /// - [`ReporterDriver::run`] is polled by another task.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`] if the driver has returned or was dropped.
    pub async fn flush(&self) -> Result<(), Error> {
        let version = locked(&self.desired).version();
        self.request(|request| request.flush = request.flush.max(version));
        self.wait(|progress| progress.stored >= version).await
    }

    /// Waits until the pod may serve: `tracker` is ready, and no status claims of this pod what it has given up. Returns what was
    /// given up.
    ///
    /// If nothing was given up, that is at once, and without a request. Otherwise it waits until the failures are stored, with the
    /// fact that there are some ([`Member::incomplete`]), and until the aggregator has acknowledged that it has decided about every
    /// parent since.
    ///
    /// # Guarantees
    ///
    /// - When it returns, `Enforced` is revoked where this pod serves without a parent, if there is an aggregator.
    /// - Without an aggregator it waits for [`ReporterConfig::acknowledged_within`] after the failures are stored, then logs an
    ///   error, counts `pod_status_unacknowledged_starts_total` and returns: the statuses claim too much until there is one.
    /// - Waits without a bound for the tracker, and for the failures to be stored.
    /// - Cancel-safe; the time for the acknowledgement begins anew with the next call.
    ///
    /// # Assumptions
    ///
    /// - Each failure is reported *before* [`crate::readiness::ReadinessSource::fail`], so that it is among those that are stored.
    /// - [`ReporterDriver::run`] is polled by another task.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`] if the driver has returned or was dropped, and something was given up.
    pub async fn may_serve(&self, tracker: &ReadinessTracker) -> Result<Vec<Missing>, Error> {
        // The sender lives as long as the tracker.
        let _ = tracker.ready().wait_for(|readiness| readiness.is_ready()).await;
        let given_up = tracker.given_up();
        if !given_up.is_empty() {
            // The aggregator knows of all failures when it learns that there are some.
            self.flush().await?;
            locked(&self.desired).give_up();
            self.flush().await?;
            let acknowledged = self.wait(|progress| progress.acknowledged);
            match timeout(self.acknowledged_within, acknowledged).await {
                Ok(acknowledged) => acknowledged?,
                Err(_) => {
                    metrics::counter!("pod_status_unacknowledged_starts_total").increment(1);
                    tracing::error!(
                        "no aggregator has revoked `Enforced` for what this pod serves without; it serves all the same"
                    );
                }
            }
        }
        Ok(given_up)
    }

    /// Returns the generations that are in force in strict rollouts, with [`ReporterConfig::strict`].
    pub fn schedule(&self) -> Schedule {
        self.schedule.clone()
    }

    /// Returns the permit to answer as an enforcing pod.
    pub fn permit(&self) -> Permit {
        self.permit.clone()
    }

    fn request(&self, change: impl FnOnce(&mut Request)) {
        self.wake.send_modify(change);
    }

    async fn wait(&self, reached: impl FnMut(&Progress) -> bool) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        progress.wait_for(reached).await.map(drop).map_err(|_| Error::DriverEnded)
    }
}

// === impl ReporterDriver ===

impl ReporterDriver {
    /// Stores what the handles report, until `shutdown`; then stores the rest, with the fact that this run has
    /// stopped serving, and returns.
    ///
    /// Cancel `shutdown` after the last answer: [`Permit::check`] fails before that fact is sent, and no statement
    /// waits for this pod once it is stored. A process outside any pod withdraws all its reports; those of a pod stay as
    /// long as the pod.
    ///
    /// # Guarantees
    ///
    /// - Returns at most [`ReporterConfig::shutdown_limit`] after `shutdown`, whatever is unsaved.
    /// - Also returns when all handles are dropped, once everything is stored or the same time is over, without
    ///   the fact that it has stopped serving; and when the Pod object is deleted or another process has the same identity
    ///   ([`Permit::fenced`] returns which).
    /// - Requests that fail are logged and retried, after 0.5 to 30 s; none is waited for longer than 30 s.
    /// - Dropping the future is safe at any time: the next run with the same identity replaces what it left, and
    ///   the handles return [`Error::DriverEnded`].
    ///
    /// # Assumptions
    ///
    /// - The definition of [`ReporterConfig::kind`] is installed; until it is, the registration is retried.
    /// - No other process runs with the same identity.
    pub fn run(self, shutdown: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
        let Self { writer, reads, limit, span } = self;
        let work = async move {
            tokio::select! {
                () = writer.run(shutdown, limit) => {}
                Some(()) = OptionFuture::from(reads) => {}
            }
        };
        work.instrument(span)
    }
}
