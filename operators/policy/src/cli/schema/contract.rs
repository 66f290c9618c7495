//! `schema contract`: checks CRDs against a contract between controllers, and compares two versions of a contract.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use duck_types::contract::{ContractImpact, ContractSpec, ContractViolation, Effect};
use serde::Deserialize;
use serde_json::Value;

use crate::text::counted;

use super::report::{Level, Note, Report};
use super::source::{self, Content, Source, SourceError, Standard};
use super::{ContractCheckArgs, ContractDiffArgs};

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
    let violations = found.violations.iter().map(|violation| {
        note(source, Level::Error, "contract-violated", &violation.schema, violation.to_string())
    });
    let unverified = found.unverified.iter().map(|unverified| {
        note(source, Level::Warning, "contract-unverified", &unverified.schema, unverified.to_string())
    });
    violations.chain(unverified).collect()
}

pub(super) fn diff(args: &ContractDiffArgs, input: &mut Standard<'_>) -> Result<Report, SourceError> {
    let (_, old) = contract(&args.old, input)?;
    let (file, new) = contract(&args.new, input)?;
    let mut report = match args.providers.as_slice() {
        [] => for_all_providers(&old, &new, &file),
        providers => for_providers(&old, &new, providers, input),
    };
    report.settle();
    Ok(report)
}

/// The changes for a provider that does exactly what the old contract asks for.
fn for_all_providers(old: &ContractSpec, new: &ContractSpec, file: &str) -> Report {
    let changes = old.diff(new);
    let breaking = changes.iter().filter(|change| change.effect == Effect::Breaking).count();
    let unverified = changes.iter().filter(|change| change.effect == Effect::Unverified).count();
    let verdict = match (breaking, unverified) {
        (0, 0) => "providers of the old contract keep the new one".to_owned(),
        (0, unverified) => {
            let unverified = counted(unverified, "change");
            format!("providers may not keep the new contract: {unverified} not verified")
        }
        (breaking, _) => {
            format!("providers do not keep the new contract: {} to fix", counted(breaking, "change"))
        }
    };
    let notes = changes.iter().map(|change| Note {
        level: match change.effect {
            Effect::Breaking => Level::Error,
            Effect::Unverified => Level::Warning,
            Effect::Compatible => Level::Note,
        },
        file: file.to_owned(),
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
    Report { notes: notes.collect(), verdict: Some(verdict), ..Report::default() }
}

/// The effect of the changes on each of the definitions in these files.
fn for_providers(
    old: &ContractSpec,
    new: &ContractSpec,
    files: &[PathBuf],
    input: &mut Standard<'_>,
) -> Report {
    let mut report = Report::default();
    let (mut breaking, mut broken_before, mut all) = (Vec::new(), Vec::new(), 0_usize);
    for file in files {
        let reading = source::read(file, input);
        report.unread.extend(reading.unread);
        report.skipped.extend(reading.foreign);
        for source in &reading.sources {
            let Content::Crd(crd) = &source.content else {
                report.unread.push(SourceError::Bare { file: source.file.clone() });
                continue;
            };
            let impact = old.impact(new, crd);
            if !impact.is_provider() {
                report.notes.push(no_provider(new, source));
                continue;
            }
            all = all.saturating_add(1);
            let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("without a name");
            if impact.is_breaking() {
                breaking.push(name.to_owned());
            } else if !impact.still_broken.is_empty() {
                broken_before.push(name.to_owned());
            }
            report.notes.extend(effects(&impact, source));
        }
    }
    // Nothing can be said of all of them while one cannot be read.
    report.verdict = report.unread.is_empty().then(|| verdict(all, &breaking, &broken_before));
    report
}

/// `3 providers: the change breaks 1 (a); 1 broke the old contract too (b)`.
fn verdict(all: usize, breaking: &[String], broken_before: &[String]) -> String {
    let breaks = match breaking {
        [] => "the change breaks none of them".to_owned(),
        names => format!("the change breaks {} ({})", names.len(), names.join(", ")),
    };
    let before = match broken_before {
        [] => String::new(),
        names => format!("; {} broke the old contract too ({})", names.len(), names.join(", ")),
    };
    format!("{}: {breaks}{before}", counted(all, "provider"))
}

fn no_provider(contract: &ContractSpec, source: &Source) -> Note {
    let text = format!(
        "not counted as a provider: no label {}/VERSION names a version of the contract",
        contract.label_prefix
    );
    note(source, Level::Warning, "contract-unclaimed", "/metadata/labels", text)
}

fn effects(impact: &ContractImpact, source: &Source) -> Vec<Note> {
    let level = if impact.kept.is_empty() { Level::Error } else { Level::Note };
    let removed = impact.removed.iter().map(|version| {
        let text = format!("contract version {version}, which its labels claim, is not in the new contract");
        note(source, level, "contract-version-removed", "/metadata/labels", text)
    });
    let violated = |level, rule, before: &'static str, violations: &[ContractViolation]| {
        let text = |found: &ContractViolation| match found.field_use {
            Some(field_use) => format!("{before} for {field_use}: {found}"),
            None => format!("{before}: {found}"),
        };
        let notes = violations.iter().map(|found| note(source, level, rule, &found.schema, text(found)));
        notes.collect::<Vec<_>>()
    };
    let unverified = impact
        .unverified
        .iter()
        .map(|found| note(source, Level::Warning, "contract-unverified", &found.schema, found.to_string()));
    removed
        .chain(violated(Level::Error, "contract-broken", "breaks", &impact.broken))
        .chain(violated(
            Level::Warning,
            "contract-violated",
            "breaks the old contract too",
            &impact.still_broken,
        ))
        .chain(violated(Level::Note, "contract-repaired", "breaks no more", &impact.repaired))
        .chain(unverified)
        .collect()
}

fn note(source: &Source, level: Level, rule: &'static str, pointer: &str, text: String) -> Note {
    Note {
        level,
        file: source.file.clone(),
        others: Vec::new(),
        line: source.line,
        subject: source.subject.clone(),
        pointer: pointer.to_owned(),
        rule,
        text,
    }
}

/// Reads the only document of a file as a contract.
fn contract(path: &Path, input: &mut Standard<'_>) -> Result<(String, ContractSpec), SourceError> {
    let (file, mut documents) = source::documents_of(path, input)?;
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => match ContractSpec::deserialize(&document.value).and_then(complete) {
            Ok(contract) => Ok((file, contract)),
            Err(source) => Err(SourceError::Contract { file, source }),
        },
        (_, rest) => Err(SourceError::Count { file, found: rest.saturating_add(1) }),
    }
}

/// Of two versions of one name only one would be looked at, and every definition keeps a contract without versions.
fn complete(contract: ContractSpec) -> Result<ContractSpec, serde_json::Error> {
    let mut seen = BTreeSet::new();
    if contract.versions.is_empty() {
        return Err(serde::de::Error::custom("it has no versions"));
    }
    match contract.versions.iter().find(|version| !seen.insert(&version.name)) {
        Some(version) => Err(serde::de::Error::custom(format!("version {} is given twice", version.name))),
        None => Ok(contract),
    }
}

#[cfg(test)]
mod tests;
