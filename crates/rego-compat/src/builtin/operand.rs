//! Operands with their types checked. Source: OPA `topdown/builtins/builtins.go`.

use crate::value::Value;
use crate::value::{Array, Object, Set};

pub(super) use super::outcome::CallError;

/// Returns an operand that must be a string.
pub(super) fn string<'v>(args: &[&'v Value], index: usize) -> Result<&'v str, CallError> {
    match args.get(index).copied() {
        Some(Value::String(string)) => Ok(string),
        _ => Err(CallError::Failed),
    }
}

/// Returns an operand that must be an array.
pub(super) fn array<'v>(args: &[&'v Value], index: usize) -> Result<&'v Array, CallError> {
    match args.get(index).copied() {
        Some(Value::Array(array)) => Ok(array),
        _ => Err(CallError::Failed),
    }
}

/// Returns an operand that must be a set.
pub(super) fn set<'v>(args: &[&'v Value], index: usize) -> Result<&'v Set, CallError> {
    match args.get(index).copied() {
        Some(Value::Set(set)) => Ok(set),
        _ => Err(CallError::Failed),
    }
}

/// Returns an operand that must be an object.
pub(super) fn object<'v>(args: &[&'v Value], index: usize) -> Result<&'v Object, CallError> {
    match args.get(index).copied() {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(CallError::Failed),
    }
}

/// Returns an operand that must be an integer.
pub(super) fn integer(args: &[&Value], index: usize) -> Result<i64, CallError> {
    match args.get(index).copied() {
        Some(Value::Number(number)) => number.as_i64().ok_or(CallError::Failed),
        _ => Err(CallError::Failed),
    }
}

/// Returns the elements of an operand that must be an array or a set, those of a set in OPA's order.
pub(super) fn elements(args: &[&Value], index: usize) -> Result<Vec<Value>, CallError> {
    match args.get(index).copied() {
        Some(Value::Array(array)) => Ok(array.to_vec()),
        Some(Value::Set(set)) => Ok(set.iter().cloned().collect()),
        _ => Err(CallError::Failed),
    }
}
