//! `to_number`, and `cast_*`, which Rego v1 removed. Source: OPA `topdown/casts.go`.

use crate::value::number::spelling::Spelling;
use crate::value::{Number, Set, Value};

use super::Outcome;
use super::operand::{self, CallError};

/// Implements `cast_array(x)`: an array as it is, a set as the array of its elements.
pub(super) fn array(args: &[&Value]) -> Outcome {
    operand::elements(args, 0).map(Value::from).into()
}

/// Implements `cast_set(x)`: a set as it is, an array as the set of its elements.
pub(super) fn set(args: &[&Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::from(elements.into_iter().collect::<Set>())).into()
}

/// Implements `cast_string(x)`: a string as it is, nothing else.
pub(super) fn string(args: &[&Value]) -> Outcome {
    only(args, "string")
}

/// Implements `cast_boolean(x)`: a boolean as it is, nothing else.
pub(super) fn boolean(args: &[&Value]) -> Outcome {
    only(args, "boolean")
}

/// Implements `cast_null(x)`: null as it is, nothing else.
pub(super) fn null(args: &[&Value]) -> Outcome {
    only(args, "null")
}

/// Implements `cast_object(x)`: an object as it is, nothing else.
pub(super) fn object(args: &[&Value]) -> Outcome {
    only(args, "object")
}

fn only(args: &[&Value], wanted: &str) -> Outcome {
    match args {
        [value] if value.type_name() == wanted => Outcome::Value((*value).clone()),
        _ => Outcome::Error(CallError::Failed),
    }
}

/// Implements `to_number(x)`. A string becomes the number that is spelled like it.
pub(super) fn to_number(args: &[&Value]) -> Outcome {
    match args.first().copied() {
        Some(Value::Null | Value::Bool(false)) => Outcome::Value(Value::from(0)),
        Some(Value::Bool(true)) => Outcome::Value(Value::from(1)),
        Some(number @ Value::Number(_)) => Outcome::Value(number.clone()),
        Some(Value::String(text)) => parsed(text).map(Value::from).into(),
        _ => Outcome::Error(CallError::Failed),
    }
}

/// Returns a number as Go's `strconv.ParseFloat` takes it, within the range of a float.
fn parsed(text: &str) -> Result<Number, CallError> {
    let spelling = Spelling::read(text).filter(|_| separates_digits(text));
    let spelling = spelling.ok_or(CallError::Failed)?;
    spelling.to_f64().ok_or(CallError::Failed)?;
    Number::in_document(text).ok_or(CallError::Failed)
}

/// Returns true if every underscore stands between digits, or behind a base's prefix.
fn separates_digits(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let digit = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit()))
    };
    let bytes = unsigned.as_bytes();
    (0_usize..).zip(bytes).filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1);
        let prefix = hexadecimal && before == Some(1);
        let before = before.and_then(|before| bytes.get(before)).copied();
        (digit(before) || prefix) && digit(bytes.get(at.saturating_add(1)).copied())
    })
}
