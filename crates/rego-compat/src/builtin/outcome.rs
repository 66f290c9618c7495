//! Results of functions that are not interrupted.

use crate::value::Value;

use super::operand::{CallError, EXCESS};

/// The outcome of a builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call has this value.
    Value(Value),
    /// The call is undefined, and OPA would not report an error even in strict mode.
    Undefined,
    /// OPA reports this error in strict mode, and takes the call as undefined otherwise. The text is OPA's,
    /// without its location and code.
    Error(#[allow(dead_code, reason = "the words show in a debugger only: there is no strict mode")] String),
    /// OPA has a value that is larger than any evaluation here may hold: the evaluation ends with that limit.
    Excess,
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Result<Value, CallError>> for Outcome {
    fn from(result: Result<Value, CallError>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(error) if error == EXCESS => Self::Excess,
            Err(error) => Self::Error(error),
        }
    }
}
