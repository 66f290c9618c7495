//! `webtroller verify`: runs test suites and prints what came of them as `gator verify` does.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use walkdir::WalkDir;

use super::load::load_file;
use super::suite::Suite;

mod case;
mod filter;
mod report;

use filter::Filter;
use report::{Outcome, SuiteReport};

/// Which suites to run, and how much to say.
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Suite files, folders, or folders with everything below them (`folder/...`).
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Run only what matches this regex: `test//case` for both, otherwise either.
    #[arg(long, short, value_name = "REGEX")]
    pub run: Option<String>,
    /// Say what passed, too.
    #[arg(long, short)]
    pub verbose: bool,
}

/// Runs every suite below the paths and prints a report to standard output. Exits with 1 when a test failed or a
/// path could not be read, as `gator verify` does.
pub fn verify(args: &VerifyArgs) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match run(args, &mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("webtroller verify: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &VerifyArgs, out: &mut dyn Write) -> Result<bool, String> {
    let filter = Filter::new(args.run.as_deref())?;
    let mut passed = true;
    for path in &args.paths {
        for suite in suites(path)? {
            let report = run_suite(&suite, &filter);
            passed &= report.passed();
            report.print(out, args.verbose).map_err(|error| error.to_string())?;
        }
    }
    writeln!(out, "{}", if passed { "PASS" } else { "FAIL" }).map_err(|error| error.to_string())?;
    Ok(passed)
}

/// The suite files that a path stands for: itself, those directly in a folder, or with `/...` all below it.
fn suites(path: &Path) -> Result<Vec<PathBuf>, String> {
    let (root, depth) = match path.file_name() {
        Some(name) if name == "..." => {
            (path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new(".")), usize::MAX)
        }
        _ => (path, 1),
    };
    let mut found = Vec::new();
    for entry in WalkDir::new(root).max_depth(depth).sort_by_file_name().follow_links(true) {
        let entry = entry.map_err(|error| format!("listing test files: {error}"))?;
        let is_yaml =
            entry.path().extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if entry.file_type().is_file() && (is_yaml || entry.path() == root) && is_suite(entry.path()) {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

/// Files beside the suites are templates and objects, some of them broken on purpose: they are not suites.
fn is_suite(path: &Path) -> bool {
    load_file(path).is_ok_and(|manifests| manifests.iter().any(|manifest| Suite::is(&manifest.object)))
}

fn run_suite(path: &Path, filter: &Filter) -> SuiteReport {
    let started = Instant::now();
    let mut report = SuiteReport::new(path);
    match read_suite(path) {
        Err(reason) => report.fail(reason),
        Ok(suite) => {
            let folder = path.parent().unwrap_or(Path::new("."));
            for test in &suite.tests {
                let skipped = suite.skip || test.skip || !filter.selects_test(test);
                report.tests.push(if skipped {
                    Outcome::skipped(&test.name)
                } else {
                    case::run_test(folder, test, filter)
                });
            }
        }
    }
    report.elapsed = started.elapsed();
    report
}

fn read_suite(path: &Path) -> Result<Suite, String> {
    let manifests = load_file(path).map_err(|error| error.to_string())?;
    let suite = manifests.into_iter().find(|manifest| Suite::is(&manifest.object));
    let suite = suite.ok_or_else(|| "no Suite in the file".to_owned())?;
    serde_json::from_value(suite.object).map_err(|error| format!("invalid Suite: {error}"))
}

#[cfg(test)]
mod tests;
