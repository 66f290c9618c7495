//! Kubernetes Events, one for each violation that comes or goes, as Gatekeeper's `--emit-audit-events` asks for.

use crate::events::{Recorder, Subject, ViolationEvent};

use super::ledger::ViolationChange;

/// Makes an Event of a violation that has come or gone.
pub(super) fn emit(recorder: &Recorder, change: &ViolationChange, action: &str) {
    let (reason, event_type) = match change.is_new {
        true => ("AuditViolation", "violation_audited"),
        false => ("AuditViolationResolved", "violation_resolved"),
    };
    let object = &change.place;
    recorder.record(&ViolationEvent {
        reason,
        is_warning: change.is_new,
        headline: "",
        constraint: &change.constraint,
        action,
        message: &change.message,
        subject: Subject {
            group: &object.kind.group,
            version: &object.kind.version,
            kind: &object.kind.kind,
            namespace: object.namespace(),
            name: object.name(),
            stored: None,
        },
        event_type,
        annotations: &[],
    });
}
