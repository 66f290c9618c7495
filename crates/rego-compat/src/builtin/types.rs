//! The type of a value. Source: OPA `topdown/type.go` and `topdown/type_name.go`.

use crate::meter::Meter;
use crate::value::Value;

use super::Answer;

/// Implements `is_array(x)`.
pub(super) fn is_array(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Array(_)))
}

/// Implements `is_boolean(x)`.
pub(super) fn is_boolean(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Bool(_)))
}

/// Implements `is_null(x)`.
pub(super) fn is_null(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Null))
}

/// Implements `is_number(x)`.
pub(super) fn is_number(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Number(_)))
}

/// Implements `is_object(x)`.
pub(super) fn is_object(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Object(_)))
}

/// Implements `is_set(x)`.
pub(super) fn is_set(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::Set(_)))
}

/// Implements `is_string(x)`.
pub(super) fn is_string(args: &[&Value], _: &Meter) -> Answer {
    is(args, |value| matches!(value, Value::String(_)))
}

/// Implements `type_name(x)`.
pub(super) fn type_name(args: &[&Value], _: &Meter) -> Answer {
    Ok(args.first().map(|value| value.type_name().into()))
}

fn is(args: &[&Value], test: fn(&Value) -> bool) -> Answer {
    Ok(args.first().map(|value| test(value).into()))
}
