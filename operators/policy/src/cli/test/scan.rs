//! Violations as SARIF: one rule per constraint, one result per violation, at the place of the object.

use crate::cli::assemble::Problem;
use crate::cli::judge::Offence;
use crate::cli::sarif::{Log, Note};

pub(super) fn render(offences: &[Offence<'_>], problems: &[Problem]) -> String {
    let rule = |offence: &Offence<'_>| {
        (offence.violation.constraint.to_string(), offence.constraint.description.clone())
    };
    Log {
        tool: "webtroller test",
        rules: offences.iter().map(rule).collect(),
        results: offences.iter().map(result).collect(),
        failures: problems.iter().map(failure).collect(),
    }
    .render()
}

fn result(offence: &Offence<'_>) -> Note {
    let object = &offence.subject.object;
    let place = &offence.subject.place;
    let names = [object.namespace(), object.name()]
        .map(|name| if name.is_empty() { String::new() } else { format!("/{name}") });
    Note {
        rule: offence.violation.constraint.to_string(),
        level: level(offence),
        message: offence.violation.message.clone(),
        place: Some((place.file.display().to_string(), place.line)),
        column: place.column,
        about: format!("{}/{}{}", object.api_version(), object.kind(), names.concat()),
    }
}

/// The gravest of its actions.
fn level(offence: &Offence<'_>) -> &'static str {
    use constraint_framework::review::Action;
    if offence.denies() {
        "error"
    } else if offence.violation.actions.contains(&Action::Warn) {
        "warning"
    } else {
        "note"
    }
}

fn failure(problem: &Problem) -> Note {
    Note {
        rule: String::new(),
        level: "error",
        message: problem.message.clone(),
        place: problem.place.as_ref().map(|place| (place.file.display().to_string(), place.line)),
        column: problem.place.as_ref().map_or(0, |place| place.column),
        about: String::new(),
    }
}
