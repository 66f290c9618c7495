//! The aggregation of all pods' reports into statuses, and when this pod begins with it.

use std::sync::Arc;
use std::time::Duration;

use pod_status::readiness::ReadinessTracker;
use pod_status::{Aggregator, AggregatorConfig, StatusReporter};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use watch_manager::WatchManager;

use crate::controller::shapes;

use super::Cluster;
use super::status_watches::StatusWatches;

/// A pod that has not ingested everything by then is going to need longer, and its statuses give the reason.
const LONGEST: Duration = Duration::from_secs(10);

/// The webhook's registration is looked at within this time, if the API server answers.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The events that are awaited before reports are folded.
pub(super) struct Beginning {
    pub(super) tracker: ReadinessTracker,
    /// The reason why requests are not sent to the webhook; `None` when they are.
    pub(super) registration: watch::Receiver<Option<String>>,
    pub(super) reporter: StatusReporter,
}

impl Cluster {
    /// An aggregator, and the watches that it shares with the reporter.
    pub(super) fn aggregator(&self) -> (Aggregator, Arc<StatusWatches>) {
        let (watches, driver) = StatusWatches::new(WatchManager::builder_with_source(self.watches.source()));
        self.supervisor.background("watches of reports", driver.run(CancellationToken::new()));
        let config =
            AggregatorConfig::new(&self.identity, shapes(self.versions.clone())).follow(watches.clone());
        (Aggregator::new(self.client.clone(), config), watches)
    }
}

/// Folds reports once this pod has ingested what existed at its start, and has stored its reports of that.
///
/// A pod that starts has reported nothing. If it folded reports from the beginning, and no other pod does, it would write into every
/// status that it has not ingested the object, and a moment later that it has: two requests and two writes for each object, while
/// the API server is to answer what the start needs. Until then no pod serves that a status could be wrong about: one that serves
/// folds reports itself.
pub(super) async fn aggregate(aggregator: Aggregator, begin: Beginning, shutdown: CancellationToken) {
    let _ = shutdown.run_until_cancelled(timeout(LONGEST, begin.reported())).await;
    aggregator.run(shutdown).await;
}

impl Beginning {
    /// Returns once the reports are complete and stored, or cannot be.
    async fn reported(mut self) {
        if self.tracker.ready().wait_for(|readiness| readiness.is_ready()).await.is_err() {
            return;
        }
        // Where nothing is registered yet, that may wait for this pod to be ready, and the pod for what is folded.
        let _ = timeout(POLL_INTERVAL, self.registration.wait_for(Option::is_none)).await;
        let _ = self.reporter.flush().await;
    }
}
