//! `schema merge`: mounts fragments under the paths the command line names.

use std::path::Path;

use schema_merge::{
    Fragment, MergeError, Merger, MountPath, Sharing, StructuralizeError, Style, structuralize,
};
use serde_json::Value;

use super::report::{Level, Note, Report};
use super::source::{Content, SourceError, Standard, read_one};
use super::{MergeArgs, Shared};

/// The outcome of merging.
pub(super) enum Outcome {
    Merged(Value),
    Conflicts(Report),
}

pub(super) fn run(args: &MergeArgs, input: &mut Standard<'_>) -> Result<Outcome, SourceError> {
    let mut report = Report::default();
    let mut merger =
        Merger::new().status_subresource(args.status).strip_descriptions(args.strip_descriptions);
    for argument in &args.fragments {
        let (at, file) = place(argument)?;
        let source = read_one(Path::new(file), input)?;
        let Content::Schema(mut schema) = source.content else {
            return Err(SourceError::NoFragment { file: source.file, line: source.line });
        };
        if args.structuralize {
            match structuralize(&schema, Style::default()) {
                Ok(done) => schema = done.schema,
                Err(errors) => report
                    .notes
                    .extend(errors.iter().map(|error| in_the_way(error, &source.file, source.line))),
            }
        }
        for property in args.grant.iter().cloned().chain(at.names().first().cloned()) {
            merger = merger.grant(property, &source.file);
        }
        let root = at.names().is_empty();
        merger = merger
            .mount(Fragment::new(source.file, at, schema).any_type().sharing(sharing(args.shared, root)));
    }
    if !report.notes.is_empty() {
        report.settle();
        return Ok(Outcome::Conflicts(report));
    }
    match merger.build() {
        Ok(merged) => Ok(Outcome::Merged(merged.into_schema())),
        Err(errors) => {
            report.notes.extend(errors.iter().map(conflict));
            Ok(Outcome::Conflicts(report))
        }
    }
}

/// A fragment at the root leaves room for others even without a statement; that is what a root is for.
fn sharing(shared: Option<Shared>, root: bool) -> Sharing {
    match shared {
        Some(Shared::Intersect) => Sharing::SharedIntersect,
        Some(Shared::Strict) => Sharing::SharedStrict,
        None if root => Sharing::SharedStrict,
        None => Sharing::Exclusive,
    }
}

/// `/spec/match=FILE`, or a file at the root.
fn place(argument: &str) -> Result<(MountPath, &str), SourceError> {
    match argument.split_once('=') {
        Some((path, file)) if path.starts_with('/') => Ok((path.parse()?, file)),
        _ => Ok((MountPath::root(), argument)),
    }
}

fn conflict(error: &MergeError) -> Note {
    let mut files = error.origins().into_iter().map(str::to_owned);
    Note {
        file: files.next().unwrap_or_default(),
        others: files.collect(),
        line: 1,
        subject: None,
        level: Level::Error,
        rule: error.code(),
        pointer: error.path().pointer(),
        text: error.to_string(),
    }
}

fn in_the_way(error: &StructuralizeError, file: &str, line: u64) -> Note {
    Note {
        file: file.to_owned(),
        others: Vec::new(),
        line,
        subject: None,
        level: Level::Error,
        rule: "not-structural",
        pointer: error.path.pointer(),
        text: error.to_string(),
    }
}
