//! The outcome of tests, as `opa test` prints it.

use std::time::Duration;

use data_encoding::BASE64;
use rego_compat::{EvalError, Outcome, Test, TestCase};

use crate::command_error::{CommandError, Place};
use crate::{duration, json};

/// A test that ran, or was skipped.
pub(crate) struct Ran<'s> {
    pub(crate) test: &'s Test,
    pub(crate) outcome: Result<Outcome, EvalError>,
    pub(crate) took: Duration,
    /// Lines the test printed.
    pub(crate) printed: String,
}

impl Ran<'_> {
    pub(crate) fn passed(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|outcome| outcome.passed)
    }

    pub(crate) fn failed(&self) -> bool {
        !self.test.skipped && self.outcome.as_ref().is_ok_and(|outcome| !outcome.passed)
    }

    fn cases(&self) -> &[TestCase] {
        self.outcome.as_ref().map_or(&[], |outcome| &outcome.cases)
    }

    fn place(&self) -> Place {
        Place { file: self.test.file.clone(), row: self.test.line, column: self.test.column }
    }

    fn word(&self) -> &'static str {
        match &self.outcome {
            _ if self.test.skipped => "SKIPPED",
            Ok(outcome) if outcome.passed => "PASS",
            Ok(_) => "FAIL",
            Err(_) => "ERROR",
        }
    }

    /// Returns `data.a.test_x: FAIL (1.2ms)`.
    pub(crate) fn line(&self) -> String {
        let name = format!("{}.{}: {}", self.test.package, self.test.name, self.word());
        if self.test.skipped { name } else { format!("{name} ({})", duration::show(self.took)) }
    }

    /// Returns why the test could not be judged.
    pub(crate) fn error(&self) -> Option<CommandError> {
        let error = self.outcome.as_ref().err()?;
        Some(CommandError { place: Some(self.place()), ..CommandError::evaluation(error) })
    }
}

/// The numbers of tests, and cases of tests, by outcome.
#[derive(Default)]
struct Tally {
    pass: usize,
    fail: usize,
    skip: usize,
    error: usize,
}

impl Tally {
    fn of(ran: &[&Ran<'_>]) -> Self {
        let mut tally = Self::default();
        for test in ran {
            match &test.outcome {
                _ if test.test.skipped => tally.skip = tally.skip.saturating_add(1),
                Err(_) => tally.error = tally.error.saturating_add(1),
                Ok(outcome) if outcome.cases.is_empty() => tally.count(outcome.passed),
                Ok(outcome) => outcome.cases.iter().for_each(|case| tally.case(case)),
            }
        }
        tally
    }

    const fn count(&mut self, passed: bool) {
        if passed {
            self.pass = self.pass.saturating_add(1);
        } else {
            self.fail = self.fail.saturating_add(1);
        }
    }

    /// Counts a case; only cases without cases below them count.
    fn case(&mut self, case: &TestCase) {
        if case.cases.is_empty() {
            self.count(case.passed);
        } else {
            case.cases.iter().for_each(|case| self.case(case));
        }
    }

    fn lines(&self) -> String {
        let counts = [self.pass, self.fail, self.skip, self.error];
        let total: usize = counts.iter().sum();
        let words = ["PASS", "FAIL", "SKIPPED", "ERROR"].into_iter().zip(counts);
        words
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!("{word}: {count}/{total}\n"))
            .collect()
    }
}

/// Returns the report of [`for_people`] about these tests only.
pub(crate) fn of_failures(failures: &[&Ran<'_>], verbose: bool) -> String {
    show(failures, verbose)
}

/// Tests that did not pass (with `verbose` all of them), and how many ended how.
pub(crate) fn for_people(ran: &[Ran<'_>], verbose: bool) -> String {
    show(&ran.iter().collect::<Vec<_>>(), verbose)
}

fn show(ran: &[&Ran<'_>], verbose: bool) -> String {
    let mut out = String::new();
    let mut file = "";
    for test in ran.iter().filter(|test| verbose || !test.passed()) {
        if !file.is_empty() && file != test.test.file {
            out.push('\n');
        }
        file = &test.test.file;
        out.push_str(&format!("{file}:{}:\n{}\n", test.test.line, test.line()));
        cases(test.cases(), 1, verbose, &mut out);
        let printed = test.printed.trim();
        if !printed.is_empty() {
            out.push_str(&format!("\n  {}\n\n", printed.replace('\n', "\n  ")));
        }
        out.extend(test.error().map(|error| format!("  {}\n", error.for_people())));
    }
    let rule = format!("{}\n", "-".repeat(80));
    let dirty = !out.is_empty();
    let failures: Vec<_> = ran.iter().filter(|test| test.failed()).collect();
    if verbose && !failures.is_empty() {
        out.push_str(&format!("{rule}FAILURES\n{rule}"));
        for failure in failures {
            out.push_str(&format!("{}\n", failure.line()));
            lineages(failure.cases(), &mut Vec::new(), &mut out);
            out.push('\n');
        }
    }
    if dirty {
        out.push_str(&rule);
    }
    out.push_str(&Tally::of(ran).lines());
    out
}

fn case_word(case: &TestCase) -> &'static str {
    if case.passed { "PASS" } else { "FAIL" }
}

fn cases(cases_below: &[TestCase], depth: usize, verbose: bool, out: &mut String) {
    for case in cases_below {
        if verbose || !case.passed {
            out.push_str(&format!("{}{}: {}\n", "  ".repeat(depth), case.name, case_word(case)));
        }
        cases(&case.cases, depth.saturating_add(1), verbose, out);
    }
}

/// Writes each failed case with the names above it.
fn lineages<'c>(below: &'c [TestCase], above: &mut Vec<&'c str>, out: &mut String) {
    for case in below.iter().filter(|case| !case.passed) {
        above.push(&case.name);
        if case.cases.is_empty() {
            for (depth, name) in above.iter().enumerate() {
                out.push_str(&format!("{}{name}: FAIL\n", "  ".repeat(depth.saturating_add(1))));
            }
        }
        lineages(&case.cases, above, out);
        above.pop();
    }
}

/// Returns a JSON list of all tests.
pub(crate) fn to_json(ran: &[Ran<'_>]) -> String {
    json::indented(&json::array(ran.iter().map(test_json)))
}

fn test_json(ran: &Ran<'_>) -> String {
    let truth = || "true".to_owned();
    let mut fields = vec![
        ("location", ran.place().to_json()),
        ("package", json::string(&ran.test.package)),
        ("name", json::string(&ran.test.name)),
    ];
    fields.extend(ran.failed().then(|| ("fail", truth())));
    fields.extend(ran.error().map(|error| ("error", error_json(&error))));
    fields.extend(ran.test.skipped.then(|| ("skip", truth())));
    fields.push(("duration", ran.took.as_nanos().to_string()));
    if !ran.printed.is_empty() {
        fields.push(("output", json::string(&BASE64.encode(ran.printed.as_bytes()))));
    }
    if !ran.cases().is_empty() {
        fields.push(("sub_results", cases_json(ran.cases())));
    }
    json::object(fields)
}

/// Writes the error of a test as JSON, with its code in front of the message.
fn error_json(error: &CommandError) -> String {
    let code = error.code.unwrap_or_default();
    let mut fields = vec![("code", json::string(code)), ("message", json::string(&error.message))];
    fields.extend(error.place.as_ref().map(|place| ("location", place.to_json())));
    json::object(fields)
}

fn cases_json(cases: &[TestCase]) -> String {
    json::object(cases.iter().map(|case| {
        let mut fields = Vec::new();
        if !case.name.is_empty() {
            fields.push(("name", json::string(&case.name)));
        }
        if !case.passed {
            fields.push(("fail", "true".to_owned()));
        }
        if !case.cases.is_empty() {
            fields.push(("sub_results", cases_json(&case.cases)));
        }
        (case.name.as_str(), json::object(fields))
    }))
}
