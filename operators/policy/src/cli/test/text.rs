//! The lines of `gator test`, each followed by the place of the object and the action.

use std::io::{self, Write};

use go_compat::strconv::quote;

use crate::cli::color::{Color, Stream, paint};
use crate::cli::judge::Offence;

use super::trace::Traces;

/// Writes a line per violation; with `places`, where the object stands and what is done about it.
pub(super) fn write(
    offences: &[Offence<'_>],
    places: bool,
    traces: &Traces,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (position, offence) in offences.iter().enumerate() {
        let behind = if places { place(offence) } else { String::new() };
        writeln!(out, "{}{behind}", line(offence))?;
        if let Some(trace) = traces.get(position) {
            for line in trace.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    Ok(())
}

fn place(offence: &Offence<'_>) -> String {
    let action = offence.enforcement_action();
    let color = if offence.denies() { Color::Red } else { Color::Yellow };
    let place = paint(&offence.subject.place.to_string(), Color::Dim, Stream::Out);
    format!(" ({place}, {})", paint(action, color, Stream::Out))
}

fn line(offence: &Offence<'_>) -> String {
    let object = &offence.subject.object;
    let name = match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    };
    format!(
        "{}/{} {name}: [{}] Message: {}",
        object.api_version(),
        object.kind(),
        quote(&offence.violation.constraint.name),
        quote(&offence.violation.message),
    )
}
