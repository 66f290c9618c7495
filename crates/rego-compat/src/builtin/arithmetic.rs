//! Operators and functions on numbers. Source: OPA `topdown/arithmetic.go`.

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::number::arithmetic;
use crate::value::{Number, Value};

use super::{Answer, sets};

/// Implements `x + y`.
pub(super) fn plus(args: &[&Value], meter: &Meter) -> Answer {
    computed(args, meter, arithmetic::plus)
}

/// Implements `x - y`: of numbers, or the difference of sets.
pub(super) fn minus(args: &[&Value], meter: &Meter) -> Answer {
    match args {
        [Value::Number(_), Value::Number(_)] => computed(args, meter, arithmetic::minus),
        _ => sets::difference(args, meter),
    }
}

/// Implements `x * y`.
pub(super) fn times(args: &[&Value], meter: &Meter) -> Answer {
    computed(args, meter, arithmetic::times)
}

/// Implements `x / y`.
pub(super) fn over(args: &[&Value], meter: &Meter) -> Answer {
    computed(args, meter, arithmetic::over)
}

/// Implements `x % y`.
pub(super) fn remainder(args: &[&Value], meter: &Meter) -> Answer {
    computed(args, meter, arithmetic::remainder)
}

/// Implements `abs(x)`.
pub(super) fn absolute(args: &[&Value], meter: &Meter) -> Answer {
    mapped(args, meter, arithmetic::absolute)
}

/// Implements `round(x)`.
pub(super) fn round(args: &[&Value], meter: &Meter) -> Answer {
    mapped(args, meter, arithmetic::round)
}

/// Implements `ceil(x)`.
pub(super) fn ceil(args: &[&Value], meter: &Meter) -> Answer {
    mapped(args, meter, arithmetic::ceil)
}

/// Implements `floor(x)`.
pub(super) fn floor(args: &[&Value], meter: &Meter) -> Answer {
    mapped(args, meter, arithmetic::floor)
}

/// Pays for an operation before it is done: squaring a number over and over doubles its digits each time.
pub(super) fn pay(number: &Number, other: usize, meter: &Meter) -> Result<(), EvalError> {
    let words = number.weight().saturating_add(other) / 16;
    if words > 8 { meter.charge(words.saturating_mul(words)) } else { Ok(()) }
}

fn computed(args: &[&Value], meter: &Meter, compute: fn(&Number, &Number) -> Option<Number>) -> Answer {
    let [Value::Number(a), Value::Number(b)] = args else {
        return Ok(None);
    };
    pay(a, b.weight(), meter)?;
    Ok(compute(a, b).map(Value::from))
}

fn mapped(args: &[&Value], meter: &Meter, compute: fn(&Number) -> Option<Number>) -> Answer {
    let [Value::Number(number)] = args else {
        return Ok(None);
    };
    pay(number, 0, meter)?;
    Ok(compute(number).map(Value::from))
}
