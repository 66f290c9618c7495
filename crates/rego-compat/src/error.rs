//! Why an evaluation ended without a result.

use crate::budget::Limit;

/// An evaluation that failed. A policy that is merely not satisfied is no error but `None`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The evaluation ran out of its budget. Raise that limit, or mend the policy.
    #[error("evaluation exceeded its budget: {0}")]
    Budget(Limit),
    /// Two definitions of one rule or function gave different results, or two values of one object's key.
    #[error("{rule}: {message}")]
    Conflict {
        /// Path of the rule or function; empty for an object comprehension.
        rule: String,
        /// OPA's words for the conflict.
        message: &'static str,
    },
    /// A value of the wrong type reached a construct that cannot be undefined, such as an overlapping `with`.
    #[error("{0}")]
    Type(String),
    /// A host function failed.
    #[error("{function}: {message}")]
    External {
        /// Name of the function.
        function: String,
        /// What the host said.
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
