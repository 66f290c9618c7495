//! `schema contract`: checks CRDs against a contract between controllers, and compares two versions of a contract.

use std::path::Path;

use duck_types::contract::{ContractSpec, Effect};
use serde::Deserialize;

use super::report::{Level, Note, Report};
use super::source::{self, Content, Source, SourceError, Standard};
use super::{ContractCheckArgs, DiffArgs};

pub(super) fn check(args: &ContractCheckArgs, input: &mut Standard<'_>) -> Result<Report, SourceError> {
    let (_, contract) = contract(&args.contract, input)?;
    let mut report = Report::default();
    for file in &args.files {
        let reading = source::read(file, input);
        report.unread.extend(reading.unread);
        report.skipped.extend(reading.foreign);
        for source in &reading.sources {
            match &source.content {
                Content::Crd(crd) => report.notes.extend(notes(&contract, crd, source)),
                Content::Schema(_) => report.unread.push(SourceError::Bare { file: source.file.clone() }),
            }
        }
    }
    report.settle();
    Ok(report)
}

fn notes(contract: &ContractSpec, crd: &serde_json::Value, source: &Source) -> Vec<Note> {
    let found = contract.check_crd(crd);
    let note = |level, rule, pointer: &str, text: String| Note {
        level,
        file: source.file.clone(),
        others: Vec::new(),
        line: source.line,
        subject: source.subject.clone(),
        pointer: pointer.to_owned(),
        rule,
        text,
    };
    let violations = found
        .violations
        .iter()
        .map(|violation| note(Level::Error, "contract-violated", &violation.schema, violation.to_string()));
    let unverified = found.unverified.iter().map(|unverified| {
        note(Level::Warning, "contract-unverified", &unverified.schema, unverified.to_string())
    });
    violations.chain(unverified).collect()
}

pub(super) fn diff(args: &DiffArgs, input: &mut Standard<'_>) -> Result<Report, SourceError> {
    let (_, old) = contract(&args.old, input)?;
    let (file, new) = contract(&args.new, input)?;
    let changes = old.diff(&new);
    let breaking = changes.iter().filter(|change| change.effect == Effect::Breaking).count();
    let unverified = changes.iter().filter(|change| change.effect == Effect::Unverified).count();
    let verdict = match (breaking, unverified) {
        (0, 0) => "providers of the old contract keep the new one".to_owned(),
        (0, unverified) => {
            format!("providers may not keep the new contract: {unverified} changes are not verified")
        }
        (breaking, _) => format!("providers do not keep the new contract: {breaking} changes break it"),
    };
    let notes = changes.iter().map(|change| Note {
        level: match change.effect {
            Effect::Breaking => Level::Error,
            Effect::Unverified => Level::Warning,
            Effect::Compatible => Level::Note,
        },
        file: file.clone(),
        others: Vec::new(),
        line: 1,
        subject: Some(change.version.clone()),
        pointer: change.at.clone(),
        rule: "contract-changed",
        text: if change.at.is_empty() {
            change.message.clone()
        } else {
            format!("{}: {}", change.at, change.message)
        },
    });
    let mut report = Report { notes: notes.collect(), verdict: Some(verdict), ..Report::default() };
    report.settle();
    Ok(report)
}

/// Reads the only document of a file as a contract.
fn contract(path: &Path, input: &mut Standard<'_>) -> Result<(String, ContractSpec), SourceError> {
    let (file, mut documents) = source::documents_of(path, input)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => match ContractSpec::deserialize(&document.value) {
            Ok(contract) => Ok((file, contract)),
            Err(source) => Err(SourceError::Contract { file, source }),
        },
        (_, rest) => Err(SourceError::Count { file, found: rest.saturating_add(1) }),
    }
}

#[cfg(test)]
mod tests;
