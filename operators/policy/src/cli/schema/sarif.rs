//! Diagnostics of schemas as SARIF; the document itself is `cli/sarif.rs`.

use crate::cli::sarif::{Log, Note as Entry};

use super::report::{Level, Note, Report};
use super::source::SourceError;

pub(super) fn render(report: &Report) -> String {
    let rules = report.notes.iter().map(|note| (note.rule.to_owned(), String::new())).collect();
    let failures = report.unread.iter().map(failure).collect();
    let results = report.notes.iter().map(entry).collect();
    Log { tool: "webtroller schema", rules, results, failures, ..Log::default() }.render()
}

fn failure(error: &SourceError) -> Entry {
    Entry {
        rule: String::new(),
        level: "error",
        message: error.to_string(),
        place: error.place().map(|(file, line)| (file.to_owned(), line)),
        column: 0,
        about: String::new(),
    }
}

fn entry(note: &Note) -> Entry {
    let level = match note.level {
        Level::Error => "error",
        Level::Warning | Level::Lint => "warning",
        Level::Note => "note",
    };
    // Viewers show the message and seldom the logical place, so both say what it is about.
    let (message, about) = match &note.subject {
        Some(subject) => (format!("{subject}: {}", note.text), format!("{subject}{}", note.pointer)),
        None => (note.text.clone(), note.pointer.clone()),
    };
    let place = Some((note.file.clone(), note.line));
    Entry { rule: note.rule.to_owned(), level, message, place, column: 0, about }
}
