//! An Event for each violation that the webhook finds, with Gatekeeper's reasons and words.

use admission_server::AdmissionRequest;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{Action, Verdict, Violation};
use serde::Deserialize;

use crate::events::{Recorder, Subject, ViolationEvent};

use super::enforcement::Enforcement;
use super::is_namespace;

/// The identity of a request's object.
#[derive(Default, Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Queues the Events of a verdict. Never waits. A dry run has none: the API server counts on it that a webhook then changes
/// nothing.
pub(super) fn record(
    recorder: &Recorder,
    request: &AdmissionRequest,
    verdict: &Verdict,
    policies: &PolicySet,
) {
    if request.dry_run || verdict.violations().is_empty() {
        return;
    }
    let metadata = metadata(request);
    for violation in verdict.violations() {
        let enforcement = Enforcement::of(violation, policies);
        for action in &violation.actions {
            emit(recorder, request, &metadata, violation, &enforcement, *action);
        }
    }
}

/// The object, or where it goes the one that was there.
fn metadata(request: &AdmissionRequest) -> Metadata {
    let object = request.object::<Object>().ok().flatten();
    let object = object.or_else(|| request.old_object::<Object>().ok().flatten());
    object.unwrap_or_default().metadata
}

fn emit(
    recorder: &Recorder,
    request: &AdmissionRequest,
    metadata: &Metadata,
    violation: &Violation,
    enforcement: &Enforcement,
    action: Action,
) {
    let (reason, headline) = words(action);
    // The API server generates the name of some objects, and sends it only within them.
    let name = match request.name.as_str() {
        "" => metadata.name.as_deref().unwrap_or_default(),
        name => name,
    };
    recorder.record(&ViolationEvent {
        reason,
        is_warning: true,
        headline,
        constraint: &violation.constraint,
        action: enforcement.action,
        message: &violation.message,
        subject: Subject {
            group: &request.kind.group,
            version: &request.kind.version,
            kind: &request.kind.kind,
            // A Namespace is in none, although the API server sends its name as one.
            namespace: if is_namespace(request) { "" } else { &request.namespace },
            name,
            stored: metadata.uid.as_deref().zip(metadata.resource_version.as_deref()),
        },
        event_type: "violation",
        annotations: &[
            ("constraint_enforcement_actions", &enforcement.scoped),
            ("request_username", &request.user_info.username),
        ],
    });
}

/// Reason and beginning of the message.
fn words(action: Action) -> (&'static str, &'static str) {
    match action {
        Action::Deny => ("FailedAdmission", "Admission webhook \"validation.gatekeeper.sh\" denied request"),
        Action::Warn => (
            "WarningAdmission",
            "Admission webhook \"validation.gatekeeper.sh\" raised a warning for this request",
        ),
        Action::Dryrun => ("DryrunViolation", "Dryrun violation"),
    }
}
