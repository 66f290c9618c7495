//! `webtroller verify`: runs test suites and prints what came of them as `gator verify` does.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use constraint_framework::driver::PrintListener;
use constraint_framework::policyset::Compiler;

use super::color::{Color, Stream, paint};
use super::engine_args::EngineArgs;
use super::prints::Prints;
use super::progress::Progress;
use super::suite::Suite;
use crate::text::thousands;

mod case;
mod coverage;
mod engine;
mod export;
mod filter;
mod find;
mod input;
mod judged;
mod native;
mod report;
mod strict;

pub use coverage::{CoverageArgs, coverage};
pub use engine::EngineChoice;
use filter::Filter;
use find::{Found, SuiteFile, suites};
use report::{Outcome, SuiteReport};

const EXAMPLES: &str = "\
Examples:
  # Every suite below a folder, case by case
  webtroller verify -v policies/...

  # One case of one test, and how its constraint came to its answer
  webtroller verify --run 'my-test//my-case' --trace policies/suite.yaml

  # For a CI system, or for a program
  webtroller verify policies/... -o junit > report.xml";

/// Run Gatekeeper test suites.
///
/// Exits with 0 when every test passed, and with 1 when one failed or a path could not be read.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct VerifyArgs {
    /// Suite files, folders, or folders with everything below them (`folder/...`).
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Run only what matches this regex: `test//case` for both, otherwise either.
    #[arg(long, short, value_name = "REGEX")]
    pub run: Option<String>,
    /// Judge by this engine, and skip templates without code for it. `both` runs every engine that a template has, and
    /// fails where one finds a violation and another does not. Without it, CEL decides where a template has both.
    #[arg(long, short, value_name = "ENGINE")]
    pub engine: Option<EngineChoice>,
    /// Say what passed, too, and what policies print; show what was wanted and what was found where a case failed.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print with each case how its constraint came to its answer, as `webtroller explain` does.
    #[arg(long, short)]
    pub trace: bool,
    /// Policies in CEL.
    #[command(flatten)]
    pub cel: EngineArgs,
    /// Output format of the results.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: VerifyFormat,
}

/// The format of the printed outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VerifyFormat {
    /// The lines of `gator verify`.
    #[default]
    Text,
    /// A JSON object.
    Json,
    /// JUnit's XML, which CI systems read.
    Junit,
}

/// The tests to run, the engine, and the listener for what policies print.
struct RunOptions<'a> {
    filter: &'a Filter,
    engine: Option<EngineChoice>,
    cel: &'a EngineArgs,
    trace: bool,
    prints: Option<Arc<Prints>>,
    /// The record of the bodies that cases pass.
    coverage: Option<&'a coverage::Coverage>,
}

impl RunOptions<'_> {
    /// The same compiler, with a print listener where there is one.
    fn listening(&self, compiler: Compiler) -> Compiler {
        let Some(prints) = &self.prints else { return compiler };
        let listener: Arc<dyn PrintListener> = prints.clone();
        compiler.with_print_listener(&listener)
    }

    /// Returns what was printed since the last time.
    fn printed(&self) -> String {
        self.prints.as_ref().map(|prints| prints.take()).unwrap_or_default()
    }
}

/// Runs every suite below the paths and prints a report to `out`. The exit code is 1 when a test failed or a path could
/// not be read, as that of `gator verify`.
pub fn verify(args: &VerifyArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match run(args, out, err) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(message) => {
            let _ = writeln!(err, "webtroller verify: {message}");
            1
        }
    }
}

fn run(args: &VerifyArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<bool, String> {
    let filter = Filter::new(args.run.as_deref())?;
    let prints = args.verbose.then(|| Arc::new(Prints::default()));
    let options = RunOptions {
        filter: &filter,
        engine: args.engine,
        cel: &args.cel,
        trace: args.trace,
        prints,
        coverage: None,
    };
    let files = find_all(&args.paths, "verify", err)?;
    let progress = Progress::new(files.len(), "suites");
    let mut reports = Vec::new();
    for file in &files {
        let report = run_suite(file, &options);
        for (test, warning) in report.warnings() {
            let warning = format!("webtroller verify: warning: {}: {test}: {warning}", file.path.display());
            progress.aside(|| writeln!(err, "{warning}")).map_err(|error| error.to_string())?;
        }
        if args.output == VerifyFormat::Text {
            unless_closed(progress.aside(|| report.print(out, args.verbose)))?;
        }
        progress.advance();
        reports.push(report);
    }
    drop(progress);
    let passed = reports.iter().all(SuiteReport::passed);
    let report = match args.output {
        VerifyFormat::Text => format!("{}\n", last_line(&reports)),
        VerifyFormat::Json => export::json(&reports),
        VerifyFormat::Junit => export::junit(&reports)?,
    };
    unless_closed(out.write_all(report.as_bytes()).and_then(|()| out.flush()))?;
    if args.output != VerifyFormat::Text && passed && !reports.iter().any(SuiteReport::ran) {
        let _ = writeln!(err, "webtroller verify: warning: nothing ran");
    }
    if args.output == VerifyFormat::Text {
        let _ = writeln!(err, "{}", summary(&reports));
        let has_failed = |report: &SuiteReport| {
            report.tests.iter().flat_map(|test| &test.cases).any(|case| case.error.is_some())
        };
        if let Some(hint) = args.hint().filter(|_| reports.iter().any(has_failed)) {
            let _ = writeln!(err, "webtroller verify: {hint}");
        }
    }
    Ok(passed)
}

impl VerifyArgs {
    /// The arguments that would say more about a case that failed.
    fn hint(&self) -> Option<&'static str> {
        match (self.verbose, self.trace) {
            (false, false) => Some("-v --trace shows what was found in a case that failed, and why"),
            (true, false) => Some("--trace shows why a case failed"),
            (false, true) => Some("-v shows what was found in a case that failed"),
            (true, true) => None,
        }
    }
}

/// A reader that has seen enough does not change the verdict.
fn unless_closed(written: io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

/// The suites of all paths. A path without one, and what may be one and was not read, are warned of.
fn find_all(paths: &[PathBuf], command: &str, err: &mut dyn Write) -> Result<Vec<SuiteFile>, String> {
    let mut files = Vec::new();
    for path in paths {
        let Found { suites, skipped } = suites(path)?;
        for entry in &skipped {
            let _ = writeln!(err, "webtroller {command}: warning: skipped {entry}");
        }
        if suites.is_empty() {
            let _ =
                writeln!(err, "webtroller {command}: warning: {}: there is no suite here", path.display());
        }
        files.extend(suites);
    }
    Ok(files)
}

/// `PASS` or `FAIL`; neither where nothing ran.
fn last_line(reports: &[SuiteReport]) -> String {
    let ran = reports.iter().any(SuiteReport::ran);
    match (reports.iter().all(SuiteReport::passed), ran) {
        (false, _) => paint("FAIL", Color::Red, Stream::Out),
        (true, true) => paint("PASS", Color::Green, Stream::Out),
        (true, false) => paint("NOTHING RAN", Color::Yellow, Stream::Out),
    }
}

/// `2 suites, 5 tests: 11 cases passed, 1 failed, 0 skipped in 12 ms`.
fn summary(reports: &[SuiteReport]) -> String {
    let mut counts = [0, 0, 0_usize];
    for report in reports {
        for (sum, count) in counts.iter_mut().zip(report.counts()) {
            *sum = sum.saturating_add(count);
        }
    }
    let [passed, failed, skipped] = counts.map(thousands);
    let tests = thousands(reports.iter().map(|report| report.tests.len()).sum());
    let elapsed: Duration = reports.iter().map(|report| report.elapsed).sum();
    let suites = thousands(reports.len());
    format!(
        "suites: {suites}, tests: {tests}, cases: {passed} passed, {failed} failed, {skipped} skipped in {} ms",
        elapsed.as_millis()
    )
}

fn run_suite(file: &SuiteFile, options: &RunOptions<'_>) -> SuiteReport {
    let started = Instant::now();
    let mut report = SuiteReport::new(&file.path);
    match read_suites(file) {
        Err(reason) => report.fail(reason),
        Ok(suites) => {
            let folder = file.path.parent().unwrap_or(Path::new("."));
            let tests = suites.iter().flat_map(|suite| suite.tests.iter().map(|test| (suite.skip, test)));
            for (skip, test) in tests {
                let skipped = skip || test.skip || !options.filter.selects_test(test);
                report.tests.push(if skipped {
                    Outcome::skipped(&test.name)
                } else {
                    case::run_test(folder, test, options)
                });
            }
        }
    }
    report.elapsed = started.elapsed();
    report
}

/// All suites of a file: one behind another would otherwise pass unseen.
fn read_suites(file: &SuiteFile) -> Result<Vec<Suite>, String> {
    let text = file.text.as_deref().map_err(String::clone)?;
    Suite::read(text).map_err(|error| format!("invalid Suite: {error}"))
}

#[cfg(test)]
mod tests;
