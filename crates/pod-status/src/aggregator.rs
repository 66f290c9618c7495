//! Aggregates the reports of all pods into the statuses of their parents, in one process at a time.

use std::collections::BTreeMap;
use std::future::Future;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::aggregator_config::AggregatorConfig;
use crate::lease::lead;
use crate::parent_changes::ParentChanges;
use crate::term::Term;
use crate::watermark::HighWaterMarks;

/// The aggregator of the reports of all pods into statuses. Works in the process that holds the Lease.
pub struct Aggregator {
    client: kube::Client,
    config: AggregatorConfig,
    changes: ParentChanges,
    marks: watch::Sender<HighWaterMarks>,
}

impl Aggregator {
    /// Returns an aggregator that does nothing until [`Aggregator::run`].
    pub fn new(client: kube::Client, config: AggregatorConfig) -> Self {
        Self { client, config, changes: ParentChanges::default(), marks: watch::Sender::default() }
    }

    /// Waits for pods, as [`AggregatorConfig::expects`], by labels that are known only now.
    #[must_use]
    pub fn expects(
        mut self,
        labels: BTreeMap<String, String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.config = self.config.expects(labels, operations);
        self
    }

    /// Returns a handle by which the host announces parents and their changes.
    pub fn parent_changes(&self) -> ParentChanges {
        self.changes.clone()
    }

    /// Returns the high-water marks, now and when they change. Empty while another process aggregates.
    pub fn high_water_marks(&self) -> watch::Receiver<HighWaterMarks> {
        self.marks.subscribe()
    }

    /// Aggregates whenever this process holds the Lease, until `shutdown`; then gives the Lease back.
    ///
    /// # Guarantees
    ///
    /// - Returns only after `shutdown`, within 4 s with a Lease of 15 s, or 8 s if a claim of the Lease is being sent. Decisions that
    ///   are under way are dropped; a write that is already sent has its precondition.
    /// - Failed requests are logged and retried after 0.5 to 30 s, each parent by itself.
    /// - Of two processes that aggregate at the same time, such as one that was frozen, neither overwrites a decision by newer
    ///   knowledge: each write is conditional on the uid and the resourceVersion that were read.
    /// - Dropping the future ends the work at once and leaves the Lease to expire.
    ///
    /// # Assumptions
    ///
    /// - The host announces every parent that exists by [`Aggregator::parent_changes`].
    /// - Each process has another [`LeaseClaim::holder`](crate::LeaseClaim::holder).
    /// - The rights of [`crate::parent_rules`] and [`crate::ReportKind::namespace_rules`] are granted. Without them nothing is
    ///   aggregated, and the refusals are logged.
    pub fn run(self, shutdown: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
        let claim = self.config.claim.clone();
        async move {
            let term = || async {
                let guard = self.changes.begin_term();
                let _cleared = ClearedAtEnd(&self.marks);
                let term = Term::new(&self.client, &self.config, guard.changes(), &self.marks);
                let span = tracing::info_span!("pod_status_term", pod = self.config.claim.holder);
                term.run().instrument(span).await;
            };
            lead(self.client.clone(), claim, shutdown, term).await;
        }
    }
}

/// Forgets the marks however the term ends: another process decides then.
struct ClearedAtEnd<'a>(&'a watch::Sender<HighWaterMarks>);

impl Drop for ClearedAtEnd<'_> {
    fn drop(&mut self) {
        HighWaterMarks::default().publish(self.0);
    }
}
