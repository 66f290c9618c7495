//! Metrics: what the parts of the process count through the `metrics` facade, in the Prometheus text format. Names that
//! begin with `gatekeeper_` are Gatekeeper's, with its labels, so that its dashboards and alerts keep working;
//! `docs/metrics.md` lists all.

use std::sync::Arc;

use admission_server::{Answer, Body, Routes};
use futures::future::BoxFuture;
use hyper::{Request, StatusCode};
use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::health_routes::answer;

/// The buckets of Gatekeeper's histograms, in seconds.
const BUCKETS: [(&str, &[f64]); 4] = [
    (
        "gatekeeper_validation_request_duration_seconds",
        &[
            0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01, 0.02, 0.03, 0.04, 0.05,
            0.06, 0.07, 0.08, 0.09, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 2.5, 3.0,
            3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0,
        ],
    ),
    (
        "gatekeeper_constraint_template_ingestion_duration_seconds",
        &[0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
    ),
    // Gatekeeper's begin at a minute.
    (
        "gatekeeper_audit_duration_seconds",
        &[
            0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 180.0, 300.0, 600.0, 900.0, 1200.0, 2400.0, 4800.0, 9600.0,
            19200.0,
        ],
    ),
    ("gatekeeper_sync_duration_seconds", &[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05]),
];
/// The buckets of all other histograms: each is a time in seconds.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The metrics of this process. Clones are the same.
#[derive(Clone)]
pub(super) struct Metrics {
    handle: PrometheusHandle,
    refresh: Arc<dyn Fn() + Send + Sync>,
}

impl Metrics {
    /// Collects from now on what the process counts.
    ///
    /// # Errors
    /// When somebody in the process collects already.
    pub(super) fn collect() -> Result<Self, BuildError> {
        let mut builder = PrometheusBuilder::new().set_buckets(&SECONDS)?;
        for (name, buckets) in BUCKETS {
            builder = builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets)?;
        }
        let handle = builder.install_recorder()?;
        describe();
        Ok(Self { handle, refresh: Arc::new(|| {}) })
    }

    /// Calls `refresh` before each answer, to set what is not set when it changes.
    pub(super) fn refreshed_by(self, refresh: impl Fn() + Send + Sync + 'static) -> Self {
        Self { refresh: Arc::new(refresh), ..self }
    }

    /// All metrics in the Prometheus text format.
    pub(super) fn render(&self) -> String {
        (self.refresh)();
        self.handle.run_upkeep();
        self.handle.render()
    }
}

/// The routes of `--prometheus-port`.
impl Routes for Metrics {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        match request.uri().path() {
            "/metrics" => answer(StatusCode::OK, self.render()),
            _ => answer(StatusCode::NOT_FOUND, "metrics are at /metrics\n".to_owned()),
        }
    }
}

fn describe() {
    describe_audit();
    describe_events();
    describe_reviews();
    describe_counter!(
        "gatekeeper_validation_request_count_total",
        "Requests that the validating webhook answered."
    );
    describe_histogram!(
        "gatekeeper_validation_request_duration_seconds",
        "Time from a request to its answer."
    );
    describe_gauge!("gatekeeper_constraints", "Constraints that are known.");
    describe_gauge!("gatekeeper_constraint_templates", "Constraint templates that are known.");
    describe_gauge!(
        "gatekeeper_constraint_templates_with_cel",
        "Constraint templates that are judged in CEL."
    );
    describe_counter!(
        "gatekeeper_constraint_template_ingestion_count_total",
        "Versions of constraint templates that were ingested, or could not be."
    );
    describe_histogram!(
        "gatekeeper_constraint_template_ingestion_duration_seconds",
        "Time from the event of a constraint template's version to its being in force, or not."
    );
    describe_gauge!("gatekeeper_sync", "Objects in data.inventory.");
    describe_histogram!("gatekeeper_sync_duration_seconds", "Time to put an object into data.inventory.");
    describe_gauge!(
        "gatekeeper_sync_last_run_time",
        "When data.inventory last changed, in seconds since 1970."
    );
    describe_gauge!("gatekeeper_watch_manager_watched_gvk", "Kinds that are watched.");
    describe_gauge!("gatekeeper_watch_manager_intended_watch_gvk", "Kinds that are to be watched.");
    describe_counter!(
        "webtroller_repairs_total",
        "Objects restored after another client changed or deleted them."
    );
    describe_gauge!("webtroller_ready", "1 while this pod is ready.");
    describe_gauge!("webtroller_stale_watches", "Kinds whose changes have not been seen for half a minute.");
    describe_gauge!("webtroller_enforcement_suspended", "1 while a BreakGlass object suspends enforcement.");
}

fn describe_reviews() {
    describe_gauge!("webtroller_reviews_waiting", "Requests that wait for a serving thread.");
    describe_histogram!(
        "webtroller_review_wait_seconds",
        "Time for which a request waited for a serving thread."
    );
    describe_counter!(
        "webtroller_violations_total",
        "Violations found by the webhook, by what follows from them: deny, warn or dryrun."
    );
    describe_counter!(
        "webtroller_index_candidates_total",
        "Constraints that the index selected for requests, because they may match."
    );
    describe_counter!(
        "webtroller_evaluations_total",
        "Constraints that matched a request, or for which that is not known, by whether there was an answer."
    );
    describe_counter!(
        "webtroller_budget_exhausted_total",
        "Evaluations for requests that ran out of a part of their budget."
    );
}

fn describe_events() {
    describe_counter!(
        "webtroller_events_total",
        "Violations that were to become Kubernetes Events: stored, dropped because too many waited, or failed."
    );
}

fn describe_audit() {
    describe_gauge!("gatekeeper_violations", "Violations in the cluster now.");
    describe_histogram!(
        "gatekeeper_audit_duration_seconds",
        "Time of the first pass, and of each comparison with the cluster."
    );
    describe_gauge!("gatekeeper_audit_last_run_time", "When the last of these began, in seconds since 1970.");
    describe_gauge!(
        "gatekeeper_audit_last_run_end_time",
        "When the last of these ended, in seconds since 1970."
    );
    describe_counter!("webtroller_audit_objects_judged_total", "Objects that the audit judged.");
    describe_counter!(
        "webtroller_audit_drift_total",
        "Verdicts that a verification found out of date; should stay 0."
    );
}
