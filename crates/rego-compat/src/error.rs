//! The reasons why an evaluation ended without a result.

use eval_budget::Limit;

/// The error of an evaluation. An undefined result is not an error, but `None`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The evaluation exceeded its budget. Raise that limit, or fix the policy.
    #[error("evaluation exceeded its budget: {0}")]
    Budget(#[from] Limit),
    /// Two definitions of one rule or function gave different values, or two values came for one key of an object.
    /// Printed as OPA prints it: `template:3: eval_conflict_error: object keys must be unique`.
    #[error("{}: eval_conflict_error: {message}", place(.file, *.line, *.column))]
    Conflict {
        /// The name of the module with the definition that conflicts with an earlier one; empty for that of a query.
        file: String,
        /// The line of that definition, counted from 1.
        line: u32,
        /// Its column in characters, counted from 1.
        column: u32,
        /// The message in OPA's words. For rules and functions the values follow, one a line, with file and line of their
        /// definitions.
        message: String,
    },
    /// A value of the wrong type reached a construct that cannot be undefined, such as an overlapping `with`.
    #[error("{0}")]
    Type(String),
    /// A host function failed, or a builtin function was called that this crate does not implement (`http.send`).
    #[error("{function}: {message}")]
    External {
        /// The name of the function.
        function: String,
        /// The message of the host.
        message: String,
    },
    /// A host function has no answer yet. Returned by [`crate::Externals::call`], it lets the evaluation continue wherever it
    /// does not depend on the answer; the evaluation then ends with this error, and can be run again.
    #[error("a host function has not answered yet")]
    Pending,
    /// A defect of this crate: the evaluator met a plan that it cannot run.
    #[error("internal error: {0}")]
    Internal(String),
}

/// Returns a place as OPA prints it.
pub(crate) fn place(file: &str, line: u32, column: u32) -> String {
    if file.is_empty() { format!("{line}:{column}") } else { format!("{file}:{line}") }
}
