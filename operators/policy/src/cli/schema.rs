//! `webtroller schema`: checks, merges and compares CRD schemas before an API server sees them.
//!
//! `schema/source.rs` reads, `check.rs`, `merge.rs` and `diff.rs` work, `report.rs` and `sarif.rs` print. What is judged and
//! how is the `schema-merge` crate's. Touches no cluster.

mod check;
mod contract;
mod diff;
mod merge;
mod report;
mod sarif;
mod source;

use std::io::{Read, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use report::Report;
use source::{SourceError, Standard};

/// Nothing to report.
const CLEAN: u8 = 0;
/// Diagnostics, conflicts or breaking changes.
const FOUND: u8 = 1;
/// Bad usage, or input that cannot be read.
const UNREADABLE: u8 = 2;

/// Check, merge and compare CRD schemas.
///
/// Exits with 0 when all is well, with 1 when there is something to report, and with 2 when the input cannot be read.
#[derive(Clone, Debug, Args)]
pub struct SchemaArgs {
    /// The command.
    #[command(subcommand)]
    pub command: SchemaCommand,
}

/// The commands for schemas.
#[derive(Clone, Debug, Subcommand)]
pub enum SchemaCommand {
    /// Report what the API server would refuse, and lints.
    Check(SchemaCheckArgs),
    /// Mount fragments into one CRD schema, or say where they collide.
    Merge(MergeArgs),
    /// Say whether stored objects and clients survive a change of schema.
    Diff(DiffArgs),
    /// Check CRDs against a contract between controllers, or compare two contracts.
    #[command(subcommand)]
    Contract(ContractCommand),
}

/// The commands for contracts.
#[derive(Clone, Debug, Subcommand)]
pub enum ContractCommand {
    /// Check that CRDs keep the versions of the contract that their labels claim.
    Check(ContractCheckArgs),
    /// Compare two contracts: for all providers of the old one, or for the CRDs that are named.
    Diff(ContractDiffArgs),
}

/// The command that checks CRDs against a contract.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # Do these CRDs keep the versions of a contract that their labels claim?
  webtroller schema contract check contract.yaml crds/web.yaml crds/db.yaml")]
pub struct ContractCheckArgs {
    /// The contract, as YAML or JSON.
    pub contract: PathBuf,
    /// CRDs, as YAML or JSON; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format of diagnostics.
    #[arg(long, short, value_enum, default_value_t)]
    pub output: SchemaFormat,
}

const CONTRACT_DIFF_EXAMPLES: &str = "\
Examples:
  # Do all providers of the old contract keep the new one?
  webtroller schema contract diff old.yaml new.yaml

  # Which of these providers break, in which fields, for reading or for writing?
  webtroller schema contract diff old.yaml new.yaml providers/*.yaml";

/// The contracts to compare.
#[derive(Clone, Debug, Args)]
#[command(after_help = CONTRACT_DIFF_EXAMPLES)]
pub struct ContractDiffArgs {
    /// The contract that is in force.
    pub old: PathBuf,
    /// The contract to come.
    pub new: PathBuf,
    /// CRDs that claim the contract, as YAML or JSON; `-` is standard input. Only what the change breaks in them is reported.
    #[arg(value_name = "CRD")]
    pub providers: Vec<PathBuf>,
    /// Output format of changes.
    #[arg(long, short, value_enum, default_value_t)]
    pub output: SchemaFormat,
}

/// The format of printed diagnostics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// One diagnostic a line.
    #[default]
    Text,
    /// A JSON list.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// The command `check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # What would an API server refuse, and which lints are there?
  webtroller schema check crds/web.yaml

  # Only what would be refused, of all CRDs of a chart
  helm template my-chart | webtroller schema check --errors-only -")]
pub struct SchemaCheckArgs {
    /// CRDs and bare JSON schemas, as YAML or JSON; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Output format of diagnostics.
    #[arg(long, short, value_enum, default_value_t)]
    pub output: SchemaFormat,
    /// Only what the API server would refuse or drop; no warnings and no lints.
    #[arg(long)]
    pub errors_only: bool,
    /// The status subresource is enabled: for bare schemas. CRDs say so themselves.
    #[arg(long)]
    pub status: bool,
}

/// The command `merge`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # One schema out of a root and a fragment that another team owns
  webtroller schema merge root.yaml /spec/match=match.yaml")]
pub struct MergeArgs {
    /// Fragments, as `/spec/match=FILE`; without a path the fragment is mounted at the root. `-` is standard input.
    #[arg(required = true, value_name = "[PATH=]FILE")]
    pub fragments: Vec<String>,
    /// Output format of conflicts; the merged schema is always JSON, which is YAML as well.
    #[arg(long, short, value_enum, default_value_t)]
    pub output: SchemaFormat,
    /// Let fragments describe the same object: `strict` wants equal validations, `intersect` takes the tighter ones.
    #[arg(long, value_enum)]
    pub shared: Option<Shared>,
    /// Make fragments structural first, as schemars and other generators do not.
    #[arg(long)]
    pub structuralize: bool,
    /// The status subresource is enabled.
    #[arg(long)]
    pub status: bool,
    /// Allow all fragments to describe this reserved property of the root (`status`, `metadata`, `kind`, `apiVersion`).
    #[arg(long, value_name = "PROPERTY")]
    pub grant: Vec<String>,
    /// Leave descriptions out.
    #[arg(long)]
    pub strip_descriptions: bool,
}

/// The way fragments share a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shared {
    /// Validations must be equal.
    Strict,
    /// The tighter validations hold.
    Intersect,
}

/// The command `compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # Do stored objects and clients survive a change?
  webtroller schema diff old.yaml new.yaml")]
pub struct DiffArgs {
    /// The CRD or schema that is in force.
    pub old: PathBuf,
    /// The CRD or schema to come.
    pub new: PathBuf,
    /// Output format of changes.
    #[arg(long, short, value_enum, default_value_t)]
    pub output: SchemaFormat,
}

/// Runs the command and gives the exit code: 0 clean, 1 diagnostics, 2 unreadable input.
///
/// Standard input is read at most once. Diagnostics go to `out`, everything else to `err`. `check` reports what it can read
/// even when it cannot read all.
pub fn schema(args: &SchemaArgs, input: &mut dyn Read, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let input = &mut Standard::new(input);
    let done = match &args.command {
        SchemaCommand::Check(args) => {
            let report = check::run(args, input);
            mention(&report, err);
            print(&report, args.output, out)
        }
        SchemaCommand::Diff(args) => {
            diff::run(args, input).and_then(|report| print(&report, args.output, out))
        }
        SchemaCommand::Contract(ContractCommand::Check(args)) => {
            contract::check(args, input).and_then(|report| {
                mention(&report, err);
                print(&report, args.output, out)
            })
        }
        SchemaCommand::Contract(ContractCommand::Diff(args)) => {
            contract::diff(args, input).and_then(|report| {
                mention(&report, err);
                print(&report, args.output, out)
            })
        }
        SchemaCommand::Merge(args) => match merge::run(args, input) {
            Ok(merge::Outcome::Merged(schema)) => write_schema(&schema, out).map(|()| CLEAN),
            Ok(merge::Outcome::Conflicts(report)) => print(&report, args.output, out),
            Err(error) => Err(error),
        },
    };
    done.unwrap_or_else(|error| {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller schema: {error}");
        UNREADABLE
    })
}

fn print(report: &Report, format: SchemaFormat, out: &mut dyn Write) -> Result<u8, SourceError> {
    let text = match format {
        SchemaFormat::Text => report.to_text(),
        SchemaFormat::Json => report.to_json(),
        SchemaFormat::Sarif => sarif::render(report),
    };
    written(out.write_all(text.as_bytes()))?;
    Ok(match (report.unread.is_empty(), report.is_clean()) {
        (false, _) => UNREADABLE,
        (true, false) => FOUND,
        (true, true) => CLEAN,
    })
}

/// Prints which input has no part in the report.
fn mention(report: &Report, err: &mut dyn Write) {
    for line in report.absent() {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller schema: {line}");
    }
}

fn write_schema(schema: &serde_json::Value, out: &mut dyn Write) -> Result<(), SourceError> {
    written(writeln!(out, "{schema:#}"))
}

/// A reader that has seen enough, such as `head`, does not change the verdict.
fn written(done: std::io::Result<()>) -> Result<(), SourceError> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(SourceError::Write),
    }
}

#[cfg(test)]
mod tests;
