//! Results of functions that are not interrupted.

use go_compat::GoError;

use crate::value::Value;

/// The outcome of a builtin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call has this value.
    Value(Value),
    /// The call is undefined, and OPA would not report an error even in strict mode.
    Undefined,
    /// The call has no value.
    Error(CallError),
}

/// The reason why a call has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The call is undefined, and an error in OPA's strict mode. This crate has no strict mode, so OPA's message is not kept.
    Failed,
    /// OPA has a value that is larger than any evaluation here may hold: the evaluation ends with that limit.
    Excess,
    /// The process lacks something that OPA takes for granted: the evaluation ends with an internal error.
    Internal(&'static str),
}

/// Converts the errors of `go-compat`; their messages are not kept.
impl From<GoError> for CallError {
    fn from(_: GoError) -> Self {
        Self::Failed
    }
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
            Err(error) => Self::Error(error),
        }
    }
}
