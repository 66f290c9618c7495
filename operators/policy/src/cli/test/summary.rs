//! One line about a whole run: how much was judged, and what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cli::assemble::{Assembly, Subject};
use crate::cli::color::{Color, Stream, paint};
use crate::cli::judge::PlacedViolation;
use crate::text::{counted, thousands};

/// `3 objects (and 1 generated), 2 constraints (1 matches none of them): 4 violations (3 deny, 1 warn) in 12 ms`. `idle` is the number of
/// those, if it is known.
pub(super) fn of(
    assembly: &Assembly,
    violations: &[PlacedViolation<'_>],
    idle: Option<usize>,
    elapsed: Duration,
) -> String {
    let objects = assembly.subjects.iter().filter(|subject| subject.is_no_policy());
    let generated: usize = objects.clone().map(|subject: &Subject| subject.resultants.len()).sum();
    let generated = match generated {
        0 => String::new(),
        number => format!(" (and {} generated)", thousands(number)),
    };
    let mut actions: BTreeMap<&str, usize> = BTreeMap::new();
    for violation in violations {
        let number = actions.entry(violation.enforcement_action()).or_default();
        *number = number.saturating_add(1);
    }
    let by_action: Vec<_> =
        actions.iter().map(|(action, number)| format!("{} {action}", thousands(*number))).collect();
    let verdict = match violations.len() {
        // Nothing could have been found: there is no constraint, or none that matches.
        0 if idle.unwrap_or_default() == assembly.constraints.len() => {
            paint("nothing was judged", Color::Yellow, Stream::Error)
        }
        0 => paint("no violation", Color::Green, Stream::Error),
        number => {
            let text = format!("{} ({})", counted(number, "violation"), by_action.join(", "));
            let color =
                if violations.iter().any(PlacedViolation::denies) { Color::Red } else { Color::Yellow };
            paint(&text, color, Stream::Error)
        }
    };
    let objects = counted(objects.count(), "object");
    let constraints = counted(assembly.constraints.len(), "constraint");
    let idle = match idle.unwrap_or_default() {
        0 => String::new(),
        1 => " (1 matches none of them)".to_owned(),
        number => format!(" ({} match none of them)", thousands(number)),
    };
    format!("{objects}{generated}, {constraints}{idle}: {verdict} in {} ms", elapsed.as_millis())
}
