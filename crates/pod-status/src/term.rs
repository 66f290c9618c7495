//! One term as the aggregator: what it knows, and what it decides next.
//!
//! The members are asked for anew, by a consistent list, for every batch of decisions and *after* the
//! reports that it judges were read. Then a pod that is not in the list registers later, hence lists the
//! parents later, and cannot serve an older generation than the one decided on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::aggregator::AggregatorConfig;
use crate::cluster::{Cluster, Held, Written};
use crate::follow::Event;
use crate::inbox::ParentChanges;
use crate::membership::{Membership, candidates};
use crate::pace::{Debounce, Retry};
use crate::parent::ParentRef;
use crate::report::{Member, PodReport, REGISTRATION};
use crate::roll::Roll;
use crate::watermark::{HighWaterMark, Standings};

/// Parents that are read and written at the same time.
const CONCURRENCY: usize = 32;

/// The knowledge of one term as the holder. It begins with nothing and reads everything.
pub(crate) struct Term<'a> {
    cluster: Cluster,
    config: &'a AggregatorConfig,
    changes: &'a ParentChanges,
    marks: &'a watch::Sender<BTreeMap<String, HighWaterMark>>,
    roll: Roll,
    membership: Membership,
    standings: Standings,
    /// Generations that are activated when their time is over.
    held: BTreeMap<ParentRef, Held>,
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

/// The place of a run in the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Member,
    /// It does not serve, but its pod exists.
    Excluded,
    /// Its pod does not exist, and the process has ended or fenced itself.
    Gone,
}

impl<'a> Term<'a> {
    pub(crate) fn new(
        client: &kube::Client,
        config: &'a AggregatorConfig,
        changes: &'a ParentChanges,
        marks: &'a watch::Sender<BTreeMap<String, HighWaterMark>>,
    ) -> Self {
        Self {
            cluster: Cluster::new(client.clone(), config),
            config,
            changes,
            marks,
            roll: Roll::default(),
            membership: Membership::default(),
            standings: Standings::default(),
            held: BTreeMap::new(),
            members: Vec::new(),
            recount: true,
            complete: false,
            debounce: Debounce::new(config.debounce, config.max_delay),
            retry: Retry::new(),
            retry_at: Instant::now(),
        }
    }

    pub(crate) async fn run(mut self) {
        let mut reports = self.cluster.follow_reports();
        let mut pods = self.cluster.follow_pods();
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

    /// The time of the next batch.
    fn due(&mut self) -> Instant {
        let now = Instant::now();
        let far = now.checked_add(Duration::from_secs(3600)).unwrap_or(now);
        if !self.complete {
            return far;
        }
        let expiries = self.members.iter().filter_map(|run| self.membership.expiry(run));
        let deadlines = self.held.values().filter_map(|held| held.since.checked_add(held.deadline));
        let idle = expiries.chain(deadlines).min().unwrap_or(far);
        let work = (self.recount || self.roll.is_dirty()).then(|| self.debounce.due().unwrap_or(now));
        work.map_or(idle, |due| due.min(idle)).max(self.retry_at)
    }

    fn note_report(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Begin => self.roll.listing_begins(),
            Event::Found(object) | Event::Applied(object) => self.note_object(object),
            Event::End => {
                self.roll.listing_ends();
                (self.complete, self.recount) = (true, true);
            }
            Event::Deleted(object) => {
                self.roll.remove(&object.name_any());
                self.recount = true;
            }
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
            let run = &report.pod;
            self.membership.seen(run, Instant::now());
            let is_known = |member: &Member| {
                member.is_same_run(run)
                    && member.operations == run.operations
                    && member.stopped == run.stopped
            };
            self.recount |= report.shard == REGISTRATION && !self.members.iter().any(is_known);
        }
        self.roll.apply(&name, uid, report);
    }

    fn note_pod(&mut self, event: Event<PartialObjectMeta<Pod>>) {
        let has_gone = match event {
            Event::Begin => return self.membership.listing_begins(),
            Event::Found(pod) | Event::Applied(pod) => {
                return self.membership.pod_exists(pod.uid().unwrap_or_default());
            }
            Event::End => self.membership.listing_ends(),
            Event::Deleted(pod) => {
                self.membership.pod_gone(&pod.uid().unwrap_or_default());
                true
            }
        };
        if has_gone {
            self.recount = true;
            self.debounce.changed(Instant::now());
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
        let began = Instant::now();
        self.debounce.clear();
        self.recount = false;
        if let Err(error) = self.count().await {
            self.recount = true;
            return self.failed(&error);
        }
        let mut failure = None;
        for (parent, written) in self.decide().await {
            match written {
                Ok(Written::Done(standing, held)) => {
                    match held {
                        Some(held) => self.held.insert(parent.clone(), held),
                        None => self.held.remove(&parent),
                    };
                    self.standings.set(parent, standing);
                }
                Ok(Written::Gone) => {
                    self.held.remove(&parent);
                    self.changes.forget(&parent);
                    self.standings.remove(&parent);
                }
                // Decided on a parent that has changed since. The decision is not retried but made again.
                Ok(Written::Stale) => self.roll.touch(parent),
                Err(error) => {
                    tracing::warn!(?parent, %error, "cannot write the status, will retry");
                    self.roll.touch(parent);
                    failure = Some(error);
                }
            }
        }
        self.marks.send_replace(self.standings.marks());
        metrics::histogram!("pod_status_aggregation_seconds").record(began.elapsed().as_secs_f64());
        match failure {
            Some(error) => self.failed(&error),
            None => self.retry.reset(),
        }
    }

    async fn decide(&mut self) -> Vec<(ParentRef, kube::Result<Written>)> {
        for (parent, held) in &self.held {
            if held.since.elapsed() >= held.deadline {
                self.roll.touch(parent.clone());
            }
        }
        let dirty = self.roll.take_dirty();
        let dirty = dirty.into_iter().filter_map(|parent| Some((self.config.shapes.shape(&parent)?, parent)));
        let dirty: Vec<_> = dirty.collect();
        let (cluster, roll, members, held) = (&self.cluster, &self.roll, &self.members, &self.held);
        let decisions = futures::stream::iter(dirty).map(|(shape, parent)| async move {
            let reported = roll.reported(&parent);
            let written = cluster.fold(&shape, &parent, members, &reported, held.get(&parent)).await;
            (parent, written)
        });
        decisions.buffer_unordered(CONCURRENCY).collect().await
    }

    /// Establishes the members, and sweeps the objects of runs that are gone.
    async fn count(&mut self) -> kube::Result<()> {
        let registered = self.cluster.registrations().await?;
        let now = Instant::now();
        for run in &registered {
            self.membership.seen(run, now);
        }
        let candidates = candidates(registered, &self.roll.runs(), &self.members);
        let (mut members, mut gone) = (Vec::new(), Vec::new());
        for run in &candidates {
            match self.place(run, now).await? {
                Place::Member => members.push(run.clone()),
                Place::Excluded => {}
                Place::Gone => gone.push(run),
            }
        }
        self.membership.retain(&candidates);
        if members != self.members {
            self.roll.touch_all(self.changes.known());
            metrics::gauge!("pod_status_members").set(u32::try_from(members.len()).unwrap_or(u32::MAX));
            self.members = members;
        }
        for run in gone {
            self.cluster.sweep(run, &self.roll.objects_of(run)).await;
        }
        Ok(())
    }

    async fn place(&self, run: &Member, now: Instant) -> kube::Result<Place> {
        let is_over = self.membership.is_over(run, now);
        if run.ttl_seconds.is_some() && !is_over {
            return Ok(Place::Member);
        }
        let is_gone = match self.membership.missing_pod(run) {
            Some(uid) => self.cluster.is_pod_gone(&run.id, uid).await?,
            None => run.uid.is_none() && is_over,
        };
        Ok(match (is_gone, is_over) {
            (true, _) => Place::Gone,
            (false, true) => Place::Excluded,
            (false, false) => Place::Member,
        })
    }

    fn failed(&mut self, error: &kube::Error) {
        let delay = self.retry.after(error);
        let now = Instant::now();
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        tracing::warn!(%error, ?delay, "aggregating the pod reports failed, will retry");
    }
}
