//! The report as text and as JSON. SARIF is `sarif.rs`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::text::thousands;

use super::source::SourceError;

/// The number of notes of one file and rule in the text.
const SHOWN: usize = 20;

/// One thing to say about a place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Note {
    pub(super) level: Level,
    pub(super) file: String,
    /// Other files that have a part in it.
    pub(super) others: Vec<String>,
    /// The line at which the document starts.
    pub(super) line: u64,
    /// The CRD or schema of the file that it is about, if the file holds several.
    pub(super) subject: Option<String>,
    pub(super) pointer: String,
    pub(super) rule: &'static str,
    pub(super) text: String,
}

/// The severity; errors come first, lints last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Error,
    Warning,
    Lint,
    /// Worth knowing, and no diagnostic.
    Note,
}

/// Everything there is to say.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) notes: Vec<Note>,
    /// The verdict, in a sentence.
    pub(super) verdict: Option<String>,
    /// Input that has no part in the report, though it should have.
    pub(super) unread: Vec<SourceError>,
    /// Input that was passed over, as is right.
    pub(super) skipped: Vec<SourceError>,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Lint => "lint",
            Self::Note => "note",
        }
    }
}

impl Report {
    /// Sorts by level and place, and drops repetitions.
    pub(super) fn settle(&mut self) {
        self.notes.sort();
        self.notes.dedup();
    }

    pub(super) fn is_clean(&self) -> bool {
        self.notes.iter().all(|note| note.level == Level::Note)
    }

    /// One note a line. What the API server would say stands at the end of the line word for word. Of many notes of one
    /// file and rule the first few are printed, and how many there are.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut groups: BTreeMap<(Level, &str, &str), usize> = BTreeMap::new();
        for note in &self.notes {
            let count = groups.entry((note.level, &note.file, note.rule)).or_default();
            *count = count.saturating_add(1);
            if *count > SHOWN {
                continue;
            }
            let line = note.text.replace('\n', "\\n");
            let files = std::iter::once(&note.file).chain(&note.others).map(String::as_str);
            let files = files.collect::<Vec<_>>().join(",");
            let subject = note.subject.as_ref().map(|subject| format!("{}: ", subject.replace('\n', "\\n")));
            let (subject, level) = (subject.unwrap_or_default(), note.level.as_str());
            text.push_str(&format!("{files}: {subject}{level}: {line}\n"));
        }
        for ((level, file, rule), count) in groups {
            if let Some(more) = count.checked_sub(SHOWN).filter(|more| *more > 0) {
                let (number, level) = (thousands(more), level.as_str());
                text.push_str(&format!("{file}: {level}: and {number} more of {rule}; -o json lists them\n"));
            }
        }
        if let Some(verdict) = &self.verdict {
            text.push_str(&format!("{verdict}\n"));
        }
        text
    }

    /// The input that has no part in the report, one line each. Of many documents of one file the first few are named, and
    /// how many there are: most likely it is not the file that was meant.
    pub(super) fn absent(&self) -> Vec<String> {
        few("", &self.unread).chain(few("skipped: ", &self.skipped)).collect()
    }

    pub(super) fn to_json(&self) -> String {
        let note = |note: &Note| {
            json!({
                "level": note.level.as_str(), "file": note.file, "others": note.others, "line": note.line,
                "subject": note.subject, "pointer": note.pointer, "rule": note.rule, "text": note.text,
            })
        };
        let notes: Vec<Value> = self.notes.iter().map(note).collect();
        let all = match &self.verdict {
            Some(verdict) => json!({"verdict": verdict, "changes": notes}),
            None => Value::Array(notes),
        };
        format!("{all:#}\n")
    }
}

/// The first few errors of each file, then the number of the others.
fn few<'a>(prefix: &'a str, errors: &'a [SourceError]) -> impl Iterator<Item = String> + 'a {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for error in errors {
        let count = files.entry(error.place().map_or("", |(file, _)| file)).or_default();
        *count = count.saturating_add(1);
        if *count <= SHOWN {
            lines.push(format!("{prefix}{error}"));
        }
    }
    let more = files.into_iter().filter_map(move |(file, count)| {
        let more = count.checked_sub(SHOWN).filter(|more| *more > 0)?;
        Some(format!("{prefix}{file}: and {} more like this", thousands(more)))
    });
    lines.into_iter().chain(more)
}
