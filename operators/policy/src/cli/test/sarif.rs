//! Violations as SARIF: one rule per constraint, one result per violation, at the place of the object.

use serde_json::json;

use crate::cli::judge::{Gravity, PlacedViolation};
use crate::cli::manifest::ManifestError;
use crate::cli::sarif::{Log, Note};

use super::scorecard::Scorecard;

pub(super) fn render(
    violations: &[PlacedViolation<'_>],
    errors: &[ManifestError],
    scorecard: Option<&Scorecard>,
) -> String {
    let rule = |violation: &PlacedViolation<'_>| {
        let (id, description) = (violation.id().to_string(), &violation.constraint.description);
        let text = if description.is_empty() {
            format!("Violates the constraint {id}.")
        } else {
            description.clone()
        };
        (id, text)
    };
    Log {
        tool: "webtroller test",
        rules: violations.iter().map(rule).collect(),
        results: violations.iter().map(result).collect(),
        failures: errors.iter().map(Note::from).collect(),
        properties: scorecard.map(|scorecard| json!({ "scorecard": scorecard })),
    }
    .render()
}

fn result(violation: &PlacedViolation<'_>) -> Note {
    let place = &violation.subject.place;
    let name = match violation.subject.full_name() {
        name if name.is_empty() => name,
        name => format!("/{name}"),
    };
    Note {
        rule: violation.id().to_string(),
        level: level(violation),
        message: violation.message.to_string(),
        place: Some((place.file.display().to_string(), place.line)),
        column: place.column,
        about: format!("{}{name}", violation.subject.type_name()),
    }
}

/// By its severity, where the constraint has one that is not the highest; otherwise the gravest of its actions.
fn level(violation: &PlacedViolation<'_>) -> &'static str {
    match violation.constraint.severity.as_deref() {
        Some("low") => return "note",
        Some("medium") => return "warning",
        _ => {}
    }
    match violation.gravity {
        Gravity::Deny => "error",
        Gravity::Warn => "warning",
        Gravity::Quiet => "note",
    }
}
