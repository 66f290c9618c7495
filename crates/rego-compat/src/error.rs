//! The reasons why an evaluation ended without a result.

use eval_budget::Limit;

/// An evaluation that failed. A policy that is merely not satisfied is not an error but `None`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The evaluation ran out of its budget. Raise that limit, or mend the policy.
    #[error("evaluation exceeded its budget: {0}")]
    Budget(#[from] Limit),
    /// Two definitions of one rule or function gave different values, or two values came for one key of an object.
    /// Printed as OPA prints it: `template:3: eval_conflict_error: object keys must be unique`.
    #[error("{}: eval_conflict_error: {message}", place(.file, *.line, *.column))]
    Conflict {
        /// Name of the module with the definition that is at odds with an earlier one; empty for that of a query.
        file: String,
        /// Line of that definition, counted from 1.
        line: u32,
        /// Its column in characters, counted from 1.
        column: u32,
        /// OPA's words. For rules and functions the values follow, one a line, with file and line of their definitions.
        message: String,
    },
    /// A value of the wrong type reached a construct that cannot be undefined, such as an overlapping `with`.
    #[error("{0}")]
    Type(String),
    /// A host function failed.
    #[error("{function}: {message}")]
    External {
        /// Name of the function.
        function: String,
        /// The message of the host.
        message: String,
    },
    /// A host function has no answer yet. [`crate::Externals::call`] says so to be asked again: the evaluation goes on
    /// wherever it does not depend on the answer, and then ends with this error.
    #[error("a host function has not answered yet")]
    Pending,
    /// The evaluator met something it cannot do; a defect of this crate.
    #[error("internal error: {0}")]
    Internal(String),
}

/// A place as OPA writes it.
pub(crate) fn place(file: &str, line: u32, column: u32) -> String {
    if file.is_empty() { format!("{line}:{column}") } else { format!("{file}:{line}") }
}
