//! `any` and `all`, which Rego v1 removed.
//!
//! The aggregates that are still in the language are the engine's own. Source: OPA `topdown/aggregates.go`.

pub(super) mod order;

use crate::value::Value;

use super::{Outcome, operand};

/// `all(xs)`: whether every element of an array or set is `true`.
pub(super) fn all(args: &[Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::Bool(elements.iter().all(is_true))).into()
}

/// `any(xs)`: whether some element of an array or set is `true`.
pub(super) fn any(args: &[Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::Bool(elements.iter().any(is_true))).into()
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}
