//! Errors of an evaluation: why an expression has no value.

use eval_budget::Limit;

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An error of the language, which `&&` and `||` may absorb; in the API server's words as far as possible.
    #[error("{0}")]
    Failed(String),
    /// The budget is used up; nothing absorbs that. Raise that limit, or fix the policy.
    #[error("evaluation exceeded its budget: {0}")]
    Budget(#[from] Limit),
    /// A value that [`Bindings`](crate::Bindings) cannot supply, with the reason; nothing absorbs that, so that no answer is
    /// given on another value in its place.
    #[error("{0}")]
    Unreadable(String),
    /// The expression, its environment and its values do not belong together, or the compiler is wrong: a name has no
    /// value, or a position is out of range. Nothing absorbs that, so that no policy is silent about it.
    #[error("internal error: {0}")]
    Internal(String),
}

impl EvalError {
    /// Returns the error of [`Bindings`](crate::Bindings) for a name that they do not have.
    #[must_use]
    pub fn no_value(name: &str) -> Self {
        Self::Internal(format!("no value for the name {name}"))
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub(super) fn no_overload() -> Self {
        Self::failed("no such overload")
    }

    pub(super) fn no_key(key: &str) -> Self {
        Self::Failed(format!("no such key: {key}"))
    }
}
