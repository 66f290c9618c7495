//! `schema diff`: whether stored objects and clients survive a change.

use schema_merge::{Change, Direction, Impact, compare, compare_crds};

use super::DiffArgs;
use super::report::{Level, Note, Report};
use super::source::{Content, SourceError, Standard, read_one};
use crate::text::counted;

pub(super) fn run(args: &DiffArgs, input: &mut Standard<'_>) -> Result<Report, SourceError> {
    let (old, new) = (read_one(&args.old, input)?, read_one(&args.new, input)?);
    let changes = match (&old.content, &new.content) {
        (Content::Crd(old), Content::Crd(new)) => compare_crds(old, new),
        (Content::Schema(old), Content::Schema(new)) => compare(old, new),
        _ => return Err(SourceError::Mixed),
    };
    let notes = changes.iter().map(|change| note(change, &new.file, new.line)).collect();
    let mut report = Report { notes, verdict: Some(verdict(&changes)), ..Report::default() };
    report.settle();
    Ok(report)
}

fn verdict(changes: &[Change]) -> String {
    let count = |impact: Impact| {
        changes
            .iter()
            .filter(|change| change.direction == Direction::Stored && change.impact == impact)
            .count()
    };
    match (count(Impact::Breaking), count(Impact::Possible)) {
        (0, 0) => "stored objects survive".to_owned(),
        (0, possible) => {
            format!("stored objects may not survive: {} may break them", counted(possible, "change"))
        }
        (breaking, possible) => {
            let (changes, verb) =
                (counted(breaking, "change"), if breaking == 1 { "breaks" } else { "break" });
            format!("stored objects do not survive: {changes} {verb} them, {possible} more may")
        }
    }
}

fn note(change: &Change, file: &str, line: u64) -> Note {
    let level = match change.impact {
        Impact::Breaking => Level::Error,
        Impact::Possible => Level::Warning,
        _ => Level::Note,
    };
    Note {
        file: file.to_owned(),
        others: Vec::new(),
        line,
        subject: None,
        level,
        rule: change.rule,
        pointer: change.pointer(),
        text: change.to_string(),
    }
}
