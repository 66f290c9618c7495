//! `webtroller rego test`: runs the tests of modules.

use std::cell::RefCell;
use std::io;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use go_compat::regexp::{self, Regex};
use rego_compat::{Coverage, EvalError, Externals, Outcome, Suite, Test, Value};

use crate::command_error::{self, CommandError, MAX_ERRORS};
use crate::coverage::{self, Demand};
use crate::junit;
use crate::report::{self, Ran};
use crate::source::{Selection, Sources};
use crate::unsupported::{Unsupported, UnsupportedByTest, message};
use crate::{Language, Streams, budget, duration, restrictions};

/// Time for one test, unless `--timeout` says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The command `test`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  # The tests of a folder, each with its outcome
  webtroller rego test -v policies/

  # A report for CI, and the coverage
  webtroller rego test policies/ -f junit
  webtroller rego test policies/ --coverage")]
pub struct TestArgs {
    /// Modules, JSON and YAML, or folders with everything below them.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,
    /// Run only tests whose full name, such as `data.lib.test_x`, matches this regex, in the syntax of Go.
    #[arg(long, short, value_name = "REGEX")]
    pub run: Option<String>,
    /// Show every test, those that passed too.
    #[arg(long, short)]
    pub verbose: bool,
    /// Output format of the test results.
    #[arg(long, short, value_enum, default_value_t)]
    pub format: Format,
    /// Print the coverage of the modules instead of the results of the tests.
    #[arg(long, short)]
    pub coverage: bool,
    /// Exit with 2 if less than this percentage of the lines is covered.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub threshold: f64,
    /// Exit with 0 when nothing failed and something was skipped.
    #[arg(long, short = 'z')]
    pub exit_zero_on_skipped: bool,
    /// Exit with 1 when there was no test to run.
    #[arg(long)]
    pub fail_on_empty: bool,
    /// Time limit of one test.
    #[arg(long, value_parser = duration::parse, value_name = "DURATION")]
    pub timeout: Option<Duration>,
    /// Leave out files and folders of these names.
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Stop after so many errors of the compilation; 0 shows all.
    #[arg(long, short, default_value_t = MAX_ERRORS)]
    pub max_errors: usize,
    /// Accepted for the sake of scripts; tests run one after the other.
    #[arg(long, short, hide = true)]
    pub parallel: Option<usize>,
    /// The version of Rego.
    #[command(flatten)]
    pub language: Language,
    #[command(flatten)]
    unsupported: Unsupported,
    #[command(flatten)]
    unsupported_here: UnsupportedByTest,
}

/// The format of the printed outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Pretty,
    /// A JSON list.
    Json,
    /// JUnit's XML, which CI systems read.
    Junit,
}

/// Runs the command; returns 0 when all passed, 2 when a test failed, erred or was skipped, 1 when tests could not be run.
pub(crate) fn run(args: &TestArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    if let Some(flag) = args.unsupported.given().or_else(|| args.unsupported_here.given()) {
        streams.err.write_all(message("test", flag).as_bytes())?;
        return Ok(1);
    }
    let ready = match Ready::new(args) {
        Ok(ready) => ready,
        Err(text) => {
            streams.err.write_all(text.as_bytes())?;
            return Ok(1);
        }
    };
    if args.coverage || args.threshold > 0.0 {
        let mut passed = Coverage::default();
        let ran = ready.run(|test, printer| {
            ready.suite.run_covered(test, &ready.data, &ready.budget(), printer, &mut passed)
        });
        let report = ready.suite.report(&passed);
        let demand = Demand { threshold: args.threshold, verbose: args.verbose };
        return Ok(match coverage::print(&demand, &ran, &report, streams)? {
            0 => verdict(args, &ran),
            code => code,
        });
    }
    let ran = ready.run(|test, printer| ready.suite.run(test, &ready.data, &ready.budget(), printer));
    let text = match args.format {
        Format::Pretty => report::for_people(&ran, args.verbose),
        Format::Json => report::to_json(&ran),
        Format::Junit => junit::render(&ran).map_err(io::Error::other)?,
    };
    streams.out.write_all(text.as_bytes())?;
    if ran.is_empty() && args.fail_on_empty {
        writeln!(streams.err, "no tests were run")?;
        return Ok(1);
    }
    Ok(verdict(args, &ran))
}

/// Returns the exit code of tests that ran.
fn verdict(args: &TestArgs, ran: &[Ran<'_>]) -> u8 {
    let well = |test: &Ran<'_>| test.passed() || (test.test.skipped && args.exit_zero_on_skipped);
    if ran.iter().all(well) { 0 } else { 2 }
}

/// Everything loaded and compiled.
struct Ready {
    suite: Suite,
    data: Value,
    filter: Option<Regex>,
    timeout: Duration,
}

impl Ready {
    /// Loads and compiles; the error is the text for standard error.
    fn new(args: &TestArgs) -> Result<Self, String> {
        if !(0.0..=100.0).contains(&args.threshold) {
            return Err("Code coverage threshold must be between 0 and 100\n".to_owned());
        }
        let loading = |errors: &[CommandError]| command_error::for_people(errors, " during loading");
        let compiling = |errors: &[CommandError]| command_error::for_people(errors, "");
        let selection = Selection::ignoring(&args.ignore);
        let sources = Sources::load(&args.paths, args.language.version(), &selection)
            .map_err(|errors| loading(&errors.0))?;
        let conflicts = sources.conflicts();
        if !conflicts.is_empty() {
            return Err(compiling(&conflicts));
        }
        let compile =
            if args.coverage || args.threshold > 0.0 { Suite::compile_covered } else { Suite::compile };
        let suite = compile(&sources.modules(), &restrictions()).map_err(|diagnostics| {
            compiling(&command_error::of_diagnostics(&diagnostics, args.max_errors))
        })?;
        let data = Value::from_json_str(&sources.data()).map_err(|error| format!("{error}\n"))?;
        let filter = args.run.as_deref().map(regexp::compile).transpose();
        let filter = filter.map_err(|error| format!("{error}\n"))?.map(|pattern| (*pattern.regex).clone());
        let timeout = args.timeout.filter(|time| !time.is_zero()).unwrap_or(TIMEOUT);
        Ok(Self { suite, data, filter, timeout })
    }

    fn budget(&self) -> rego_compat::Budget {
        budget(self.timeout)
    }

    fn selects(&self, test: &Test) -> bool {
        let full = format!("{}.{}", test.package, test.name);
        self.filter.as_ref().is_none_or(|filter| filter.is_match(&full))
    }

    fn run<'s>(&'s self, mut run: impl FnMut(&Test, &Printed) -> Result<Outcome, EvalError>) -> Vec<Ran<'s>> {
        let selected = self.suite.tests().iter().filter(|test| self.selects(test));
        let one = |test: &'s Test| {
            let printed = Printed::default();
            let started = Instant::now();
            let outcome = if test.skipped {
                Ok(Outcome { passed: false, cases: Vec::new() })
            } else {
                run(test, &printed)
            };
            let took = if test.skipped { Duration::ZERO } else { started.elapsed() };
            Ran { test, outcome, took, printed: printed.0.into_inner() }
        };
        selected.map(one).collect()
    }
}

/// The output of a test.
#[derive(Default)]
struct Printed(RefCell<String>);

impl Externals for Printed {
    fn call(&self, function: &str, _: &Value) -> Result<Option<Value>, EvalError> {
        Err(EvalError::External { function: function.to_owned(), message: "no host answers it".to_owned() })
    }

    fn print(&self, line: &str) {
        let mut text = self.0.borrow_mut();
        text.push_str(line);
        text.push('\n');
    }
}
