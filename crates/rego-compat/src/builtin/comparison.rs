//! Comparisons. Source: OPA `topdown/comparison.go`.

use crate::value::Value;

use crate::error::EvalError;
use crate::meter::Meter;

use super::{Answer, answer};

/// Implements `x == y`.
pub(super) fn equal(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a == b)
}

/// Implements `x != y`.
pub(super) fn unequal(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a != b)
}

/// Implements `x < y`.
pub(super) fn less(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a < b)
}

/// Implements `x <= y`.
pub(super) fn less_or_equal(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a <= b)
}

/// Implements `x > y`.
pub(super) fn greater(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a > b)
}

/// Implements `x >= y`.
pub(super) fn greater_or_equal(args: &[&Value], meter: &Meter) -> Answer {
    compared(args, meter, |a, b| a >= b)
}

/// Returns true if a value has no parts.
pub(crate) const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Set(_) | Value::Object(_))
}

/// Pays for a comparison, which walks both values: where both are nested, for the smaller of them.
pub(crate) fn pay(a: &Value, b: &Value, meter: &Meter) -> Result<(), EvalError> {
    if is_scalar(a) || is_scalar(b) { Ok(()) } else { meter.charge_tree(a) }
}

fn compared(args: &[&Value], meter: &Meter, test: fn(&Value, &Value) -> bool) -> Answer {
    let [a, b] = args else { return Ok(None) };
    pay(a, b, meter)?;
    answer(test(a, b))
}
