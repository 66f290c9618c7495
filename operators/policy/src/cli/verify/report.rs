//! The outcome of a suite, and how it is printed: the lines of `gator verify`, which are those of `go test`. JSON and
//! JUnit are `export.rs`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::color::{Color, Stream, paint};

/// The outcome of one test or case.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) skipped: bool,
    /// The test is about a constraint that its template refuses, and it was refused.
    pub(super) refused: bool,
    pub(super) error: Option<String>,
    /// Warnings about the template, which do not keep it from deciding.
    pub(super) warnings: Vec<String>,
    pub(super) cases: Vec<Outcome>,
    /// The lines that the policies printed, a newline behind each.
    pub(super) printed: String,
    /// The expected and the actual value.
    pub(super) diff: Vec<String>,
    /// The steps by which the constraint came to its answer, where they were requested.
    pub(super) trace: Vec<String>,
    pub(super) elapsed: Duration,
}

/// The outcome of one suite.
#[derive(Debug)]
pub(super) struct SuiteReport {
    pub(super) path: PathBuf,
    pub(super) error: Option<String>,
    pub(super) tests: Vec<Outcome>,
    pub(super) elapsed: Duration,
}

impl Outcome {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            skipped: false,
            refused: false,
            error: None,
            warnings: Vec::new(),
            cases: Vec::new(),
            printed: String::new(),
            diff: Vec::new(),
            trace: Vec::new(),
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn skipped(name: &str) -> Self {
        Self { skipped: true, ..Self::new(name) }
    }

    pub(super) fn passed(&self) -> bool {
        self.error.is_none() && self.cases.iter().all(Self::passed)
    }

    fn print_printed(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.printed.is_empty() {
            writeln!(out, "        === PRINT ===")?;
        }
        self.printed.lines().try_for_each(|line| writeln!(out, "        {line}"))
    }

    fn print(&self, out: &mut dyn Write, verbose: bool, indent: &str) -> io::Result<()> {
        if self.skipped {
            return if verbose { writeln!(out, "{indent}=== SKIP  {}", self.name) } else { Ok(()) };
        }
        if verbose {
            writeln!(out, "{indent}=== RUN   {}", self.name)?;
            self.print_printed(out)?;
        }
        for case in &self.cases {
            case.print(out, verbose, "    ")?;
        }
        let seconds = self.elapsed.as_secs_f64();
        let word = |word: &str, color| paint(&format!("--- {word}:"), color, Stream::Out);
        match self.passed() {
            true if verbose => {
                writeln!(out, "{indent}{} {}\t({seconds:.3}s)", word("PASS", Color::Green), self.name)?;
            }
            true => {}
            false => writeln!(out, "{indent}{} {}\t({seconds:.3}s)", word("FAIL", Color::Red), self.name)?,
        }
        let deeper = if indent.is_empty() { "  " } else { "        " };
        if let Some(error) = &self.error {
            writeln!(out, "{deeper}{error}")?;
        }
        let diff = self.diff.iter().filter(|_| verbose);
        diff.chain(&self.trace).try_for_each(|line| writeln!(out, "{deeper}  {line}"))?;
        Ok(())
    }
}

impl SuiteReport {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), error: None, tests: Vec::new(), elapsed: Duration::ZERO }
    }

    pub(super) fn fail(&mut self, reason: String) {
        self.error = Some(reason);
    }

    /// Returns true if any case was judged.
    pub(super) fn ran(&self) -> bool {
        let [passed, failed, _] = self.counts();
        passed.saturating_add(failed) > 0
    }

    /// Numbers of the cases that passed, failed and were skipped. A test without cases that failed, or that was about an
    /// invalid constraint, counts as one.
    pub(super) fn counts(&self) -> [usize; 3] {
        let mut counts = [0, 0, 0_usize];
        let leaves = self.tests.iter().flat_map(|test| {
            let whole = test.cases.is_empty() && (test.error.is_some() || test.skipped || test.refused);
            whole.then_some(test).into_iter().chain(&test.cases)
        });
        for leaf in leaves {
            let place = if leaf.skipped { 2 } else { usize::from(!leaf.passed()) };
            if let Some(count) = counts.get_mut(place) {
                *count = count.saturating_add(1);
            }
        }
        counts
    }

    pub(super) fn passed(&self) -> bool {
        self.error.is_none() && self.tests.iter().all(Outcome::passed)
    }

    /// The warnings, each with the name of its test.
    pub(super) fn warnings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tests
            .iter()
            .flat_map(|test| test.warnings.iter().map(|warning| (test.name.as_str(), warning.as_str())))
    }

    pub(super) fn print(&self, out: &mut dyn Write, verbose: bool) -> io::Result<()> {
        for test in &self.tests {
            test.print(out, verbose, "")?;
        }
        if let Some(error) = &self.error {
            writeln!(out, "  {error}")?;
        }
        let word = if self.passed() { "ok" } else { "FAIL" };
        writeln!(out, "{word}\t{}\t{:.3}s", self.path.display(), self.elapsed.as_secs_f64())
    }
}
