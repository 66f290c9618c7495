//! The driver of a [`crate::StatusReporter`]: the only writer of this run's report objects.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::future::OptionFuture;
use futures::stream::BoxStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::backoffs::Backoffs;
use crate::desired::{DesiredReports, Written};
use crate::driver_requests::{Progress, Request, locked};
use crate::duplicate_identity::{Duplicate, DuplicateIdentity};
use crate::follow::Followed;
use crate::objects::Objects;
use crate::pace::{Bucket, Debounce, Pause};
use crate::permit::{FencedError, Permit};
use crate::reason::reason;
use crate::report::REGISTRATION;
use crate::reporter_config::ReporterConfig;

/// Writes that may be sent at once before the write interval applies.
const BURST: u32 = 20;
/// Comparisons and re-creations that another client can cause at once, and the interval after that.
const REPAIRS: u32 = 4;
const REPAIR_INTERVAL: Duration = Duration::from_secs(5);

/// The next thing to do.
#[derive(Debug)]
enum Step {
    Write(u32),
    Verify,
    WaitUntil(Instant),
    End,
}

pub(crate) struct ReportWriter {
    desired: Arc<Mutex<DesiredReports>>,
    requests: watch::Receiver<Request>,
    progress: watch::Sender<Progress>,
    permit: Permit,
    objects: Objects,
    /// Changes of the objects by other clients; followed once this run is registered.
    changes: Option<BoxStream<'static, Followed>>,
    /// The objects of the burst that is being written. Changes since then wait for the next one.
    batch: VecDeque<u32>,
    /// Objects that the API server refuses while it takes others.
    backoffs: Backoffs<u32>,
    debounce: Debounce,
    bucket: Bucket,
    repairs: Bucket,
    pause: Pause,
    verify_every: Duration,
    verify_at: Instant,
    heartbeat_every: Option<Duration>,
    heartbeat_at: Instant,
    shutdown: CancellationToken,
    /// `shutdown` is cancelled, and the next step knows it.
    cancelled: bool,
    /// The end is noted in what is to be written.
    leaving: bool,
    /// No handle is left, so there are no more requests.
    orphaned: bool,
    /// Another client has deleted an object: nothing is written before it is known that the pod exists.
    suspicious: bool,
    /// The pod is gone, or another process has its identity: nothing is to be written any more.
    ended: bool,
    duplicate_identity: DuplicateIdentity,
    /// The aggregator has acknowledged what this run has given up.
    acknowledged: bool,
}

impl ReportWriter {
    pub(crate) fn new(
        desired: Arc<Mutex<DesiredReports>>,
        requests: watch::Receiver<Request>,
        progress: watch::Sender<Progress>,
        objects: Objects,
        permit: Permit,
        config: &ReporterConfig,
    ) -> Self {
        let now = Instant::now();
        let heartbeat_every = objects.heartbeat_period();
        let incarnation = objects.incarnation().to_owned();
        Self {
            desired,
            requests,
            progress,
            permit,
            objects,
            changes: None,
            batch: VecDeque::from([REGISTRATION]),
            backoffs: Backoffs::default(),
            debounce: Debounce::new(config.debounce, config.max_delay),
            bucket: Bucket::new(config.write_interval, BURST, now),
            repairs: Bucket::new(REPAIR_INTERVAL, REPAIRS, now),
            pause: Pause::new(heartbeat_every, now),
            verify_every: config.verify_every,
            verify_at: now,
            heartbeat_every,
            heartbeat_at: now,
            shutdown: CancellationToken::new(),
            cancelled: false,
            leaving: false,
            orphaned: false,
            suspicious: false,
            ended: false,
            duplicate_identity: DuplicateIdentity::new(incarnation),
            acknowledged: false,
        }
    }

    /// Works until `shutdown` or until no handle is left, and then no longer than `limit`.
    pub(crate) async fn run(mut self, shutdown: CancellationToken, limit: Duration) {
        self.shutdown = shutdown.clone();
        let mut requests = self.requests.clone();
        let overdue = async {
            // The channel of the requests closes with the last handle.
            let orphaned = async { drop(requests.wait_for(|_| false).await) };
            shutdown.run_until_cancelled(orphaned).await;
            sleep(limit).await;
        };
        tokio::select! {
            () = self.work() => {}
            () = overdue => tracing::warn!(?limit, "the last status reports of this pod are not stored"),
        }
    }

    async fn work(mut self) {
        loop {
            let outcome = match self.next_step(Instant::now()) {
                Step::End => return,
                Step::WaitUntil(due) => {
                    self.wait(due).await;
                    self.publish();
                    continue;
                }
                Step::Write(shard) => self.write(shard).await,
                Step::Verify => self.verify().await,
            };
            match outcome {
                Ok(()) => self.pause.succeeded(),
                Err(error) => {
                    let delay = self.pause.failed(&error, Instant::now());
                    let reason = reason(&error);
                    tracing::warn!(reason, ?delay, "the status report of this pod is not stored, will retry");
                }
            }
            self.publish();
        }
    }

    fn next_step(&mut self, now: Instant) -> Step {
        let (request, is_ending) = self.note_request(now);
        if self.ended {
            return Step::End;
        }
        let is_renewal_next = self.batch.front() == Some(&REGISTRATION);
        let paused_until = self.pause.until(is_renewal_next, self.heartbeat_at);
        if paused_until > now {
            return Step::WaitUntil(paused_until);
        }
        self.note_occasions(is_ending, now);
        if let Some(shard) = self.batch.front() {
            return Step::Write(*shard);
        }
        let desired = locked(&self.desired);
        let (is_clean, stored) = (desired.dirty().next().is_none(), desired.stored_version());
        drop(desired);
        match (is_clean, is_ending) {
            (true, true) => Step::End,
            (false, true) => self.begin_batch(now),
            (_, false) if self.verify_at <= now => Step::Verify,
            (true, false) => {
                self.backoffs = Backoffs::default();
                self.debounce.clear();
                Step::WaitUntil(self.idle_until())
            }
            (false, false) if stored < request.flush || !self.backoffs.take_due(now).is_empty() => {
                self.begin_batch(now)
            }
            (false, false) => self.debounced(now),
        }
    }

    /// Takes notice of the handles' requests. Returns also true if the run is to end.
    fn note_request(&mut self, now: Instant) -> (Request, bool) {
        if self.requests.has_changed().unwrap_or(false) {
            self.debounce.changed(now);
        }
        self.cancelled |= self.shutdown.is_cancelled();
        (*self.requests.borrow_and_update(), self.cancelled || self.orphaned)
    }

    /// Changes the desired state at the end and when a heartbeat is due.
    fn note_occasions(&mut self, is_ending: bool, now: Instant) {
        let mut desired = locked(&self.desired);
        if is_ending {
            if std::mem::replace(&mut self.leaving, true) {
                return;
            }
            if self.objects.is_detached() {
                return desired.withdraw();
            }
            // Handles that are dropped say nothing about serving.
            if !self.cancelled {
                return;
            }
            // Statements may be made without this run as soon as the next write is sent.
            self.permit.end(FencedError::Stopped);
            desired.stop();
        } else if let Some(period) = self.heartbeat_every.filter(|_| self.heartbeat_at <= now) {
            self.heartbeat_at = later(now, period);
            if !self.permit.may_renew() {
                return;
            }
            desired.beat();
        } else {
            return;
        }
        if self.batch.front() != Some(&REGISTRATION) {
            self.batch.push_front(REGISTRATION);
        }
    }

    /// Begins a batch if the burst of changes is over.
    fn debounced(&mut self, now: Instant) -> Step {
        if self.debounce.due().is_none() {
            // The change is in the desired state, and the request that announces it on its way.
            self.debounce.changed(now);
        }
        match self.debounce.due() {
            Some(due) if due > now => Step::WaitUntil(due.min(self.idle_until())),
            _ => self.begin_batch(now),
        }
    }

    /// Begins to write what is dirty and not backing off.
    fn begin_batch(&mut self, now: Instant) -> Step {
        self.debounce.clear();
        let desired = locked(&self.desired);
        self.batch = desired.dirty().filter(|shard| !self.backoffs.is_waiting(shard, now)).collect();
        drop(desired);
        self.batch.front().map_or_else(|| Step::WaitUntil(self.idle_until()), |shard| Step::Write(*shard))
    }

    /// The time at which something is to be done without a request.
    fn idle_until(&self) -> Instant {
        let heartbeat = self.heartbeat_every.map(|_| self.heartbeat_at);
        self.backoffs.next().into_iter().chain(heartbeat).fold(self.verify_at, Instant::min)
    }

    /// Waits for a request or a change by another client, at most until `due`.
    async fn wait(&mut self, due: Instant) {
        let changed = self.changes.as_mut().map(|changes| changes.next());
        tokio::select! {
            // A request that is there already is noted before the batch is decided.
            biased;
            requested = self.requests.changed(), if !self.orphaned => match requested {
                Ok(()) => self.debounce.changed(Instant::now()),
                Err(_) => self.orphaned = true,
            },
            Some(Some(event)) = OptionFuture::from(changed) => self.note_change(&event),
            () = self.shutdown.cancelled(), if !self.cancelled => {}
            () = sleep_until(due) => {}
        }
    }

    /// An object that is not as this run left it has all of them compared, soon but at a bounded rate.
    fn note_change(&mut self, event: &Followed) {
        self.acknowledged |= self.objects.is_acknowledged(event);
        let now = Instant::now();
        if self.objects.is_wrong(event) && self.verify_at > now {
            self.verify_at = self.verify_at.min(self.repairs.take(now));
        }
    }

    async fn write(&mut self, shard: u32) -> kube::Result<()> {
        if self.suspicious {
            return self.recreate().await;
        }
        sleep_until(self.bucket.take(Instant::now())).await;
        let write = locked(&self.desired).write(shard);
        let started = Instant::now();
        let span = tracing::debug_span!("pod_status_write", shard);
        match self.objects.carry_out(&write).instrument(span).await {
            Ok(Written::Done) => {
                self.batch.pop_front();
                self.backoffs.succeeded(&shard);
                locked(&self.desired).written(&write);
            }
            Ok(Written::Deleted) => {
                self.suspicious = true;
                return self.recreate().await;
            }
            Err(error) => return self.refused(shard, error),
        }
        if shard == REGISTRATION && write.report.is_some() {
            self.renewed(started).await?;
        }
        Ok(())
    }

    /// The registration is stored: the permit is valid from the start of the request, if the pod exists.
    async fn renewed(&mut self, started: Instant) -> kube::Result<()> {
        self.permit.renewed_at(started);
        if self.changes.is_none() {
            self.changes = Some(self.objects.follow());
            return Ok(());
        }
        if self.heartbeat_every.is_some() && !self.leaving && self.objects.is_pod_gone().await? {
            self.leave().await;
        }
        Ok(())
    }

    /// Another client has deleted an object. It may have deleted others. If the pod is gone,
    /// it was the garbage collector, and this process must not create the object again.
    async fn recreate(&mut self) -> kube::Result<()> {
        if self.objects.is_pod_gone().await? {
            self.leave().await;
            return Ok(());
        }
        self.suspicious = false;
        let now = Instant::now();
        self.pause.extend(self.repairs.take(now));
        self.verify_at = now;
        Ok(())
    }

    /// Ends reporting because the pod is gone. The registration says so if that is still possible.
    async fn leave(&mut self) {
        tracing::error!("the pod of this process is gone; it reports no more");
        self.permit.end(FencedError::PodDeleted);
        self.ended = true;
        let write = {
            let mut desired = locked(&self.desired);
            desired.stop();
            desired.write(REGISTRATION)
        };
        if self.heartbeat_every.is_some() && self.objects.has_written(REGISTRATION) {
            let _ = self.objects.carry_out(&write).await;
        }
    }

    /// Sorts the errors that concern one object from those that concern all.
    fn refused(&mut self, shard: u32, error: kube::Error) -> kube::Result<()> {
        let kube::Error::Api(status) = &error else {
            return Err(error);
        };
        let is_too_large = status.code == 413 || status.message.contains("too large");
        if !is_too_large && !matches!(status.code, 400 | 422) {
            return Err(error);
        }
        self.batch.retain(|waiting| *waiting != shard);
        if is_too_large {
            locked(&self.desired).too_large(shard);
        }
        let delay = self.backoffs.failed(shard, &error, Instant::now());
        tracing::warn!(shard, reason = reason(&error), ?delay, "a report object is refused, will retry");
        Ok(())
    }

    async fn verify(&mut self) -> kube::Result<()> {
        let found = self.objects.list().await?;
        self.verify_at = later(Instant::now(), self.verify_every);
        let may_answer = self.permit.check().is_ok();
        if self.duplicate_identity.note(found.get(&REGISTRATION), may_answer) == Duplicate::Stronger {
            tracing::error!("another process has the identity of this pod: this one reports no more");
            self.permit.end(FencedError::Duplicate);
            self.ended = true;
            return Ok(());
        }
        let mut desired = locked(&self.desired);
        let before: Vec<u32> = desired.dirty().collect();
        desired.verify(&found);
        self.batch = desired.dirty().filter(|shard| !before.contains(shard)).collect();
        Ok(())
    }

    fn publish(&self) {
        let desired = locked(&self.desired);
        let (registered, stored) = (desired.is_registered(), desired.stored_version());
        drop(desired);
        self.progress.send_if_modified(|progress| {
            let registered = progress.registered || registered;
            let now = Progress { registered, stored, acknowledged: self.acknowledged };
            std::mem::replace(progress, now) != now
        });
    }
}

fn later(now: Instant, delay: Duration) -> Instant {
    now.checked_add(delay).unwrap_or(now)
}
