//! One term as the aggregator: what it knows, and what it decides next.
//!
//! The members are asked for anew, by a consistent list, for every batch of decisions and *after* the
//! reports that it judges were read. Then a pod that is not in the list registers later, hence lists the
//! parents later, and cannot serve an older generation than the one decided on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep_until};

use crate::aggregator::AggregatorConfig;
use crate::census::Census;
use crate::cluster::{Cluster, Held, Next, Written};
use crate::decisions::{Decisions, Job, Settled};
use crate::epoch::{Epoch, Plan};
use crate::follow::Followed;
use crate::pace::{Debounce, LONGEST_REQUEST, Retry};
use crate::parent::ParentRef;
use crate::parent_changes::ParentChanges;
use crate::reason::reason;
use crate::report::REGISTRATION;
use crate::report_store::ReportStore;
use crate::rollout::Rollout;
use crate::shape::Shape;
use crate::standings::{Standing, Standings};
use crate::switches::Switches;
use crate::watermark::HighWaterMarks;

/// The high-water marks are published this often while decisions are under way.
const MARKS_INTERVAL: Duration = Duration::from_secs(1);
/// And this often while nothing happens: the oldest parent that waits grows older.
const GAUGES_INTERVAL: Duration = Duration::from_secs(5);

/// The knowledge of one term as the holder. It begins with nothing and reads everything.
pub(crate) struct Term<'a> {
    cluster: Arc<Cluster>,
    decisions: Decisions,
    config: &'a AggregatorConfig,
    changes: &'a ParentChanges,
    marks: &'a watch::Sender<HighWaterMarks>,
    reports: ReportStore,
    census: Census,
    standings: Standings,
    switches: Switches,
    /// Generations that wait for pods until their time is over.
    held: BTreeMap<ParentRef, Held>,
    /// The activations of strict rollouts as they were read last, and what is to be changed in them.
    epoch: Arc<Epoch>,
    plans: Vec<Plan>,
    gone: Vec<ParentRef>,
    /// Members may have come or gone.
    recount: bool,
    /// All reports have been read once. Before that, a status would lose the entries of half the pods.
    complete: bool,
    /// Every parent that is known has been decided about, or is in the queue.
    batched: bool,
    debounce: Debounce,
    /// The count of the members failed.
    retry: Retry,
    retry_at: Instant,
    published: Instant,
}

impl<'a> Term<'a> {
    pub(crate) fn new(
        client: &kube::Client,
        config: &'a AggregatorConfig,
        changes: &'a ParentChanges,
        marks: &'a watch::Sender<HighWaterMarks>,
    ) -> Self {
        let cluster = Arc::new(Cluster::new(client.clone(), config));
        Self {
            decisions: Decisions::new(cluster.clone()),
            census: Census::new(cluster.clone()),
            cluster,
            config,
            changes,
            marks,
            reports: ReportStore::default(),
            standings: Standings::default(),
            switches: Switches::default(),
            held: BTreeMap::new(),
            epoch: Arc::default(),
            plans: Vec::new(),
            gone: Vec::new(),
            recount: true,
            complete: false,
            batched: false,
            debounce: Debounce::new(config.debounce, config.max_delay),
            retry: Retry::new(),
            retry_at: Instant::now(),
            published: Instant::now(),
        }
    }

    pub(crate) async fn run(mut self) {
        let mut reports = self.cluster.follow_reports();
        let mut pods = self.cluster.follow_pods();
        let mut ticks = interval(GAUGES_INTERVAL);
        loop {
            let due = self.due();
            tokio::select! {
                Some((collection, event)) = reports.next() => self.note_report(&collection, event),
                Some(event) = pods.next() => {
                    let has_gone = self.census.note_pod(event);
                    self.note_census(has_gone);
                }
                is_outdated = self.census.answered() => self.note_census(is_outdated),
                () = self.changes.arrived() => self.note_changes(),
                settled = self.decisions.next() => self.note_settled(settled),
                () = sleep_until(due) => self.batch().await,
                _ = ticks.tick() => self.publish(),
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
        let held = self.held.iter().filter(|(parent, _)| !self.decisions.is_engaged(parent));
        let deadlines = held.filter_map(|(_, held)| held.since.checked_add(held.wake));
        let idle = self.census.due().chain(deadlines).chain(self.decisions.retry_at()).min().unwrap_or(far);
        let work = (self.recount || self.reports.is_dirty()).then(|| self.debounce.due().unwrap_or(now));
        work.map_or(idle, |due| due.min(idle)).max(self.retry_at)
    }

    fn note_report(&mut self, collection: &str, event: Followed) {
        match event {
            Followed::Alive => return,
            Followed::Begin => self.reports.listing_begins(collection),
            Followed::Found(object) | Followed::Applied(object) => self.note_object(collection, object),
            Followed::End => {
                self.reports.listing_ends(collection);
                self.complete = self.reports.listed() == self.cluster.collections();
                self.recount = true;
            }
            Followed::Deleted(object) => {
                self.reports.remove(&format!("{collection}/{}", object.name_any()));
                self.recount = true;
            }
        }
        self.debounce.changed(Instant::now());
    }

    fn note_object(&mut self, collection: &str, object: DynamicObject) {
        let name = format!("{collection}/{}", object.name_any());
        let uid = object.uid().unwrap_or_default();
        let report = self.cluster.read(collection, object);
        if let Some(report) = &report {
            self.switches.note(report, Instant::now());
            let run = &report.pod;
            let is_new = self.census.note_run(run);
            // A pod of Gatekeeper's has no registration.
            let may_register = report.shard == REGISTRATION || run.incarnation.is_empty();
            self.recount |= may_register && is_new;
        }
        self.reports.apply(&name, uid, report);
    }

    /// The members are to be counted again, if so.
    fn note_census(&mut self, is_outdated: bool) {
        if is_outdated {
            self.recount = true;
            self.debounce.changed(Instant::now());
        }
    }

    fn note_changes(&mut self) {
        let (parents, listed) = self.changes.take();
        for parent in parents {
            if self.config.shapes.shape(&parent).is_some() {
                self.standings.expect(&parent);
            }
            self.reports.touch(parent);
        }
        self.standings.set_listed(listed);
        self.debounce.changed(Instant::now());
    }

    /// The parents to look at whose kinds have statuses.
    fn take_dirty(&mut self) -> Vec<(Shape, ParentRef)> {
        let mut dirty = Vec::new();
        for parent in self.reports.take_dirty() {
            match self.config.shapes.shape(&parent) {
                Some(shape) => {
                    self.standings.expect(&parent);
                    dirty.push((shape, parent));
                }
                None => self.standings.remove(&parent),
            }
        }
        dirty
    }

    /// Counts the members, and begins to decide about everything that has changed.
    async fn batch(&mut self) {
        let now = Instant::now();
        self.note_changes();
        let began = self.debounce.clear().unwrap_or(now);
        self.recount = false;
        if let Err(error) = self.prepare().await {
            self.recount = true;
            return self.failed(&error);
        }
        self.retry.reset();
        for parent in self.decisions.take_due(now) {
            self.reports.touch(parent);
        }
        for (parent, held) in &self.held {
            if held.since.elapsed() >= held.wake {
                self.reports.touch(parent.clone());
            }
        }
        let dirty = self.take_dirty();
        if let Err(error) = self.read_epoch(&dirty).await {
            dirty.into_iter().for_each(|(_, parent)| self.reports.touch(parent));
            return self.failed(&error);
        }
        for (shape, parent) in dirty {
            if self.decisions.admits(&parent, now) {
                let (count, reports) = (self.census.count().clone(), self.reports.reports(&parent));
                let held = self.held.get(&parent).cloned();
                let epoch = is_strict(&shape).then(|| self.epoch.clone());
                self.decisions.push(Job { shape, parent, count, reports, held, epoch, began });
            }
        }
        self.batched = true;
        self.publish();
    }

    async fn prepare(&mut self) -> kube::Result<()> {
        if !self.plans.is_empty() || !self.gone.is_empty() {
            let (plans, gone) = (std::mem::take(&mut self.plans), std::mem::take(&mut self.gone));
            // The parents are looked at again, whatever comes of it.
            if !self.cluster.epochs.write(&self.epoch, &plans, &gone, LONGEST_REQUEST).await? {
                self.gone = gone;
            }
        }
        if self.census.take(&self.reports).await? {
            self.reports.touch_all(self.changes.known());
        }
        Ok(())
    }

    /// Reads the activations if a rollout is strict: after the reports and the members.
    async fn read_epoch(&mut self, dirty: &[(Shape, ParentRef)]) -> kube::Result<()> {
        if dirty.iter().any(|(shape, _)| is_strict(shape)) {
            self.epoch = Arc::new(self.cluster.epochs.read(LONGEST_REQUEST).await?);
        }
        Ok(())
    }

    fn note_settled(&mut self, settled: Settled) {
        let Settled { parent, written, is_outdated } = settled;
        if is_outdated {
            self.reports.touch(parent.clone());
        }
        match written {
            Ok(Written::Done(standing, Next { held, plan })) => {
                if let Some(plan) = plan {
                    self.plans.push(*plan);
                    self.reports.touch(parent.clone());
                }
                match held {
                    Some(held) => self.held.insert(parent.clone(), held),
                    None => self.held.remove(&parent),
                };
                self.decisions.succeeded(&parent);
                self.note_switch(&parent, &standing);
                self.standings.set(&parent, standing);
            }
            Ok(Written::Gone) => {
                if self.epoch.contains(&parent) {
                    self.gone.push(parent.clone());
                    self.recount = true;
                }
                self.held.remove(&parent);
                self.changes.forget(&parent);
                self.decisions.succeeded(&parent);
                self.standings.remove(&parent);
                self.switches.remove(&parent);
            }
            // Decided on a parent that has changed since. The decision is not retried but made again.
            Ok(Written::Stale) => self.reports.touch(parent),
            Err(error) => {
                let delay = self.decisions.failed(parent.clone(), &error);
                let reason = reason(&error);
                self.standings.fails(&parent, &reason);
                let ParentRef { kind, namespace, name, .. } = &parent;
                tracing::warn!(kind, namespace, name, reason, ?delay, "cannot write the status, will retry");
            }
        }
        self.publish();
    }

    /// Measures how far apart the pods switch to the generation that is activated.
    fn note_switch(&mut self, parent: &ParentRef, standing: &Standing) {
        let Some((generation, is_complete)) = standing.activation() else { return };
        if is_complete {
            if let Some(skew) = self.switches.complete(parent, generation) {
                metrics::histogram!("pod_status_switch_skew_seconds").record(skew.as_secs_f64());
            }
        } else if self.switches.begin(parent, generation) {
            let now = Instant::now();
            self.reports.reports(parent).iter().for_each(|report| self.switches.note(report, now));
        }
    }

    /// Publishes the high-water marks when nothing is under way, and now and then.
    fn publish(&mut self) {
        if self.batched && (self.decisions.is_idle() || self.published.elapsed() >= MARKS_INTERVAL) {
            self.standings.publish(self.marks);
            self.published = Instant::now();
        }
    }

    fn failed(&mut self, error: &kube::Error) {
        let delay = self.retry.after(error);
        let now = Instant::now();
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        tracing::warn!(reason = reason(error), ?delay, "cannot count the pods, will retry");
    }
}

fn is_strict(shape: &Shape) -> bool {
    matches!(shape.rollout, Rollout::Strict { .. })
}
