//! The error of a command, in the two forms OPA prints it: a JSON list of errors, and lines for people.

use std::fmt;

use rego_compat::{Diagnostic, Diagnostics, EvalError, Limit};

use crate::json;

/// Errors of a compilation that are shown, unless `--max-errors` says otherwise.
pub(crate) const MAX_ERRORS: usize = 10;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    /// OPA's code; files that cannot be loaded have none.
    pub(crate) code: Option<&'static str>,
    pub(crate) message: String,
    /// The advice on how to fix it.
    pub(crate) help: String,
    pub(crate) place: Option<Place>,
}

/// The errors of a command, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandErrors(pub(crate) Vec<CommandError>);

impl std::error::Error for CommandErrors {}

impl fmt::Display for CommandErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(for_people(&self.0, "").trim_end())
    }
}

/// A position in a file. The file of a query is nameless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) row: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) fn to_json(&self) -> String {
        json::object([
            ("file", json::string(&self.file)),
            ("row", self.row.to_string()),
            ("col", self.column.to_string()),
        ])
    }

    /// Returns `file:row`, or `row:column` for an error without a file.
    fn for_people(&self) -> String {
        if self.file.is_empty() {
            format!("{}:{}", self.row, self.column)
        } else {
            format!("{}:{}", self.file, self.row)
        }
    }
}

impl CommandError {
    /// Returns an error with neither code nor place.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self { code: None, message: message.into(), help: String::new(), place: None }
    }

    pub(crate) fn diagnostic(diagnostic: &Diagnostic) -> Self {
        Self {
            code: Some(diagnostic.code.as_str()),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            place: Some(Place {
                file: diagnostic.file.clone(),
                row: diagnostic.line,
                column: diagnostic.column,
            }),
        }
    }

    /// Returns an evaluation that failed. Only conflicts have a place.
    pub(crate) fn evaluation(error: &EvalError) -> Self {
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

    pub(crate) fn to_json(&self) -> String {
        let mut fields = vec![("message", json::string(&self.message))];
        fields.extend(self.code.map(|code| ("code", json::string(code))));
        fields.extend(self.place.as_ref().map(|place| ("location", place.to_json())));
        json::object(fields)
    }

    pub(crate) fn for_people(&self) -> String {
        let place = self.place.as_ref().map(|place| format!("{}: ", place.for_people())).unwrap_or_default();
        let code = self.code.map(|code| format!("{code}: ")).unwrap_or_default();
        let help = if self.help.is_empty() { String::new() } else { format!(" ({})", self.help) };
        format!("{place}{code}{}{help}", self.message)
    }
}

/// Returns the first so many diagnostics, 0 for all, and a note that there are more.
pub(crate) fn of_diagnostics(diagnostics: &Diagnostics, limit: usize) -> Vec<CommandError> {
    let shown = if limit == 0 { usize::MAX } else { limit };
    let mut errors: Vec<CommandError> =
        diagnostics.iter().take(shown).map(CommandError::diagnostic).collect();
    if diagnostics.len() > shown {
        errors.push(CommandError {
            code: Some("rego_compile_error"),
            message: "error limit reached".to_owned(),
            help: String::new(),
            place: None,
        });
    }
    errors
}

/// Returns `{"errors": […]}`, indented.
pub(crate) fn to_json(errors: &[CommandError]) -> String {
    json::indented(&json::object([("errors", json::array(errors.iter().map(CommandError::to_json)))]))
}

/// Returns one line for one error, several lines for several; `when` is empty or as in ` during loading`.
pub(crate) fn for_people(errors: &[CommandError], when: &str) -> String {
    match errors {
        [only] => format!("1 error occurred{when}: {}\n", only.for_people()),
        several => {
            let lines: Vec<String> = several.iter().map(CommandError::for_people).collect();
            format!("{} errors occurred{when}:\n{}\n", lines.len(), lines.join("\n"))
        }
    }
}

/// Returns JSON like [`to_json`], with the names of each object in order, which is how `--format discard` prints errors.
pub(crate) fn to_sorted_json(errors: &[CommandError]) -> String {
    let sorted = |text: String| {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        value.to_string()
    };
    json::indented(&json::object([("errors", json::array(errors.iter().map(|p| sorted(p.to_json()))))]))
}
