//! Fields, elements and entries of values: selections and indexes.

use super::super::compare::lookup;
use super::super::error::EvalError;
use super::super::operator::position;
use super::super::value::Value;

/// Refuses what can be neither the position in a list nor the key of a map, whatever is indexed.
pub(super) fn check_index(index: &Value) -> Result<(), EvalError> {
    match index {
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Bool(_) => Ok(()),
        other => Err(EvalError::Failed(format!("invalid qualifier type: {}", other.type_name()))),
    }
}

/// The field of a value; `None` when it is not there. What holds no fields has none; a list refuses the question.
fn field_of<'a>(operand: &'a Value, field: &str) -> Result<Option<&'a Value>, EvalError> {
    match operand {
        Value::Map(map) => Ok(map.field(field)),
        Value::List(_) => Err(EvalError::failed("unsupported index type 'string' in list")),
        _ => Ok(None),
    }
}

pub(super) fn select(operand: &Value, field: &str) -> Result<Value, EvalError> {
    if operand.as_optional().is_some() {
        return select_optional(operand, field);
    }
    field_of(operand, field)?.cloned().ok_or_else(|| EvalError::no_key(field))
}

pub(super) fn select_optional(operand: &Value, field: &str) -> Result<Value, EvalError> {
    match operand.as_optional() {
        Some(None) => Ok(Value::optional(None)),
        Some(Some(inner)) => field_of(inner, field).map(|found| Value::optional(found.cloned())),
        None => field_of(operand, field).map(|found| Value::optional(found.cloned())),
    }
}

pub(super) fn has(operand: &Value, field: &str) -> Result<bool, EvalError> {
    match operand.as_optional() {
        Some(None) => Ok(false),
        Some(Some(inner)) => field_of(inner, field).map(|found| found.is_some()),
        None => field_of(operand, field).map(|found| found.is_some()),
    }
}

pub(super) fn find<'a>(operand: &'a Value, index: &Value) -> Result<Option<&'a Value>, EvalError> {
    match operand {
        Value::List(list) => Ok(position(index)?.and_then(|position| list.get(position))),
        Value::Map(map) => Ok(lookup(map, index)),
        _ => Ok(None),
    }
}

pub(super) fn missing(operand: &Value, index: &Value) -> EvalError {
    let index = match index {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        other => other.type_name().to_owned(),
    };
    match operand {
        Value::List(_) => EvalError::Failed(format!("index out of bounds: {index}")),
        _ => EvalError::no_key(&index),
    }
}
