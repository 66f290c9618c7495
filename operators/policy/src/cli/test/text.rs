//! The lines of `gator test`, each followed by the place of the object and the action.

use std::io::{self, Write};

use go_compat::strconv::quote;

use crate::cli::color::{Color, Stream, paint};
use crate::cli::judge::PlacedViolation;

use super::trace::Traces;

/// Writes a line per violation; with `places`, where the object stands and what is done about it.
pub(super) fn write(
    violations: &[PlacedViolation<'_>],
    places: bool,
    traces: &Traces,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (position, violation) in violations.iter().enumerate() {
        let behind = if places { place(violation) } else { String::new() };
        writeln!(out, "{}{behind}", line(violation))?;
        if let Some(trace) = traces.get(position) {
            for line in trace.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    Ok(())
}

fn place(violation: &PlacedViolation<'_>) -> String {
    let action = violation.enforcement_action();
    let color = if violation.denies() { Color::Red } else { Color::Yellow };
    let place = paint(&violation.subject.place.to_string(), Color::Dim, Stream::Out);
    format!(" ({place}, {})", paint(action, color, Stream::Out))
}

fn line(violation: &PlacedViolation<'_>) -> String {
    let subject = violation.subject;
    format!(
        "{} {}: [{}] Message: {}",
        subject.type_name(),
        subject.full_name(),
        quote(&violation.id().name),
        quote(&violation.message),
    )
}
