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

/// Aggregates reports into statuses while it holds its Lease.
pub struct Aggregator {
    client: kube::Client,
    config: AggregatorConfig,
    changes: ParentChanges,
    marks: watch::Sender<HighWaterMarks>,
}

impl Aggregator {
    /// An aggregator that does nothing until it is run.
    pub fn new(client: kube::Client, config: AggregatorConfig) -> Self {
        Self { client, config, changes: ParentChanges::default(), marks: watch::Sender::default() }
    }

    /// As [`AggregatorConfig::expects`], of labels that are known only now.
    #[must_use]
    pub fn expects(
        mut self,
        labels: BTreeMap<String, String>,
        operations: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.config = self.config.expects(labels, operations);
        self
    }

    /// A handle by which the host announces parents and their changes.
    pub fn parent_changes(&self) -> ParentChanges {
        self.changes.clone()
    }

    /// The high-water marks, now and when they change. Nothing is known while another process aggregates.
    pub fn high_water_marks(&self) -> watch::Receiver<HighWaterMarks> {
        self.marks.subscribe()
    }

    /// Aggregates whenever this process holds the Lease, until `shutdown`. Failed requests are logged and
    /// retried. Dropping the future ends the work at once and leaves the Lease to expire.
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
