//! The outcome of suites, for programs: JSON, and JUnit's XML for CI systems.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

use super::report::{Outcome, SuiteReport};

/// A JSON object with every suite, test and case. `passed` is null where nothing failed because nothing ran.
pub(super) fn json(reports: &[SuiteReport]) -> String {
    let suites: Vec<Value> = reports.iter().map(suite).collect();
    let passed = reports.iter().all(SuiteReport::passed);
    let passed = (!passed || reports.iter().any(SuiteReport::ran)).then_some(passed);
    format!("{:#}\n", json!({ "passed": passed, "suites": suites }))
}

fn suite(report: &SuiteReport) -> Value {
    json!({
        "path": report.path.display().to_string(), "passed": report.passed(), "error": report.error,
        "seconds": report.elapsed.as_secs_f64(), "tests": report.tests.iter().map(outcome).collect::<Vec<_>>(),
    })
}

fn outcome(outcome: &Outcome) -> Value {
    json!({
        "name": outcome.name, "result": word(outcome), "error": outcome.error,
        "seconds": outcome.elapsed.as_secs_f64(), "cases": outcome.cases.iter().map(self::outcome).collect::<Vec<_>>(),
    })
}

fn word(outcome: &Outcome) -> &'static str {
    match (outcome.skipped, outcome.passed()) {
        (true, _) => "skip",
        (false, true) => "pass",
        (false, false) => "fail",
    }
}

/// A JUnit test suite per suite, and in it a test case per case, or per test where it has none.
///
/// # Errors
/// None but those of the writer, which writes to memory.
pub(super) fn junit(reports: &[SuiteReport]) -> Result<String, String> {
    let mut report = Report::new("webtroller verify");
    report.set_time(reports.iter().map(|report| report.elapsed).sum());
    report.add_test_suites(reports.iter().map(test_suite));
    report.to_string().map_err(|error| error.to_string())
}

fn test_suite(report: &SuiteReport) -> TestSuite {
    let path = report.path.display().to_string();
    let mut suite = TestSuite::new(path.as_str());
    suite.set_time(report.elapsed);
    if let Some(error) = &report.error {
        let mut case = TestCase::new("suite", failure(error));
        case.set_classname(path);
        suite.add_test_case(case);
    }
    for test in &report.tests {
        // A test that failed as a whole ran no case.
        let whole = test.cases.is_empty() || test.error.is_some();
        suite.add_test_cases(whole.then(|| test_case(test, &test.name)));
        suite.add_test_cases(test.cases.iter().map(|case| test_case(case, &test.name)));
    }
    suite
}

fn test_case(outcome: &Outcome, test: &str) -> TestCase {
    let status = match (&outcome.error, outcome.skipped) {
        (Some(error), _) => failure(error),
        (None, true) => TestCaseStatus::skipped(),
        (None, false) => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(outcome.name.as_str(), status);
    case.set_classname(test).set_time(outcome.elapsed);
    case
}

fn failure(error: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(error);
    status
}
