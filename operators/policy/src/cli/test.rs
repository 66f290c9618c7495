//! `webtroller test`: judges objects by the templates and constraints beside them, as `gator test` does.
//!
//! `input.rs` reads, `assemble.rs` puts in force, `judge.rs` asks; what came of it is printed by `test/text.rs`,
//! `test/record.rs` (JSON and YAML) and `test/sarif.rs` (SARIF).

mod record;
mod sarif;
mod scorecard;
mod stats;
mod summary;
mod text;
mod trace;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use constraint_framework::driver::PrintListener;
use constraint_framework::policyset::Compiler;

use super::assemble::{Assembly, Subject, Topic, Warning, assemble_all};
use super::engine_args::EngineArgs;
use super::input::{Gathered, InputArgs, StandardInput, gather};
use super::judge::{JudgeOptions, PlacedViolation, Times, Unplaced, idle, judge, overlooked};
use super::manifest::ManifestErrors;
use super::prints::Prints;
use super::progress::Progress;
use super::resource::{self, Resources};
use super::snippet::caret;

use record::Beside;
use scorecard::Scorecard;
use trace::Traces;

/// Nothing is denied.
const ACCEPTED: u8 = 0;
/// Something is denied, or could not be judged.
const REFUSED: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  # Are the manifests of a folder allowed by the policies of another one?
  webtroller test policies/ my-manifests/

  # What a chart would install, before it is installed
  helm template my-chart | webtroller test policies/

  # How do the assets and the plan of an organization stand?
  webtroller test --scorecard --library policy-library/lib policies/ assets.json plan.json

  # For a code scanning service, or for a program
  webtroller test policies/ my-manifests/ -o sarif > violations.sarif
  webtroller test policies/ my-manifests/ -o json";

/// Judge objects by the templates and constraints among them.
///
/// Exits with 0 when nothing is denied, and with 1 when something is or when the inputs cannot be used.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TestArgs {
    /// Files and folders to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Output format of violations.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: TestFormat,
    /// Print only violations that deny; the exit code is the same.
    #[arg(long)]
    pub deny_only: bool,
    /// Print what policies print: behind the violations, or on standard error where those are a document. Lists every
    /// warning and every file that was not read.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print behind each violation how its constraint came to it, as `webtroller explain` does.
    #[arg(long, short)]
    pub trace: bool,
    /// Print how long each policy took: in JSON and YAML beside the violations, otherwise on standard error.
    #[arg(long)]
    pub stats: bool,
    /// Print counts: the violations of each constraint, and the objects of each type that violate one. In JSON and YAML beside
    /// the violations, in SARIF as a property of the run.
    #[arg(long)]
    pub scorecard: bool,
    /// A folder with the Rego that templates of Config Validator import as data.validator.
    #[arg(long, value_name = "DIR")]
    pub library: Option<PathBuf>,
    /// Print no summary.
    #[arg(long, short)]
    pub quiet: bool,
    /// Policies in CEL.
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// The format of printed violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// One violation a line, with its file, its line and its action; a summary on standard error.
    #[default]
    Text,
    /// The lines of gator, and nothing else.
    Default,
    /// A JSON list.
    Json,
    /// A YAML list.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// Runs the command and gives the exit code. Violations go to `out`, everything else to `err`.
pub fn test(args: &TestArgs, standard: StandardInput<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let (code, written) = match run(args, standard, out, err) {
        Ok(code) => (code, Ok(())),
        Err(CommandError::Input(errors)) => {
            let errors: Vec<_> = errors.into_iter().collect();
            for error in &errors {
                let _ = write!(err, "webtroller test: {error}\n{}", caret(error));
            }
            let report = if args.output == TestFormat::Sarif {
                sarif::render(&[], &errors, None)
            } else {
                String::new()
            };
            (REFUSED, out.write_all(report.as_bytes()))
        }
        Err(CommandError::Write(code, error)) => (code, Err(error)),
    };
    match written {
        Ok(()) => code,
        // A reader that has seen enough: the verdict stands.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(error) => {
            let _ = writeln!(err, "webtroller test: cannot write: {error}");
            REFUSED
        }
    }
}

enum CommandError {
    /// The errors of the inputs.
    Input(ManifestErrors),
    /// With the exit code that the verdicts lead to.
    Write(u8, io::Error),
}

fn run(
    args: &TestArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, CommandError> {
    let started = Instant::now();
    let mut gathered = gather(&args.input, standard).map_err(CommandError::Input)?;
    args.engine.apply(&mut gathered.manifests);
    let prints = Arc::new(Prints::default());
    let mut manifests = std::mem::take(&mut gathered.manifests);
    let resources = Resources::take(&mut manifests, args.library.as_deref()).map_err(CommandError::Input)?;
    let mut assembly = assemble_all(manifests, compiler(args, &prints)).map_err(CommandError::Input)?;
    assembly.add(resources);
    let _ = Warning::print(&warnings(args, &gathered, &assembly), "test", args.verbose, err);
    drop(gathered);
    let progress = Progress::new(assembly.subjects.len(), "objects");
    // What they print while warnings are collected is not part of the output.
    prints.take();
    let times = args.stats.then(Times::default);
    let options = JudgeOptions { unplaced: Unplaced::Nowhere, in_turn: args.verbose, times: times.as_ref() };
    let mut violations = judge(&assembly, options, &progress);
    drop(progress);
    let code = if violations.iter().any(PlacedViolation::denies) { REFUSED } else { ACCEPTED };
    let took = started.elapsed();
    let is_summed_up = args.output == TestFormat::Text && !args.quiet;
    let summary =
        is_summed_up.then(|| summary::of(&assembly, &violations, idle(&assembly, &violations), took));
    let scorecard = args.scorecard.then(|| Scorecard::of(&assembly, &violations));
    if args.deny_only {
        violations.retain(PlacedViolation::denies);
    }
    let report = Report { assembly: &assembly, shown: &violations, times: times.as_ref(), scorecard };
    let written = write_report(args, &report, &prints, out, err);
    if let Some(summary) = summary {
        let _ = writeln!(err, "{summary}");
    }
    if let Some(times) = times.filter(|_| !matches!(args.output, TestFormat::Json | TestFormat::Yaml)) {
        // Ignore write errors: stderr is closed.
        let _ = stats::table(&times, err);
    }
    // The process ends next. To free hundreds of thousands of objects one by one would take 3 % of a large run.
    std::mem::forget(violations);
    std::mem::forget(assembly);
    written.map_err(|error| CommandError::Write(code, error))?;
    Ok(code)
}

/// The subject and the outcome of a run.
struct Report<'a> {
    assembly: &'a Assembly,
    shown: &'a [PlacedViolation<'a>],
    times: Option<&'a Times>,
    scorecard: Option<Scorecard>,
}

/// Writes violations, and what policies printed behind them.
fn write_report(
    args: &TestArgs,
    report: &Report<'_>,
    prints: &Prints,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    let Report { assembly, shown, times, scorecard } = report;
    let scorecard = scorecard.as_ref();
    let traces = if args.trace { trace::of(assembly, shown) } else { Traces::default() };
    let stats = times.map(|times| stats::entries(assembly, times));
    let beside = Beside { stats: stats.as_deref(), scorecard };
    let out = &mut BufWriter::new(out);
    match args.output {
        TestFormat::Text => text::write(shown, true, &traces, out)?,
        TestFormat::Default => text::write(shown, false, &traces, out)?,
        TestFormat::Json => record::json(shown, &traces, beside, out)?,
        TestFormat::Yaml => out.write_all(record::yaml(shown, &traces, beside).as_bytes())?,
        TestFormat::Sarif => out.write_all(sarif::render(shown, &[], scorecard).as_bytes())?,
    }
    if let (Some(scorecard), TestFormat::Text | TestFormat::Default) = (scorecard, args.output) {
        scorecard.write(out)?;
    }
    let printed = prints.take();
    match args.output {
        _ if printed.is_empty() => {}
        TestFormat::Text | TestFormat::Default => write!(out, "\n{printed}\n")?,
        TestFormat::Json | TestFormat::Yaml | TestFormat::Sarif => err.write_all(printed.as_bytes())?,
    }
    out.flush()
}

/// Returns what the user should know before the violations: what was not read, what has no effect, what is not matched.
fn warnings(args: &TestArgs, gathered: &Gathered, assembly: &Assembly) -> Vec<Warning> {
    let none = assembly.constraints.is_empty();
    let none = none.then(|| Warning::general(Topic::NoConstraint, "there is no constraint among the inputs"));
    let own = assembly.warnings.iter().cloned();
    let nothing = !assembly.subjects.iter().any(Subject::is_no_policy);
    let nothing =
        nothing.then(|| Warning::general(Topic::NoObject, "there is no object to judge among the inputs"));
    let all = gathered.warnings(args.verbose).into_iter().chain(own).chain(overlooked(assembly));
    all.chain(none).chain(nothing).collect()
}

fn compiler(args: &TestArgs, prints: &Arc<Prints>) -> Compiler {
    let listener: Arc<dyn PrintListener> = prints.clone();
    let compiler = args.engine.of(resource::compiler());
    if args.verbose { compiler.with_print_listener(&listener) } else { compiler }
}

#[cfg(test)]
mod tests;
