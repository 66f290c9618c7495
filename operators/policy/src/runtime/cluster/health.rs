//! The ports for probes and metrics.

use std::sync::Arc;

use admission_server::{HealthRoutes, Limits, Server};
use pod_status::Aggregator;
use pod_status::readiness::ReadinessTracker;
use tokio::sync::watch;
use watch_manager::WatchManager;

use crate::controller::{gauge_value, stale_watches};
use crate::enforce::Records;
use crate::in_force::PolicyHandle;
use crate::runtime::RunError;
use crate::runtime::args::ServeArgs;
use crate::runtime::health_routes::OperatorHealth;
use crate::runtime::status_page::{Readiness, Sources, StatusPage};

use super::{Cluster, listen};

const UNSERVED: &str =
    "what this pod cannot ingest is not reported yet, or its certificate's authority is not registered yet";

impl Cluster {
    /// Starts to answer probes, before anything else is there.
    pub(super) async fn serve_health(
        &self,
        args: &ServeArgs,
        (tracker, ready): (&ReadinessTracker, watch::Receiver<bool>),
        manager: WatchManager,
        aggregator: &Aggregator,
        (policies, records): (PolicyHandle, &Records),
    ) -> Result<(), RunError> {
        let (listener, address) = listen(args.host, args.health_port).await?;
        let (tracker, asked, starting) =
            (tracker.clone(), self.shutdown.asked.clone(), self.starting.subscribe());
        let watches = manager.clone();
        let readiness = move || {
            if asked.is_cancelled() {
                return Err(vec!["the process has been asked to end".to_owned()]);
            }
            let missing = missing(&tracker, *ready.borrow(), &watches);
            let missing: Vec<_> = starting.borrow().iter().cloned().chain(missing).collect();
            if missing.is_empty() { Ok(()) } else { Err(missing) }
        };
        let readiness: Readiness = Arc::new(readiness);
        let asked = readiness.clone();
        let watched = manager.clone();
        let metrics = self.metrics.clone().refreshed_by(move || {
            watched.record_metrics();
            count_watches(&watched);
            metrics::gauge!("webtroller_ready").set(if asked().is_ok() { 1.0 } else { 0.0 });
        });
        let page = StatusPage::new(Sources {
            pod: self.identity.name.clone(),
            readiness: readiness.clone(),
            manager,
            marks: aggregator.high_water_marks(),
            policies,
            denials: records.denials.clone(),
            costs: records.costs.clone(),
        });
        let probes = HealthRoutes::new(move || Ok(readiness()?));
        let routes =
            OperatorHealth { probes, supervisor: self.supervisor.clone(), metrics: metrics.clone(), page };
        let server = Server::new(listener, routes).with_limits(Limits::health());
        self.serve("health server", server);
        let (listener, metrics_address) = listen(args.host, args.prometheus_port).await?;
        let exporting = metrics.clone().export(self.shutdown.drain.clone());
        self.supervisor.background("metrics export", exporting);
        let server = Server::new(listener, metrics).with_limits(Limits::health());
        self.serve("metrics server", server);
        tracing::info!(health = %address, metrics = %metrics_address, "health");
        Ok(())
    }
}

/// Sets Gatekeeper's gauges of watches. They are counted when they are asked for: with hundreds of kinds that is too much work for each
/// policy set.
fn count_watches(manager: &WatchManager) {
    let watched = manager.watched();
    let is_ready = |gvk: &&_| manager.status(gvk).is_some_and(|status| status.is_ready());
    metrics::gauge!("gatekeeper_watch_manager_intended_watch_gvk").set(gauge_value(watched.len()));
    metrics::gauge!("gatekeeper_watch_manager_watched_gvk")
        .set(gauge_value(watched.iter().filter(is_ready).count()));
}

/// Reasons why the pod does not serve yet, once everything is started.
fn missing(tracker: &ReadinessTracker, is_ready: bool, watches: &WatchManager) -> Vec<String> {
    match tracker.ready().borrow().is_ready() {
        true if is_ready => note_stale(stale_watches(watches)),
        true => vec![UNSERVED.to_owned()],
        false => tracker.explain().iter().map(ToString::to_string).collect(),
    }
}

/// Shows at `/metrics` what readiness sees.
fn note_stale(stale: Vec<String>) -> Vec<String> {
    metrics::gauge!("webtroller_stale_watches").set(gauge_value(stale.len()));
    stale
}
