//! Folds the reports of all pods into the statuses of their parents, in one pod at a time.
//!
//! Who is a member is asked anew, by a consistent list, for every batch of decisions and *after* the
//! reports that it judges were read. Then a pod that is not in the list registers later, hence lists the
//! parents later, and cannot serve an older generation than the one decided on.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, watcher::Config as WatchConfig};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::cluster::{Cluster, Written};
use crate::inbox::ParentChanges;
use crate::lease::{Claim, lead};
use crate::membership::{Membership, candidates};
use crate::pace::{Debounce, Retry, answered};
use crate::report::{Member, PodReport, REGISTRATION, ReportKind};
use crate::roll::Roll;
use crate::shape::Shapes;

/// A watch that says nothing for this long is renewed, which bounds how long a dead connection goes
/// unnoticed.
const WATCH_SECONDS: u32 = 60;
/// Parents that are read and written at the same time.
const CONCURRENCY: usize = 8;
/// Finished pods linger as objects (an evicted one for days) but run nothing.
const UNFINISHED: &str = "status.phase!=Failed,status.phase!=Succeeded";

/// How an [`Aggregator`] works.
#[derive(Clone)]
pub struct AggregatorConfig {
    /// The kind of the report objects, as in every reporter's configuration.
    pub kind: ReportKind,
    /// The namespace of the pods, and of their reports.
    pub namespace: String,
    /// The Lease under which one pod at a time aggregates.
    pub claim: Claim,
    /// How the statuses look.
    pub shapes: Arc<dyn Shapes>,
    /// Reports are folded when none has come for this long. Default 300 ms.
    pub debounce: Duration,
    /// A report waits no longer than this. Default 2 s.
    pub max_delay: Duration,
    /// The field manager of the statuses, at most 128 characters. Default `pod-status-aggregator`.
    pub field_manager: String,
}

impl AggregatorConfig {
    /// The defaults, with a Lease of 15 seconds called `pod-status-aggregator` in `namespace`.
    ///
    /// `holder` is different in every run of every process, such as the pod's name and incarnation.
    pub fn new(namespace: impl Into<String>, holder: impl Into<String>, shapes: impl Shapes) -> Self {
        let namespace = namespace.into();
        let name = "pod-status-aggregator".to_owned();
        Self {
            kind: ReportKind::default(),
            claim: Claim {
                namespace: namespace.clone(),
                name: name.clone(),
                holder: holder.into(),
                duration: Duration::from_secs(15),
            },
            namespace,
            shapes: Arc::new(shapes),
            debounce: Duration::from_millis(300),
            max_delay: Duration::from_secs(2),
            field_manager: name,
        }
    }
}

/// Folds reports into statuses while it holds its Lease.
pub struct Aggregator {
    client: kube::Client,
    config: AggregatorConfig,
    changes: ParentChanges,
}

impl Aggregator {
    /// An aggregator that does nothing until it is run.
    pub fn new(client: kube::Client, config: AggregatorConfig) -> Self {
        Self { client, config, changes: ParentChanges::default() }
    }

    /// The handle by which the host announces changes of parents.
    pub fn parent_changes(&self) -> ParentChanges {
        self.changes.clone()
    }

    /// Aggregates whenever this process holds the Lease, until `shutdown`. Failed requests are logged and
    /// retried. Dropping the future ends the work at once and leaves the Lease to expire.
    pub fn run(self, shutdown: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
        let claim = self.config.claim.clone();
        async move {
            let term = || async {
                let inbox = self.changes.open();
                Term::new(&self.client, &self.config, inbox.changes()).run().await;
            };
            lead(self.client.clone(), claim, shutdown, term).await;
        }
    }
}

/// What one term as the holder knows. It begins with nothing and reads everything.
struct Term<'a> {
    cluster: Cluster,
    config: &'a AggregatorConfig,
    changes: &'a ParentChanges,
    roll: Roll,
    membership: Membership,
    /// The members of the last batch.
    members: Vec<Member>,
    /// Members may have come or gone.
    recount: bool,
    /// All reports have been read once. Before that, a status would lose the entries of half the pods.
    complete: bool,
    debounce: Debounce,
    retry: Retry,
    retry_at: Instant,
}

impl<'a> Term<'a> {
    fn new(client: &kube::Client, config: &'a AggregatorConfig, changes: &'a ParentChanges) -> Self {
        Self {
            cluster: Cluster::new(client.clone(), config),
            config,
            changes,
            roll: Roll::default(),
            membership: Membership::default(),
            members: Vec::new(),
            recount: true,
            complete: false,
            debounce: Debounce::new(config.debounce, config.max_delay),
            retry: Retry::new(),
            retry_at: Instant::now(),
        }
    }

    async fn run(mut self) {
        let mut reports = pin!(reports(&self.cluster));
        let mut pods = pin!(pods(&self.cluster));
        loop {
            let due = self.due();
            tokio::select! {
                Some(event) = reports.next() => self.note_report(event),
                Some(event) = pods.next() => self.note_pod(event),
                () = self.changes.arrived() => self.note_changes(),
                () = sleep_until(due) => self.batch().await,
            }
        }
    }

    /// When to decide next.
    fn due(&mut self) -> Instant {
        let now = Instant::now();
        let far = now.checked_add(Duration::from_secs(3600)).unwrap_or(now);
        if !self.complete {
            return far;
        }
        let expiry = self.members.iter().filter_map(|run| self.membership.expiry(run)).min();
        let idle = expiry.unwrap_or(far);
        let work = (self.recount || self.roll.is_dirty()).then(|| self.debounce.due().unwrap_or(now));
        work.map_or(idle, |due| due.min(idle)).max(self.retry_at)
    }

    fn note_report(&mut self, event: watcher::Result<Event<DynamicObject>>) {
        match event {
            Ok(Event::Init) => self.roll.listing_begins(),
            Ok(Event::InitApply(object) | Event::Apply(object)) => self.note_object(object),
            Ok(Event::InitDone) => {
                self.roll.listing_ends();
                (self.complete, self.recount) = (true, true);
            }
            Ok(Event::Delete(object)) => {
                self.roll.remove(&object.name_any());
                self.recount = true;
            }
            Err(error) => return tracing::warn!(%error, "cannot watch the pod reports, will retry"),
        }
        self.debounce.changed(Instant::now());
    }

    fn note_object(&mut self, object: DynamicObject) {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let report: Option<PodReport> = serde_json::from_value(object.data)
            .inspect_err(
                |error| tracing::warn!(name, %error, "a pod report is unreadable; its pod counts as silent"),
            )
            .ok();
        if let Some(report) = &report {
            self.membership.seen(&report.pod, Instant::now());
            let known = self
                .members
                .iter()
                .any(|member| member.is_same_run(&report.pod) && member.operations == report.pod.operations);
            self.recount |= !known && report.shard == REGISTRATION;
        }
        self.roll.apply(&name, uid, report);
    }

    fn note_pod(&mut self, event: watcher::Result<Event<PartialObjectMeta<Pod>>>) {
        match event {
            Ok(Event::Init) => self.membership.listing_begins(),
            Ok(Event::InitApply(pod) | Event::Apply(pod)) => {
                self.membership.pod_exists(pod.uid().unwrap_or_default());
            }
            Ok(Event::InitDone) => {
                if self.membership.listing_ends() {
                    self.recount = true;
                    self.debounce.changed(Instant::now());
                }
            }
            Ok(Event::Delete(pod)) => {
                self.membership.pod_gone(&pod.uid().unwrap_or_default());
                self.recount = true;
                self.debounce.changed(Instant::now());
            }
            Err(error) => tracing::warn!(%error, "cannot watch the pods, will retry"),
        }
    }

    fn note_changes(&mut self) {
        for parent in self.changes.take() {
            self.roll.touch(parent);
        }
        self.debounce.changed(Instant::now());
    }

    /// Decides about everything that has changed. What fails is left to the next batch.
    async fn batch(&mut self) {
        self.debounce.clear();
        self.recount = false;
        match self.count().await {
            Ok(()) => {}
            Err(error) => {
                self.recount = true;
                return self.failed(&error);
            }
        }
        let dirty = self.roll.take_dirty();
        let (cluster, roll, members, shapes) =
            (&self.cluster, &self.roll, &self.members, &self.config.shapes);
        let decisions = futures::stream::iter(dirty).map(|parent| async move {
            let written = match shapes.shape(&parent) {
                Some(shape) => cluster.fold(&shape, &parent, members, &roll.reported(&parent)).await,
                None => Ok(Written::Done),
            };
            (parent, written)
        });
        let decisions: Vec<_> = decisions.buffer_unordered(CONCURRENCY).collect().await;
        let mut failure = None;
        for (parent, written) in decisions {
            match written {
                Ok(Written::Done) => {}
                // Decided on a parent that has changed since. The decision is not retried but made again.
                Ok(Written::Stale) => self.roll.touch(parent),
                Err(error) => {
                    tracing::warn!(?parent, %error, "cannot write the status, will retry");
                    self.roll.touch(parent);
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) => self.failed(&error),
            None => self.retry.reset(),
        }
    }

    /// Establishes the members, and sweeps what runs have left that are gone.
    async fn count(&mut self) -> kube::Result<()> {
        let registered = answered(self.cluster.registrations()).await?;
        let now = Instant::now();
        for run in &registered {
            self.membership.seen(run, now);
        }
        let (mut members, mut gone) = (Vec::new(), Vec::new());
        for run in candidates(registered, &self.roll.runs()) {
            if self.is_gone(&run, now).await? { gone.push(run) } else { members.push(run) }
        }
        self.membership.retain(&members);
        if members != self.members {
            self.roll.touch_all();
            self.members = members;
        }
        for run in gone {
            self.cluster.sweep(&run, &self.roll.objects_of(&run)).await;
        }
        Ok(())
    }

    async fn is_gone(&self, run: &Member, now: Instant) -> kube::Result<bool> {
        if let Some(uid) = self.membership.missing_pod(run) {
            return answered(self.cluster.is_pod_gone(&run.id, uid)).await;
        }
        Ok(self.membership.expiry(run).is_some_and(|expiry| expiry <= now))
    }

    fn failed(&mut self, error: &kube::Error) {
        let delay = self.retry.after(error);
        let now = Instant::now();
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        tracing::warn!(%error, ?delay, "aggregating the pod reports failed, will retry");
    }
}

fn reports(cluster: &Cluster) -> impl Stream<Item = watcher::Result<Event<DynamicObject>>> + Send + use<> {
    watcher(cluster.reports.clone(), WatchConfig::default().timeout(WATCH_SECONDS)).default_backoff()
}

fn pods(
    cluster: &Cluster,
) -> impl Stream<Item = watcher::Result<Event<PartialObjectMeta<Pod>>>> + Send + use<> {
    let config = WatchConfig::default().timeout(WATCH_SECONDS).fields(UNFINISHED);
    watcher(cluster.pod_metadata.clone(), config).default_backoff()
}
