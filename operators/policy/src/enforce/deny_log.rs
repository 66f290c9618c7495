//! A log line for each violation, with Gatekeeper's keys, and its count.

use admission_server::AdmissionRequest;
use constraint_framework::api::CONSTRAINTS_GROUP;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{Action, Verdict, Violation};

use super::enforcement::Enforcement;

/// Counts the violations, and logs each if `logs`: those that deny, warn or are only recorded.
pub(super) fn record(request: &AdmissionRequest, verdict: &Verdict, policies: &PolicySet, logs: bool) {
    count(verdict);
    if logs {
        for violation in verdict.violations() {
            log(request, violation, &Enforcement::of(violation, policies));
        }
    }
}

/// Looks up each counter once, however many violations there are.
fn count(verdict: &Verdict) {
    for action in [Action::Deny, Action::Warn, Action::Dryrun] {
        let actions = verdict.violations().iter().flat_map(|violation| &violation.actions);
        let count = actions.filter(|found| **found == action).count();
        if count > 0 {
            metrics::counter!("webtroller_violations_total", "action" => action.name())
                .increment(u64::try_from(count).unwrap_or(u64::MAX));
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
