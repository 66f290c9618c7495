//! Metrics: what the parts of the process count through the `metrics` facade, in the Prometheus text format and, on request,
//! by OTLP. Names that begin with `gatekeeper_` are Gatekeeper's, with its labels, so that its dashboards and alerts keep working;
//! `docs/metrics.md` lists all.

mod otlp;

use std::sync::Arc;
use std::time::Duration;

use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_util::layers::FanoutBuilder;
use opentelemetry_otlp::ExporterBuildError;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

pub(super) use otlp::{Otlp, endpoint};

/// Interval at which samples of histograms are put into their buckets. The recorder keeps each sample until then; without this, until the
/// next scrape, 20 bytes for each review.
const UPKEEP: Duration = Duration::from_secs(5);

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

/// The buckets of a histogram.
fn buckets(name: &str) -> &'static [f64] {
    BUCKETS.iter().find(|(known, _)| *known == name).map_or(&SECONDS, |(_, buckets)| buckets)
}

/// The collector that metrics are sent to besides being offered to Prometheus.
#[derive(Clone, Debug, clap::Args)]
pub struct OtlpArgs {
    /// Send metrics to the OpenTelemetry collector at HOST:PORT, by OTLP over HTTP.
    #[arg(long, value_parser = endpoint)]
    pub otlp_endpoint: Option<String>,
    /// Interval at which metrics are sent there, as in 10s.
    #[arg(long, default_value = "10s", value_parser = super::duration::duration)]
    pub otlp_metric_interval: Duration,
}

/// The reason why nothing can be collected.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The buckets of a histogram are wrong.
    #[error(transparent)]
    Prometheus(#[from] BuildError),
    /// There is no way to the collector.
    #[error("metrics cannot be sent to --otlp-endpoint")]
    Otlp(#[from] ExporterBuildError),
    /// A recorder is installed in this process already.
    #[error("metrics are collected already")]
    Twice,
}

/// The metrics of this process. Clones are the same.
#[derive(Clone)]
pub(super) struct Metrics {
    handle: PrometheusHandle,
    otlp: Option<Otlp>,
    refresh: Arc<dyn Fn() + Send + Sync>,
}

impl Metrics {
    /// Collects from now on what the process of this pod counts.
    pub(super) fn collect(args: &OtlpArgs, pod: &str) -> Result<Self, MetricsError> {
        let mut builder = PrometheusBuilder::new().set_buckets(&SECONDS)?;
        for (name, buckets) in BUCKETS {
            builder = builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets)?;
        }
        let prometheus = builder.build_recorder();
        let handle = prometheus.handle();
        let mut recorders = FanoutBuilder::default().add_recorder(prometheus);
        let mut otlp = None;
        if let Some(endpoint) = &args.otlp_endpoint {
            let (exporter, recorder) = Otlp::new(endpoint, args.otlp_metric_interval, pod)?;
            recorders = recorders.add_recorder(recorder);
            otlp = Some(exporter);
        }
        metrics::set_global_recorder(recorders.build()).map_err(|_| MetricsError::Twice)?;
        describe();
        begin();
        Ok(Self { handle, otlp, refresh: Arc::new(|| {}) })
    }

    /// Sends metrics to a collector until `end`, if one is named, and puts samples into buckets all the time.
    pub(super) async fn export(self, end: CancellationToken) {
        let upkeep = async {
            let mut ticks = interval(UPKEEP);
            loop {
                ticks.tick().await;
                self.handle.run_upkeep();
            }
        };
        let export = async {
            match self.otlp {
                Some(otlp) => otlp.run(&*self.refresh, end).await,
                None => end.cancelled().await,
            }
        };
        tokio::select! {
            () = export => {}
            () = upkeep => {}
        }
    }

    /// Calls `refresh` before each answer and export, to set what is not set when it changes.
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

/// A series that begins with its first event is not seen to rise: the first error would raise no alert.
fn begin() {
    for status in ["allow", "deny", "error"] {
        for dry_run in ["true", "false"] {
            metrics::counter!(
                "gatekeeper_validation_request_count_total",
                "admission_status" => status,
                "admission_dryrun" => dry_run
            )
            .increment(0);
        }
    }
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
        "webtroller_audit_budget_exhausted_total",
        "Evaluations of the audit that ran out of a part of their budget."
    );
    describe_counter!(
        "webtroller_audit_drift_total",
        "Verdicts that a verification found out of date; should stay 0."
    );
}
