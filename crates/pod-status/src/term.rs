//! One term as the aggregator: what it knows, and what it decides next.
//!
//! The members are asked for anew, by a consistent list, for every batch of decisions and *after* the
//! reports that it judges were read. Then a pod that is not in the list registers later, hence lists the
//! parents later, and cannot serve an older generation than the one decided on.

use std::collections::BTreeMap;
use std::sync::Arc;
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
use crate::decisions::{Count, Decisions, Job, Settled};
use crate::follow::Event;
use crate::membership::{Membership, candidates};
use crate::pace::{Debounce, Retry};
use crate::parent::ParentRef;
use crate::parent_changes::ParentChanges;
use crate::reason::reason;
use crate::report::{Member, REGISTRATION};
use crate::report_store::ReportStore;
use crate::switches::Switches;
use crate::watermark::{HighWaterMark, Standing, Standings};

/// The high-water marks are published this often while decisions are under way.
const MARKS_INTERVAL: Duration = Duration::from_secs(1);

/// The knowledge of one term as the holder. It begins with nothing and reads everything.
pub(crate) struct Term<'a> {
    cluster: Arc<Cluster>,
    decisions: Decisions,
    config: &'a AggregatorConfig,
    changes: &'a ParentChanges,
    marks: &'a watch::Sender<BTreeMap<String, HighWaterMark>>,
    reports: ReportStore,
    membership: Membership,
    standings: Standings,
    switches: Switches,
    /// Generations that are activated when their time is over.
    held: BTreeMap<ParentRef, Held>,
    /// The members of the last batch, and the other runs that were known.
    count: Arc<Count>,
    /// Members may have come or gone.
    recount: bool,
    /// All reports have been read once. Before that, a status would lose the entries of half the pods.
    complete: bool,
    debounce: Debounce,
    /// The count of the members failed.
    retry: Retry,
    retry_at: Instant,
    published: Instant,
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
        let cluster = Arc::new(Cluster::new(client.clone(), config));
        Self {
            decisions: Decisions::new(cluster.clone()),
            cluster,
            config,
            changes,
            marks,
            reports: ReportStore::default(),
            membership: Membership::default(),
            standings: Standings::default(),
            switches: Switches::default(),
            held: BTreeMap::new(),
            count: Arc::default(),
            recount: true,
            complete: false,
            debounce: Debounce::new(config.debounce, config.max_delay),
            retry: Retry::new(),
            retry_at: Instant::now(),
            published: Instant::now(),
        }
    }

    pub(crate) async fn run(mut self) {
        let mut reports = self.cluster.follow_reports();
        let mut pods = self.cluster.follow_pods();
        loop {
            let due = self.due();
            tokio::select! {
                Some((collection, event)) = reports.next() => self.note_report(&collection, event),
                Some(event) = pods.next() => self.note_pod(event),
                () = self.changes.arrived() => self.note_changes(),
                settled = self.decisions.next() => self.note_settled(settled),
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
        let expiries = self.count.members.iter().filter_map(|run| self.membership.expiry(run));
        let held = self.held.iter().filter(|(parent, _)| !self.decisions.is_engaged(parent));
        let deadlines = held.filter_map(|(_, held)| held.since.checked_add(held.deadline));
        let idle = expiries.chain(deadlines).chain(self.decisions.retry_at()).min().unwrap_or(far);
        let work = (self.recount || self.reports.is_dirty()).then(|| self.debounce.due().unwrap_or(now));
        work.map_or(idle, |due| due.min(idle)).max(self.retry_at)
    }

    fn note_report(&mut self, collection: &str, event: Event<DynamicObject>) {
        match event {
            Event::Begin => self.reports.listing_begins(collection),
            Event::Found(object) | Event::Applied(object) => self.note_object(collection, object),
            Event::End => {
                self.reports.listing_ends(collection);
                self.complete = self.reports.listed() == self.cluster.collections();
                self.recount = true;
            }
            Event::Deleted(object) => {
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
            self.membership.seen(run, Instant::now());
            let is_known = |member: &Member| {
                member.is_same_run(run)
                    && member.operations == run.operations
                    && member.stopped == run.stopped
            };
            // A pod of Gatekeeper's has no registration.
            let may_register = report.shard == REGISTRATION || run.incarnation.is_empty();
            self.recount |= may_register && !self.count.members.iter().any(is_known);
        }
        self.reports.apply(&name, uid, report);
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
            self.reports.touch(parent);
        }
        self.debounce.changed(Instant::now());
    }

    /// Counts the members, and begins to decide about everything that has changed.
    async fn batch(&mut self) {
        let now = Instant::now();
        let began = self.debounce.clear().unwrap_or(now);
        self.recount = false;
        if let Err(error) = self.count().await {
            self.recount = true;
            return self.failed(&error);
        }
        self.retry.reset();
        for parent in self.decisions.take_due(now) {
            self.reports.touch(parent);
        }
        for (parent, held) in &self.held {
            if held.since.elapsed() >= held.deadline {
                self.reports.touch(parent.clone());
            }
        }
        for parent in self.reports.take_dirty() {
            if let Some(shape) = self.config.shapes.shape(&parent)
                && self.decisions.admits(&parent, now)
            {
                let (count, reports) = (self.count.clone(), self.reports.reports(&parent));
                let held = self.held.get(&parent).cloned();
                self.decisions.push(Job { shape, parent, count, reports, held, began });
            }
        }
        self.publish();
    }

    fn note_settled(&mut self, settled: Settled) {
        let Settled { parent, written, is_outdated } = settled;
        if is_outdated {
            self.reports.touch(parent.clone());
        }
        match written {
            Ok(Written::Done(standing, held)) => {
                match held {
                    Some(held) => self.held.insert(parent.clone(), held),
                    None => self.held.remove(&parent),
                };
                self.decisions.succeeded(&parent);
                self.note_switch(&parent, &standing);
                self.standings.set(parent, standing);
            }
            Ok(Written::Gone) => {
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
        if self.decisions.is_idle() || self.published.elapsed() >= MARKS_INTERVAL {
            self.marks.send_replace(self.standings.marks());
            self.published = Instant::now();
        }
    }

    /// Establishes the members, and sweeps the objects of runs that are gone.
    async fn count(&mut self) -> kube::Result<()> {
        let registered = self.cluster.registrations().await?;
        let now = Instant::now();
        for run in &registered {
            self.membership.seen(run, now);
        }
        let candidates = candidates(registered, &self.reports.runs(), &self.count.members);
        let mut count = Count::default();
        for run in &candidates {
            let runs = match place(&self.cluster, &self.membership, run, now).await? {
                Place::Member => &mut count.members,
                Place::Excluded => &mut count.excluded,
                Place::Gone => &mut count.gone,
            };
            runs.push(run.clone());
        }
        self.membership.retain(&candidates);
        if count.members != self.count.members {
            self.reports.touch_all(self.changes.known());
        }
        count.publish();
        self.count = Arc::new(count);
        for run in &self.count.gone {
            self.cluster.sweep(run, &self.reports.objects_of(run)).await;
        }
        Ok(())
    }

    fn failed(&mut self, error: &kube::Error) {
        let delay = self.retry.after(error);
        let now = Instant::now();
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        tracing::warn!(reason = reason(error), ?delay, "cannot count the pods, will retry");
    }
}

async fn place(
    cluster: &Cluster,
    membership: &Membership,
    run: &Member,
    now: Instant,
) -> kube::Result<Place> {
    let is_over = membership.is_over(run, now);
    if run.ttl_seconds.is_some() && !is_over {
        return Ok(Place::Member);
    }
    let is_gone = match membership.missing_pod(run) {
        Some(uid) => cluster.is_pod_gone(&run.id, uid).await?,
        None => run.uid.is_none() && is_over,
    };
    Ok(match (is_gone, is_over) {
        (true, _) => Place::Gone,
        (false, true) => Place::Excluded,
        (false, false) => Place::Member,
    })
}
