//! One term as the aggregator: what it knows, and what it decides next.
//!
//! The members are asked for anew, by a consistent list, for every batch of decisions and *after* the
//! reports that it judges were read. Then a pod that is not in the list registers later, hence lists the
//! parents later, and cannot serve an older generation than the one decided on.

mod settled;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::ResourceExt;
use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::time::{Instant, interval};

use crate::acknowledgements::Acknowledgements;
use crate::aggregator_config::AggregatorConfig;
use crate::batch::{Batch, Listed, Step, list};
use crate::cluster::Cluster;
use crate::decision::DecisionJob;
use crate::decisions::Decisions;
use crate::enforcement_states::EnforcementStates;
use crate::epoch::{Epoch, Plan};
use crate::follow::Followed;
use crate::member_count::MemberCount;
use crate::membership::Count;
use crate::overclaims::Overclaims;
use crate::own_writes::OwnWrites;
use crate::pace::{Debounce, Retry};
use crate::parent::ParentRef;
use crate::parent_changes::ParentChanges;
use crate::reason::reason;
use crate::registration::acknowledged;
use crate::report::REGISTRATION;
use crate::report_store::ReportStore;
use crate::rollout::Rollout;
use crate::shape::Shape;
use crate::switch_skew::SwitchSkew;
use crate::waiting_generations::WaitingGenerations;
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
    member_count: MemberCount,
    acknowledgements: Acknowledgements,
    enforcement_states: EnforcementStates,
    overclaims: Overclaims,
    switch_skew: SwitchSkew,
    own_writes: OwnWrites,
    /// Generations that wait for pods until their time is over.
    waiting_generations: WaitingGenerations,
    /// The activations of strict rollouts as they were read last, and what is to be changed in them.
    epoch: Arc<Epoch>,
    plans: Vec<Plan>,
    gone: Vec<ParentRef>,
    /// Members may have come or gone.
    recount: bool,
    /// The requests before the next decisions.
    batch: Batch,
    /// The first change that these are about was noted then.
    began: Instant,
    /// Some rollout is strict.
    is_strict: bool,
    /// All reports have been read once. Before that, a status would lose the entries of half the pods.
    complete: bool,
    /// The host has announced every parent.
    all_announced: bool,
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
            member_count: MemberCount::new(cluster.clone(), config),
            acknowledgements: Acknowledgements::new(cluster.clone()),
            cluster,
            config,
            changes,
            marks,
            reports: ReportStore::default(),
            enforcement_states: EnforcementStates::default(),
            overclaims: Overclaims::default(),
            switch_skew: SwitchSkew::default(),
            own_writes: OwnWrites::default(),
            waiting_generations: WaitingGenerations::default(),
            epoch: Arc::default(),
            plans: Vec::new(),
            gone: Vec::new(),
            recount: true,
            batch: Batch::default(),
            began: Instant::now(),
            is_strict: false,
            complete: false,
            all_announced: false,
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
            // Everything here is cancel-safe: what is polled and dropped goes on in the next round. Requests run in `decisions`,
            // `batch`, `member_count` and `acknowledgements`, never in a handler, so that none delays another.
            tokio::select! {
                // A decision is made by reports from before its members were listed: they are read no further meanwhile.
                Some((collection, event)) = reports.next(), if self.batch.is_idle() => {
                    self.note_report(&collection, event);
                }
                Some(event) = pods.next() => {
                    let has_changed = self.member_count.note_pod(event);
                    self.note_member_count(has_changed);
                }
                is_outdated = self.member_count.answered() => self.note_answer(is_outdated),
                is_outdated = self.acknowledgements.answered() => self.note_member_count(is_outdated),
                () = self.changes.arrived() => self.note_changes(),
                settled = self.decisions.next() => self.note_settled(settled),
                step = self.batch.next(due) => self.advance(step),
                _ = ticks.tick() => self.publish(),
            }
        }
    }

    /// Begins a batch, or goes on with it. Everything else goes on meanwhile.
    fn advance(&mut self, step: Step) {
        match step {
            Step::Due => self.begin(),
            Step::Listed(Ok(listed)) => {
                let until = self.member_count.note_registrations(&listed.registered, &self.reports);
                match until {
                    Some(until) => self.batch.wait_for_pods(listed, until),
                    None => self.decide(listed),
                }
            }
            Step::Listed(Err(error)) => {
                self.recount = true;
                self.failed(&error);
            }
            Step::Counted(listed) => self.decide(listed),
        }
    }

    /// The time of the next batch.
    fn due(&mut self) -> Instant {
        let now = Instant::now();
        let far = now.checked_add(Duration::from_secs(3600)).unwrap_or(now);
        // Before everything is listed, a status would be made of half the reports.
        if !self.complete || !self.member_count.knows_expected() {
            return far;
        }
        let retries = self.member_count.due().chain(self.acknowledgements.retry_at());
        let idle = retries
            .chain(self.waiting_generations.next())
            .chain(self.decisions.retry_at())
            .min()
            .unwrap_or(far);
        let work = (self.recount || self.reports.is_dirty()).then(|| self.debounce.due().unwrap_or(now));
        // A failed count holds back retries too: they need the members as well.
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
        let acknowledged = acknowledged(&object).map(str::to_owned);
        let report = self.cluster.read(collection, object);
        if let Some(report) = &report {
            self.switch_skew.note(report, Instant::now());
            let run = &report.pod;
            let is_new = self.member_count.note_run(run);
            // A pod of Gatekeeper's has no registration.
            let may_register = report.shard == REGISTRATION || run.incarnation.is_empty();
            self.recount |= may_register && is_new;
            // A run that waits to be acknowledged may be just as it was counted last, and needs another count all the same.
            let is_waiting = run.incomplete && acknowledged.as_ref() != Some(&run.incarnation);
            self.recount |= report.shard == REGISTRATION && is_waiting;
        }
        self.reports.apply(&name, uid, report);
    }

    /// Notes an answer about a pod. A count that waits for answers is about to be taken.
    fn note_answer(&mut self, is_outdated: bool) {
        if !self.batch.is_waiting_for_pods() {
            self.note_member_count(is_outdated);
        } else if self.member_count.is_answered() {
            self.batch.wait_no_longer();
        }
    }

    /// The members are to be counted again, if so.
    fn note_member_count(&mut self, is_outdated: bool) {
        if is_outdated {
            self.recount = true;
            self.debounce.changed(Instant::now());
        }
    }

    fn note_changes(&mut self) {
        let (parents, listed) = self.changes.take();
        for (parent, version) in parents {
            if self.config.shapes.shape(&parent).is_some() {
                self.enforcement_states.expect(&parent);
            }
            if self.own_writes.is_new(&parent, version, self.decisions.is_busy(&parent)) {
                self.reports.touch(parent);
            }
        }
        self.enforcement_states.set_listed(listed);
        // Pods that wait for an acknowledgement can have it now.
        self.recount |= !self.all_announced && self.changes.are_all_announced();
        self.all_announced = self.changes.are_all_announced();
        self.debounce.changed(Instant::now());
    }

    /// The parents to look at whose kinds have statuses.
    fn take_dirty(&mut self) -> Vec<(Shape, ParentRef)> {
        let mut dirty = Vec::new();
        for parent in self.reports.take_dirty() {
            match self.config.shapes.shape(&parent) {
                Some(shape) => {
                    self.enforcement_states.expect(&parent);
                    dirty.push((shape, parent));
                }
                None => {
                    self.enforcement_states.remove(&parent);
                    self.acknowledgements.removed(&parent);
                }
            }
        }
        dirty
    }

    /// Begins to count the members.
    fn begin(&mut self) {
        // What the host has announced until now is decided about in this batch, not in the next one.
        self.note_changes();
        self.began = self.debounce.clear().unwrap_or_else(Instant::now);
        self.recount = false;
        // The parents of the plans are looked at again, whatever comes of it.
        let plans = std::mem::take(&mut self.plans);
        let writes = (!plans.is_empty() || !self.gone.is_empty()).then(|| (plans, self.gone.clone()));
        self.batch.begin(list(self.cluster.clone(), self.epoch.clone(), writes, self.is_strict));
    }

    /// Counts the members, and begins to decide about everything that has changed.
    fn decide(&mut self, listed: Listed) {
        let now = Instant::now();
        self.retry.reset();
        self.gone.retain(|parent| !listed.removed.contains(parent));
        let has_changed = self.member_count.take(&self.reports);
        let count = self.member_count.count().clone();
        // Nothing is acknowledged before every parent is known that may have to be decided about.
        let registered = if self.all_announced { listed.registered.as_slice() } else { &[] };
        // Example: pod b joins while p and q are enforced by a. No report about p or q has changed, and both are decided about
        // again, because `Ingested` has to say that b is waited for.
        if self.acknowledgements.counted(registered, &count, &self.reports) || has_changed {
            self.reports.touch_all(self.changes.known());
        }
        let due = self.decisions.take_due(now).into_iter().chain(self.waiting_generations.take_due(now));
        due.for_each(|parent| self.reports.touch(parent));
        let epoch = listed.epoch.map(Arc::new);
        if let Some(epoch) = &epoch {
            self.epoch = epoch.clone();
        }
        let dirty = self.take_dirty();
        // A run that waits is acknowledged once all parents of its first batch are settled.
        self.acknowledgements.begin(dirty.iter().map(|(_, parent)| parent));
        for (shape, parent) in dirty {
            self.push(shape, parent, &count, epoch.as_ref());
        }
        self.batched = true;
        self.publish();
    }

    fn push(&mut self, shape: Shape, parent: ParentRef, count: &Arc<Count>, epoch: Option<&Arc<Epoch>>) {
        let is_strict = matches!(shape.rollout, Rollout::Strict { .. });
        if is_strict && epoch.is_none() {
            // The first one: the activations have to be read before.
            self.is_strict = true;
            return self.reports.touch(parent);
        }
        if self.decisions.admits(&parent, Instant::now()) {
            let reports = self.reports.reports(&parent);
            self.waiting_generations.engage(&parent);
            let waiting = self.waiting_generations.get(&parent).cloned();
            let epoch = epoch.filter(|_| is_strict).cloned();
            let job = DecisionJob {
                shape,
                parent,
                count: count.clone(),
                reports,
                waiting,
                epoch,
                began: self.began,
            };
            let is_urgent = self.overclaims.is_contradicted(&job);
            self.decisions.push(job, is_urgent);
        }
    }

    /// Publishes the high-water marks when nothing is under way, and now and then.
    fn publish(&mut self) {
        if self.batched && (self.decisions.is_idle() || self.published.elapsed() >= MARKS_INTERVAL) {
            self.enforcement_states.publish(self.marks);
            self.published = Instant::now();
        }
    }

    fn failed(&mut self, error: &kube::Error) {
        let (delay, now) = (self.retry.after(error), Instant::now());
        self.retry_at = now.checked_add(delay).unwrap_or(now);
        tracing::warn!(reason = reason(error), ?delay, "cannot count the pods, will retry");
    }
}
