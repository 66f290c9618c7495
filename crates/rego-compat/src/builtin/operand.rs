//! Operands with their types checked, and OPA's words for a wrong one (`topdown/builtins/builtins.go`).

use crate::value::Value;
use crate::value::{Array, Object, Set};

/// The error text of a call; what OPA reports in strict mode.
pub(super) type CallError = String;

/// The error that OPA does not have: the value would be larger than an evaluation may hold.
pub(super) const EXCESS: &str = "larger than an evaluation may hold";

/// Returns an operand that must be a string.
pub(super) fn string<'v>(args: &[&'v Value], index: usize) -> Result<&'v str, CallError> {
    match args.get(index).copied() {
        Some(Value::String(string)) => Ok(string),
        other => Err(wrong(index, "string", other)),
    }
}

/// Returns an operand that must be an array.
pub(super) fn array<'v>(args: &[&'v Value], index: usize) -> Result<&'v Array, CallError> {
    match args.get(index).copied() {
        Some(Value::Array(array)) => Ok(array),
        other => Err(wrong(index, "array", other)),
    }
}

/// Returns an operand that must be a set.
pub(super) fn set<'v>(args: &[&'v Value], index: usize) -> Result<&'v Set, CallError> {
    match args.get(index).copied() {
        Some(Value::Set(set)) => Ok(set),
        other => Err(wrong(index, "set", other)),
    }
}

/// Returns an operand that must be an object.
pub(super) fn object<'v>(args: &[&'v Value], index: usize) -> Result<&'v Object, CallError> {
    match args.get(index).copied() {
        Some(Value::Object(object)) => Ok(object),
        other => Err(wrong(index, "object", other)),
    }
}

/// Returns an operand that must be an integer.
pub(super) fn integer(args: &[&Value], index: usize) -> Result<i64, CallError> {
    match args.get(index).copied() {
        Some(Value::Number(number)) => number.as_i64().ok_or_else(|| {
            format!(
                "operand {} must be integer number but got floating-point number",
                index.saturating_add(1)
            )
        }),
        other => Err(wrong(index, "number", other)),
    }
}

/// Returns the elements of an operand that must be an array or a set, those of a set in OPA's order.
pub(super) fn elements(args: &[&Value], index: usize) -> Result<Vec<Value>, CallError> {
    match args.get(index).copied() {
        Some(Value::Array(array)) => Ok(array.to_vec()),
        Some(Value::Set(set)) => Ok(set.iter().cloned().collect()),
        other => Err(wrong(index, "one of {array, set}", other)),
    }
}

/// Returns an error such as `operand 1 must be string but got number`.
pub(super) fn wrong(index: usize, wanted: &str, got: Option<&Value>) -> CallError {
    let position = index.saturating_add(1);
    let got = got.map_or("nothing", Value::type_name);
    format!("operand {position} must be {wanted} but got {got}")
}
