//! The output of the audit beside the statuses: a log line for each violation that comes or goes, and metrics.

use std::time::Duration;

use constraint_framework::api::CONSTRAINTS_GROUP;
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use super::AuditContext;
use super::judge;
use super::ledger::{Ledger, Pass, ViolationChange};

/// Metrics are computed at most this often.
const MEASURE: Duration = Duration::from_secs(1);
/// The actions by which violations are counted; Gatekeeper's, of which it knows no other.
const ACTIONS: [&str; 4] = ["deny", "dryrun", "scoped", "warn"];

/// The log and the metrics of a term.
pub(super) struct ViolationLog {
    started: Instant,
    /// The first pass over everything is still under way.
    first: bool,
    verifying_since: Option<Instant>,
    measured: Option<Instant>,
    drift: u64,
}

impl ViolationLog {
    pub(super) fn new(_: &AuditContext) -> Self {
        metrics::gauge!("gatekeeper_audit_last_run_time").set(seconds());
        // Registered before the first increment, so that an alert can distinguish 0 from absence.
        metrics::counter!("webtroller_audit_drift_total").increment(0);
        metrics::counter!("webtroller_audit_objects_judged_total").increment(0);
        judge::announce();
        for change in ["new", "resolved"] {
            metrics::counter!("webtroller_audit_violation_changes_total", "change" => change).increment(0);
        }
        Self { started: Instant::now(), first: true, verifying_since: None, measured: None, drift: 0 }
    }

    /// An object has been judged.
    pub(super) fn judged(&self) {
        metrics::counter!("webtroller_audit_objects_judged_total").increment(1);
    }

    /// A violation has come or gone. The keys are Gatekeeper's.
    pub(super) fn report(&self, change: &ViolationChange, action: &str) {
        let (event_type, result) = match change.is_new {
            true => ("violation_audited", "new"),
            false => ("violation_resolved", "resolved"),
        };
        metrics::counter!("webtroller_audit_violation_changes_total", "change" => result).increment(1);
        tracing::info!(
            process = "audit",
            event_type,
            constraint_group = CONSTRAINTS_GROUP,
            constraint_api_version = "v1beta1",
            constraint_kind = change.constraint.kind,
            constraint_name = change.constraint.name,
            constraint_action = action,
            resource_group = change.place.kind.group,
            resource_api_version = change.place.kind.version,
            resource_kind = change.place.kind.kind,
            resource_namespace = change.place.namespace(),
            resource_name = change.place.name(),
            "{}",
            change.message
        );
    }

    pub(super) fn pass_begins(&mut self, pass: &Pass) {
        if pass.verifies && self.verifying_since.is_none() {
            self.verifying_since = Some(Instant::now());
            metrics::gauge!("gatekeeper_audit_last_run_time").set(seconds());
        }
    }

    pub(super) fn pass_ends(&self, pass: &Pass) {
        tracing::debug!(kind = %pass.kind, namespace = pass.namespace, verifies = pass.verifies, "judged again");
    }

    /// Brings the metrics up to date, at most once a second.
    pub(super) fn measure(&mut self, ledger: &Ledger, held: usize, queue: usize, now: Instant) {
        if self.measured.is_some_and(|at| now.saturating_duration_since(at) < MEASURE) {
            return;
        }
        self.measured = Some(now);
        for action in ACTIONS {
            let of = ledger.totals().filter(|(definition, _)| definition.action == action);
            let total: usize = of.map(|(_, total)| total).sum();
            metrics::gauge!("gatekeeper_violations", "enforcement_action" => action).set(float(total));
        }
        metrics::gauge!("webtroller_audit_objects").set(float(ledger.objects()));
        metrics::gauge!("webtroller_audit_held_bytes").set(float(held));
        metrics::gauge!("webtroller_audit_queue_depth").set(float(queue));
        self.end_of_run(ledger, now);
        let drift = ledger.drift().saturating_sub(self.drift);
        if drift > 0 {
            tracing::warn!(verdicts = drift, "a verification found verdicts that were out of date");
            metrics::counter!("webtroller_audit_drift_total").increment(drift);
            self.drift = ledger.drift();
        }
    }

    /// A run in Gatekeeper's sense: the first pass over everything, or a verification of everything.
    fn end_of_run(&mut self, ledger: &Ledger, now: Instant) {
        let since = match self.verifying_since {
            Some(since) if !ledger.is_verifying() => since,
            None if self.first && ledger.is_settled() => self.started,
            _ => return,
        };
        let duration = now.saturating_duration_since(since);
        if std::mem::take(&mut self.first) {
            tracing::info!(
                process = "audit",
                event_type = "audit_finished",
                objects = ledger.objects(),
                ?duration,
                "every object is judged; from here on those that change"
            );
        }
        self.verifying_since = None;
        metrics::histogram!("gatekeeper_audit_duration_seconds").record(duration.as_secs_f64());
        metrics::gauge!("gatekeeper_audit_last_run_end_time").set(seconds());
    }
}

/// Another process counts from here on: what this one knew must not be added to it.
impl Drop for ViolationLog {
    fn drop(&mut self) {
        for action in ACTIONS {
            metrics::gauge!("gatekeeper_violations", "enforcement_action" => action).set(0.0);
        }
        for gauge in
            ["webtroller_audit_objects", "webtroller_audit_held_bytes", "webtroller_audit_queue_depth"]
        {
            metrics::gauge!(gauge).set(0.0);
        }
    }
}

fn seconds() -> f64 {
    Timestamp::now().as_duration().as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "a metric; exact up to 2^53")]
fn float(number: usize) -> f64 {
    number as f64
}
