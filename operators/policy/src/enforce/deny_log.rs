//! A log line for each violation, with Gatekeeper's keys, and its count.

use admission_server::AdmissionRequest;
use constraint_framework::api::CONSTRAINTS_GROUP;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{Verdict, Violation};

use super::enforcement::Enforcement;

/// Counts the violations, and logs each if `logs`: those that deny, warn or are only recorded.
pub(super) fn record(request: &AdmissionRequest, verdict: &Verdict, policies: &PolicySet, logs: bool) {
    for violation in verdict.violations() {
        for action in &violation.actions {
            metrics::counter!("webtroller_violations_total", "action" => action.name()).increment(1);
        }
        if logs {
            log(request, violation, &Enforcement::of(violation, policies));
        }
    }
}

fn log(request: &AdmissionRequest, violation: &Violation, enforcement: &Enforcement) {
    let details = violation.details.as_ref().map(ToString::to_string).unwrap_or_default();
    tracing::info!(
        process = "admission",
        event_type = "violation",
        event_msg = violation.message,
        details,
        constraint_name = violation.constraint.name,
        constraint_group = CONSTRAINTS_GROUP,
        constraint_api_version = "v1beta1",
        constraint_kind = violation.constraint.kind,
        constraint_action = enforcement.action,
        constraint_enforcement_actions = enforcement.scoped,
        resource_group = request.kind.group,
        resource_api_version = request.kind.version,
        resource_kind = request.kind.kind,
        resource_namespace = request.namespace,
        resource_name = request.name,
        request_uid = request.uid,
        request_username = request.user_info.username,
        dry_run = request.dry_run,
        "denied admission"
    );
}
