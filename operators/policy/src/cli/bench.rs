//! `webtroller bench`: how long reviews take, in all and per constraint, and whether that has changed.
//!
//! `bench/measure.rs` measures, `record.rs` is what is measured and saved, `compare.rs` holds one record against another,
//! `table.rs` prints, `memory.rs` asks the system. Inputs are those of `webtroller test`.

mod compare;
mod measure;
mod memory;
mod record;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use constraint_framework::policyset::Compiler;
use schema_merge::Errors;

use compare::{Comparison, Tolerance, compare};
use measure::{Plan, measure};
use record::Record;

use super::assemble::{Assembly, Subject, assemble};
use super::input::{InputArgs, StandardInput, gather};
use super::native;
use super::snippet::with_carets;
use super::write_errors;
use crate::cli::load::is_yaml;
use go_compat::sigs_yaml;

/// Measured, and not slower.
const FAST: u8 = 0;
/// Slower than the record compared with, or not measured at all.
const SLOW: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  # What does each constraint cost?
  webtroller bench policies/ my-manifests/

  # Did a change make it slower? Exits with 1 where it did
  webtroller bench policies/ my-manifests/ --save before.json
  webtroller bench policies/ my-manifests/ --compare before.json --threshold 25 --min-threshold 50us";

/// Measure how long reviews take.
///
/// Exits with 1 when --compare finds something slower, or when the inputs cannot be used.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// Files and folders to read: templates, constraints, and the objects to review.
    #[command(flatten)]
    pub input: InputArgs,
    /// Reviews of each object, in all rounds together.
    #[arg(long, short = 'n', default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: u64,
    /// Into how many rounds the iterations are divided; how much they differ tells how noisy the machine is.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub rounds: u64,
    /// Reviews of each object before anything is measured.
    #[arg(long, default_value_t = 10)]
    pub warmup: u64,
    /// Threads that review at the same time; they share the iterations.
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub concurrency: u64,
    /// Accepted as gator has it: memory is always measured where the system tells.
    #[arg(long, hide_short_help = true)]
    pub memory: bool,
    /// Accepted as gator has it: every constraint is always measured.
    #[arg(long, hide_short_help = true)]
    pub stats: bool,
    /// Output format of the measurement.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: BenchFormat,
    /// Write the measurement to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Compare with a measurement that was saved.
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// Percent by which a median may grow.
    #[arg(long, default_value_t = 10.0, value_name = "PCT", value_parser = percent)]
    pub threshold: f64,
    /// Time by which a median may grow, whatever that is in percent: a duration such as `50us`, `1.5ms` or `1h30m`, or a
    /// number of microseconds.
    #[arg(long, default_value = "0", value_name = "DURATION", value_parser = duration)]
    pub min_threshold: Duration,
    /// Judge by the code for this engine only; templates without it are refused.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub engine: Engine,
}

/// Engine that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// The engine that decides: CEL where a template has both.
    #[default]
    All,
    /// The templates in Rego.
    Rego,
    /// The templates in CEL.
    Cel,
}

impl Engine {
    fn compiler(self) -> Compiler {
        match self {
            Self::All => Compiler::default(),
            Self::Rego => Compiler::default().only("Rego"),
            Self::Cel => Compiler::default().only("K8sNativeValidation"),
        }
    }
}

/// The format of a printed measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// For people.
    #[default]
    Table,
    /// As it is saved.
    Json,
    /// The same in YAML.
    Yaml,
}

/// A duration as Go writes them; a bare number is one of microseconds.
fn duration(text: &str) -> Result<Duration, String> {
    let bare = text.parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number / 1e6).ok());
    bare.or_else(|| go_compat::duration::parse_unsigned(text))
        .ok_or_else(|| "a duration such as 50us, 1.5ms or 1h30m, or a number of microseconds".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent >= 0.0 => Ok(percent),
        _ => Err("a number of percent, 0 or more".to_owned()),
    }
}

/// Runs the command and gives the exit code. The measurement goes to `out`, everything else to `err`.
pub fn bench(args: &BenchArgs, standard: StandardInput<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match run(args, standard, out, err) {
        Ok(code) => code,
        Err(errors) => {
            write_errors("bench", errors, err);
            SLOW
        }
    }
}

fn run(
    args: &BenchArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Errors<String>> {
    // Read before anything is measured: a misspelt name is reported at once and not after ten minutes.
    let earlier = args.compare.as_deref().map(read).transpose()?;
    let gathered = gather(&args.input, standard).map_err(with_carets)?;
    gathered.warn("bench", err);
    let resident = memory::resident();
    let started = Instant::now();
    let mut assembly = assemble(&gathered.manifests, args.engine.compiler()).map_err(with_carets)?;
    let set_up = started.elapsed();
    assembly.subjects.retain(Subject::is_no_policy);
    leave_out_native(&mut assembly, err);
    check(&assembly)?;
    let grown = memory::resident().zip(resident).map(|(after, before)| after.saturating_sub(before));
    let plan = Plan {
        iterations: args.iterations,
        rounds: args.rounds,
        warmup: args.warmup,
        threads: args.concurrency,
    };
    let record = measure(&mut assembly, &plan, set_up, grown);
    show(args, &record, out)?;
    if let Some(path) = &args.save {
        save(path, &record)?;
    }
    let Some(earlier) = earlier else {
        return Ok(FAST);
    };
    let tolerance = Tolerance { percent: args.threshold, growth: args.min_threshold };
    let comparison = compare(&earlier, &record, &tolerance);
    write_comparison(args, &comparison, out, err)?;
    Ok(if comparison.is_slower() { SLOW } else { FAST })
}

/// Kubernetes' own policies are judged by the API server, whose times are not those of this program.
fn leave_out_native(assembly: &mut Assembly, err: &mut dyn Write) {
    let before = assembly.constraints.len();
    assembly.constraints.retain(|id, _| id.kind != native::KIND);
    if assembly.constraints.len() < before {
        // Ignore write errors: stderr is closed.
        let _ = writeln!(err, "webtroller bench: warning: ValidatingAdmissionPolicies are not measured");
    }
}

fn check(assembly: &Assembly) -> Result<(), Errors<String>> {
    let mut missing = Vec::new();
    if assembly.constraints.is_empty() {
        missing.push("there is no constraint among the inputs".to_owned());
    }
    if assembly.subjects.is_empty() {
        missing.push("there is no object to review among the inputs".to_owned());
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.into()) }
}

fn show(args: &BenchArgs, record: &Record, out: &mut dyn Write) -> Result<(), Errors<String>> {
    let text = match args.output {
        BenchFormat::Table => table::record(record),
        BenchFormat::Json => record.to_json(),
        BenchFormat::Yaml => in_yaml(record)?,
    };
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// In a table the comparison belongs to the output; JSON stays what it is.
fn write_comparison(
    args: &BenchArgs,
    comparison: &Comparison,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Errors<String>> {
    let text = table::comparison(comparison);
    written(match args.output {
        BenchFormat::Table => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
        BenchFormat::Json | BenchFormat::Yaml => err.write_all(text.as_bytes()),
    })
}

/// A reader that has seen enough is not a failure.
fn written(outcome: io::Result<()>) -> Result<(), Errors<String>> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write: {error}").into())
        }
        _ => Ok(()),
    }
}

/// JSON is YAML, so that one reader does for both.
fn read(path: &Path) -> Result<Record, Errors<String>> {
    let refused =
        |error: String| Errors::from(format!("{}: is not a saved measurement: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    if !is_yaml(path) {
        return Record::from_json(&text).map_err(refused);
    }
    let documents = sigs_yaml::documents(&text).map_err(|error| refused(error.to_string()))?;
    let value = documents.into_iter().next().map(|document| document.value).unwrap_or_default();
    Record::from_json(&value.to_string()).map_err(refused)
}

fn save(path: &Path, record: &Record) -> Result<(), Errors<String>> {
    let text = if is_yaml(path) { in_yaml(record)? } else { record.to_json() };
    std::fs::write(path, text)
        .map_err(|error| format!("{}: cannot be written: {error}", path.display()).into())
}

fn in_yaml(record: &Record) -> Result<String, Errors<String>> {
    sigs_yaml::block(&record.to_json()).map_err(|error| error.to_string().into())
}

#[cfg(test)]
mod tests;
