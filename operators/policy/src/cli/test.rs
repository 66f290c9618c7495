//! `webtroller test`: judges objects by the templates and constraints beside them, as `gator test` does.
//!
//! `input.rs` reads, `assemble.rs` puts in force, `judge.rs` asks; what came of it is printed by `test/text.rs`,
//! `test/record.rs` (JSON and YAML) and `test/scan.rs` (SARIF).

mod record;
mod scan;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use clap::ValueEnum;
use constraint_framework::driver::Listener;
use constraint_framework::policyset::Compiler;

use super::assemble::{Place, Problem, assemble};
use super::input::{InputArgs, InputError, StandardInput, gather};
use super::judge::{Manner, Offence, Unplaced, judge, overlooked};
use super::prints::Prints;
use super::progress::Progress;

/// Nothing is denied.
const ACCEPTED: u8 = 0;
/// Something is denied, or could not be judged.
const REFUSED: u8 = 1;

/// Judge objects by the templates and constraints among them.
///
/// Exits with 0 when nothing is denied, and with 1 when something is or when the inputs cannot be used.
#[derive(Clone, Debug, clap::Args)]
pub struct TestArgs {
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// How to print violations.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: Format,
    /// Print only violations that deny; the exit code is the same.
    #[arg(long)]
    pub deny_only: bool,
    /// Print what policies print: behind the violations, or on standard error where those are a document.
    #[arg(long, short)]
    pub verbose: bool,
}

/// How violations are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One violation a line.
    #[default]
    #[value(alias = "default")]
    Text,
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
        Err(Failure::Problems(problems)) => {
            for problem in &problems {
                let _ = writeln!(err, "webtroller test: {problem}");
            }
            let report =
                if args.output == Format::Sarif { scan::render(&[], &problems) } else { String::new() };
            (REFUSED, out.write_all(report.as_bytes()))
        }
        Err(Failure::Write(code, error)) => (code, Err(error)),
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

enum Failure {
    Problems(Vec<Problem>),
    /// With the exit code that the verdicts lead to.
    Write(u8, io::Error),
}

fn run(
    args: &TestArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Failure> {
    let manifests = gather(&args.input, standard)
        .map_err(|errors| Failure::Problems(errors.iter().map(problem).collect()))?;
    let prints = Arc::new(Prints::default());
    let assembly = assemble(&manifests, compiler(args, &prints)).map_err(Failure::Problems)?;
    for warning in assembly.warnings.iter().chain(&overlooked(&assembly)) {
        let _ = writeln!(err, "webtroller test: warning: {warning}");
    }
    if assembly.constraints.is_empty() {
        let _ = writeln!(err, "webtroller test: warning: there is no constraint among the inputs");
    }
    let progress = Progress::new(assembly.subjects.len(), "objects");
    // What they printed when they were asked for the warnings is not what anybody asked for.
    prints.take();
    let manner = Manner { unplaced: Unplaced::Nowhere, in_turn: args.verbose };
    let offences = judge(&assembly, manner, &progress);
    drop(progress);
    let code = if offences.iter().any(Offence::denies) { REFUSED } else { ACCEPTED };
    let shown: Vec<_> = offences.into_iter().filter(|offence| !args.deny_only || offence.denies()).collect();
    let report = match args.output {
        Format::Text => text::render(&shown),
        Format::Json => record::json(&shown),
        Format::Yaml => record::yaml(&shown),
        Format::Sarif => scan::render(&shown, &[]),
    };
    let printed = prints.take();
    let (behind, aside) = match args.output {
        _ if printed.is_empty() => (String::new(), String::new()),
        Format::Text => (format!("\n{printed}\n"), String::new()),
        Format::Json | Format::Yaml | Format::Sarif => (String::new(), printed),
    };
    let _ = err.write_all(aside.as_bytes());
    out.write_all(format!("{report}{behind}").as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::Write(code, error))?;
    Ok(code)
}

fn compiler(args: &TestArgs, prints: &Arc<Prints>) -> Compiler {
    let listener: Arc<dyn Listener> = prints.clone();
    if args.verbose { Compiler::default().heard_by(&listener) } else { Compiler::default() }
}

fn problem(error: &InputError) -> Problem {
    // The message begins with the file.
    let place = error.file().map(|file| Place { file: file.to_owned(), line: 0 });
    let text = error.to_string();
    let message = place.as_ref().and_then(|place| text.strip_prefix(&format!("{}: ", place.file.display())));
    Problem { message: message.unwrap_or(&text).to_owned(), place }
}

#[cfg(test)]
mod tests;
