//! What went wrong, in the two forms OPA prints it: a JSON list of errors, and lines for people.

use rego_compat::{EvalError, Finding, Findings, Limit};

use super::json;

/// Errors of a compilation that are shown, unless `--max-errors` says otherwise.
pub(super) const MAX_ERRORS: usize = 10;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// OPA's code; files that cannot be loaded have none.
    pub(super) code: Option<&'static str>,
    pub(super) message: String,
    /// How to mend it, for people.
    pub(super) help: String,
    pub(super) place: Option<Place>,
}

/// Where in which file. The file of a query is nameless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Place {
    pub(super) fn to_json(&self) -> String {
        json::object([
            ("file", json::text(&self.file)),
            ("row", self.row.to_string()),
            ("col", self.column.to_string()),
        ])
    }

    /// `file:row`, or `row:column` where there is no file.
    fn for_people(&self) -> String {
        if self.file.is_empty() {
            format!("{}:{}", self.row, self.column)
        } else {
            format!("{}:{}", self.file, self.row)
        }
    }
}

impl Problem {
    /// Something with neither code nor place.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Self { code: None, message: message.into(), help: String::new(), place: None }
    }

    pub(super) fn finding(finding: &Finding) -> Self {
        Self {
            code: Some(finding.code.as_str()),
            message: finding.message.clone(),
            help: finding.help.clone(),
            place: Some(Place { file: finding.file.clone(), row: finding.line, column: finding.column }),
        }
    }

    /// An evaluation that failed. Only conflicts have a place.
    pub(super) fn evaluation(error: &EvalError) -> Self {
        let (code, message) = match error {
            EvalError::Budget(Limit::Time) => ("eval_cancel_error", error.to_string()),
            EvalError::Budget(_) => ("eval_budget_error", error.to_string()),
            EvalError::Conflict { message, .. } => ("eval_conflict_error", message.clone()),
            EvalError::Type(_) => ("eval_type_error", error.to_string()),
            EvalError::External { .. } => ("eval_builtin_error", error.to_string()),
            _ => ("eval_internal_error", error.to_string()),
        };
        let place = match error {
            EvalError::Conflict { file, line, column, .. } => {
                Some(Place { file: file.clone(), row: *line, column: *column })
            }
            _ => None,
        };
        Self { code: Some(code), message, help: String::new(), place }
    }

    pub(super) fn to_json(&self) -> String {
        let mut fields = vec![("message", json::text(&self.message))];
        fields.extend(self.code.map(|code| ("code", json::text(code))));
        fields.extend(self.place.as_ref().map(|place| ("location", place.to_json())));
        json::object(fields)
    }

    pub(super) fn for_people(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{}: ", place.for_people())).unwrap_or_default();
        let code = self.code.map(|code| format!("{code}: ")).unwrap_or_default();
        let help = if self.help.is_empty() { String::new() } else { format!(" ({})", self.help) };
        format!("{place}{code}{}{help}", self.message)
    }
}

/// The first so many findings, 0 for all, and a note that there are more.
pub(super) fn of_findings(findings: &Findings, limit: usize) -> Vec<Problem> {
    let shown = if limit == 0 { usize::MAX } else { limit };
    let mut problems: Vec<Problem> = findings.iter().take(shown).map(Problem::finding).collect();
    if findings.len() > shown {
        problems.push(Problem {
            code: Some("rego_compile_error"),
            message: "error limit reached".to_owned(),
            help: String::new(),
            place: None,
        });
    }
    problems
}

/// `{"errors": […]}`, indented.
pub(super) fn to_json(problems: &[Problem]) -> String {
    json::indented(&json::object([("errors", json::array(problems.iter().map(Problem::to_json)))]))
}

/// One line for one problem, several lines for several; `when` is empty or as in ` during loading`.
pub(super) fn for_people(problems: &[Problem], when: &str) -> String {
    match problems {
        [only] => format!("1 error occurred{when}: {}\n", only.for_people()),
        several => {
            let lines: Vec<String> = several.iter().map(Problem::for_people).collect();
            format!("{} errors occurred{when}:\n{}\n", lines.len(), lines.join("\n"))
        }
    }
}

/// As [`to_json`], with the names of each object in order: how `--format discard` prints errors.
pub(super) fn to_sorted_json(problems: &[Problem]) -> String {
    let sorted = |text: String| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        value.to_string()
    };
    json::indented(&json::object([("errors", json::array(problems.iter().map(|p| sorted(p.to_json()))))]))
}
