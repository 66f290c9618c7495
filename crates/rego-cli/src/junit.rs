//! The outcome of tests as JUnit's XML, which CI systems read: a test suite per file, a test case per rule.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::report::Ran;

/// Returns the document.
///
/// # Errors
/// None but those of the writer, which writes to memory.
pub(crate) fn render(ran: &[Ran<'_>]) -> Result<String, String> {
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for test in ran {
        let file = test.test.file.as_str();
        suites.entry(file).or_insert_with(|| TestSuite::new(file)).add_test_case(case(test));
    }
    let mut report = Report::new("webtroller rego test");
    report.set_time(ran.iter().map(|test| test.took).sum());
    report.add_test_suites(suites.into_values());
    report.to_string().map_err(|error| error.to_string())
}

fn case(ran: &Ran<'_>) -> TestCase {
    let failed = |kind, message: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message);
        status
    };
    let status = match ran.error() {
        _ if ran.test.skipped => TestCaseStatus::skipped(),
        Some(error) => failed(NonSuccessKind::Error, error.for_people()),
        None if ran.failed() => failed(
            NonSuccessKind::Failure,
            format!("{}:{}: the test does not hold", ran.test.file, ran.test.line),
        ),
        None => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(ran.test.name.as_str(), status);
    case.set_classname(ran.test.package.as_str()).set_time(ran.took);
    if !ran.printed.is_empty() {
        case.set_system_out(ran.printed.as_str());
    }
    case
}
