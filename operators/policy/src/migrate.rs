//! `webtroller migrate check`: what a cluster uses of Gatekeeper, and what of it is different or missing here.
//!
//! `live` reads a cluster, `dump` reads files; `policies` compiles the templates and constraints, `samples` judges objects by
//! them, `others` looks at everything else. Each diagnostic names the place of the documents that describes it.

mod diagnostic;
mod dump;
mod live;
mod others;
mod output;
mod policies;
mod samples;
mod webhook_settings;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use serde_json::Value;

use diagnostic::{Diagnostic, Level};
use policies::Policies;

use crate::api_version;
use crate::cli::{write_errors, write_text};

/// Nothing to do.
const SAME: u8 = 0;
/// Something is different or not supported.
const DIFFERENT: u8 = 1;
/// Something could not be read.
const INCOMPLETE: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  # What would change in the cluster of the current kubeconfig?
  webtroller migrate check

  # The same of a dump
  kubectl get constrainttemplates,constraints,configs,syncsets,namespaces,pods -A -o yaml > dump.yaml
  webtroller migrate check dump.yaml

  # Of what another program writes
  kubectl get constrainttemplates,constraints -o yaml | webtroller migrate check -

  # For a program
  webtroller migrate check -o json";

/// Replace Gatekeeper.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum MigrateCommand {
    /// Report what of a cluster's Gatekeeper is different or not supported here. Changes nothing.
    ///
    /// Exits with 0 when there is nothing to do, with 1 when something is different or not supported, and with 2 when
    /// something could not be read.
    Check(MigrateCheckArgs),
}

/// The command `check`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MigrateCheckArgs {
    /// Files or folders with what a cluster holds, instead of a cluster; - for standard input.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Output format of what is found.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: MigrateFormat,
    /// Objects of each kind to judge by the constraints; 0 for none. Of a dump all are judged.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    pub sample: u32,
    /// The namespace of Gatekeeper. Elsewhere its Deployments are known by the label gatekeeper.sh/system.
    #[arg(long, default_value = "gatekeeper-system")]
    pub namespace: String,
}

/// The format of printed diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MigrateFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON document.
    Json,
}

/// The treatment of the arguments of a Gatekeeper container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlagReport {
    /// The flags that are refused, with the reasons.
    pub refused: Vec<String>,
    /// The flags that mean something else here, with the difference.
    pub different: Vec<String>,
    /// The flags that have no effect, with the reasons.
    pub ignored: Vec<String>,
}

/// Reads the arguments of a Gatekeeper container as `webtroller serve` does.
pub type ReadFlags<'a> = &'a dyn Fn(&[String]) -> FlagReport;

/// An object, and where it stands if it is from a file.
#[derive(Clone, Debug)]
struct Entry {
    object: Value,
    place: Option<String>,
}

/// The contents of a cluster or a dump.
#[derive(Debug, Default)]
struct Holdings {
    /// Everything of Gatekeeper, the Namespaces, and in a dump all objects.
    entries: Vec<Entry>,
    /// The errors of what could not be read.
    errors: Vec<String>,
}

/// The contents of a report.
#[derive(Debug, Default)]
struct Report {
    /// The number of objects by kind.
    used: BTreeMap<String, usize>,
    diagnostics: Vec<Diagnostic>,
    /// Objects that were judged, and their kinds.
    judged: (usize, usize),
    errors: Vec<String>,
}

impl Entry {
    fn text(&self, pointer: &str) -> &str {
        self.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn group(&self) -> &str {
        api_version::group(&self.object)
    }

    /// Kind, namespace and name, as in `Config gatekeeper-system/config`.
    fn name(&self) -> String {
        let (kind, name) = (self.text("/kind"), self.text("/metadata/name"));
        match self.text("/metadata/namespace") {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        }
    }

    /// A line for standard error.
    fn error(&self, reason: impl std::fmt::Display) -> String {
        let place = self.place.as_deref().map(|place| format!("{place}: ")).unwrap_or_default();
        match self.name().trim() {
            "" => format!("{place}{reason}"),
            name => format!("{place}{name}: {reason}"),
        }
    }
}

/// Checks a cluster or files. What is found goes to `out`, what cannot be read to `err`; `standard` is the path `-`.
///
/// `connect` makes the client, for a cluster; `flags` reads the arguments of Gatekeeper's containers.
///
/// # Errors
/// Errors of `connect`.
pub async fn check<E>(
    args: &MigrateCheckArgs,
    connect: impl AsyncFnOnce() -> Result<kube::Client, E>,
    flags: ReadFlags<'_>,
    standard: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, E> {
    let report = match args.paths.as_slice() {
        [] => live::check(args, connect().await?, flags).await,
        paths => dump::check(args, paths, flags, standard),
    };
    write_errors("migrate check", &report.errors, err);
    let text = match args.output {
        MigrateFormat::Text => output::text(&report),
        MigrateFormat::Json => output::json(&report),
    };
    Ok(match write_text(&text, out) {
        // Also for a reader that has seen enough: what was found stands.
        Ok(()) => report.exit_code(),
        Err(error) => {
            write_errors("migrate check", [error], err);
            INCOMPLETE
        }
    })
}

impl Report {
    /// Lists what can be reported without judging any object.
    fn of(holdings: Holdings, args: &MigrateCheckArgs, flags: ReadFlags<'_>) -> (Self, Policies, Vec<Entry>) {
        let Holdings { entries, errors } = holdings;
        let mut report = Self { errors, ..Self::default() };
        report.errors.extend(without_template(&entries));
        report.errors.extend(in_two_versions(&entries));
        let policies = Policies::of(&entries, &mut report.diagnostics);
        for entry in &entries {
            others::look(entry, args, flags, &mut report.diagnostics);
            if others::is_gatekeepers(entry, args) {
                let count = report.used.entry(others::class(entry)).or_default();
                *count = count.saturating_add(1);
            }
        }
        (report, policies, entries)
    }

    fn end(mut self) -> Self {
        self.diagnostics.sort();
        self.diagnostics.dedup();
        self
    }

    fn exit_code(&self) -> u8 {
        if !self.errors.is_empty() {
            return INCOMPLETE;
        }
        let counts = |diagnostic: &Diagnostic| diagnostic.level() != Level::Note;
        if self.diagnostics.iter().any(counts) { DIFFERENT } else { SAME }
    }
}

/// Constraints that say nothing, because the template of their kind was not read.
fn without_template(entries: &[Entry]) -> Vec<String> {
    let of_group = |group| entries.iter().filter(move |entry| entry.group() == group);
    let known: BTreeSet<_> =
        of_group(TEMPLATES_GROUP).map(|entry| entry.text("/spec/crd/spec/names/kind")).collect();
    let unknown = of_group(CONSTRAINTS_GROUP).filter(|entry| !known.contains(entry.text("/kind")));
    let reason = "there is no template of this kind; dump the ConstraintTemplates, too";
    let of_definition = |entry: &&Entry| {
        entry.text("/spec/group") == CONSTRAINTS_GROUP && !known.contains(entry.text("/spec/names/kind"))
    };
    let definitions = of_group("apiextensions.k8s.io").filter(of_definition);
    unknown.chain(definitions).map(|entry| entry.error(reason)).collect()
}

/// Templates and constraints of one name that differ: which one is in force is not known.
fn in_two_versions(entries: &[Entry]) -> Vec<String> {
    let policies =
        entries.iter().filter(|entry| [TEMPLATES_GROUP, CONSTRAINTS_GROUP].contains(&entry.group()));
    let mut first = BTreeMap::new();
    let differing = policies.filter(|entry| {
        let known: &Entry =
            first.entry((entry.text("/kind"), entry.text("/metadata/name"))).or_insert(*entry);
        known.object.get("spec") != entry.object.get("spec")
    });
    differing.map(|entry| entry.error("differs from the one of this name before it")).collect()
}
