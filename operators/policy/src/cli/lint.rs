//! `webtroller lint`: templates and constraints as reviewed by an expert.
//!
//! Errors are refused by every other command; these are policies that are accepted, and probably do
//! something else than their author thinks, or cost more than they have to.

mod fix;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use constraint_framework::policyset::Compiler;
use serde_json::{Value, json};

use super::assemble::assemble;
use super::color::{Color, Stream, paint};
use super::expand::is_policy;
use super::input::{InputArgs, StandardInput, gather};
use super::manifest::{Manifest, ManifestError, ManifestErrors, Place};
use super::native::is_native;
use super::sarif::{Log, Note};
use super::snippet::{FieldPlaces, caret};

const EXAMPLES: &str = "\
Examples:
  # What would a reviewer say about these policies?
  webtroller lint policies/

  # Rewrite policies in Rego before 1.0, in their files
  webtroller lint policies/ --fix

  # For a code scanning service
  webtroller lint policies/ -o sarif > lint.sarif";

/// Review templates and constraints: what is accepted, and probably not meant.
///
/// Exits with 1 when there is something to say, or when the inputs cannot be used.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct LintArgs {
    /// Files and folders to read: templates and constraints.
    #[command(flatten)]
    pub input: InputArgs,
    /// Rewrite policies in Rego before 1.0, in the files they stand in; what cannot be rewritten with certainty stays as it
    /// is, and is named.
    #[arg(long)]
    pub fix: bool,
    /// Output format of what is found.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: LintFormat,
}

/// The format of printed lints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// One a line.
    #[default]
    Text,
    /// A JSON list.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// One thing that a reviewer would say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lint {
    place: Place,
    rule: &'static str,
    message: String,
}

/// Runs the command and gives the exit code.
pub fn lint(args: &LintArgs, standard: StandardInput<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let (lints, errors) = match run(args, standard, err) {
        Ok(lints) => (lints, Vec::new()),
        Err(errors) => (Vec::new(), errors.into_iter().collect()),
    };
    for error in &errors {
        let _ = write!(err, "webtroller lint: {error}\n{}", caret(error));
    }
    let text = match args.output {
        LintFormat::Text => lints.iter().map(line).collect(),
        // An empty list would say that all is well.
        LintFormat::Json if !errors.is_empty() => String::new(),
        LintFormat::Json => format!("{:#}\n", Value::from(lints.iter().map(to_json).collect::<Vec<_>>())),
        LintFormat::Sarif => to_sarif(&lints, &errors),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(err, "webtroller lint: cannot write: {error}");
            1
        }
        _ => u8::from(!lints.is_empty() || !errors.is_empty()),
    }
}

fn run(
    args: &LintArgs,
    standard: StandardInput<'_>,
    err: &mut dyn Write,
) -> Result<Vec<Lint>, ManifestErrors> {
    let mut gathered = gather(&args.input, standard)?;
    gathered.warn("lint", err);
    // A folder of policies holds other files, too: samples, a kustomization.
    gathered.manifests.retain(|manifest| is_policy(&manifest.object));
    // A file that is named twice is one file.
    let mut seen = BTreeSet::new();
    gathered.manifests.retain(|manifest| seen.insert(identity(manifest)));
    if gathered.manifests.is_empty() {
        let message = "there is no template and no constraint among the inputs".to_owned();
        return Err(ManifestError { place: None, message }.into());
    }
    // What cannot be used is an error here as everywhere.
    assemble(&gathered.manifests, Compiler::default())?;
    if args.fix {
        fix(&mut gathered.manifests, err)?;
    }
    if gathered.manifests.iter().any(|manifest| is_native(&manifest.object)) {
        let text = "ValidatingAdmissionPolicies and MutatingAdmissionPolicies are checked, and no rule is about them";
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller lint: warning: {text}");
    }
    let places = FieldPlaces::default();
    let of = |manifest| rules::of(manifest, &places);
    let mut lints: Vec<_> = gathered.manifests.iter().flat_map(of).collect();
    lints.sort();
    lints.dedup();
    Ok(lints)
}

/// The canonical path of the file, the line, and the object's JSON: items of a list in a list have the line of the outer one.
fn identity(manifest: &Manifest) -> (PathBuf, u64, String) {
    let file = manifest.path.canonicalize().unwrap_or_else(|_| manifest.path.clone());
    (file, manifest.line, manifest.object.to_string())
}

/// Rewrites what can be, and says what became of each template.
fn fix(manifests: &mut Vec<Manifest>, err: &mut dyn Write) -> Result<(), ManifestErrors> {
    let fixes = fix::apply(manifests);
    let fixed = fixes.fixed.iter().map(|place| format!("{place}: rewritten in Rego v1"));
    let refused = fixes.refused.iter().map(|(place, reason)| format!("{place}: not rewritten: {reason}"));
    for line in fixed.chain(refused) {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller lint: {line}");
    }
    let unplaced = |message: String| ManifestError { place: None, message };
    let errors: Vec<_> = fixes.errors.into_iter().map(unplaced).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
}

fn line(lint: &Lint) -> String {
    let place = paint(&lint.place.to_string(), Color::Dim, Stream::Out);
    let rule = paint(lint.rule, Color::Yellow, Stream::Out);
    format!("{place}: {rule}: {}\n", lint.message)
}

fn to_json(lint: &Lint) -> Value {
    json!({
        "rule": lint.rule, "message": lint.message,
        "source": {"file": lint.place.file.display().to_string(), "line": lint.place.line, "column": lint.place.column},
    })
}

fn to_sarif(lints: &[Lint], errors: &[ManifestError]) -> String {
    let note = |lint: &Lint| Note {
        rule: lint.rule.to_owned(),
        level: "warning",
        message: lint.message.clone(),
        place: Some((lint.place.file.display().to_string(), lint.place.line)),
        column: lint.place.column,
        about: String::new(),
    };
    let rules: BTreeMap<_, _> =
        rules::RULES.iter().map(|(rule, text)| ((*rule).to_owned(), (*text).to_owned())).collect();
    let results = lints.iter().map(note).collect();
    Log {
        tool: "webtroller lint",
        rules,
        results,
        failures: errors.iter().map(Note::from).collect(),
        ..Log::default()
    }
    .render()
}

#[cfg(test)]
mod tests;
