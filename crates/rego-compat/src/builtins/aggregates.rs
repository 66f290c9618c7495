//! `any` and `all`, which Rego v1 removed.
//!
//! The aggregates that are still in the language are the engine's own. Source: OPA `topdown/aggregates.go`.

use regorus::Value;

use super::Outcome;

/// `all(xs)`: whether every element of an array or set is `true`.
pub(super) fn all(args: &[Value]) -> Outcome {
    over_elements(args, "all", |mut elements| elements.all(is_true))
}

/// `any(xs)`: whether some element of an array or set is `true`.
pub(super) fn any(args: &[Value]) -> Outcome {
    over_elements(args, "any", |mut elements| elements.any(is_true))
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

fn over_elements(
    args: &[Value],
    name: &str,
    judge: impl FnOnce(&mut dyn Iterator<Item = &Value>) -> bool,
) -> Outcome {
    let answer = match args {
        [Value::Array(array)] => judge(&mut array.iter()),
        [Value::Set(set)] => judge(&mut set.iter()),
        _ => return Outcome::Error(format!("{name}: operand 1 must be one of {{array, set}}")),
    };
    Outcome::Value(Value::Bool(answer))
}
