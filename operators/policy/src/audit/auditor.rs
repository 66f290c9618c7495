//! The driver of the audit: one loop that owns the ledger, watches and lists what is to be judged, and keeps the order in
//! which it came.
//!
//! ```text
//! watches ─┐
//! lists ───┼─▶ pipeline: judged on other threads, taken in the order of arrival ─▶ ledger ─▶ statuses, log, metrics
//! reads ───┘
//! ```

mod apply;
mod cluster;
mod foreign_edits;
mod lists;
mod pipeline;
mod policies;
mod reports;
mod statuses;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use constraint_framework::api::ConstraintRef;
use constraint_framework::policyset::ConstraintInForce;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, FuturesUnordered};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use watch_manager::{GroupVersionKind, Registrar, Source, WatchManager};

use crate::events::Recorder;
use crate::in_force::{InForce, PolicyHandle};

use super::buffer::ObjectBuffer;
use super::judge::Judge;
use super::kinds::ServedKind;
use super::ledger::{Epoch, Ledger};
use super::place::Kind;
use super::violation_log::ViolationLog;
use super::{AuditContext, AuditOptions};

use cluster::ClusterEvents;
use lists::{Backoff, Fetched};
use pipeline::{Done, JudgePool};
use reports::Reports;
use statuses::Statuses;

/// Batches that are judged or wait for their turn. More are not taken from the watches.
const PIPELINE: usize = 8;
/// Events that are judged together.
const BATCH: usize = 64;
/// The longest time without a look at what is due.
const TICK: Duration = Duration::from_secs(1);

/// The audit during one term of the Lease.
pub(super) struct Auditor {
    options: AuditOptions,
    client: kube::Client,
    /// Watches policies and Namespaces for the whole process.
    manager: WatchManager,
    policies: PolicyHandle,
    ledger: Ledger,
    judge: Judge,
    /// The constraints of the policy set, each with the number of its revision.
    revisions: BTreeMap<ConstraintRef, (ConstraintInForce, u64)>,
    last_revision: u64,
    /// The kinds that the API server serves, once they are known.
    served: Option<Vec<ServedKind>>,
    kinds: HashMap<GroupVersionKind, (Kind, ServedKind)>,
    stays: u64,
    /// Watches what is audited.
    watches: Registrar,
    hold: ObjectBuffer,
    objects: Arc<dyn Source>,
    cluster: ClusterEvents,
    judge_pool: JudgePool,
    pipeline: FuturesOrdered<BoxFuture<'static, Vec<Done>>>,
    /// The epochs of the batches in the pipeline, in their order.
    epochs: std::collections::VecDeque<Epoch>,
    lists: FuturesUnordered<BoxFuture<'static, Fetched>>,
    backoffs: HashMap<Kind, Backoff>,
    statuses: Statuses,
    reports: Reports,
    violation_log: ViolationLog,
    events: Recorder,
    verify_at: Option<Instant>,
    refresh_at: Instant,
    examine_at: Instant,
}

/// The watch manager of the audit, with what its source needs.
pub(super) struct Watches {
    pub(super) registrar: Registrar,
    pub(super) hold: ObjectBuffer,
    pub(super) objects: Arc<dyn Source>,
}

impl Auditor {
    /// An auditor that has seen nothing yet.
    ///
    /// # Errors
    /// A defect of the composition.
    pub(super) fn new(context: &AuditContext, watches: Watches) -> Result<Self, watch_manager::Error> {
        let InForce { policies, excluded, .. } = context.policies.current();
        let threads = Arc::new(Semaphore::new(context.options.threads.max(1)));
        let now = Instant::now();
        Ok(Self {
            options: context.options.clone(),
            client: context.client.clone(),
            manager: context.manager.clone(),
            policies: context.policies.clone(),
            ledger: Ledger::default(),
            judge: Judge { epoch: Epoch::default(), policies, keyed: Arc::default(), excluded },
            revisions: BTreeMap::new(),
            last_revision: 0,
            served: None,
            kinds: HashMap::new(),
            stays: 0,
            watches: watches.registrar,
            hold: watches.hold,
            objects: watches.objects,
            cluster: ClusterEvents::new(context)?,
            judge_pool: JudgePool::new(context, threads),
            pipeline: FuturesOrdered::new(),
            epochs: std::collections::VecDeque::new(),
            lists: FuturesUnordered::new(),
            backoffs: HashMap::new(),
            statuses: Statuses::new(context),
            reports: Reports::new(context)?,
            violation_log: ViolationLog::new(context),
            events: context.events.clone(),
            verify_at: context.options.interval.and_then(|interval| now.checked_add(interval)),
            refresh_at: now,
            examine_at: now,
        })
    }

    /// Runs until it is dropped, or a watch manager ends.
    pub(super) async fn run(mut self) {
        self.cluster.discover(&self.client);
        loop {
            self.advance();
            let wake = self.wake();
            tokio::select! {
                Some(done) = self.pipeline.next() => self.on_done(done),
                changed = self.policies.changed() => match changed {
                    true => self.on_policies(),
                    false => return,
                },
                events = self.watches.next_batch(BATCH), if self.pipeline.len() < PIPELINE => match events.is_empty() {
                    true => return,
                    false => self.on_objects(events),
                },
                Some(fetched) = self.lists.next() => self.on_fetched(fetched),
                event = self.cluster.next() => match event {
                    Some(event) => self.on_cluster(event),
                    None => return,
                },
                Some(written) = self.statuses.next() => self.statuses.on_written(written),
                Some(ended) = self.reports.next() => self.reports.on_ended(ended),
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Starts what is due: lists, reads, statuses, verification.
    fn advance(&mut self) {
        let now = Instant::now();
        if self.verify_at.is_some_and(|at| at <= now) {
            self.ledger.verify();
            self.reports.verify(now);
            self.verify_at = self.options.interval.and_then(|interval| now.checked_add(interval));
        }
        self.start_lists(now);
        self.examine_suspects(now);
        for change in self.ledger.take_changes() {
            let constraint = self.revisions.get(&change.constraint);
            let action = constraint.map_or("", |(constraint, _)| constraint.enforcement_action());
            self.violation_log.report(&change, action);
            super::events::emit(&self.events, &change, action);
        }
        for id in self.ledger.take_changed() {
            self.statuses.changed(id, now);
        }
        self.statuses.write(&self.ledger, &self.manager, now);
        self.reports.write(&mut self.ledger, now);
        self.violation_log.measure(&self.ledger, self.hold.bytes(), self.pipeline.len(), now);
    }

    fn wake(&self) -> Instant {
        let now = Instant::now();
        let tick = now.checked_add(TICK).unwrap_or(now);
        [self.statuses.due(), self.reports.due()].into_iter().flatten().fold(tick, Instant::min)
    }
}
