//! The report, for people and for programs.

use serde_json::{Value, json};

use super::Report;
use super::diagnostic::{Diagnostic, Level};

const HEADINGS: [(Level, &str); 3] =
    [(Level::Unsupported, "Not supported"), (Level::Different, "Different"), (Level::Note, "Nothing to do")];

/// The report, for people.
pub(super) fn text(report: &Report) -> String {
    let used: Vec<_> = report.used.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let used = if used.is_empty() { "nothing".to_owned() } else { used.join(", ") };
    let mut text = format!("In use: {used}\n");
    for (level, heading) in HEADINGS {
        let diagnostics: Vec<_> =
            report.diagnostics.iter().filter(|diagnostic| diagnostic.level() == level).collect();
        if !diagnostics.is_empty() {
            text.push_str(&format!("\n{heading}:\n"));
            diagnostics.iter().for_each(|diagnostic| text.push_str(&lines(diagnostic)));
        }
    }
    let (objects, kinds) = report.judged;
    let important = report.diagnostics.iter().filter(|diagnostic| diagnostic.level() != Level::Note).count();
    text.push_str(&format!("\n{important} to look at; {objects} objects of {kinds} kinds were judged\n"));
    text
}

fn lines(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let (page, words) = diagnostic.rule.described();
    let message = diagnostic.message.replace('\n', "\n    ");
    format!("  {}{place}\n    {message}\n    see {page}: {words}\n", diagnostic.object)
}

/// The report, for programs. The keys `findings` and `problems`, which hold the diagnostics and the errors, stay as programs
/// read them.
pub(super) fn json(report: &Report) -> String {
    let (objects, kinds) = report.judged;
    let document = json!({
        "inUse": report.used,
        "findings": report.diagnostics.iter().map(entry).collect::<Vec<_>>(),
        "judged": {"objects": objects, "kinds": kinds},
        "problems": report.errors,
    });
    format!("{document:#}\n")
}

fn entry(diagnostic: &Diagnostic) -> Value {
    let level = match diagnostic.level() {
        Level::Unsupported => "unsupported",
        Level::Different => "different",
        Level::Note => "note",
    };
    let (page, words) = diagnostic.rule.described();
    json!({
        "rule": diagnostic.rule.word(), "level": level, "object": diagnostic.object, "message": diagnostic.message,
        "place": diagnostic.place, "described": {"page": page, "at": words},
    })
}
