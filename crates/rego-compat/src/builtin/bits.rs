//! `bits.*` on whole numbers of any size. Source: OPA `topdown/bits.go`.

use num_bigint::BigInt;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::{Number, Value};

use super::{Answer, answer};

/// Returns a whole number of any size, however it is spelled.
fn integer(args: &[&Value], index: usize, meter: &Meter) -> Result<Option<BigInt>, EvalError> {
    let Some(Value::Number(number)) = args.get(index) else {
        return Ok(None);
    };
    let words = number.weight() / 16;
    if words > 8 {
        meter.charge(words.saturating_mul(words))?;
    }
    Ok(number.to_integer())
}

/// Implements `bits.and(x, y)`.
pub(super) fn and(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, |a, b| a & b)
}

/// Implements `bits.or(x, y)`.
pub(super) fn or(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, |a, b| a | b)
}

/// Implements `bits.xor(x, y)`.
pub(super) fn xor(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, |a, b| a ^ b)
}

/// Implements `bits.negate(x)`.
pub(super) fn negate(args: &[&Value], meter: &Meter) -> Answer {
    match integer(args, 0, meter)? {
        Some(number) => answer(Number::from(&!number)),
        None => Ok(None),
    }
}

fn combined(args: &[&Value], meter: &Meter, combine: fn(BigInt, BigInt) -> BigInt) -> Answer {
    match (integer(args, 0, meter)?, integer(args, 1, meter)?) {
        (Some(a), Some(b)) => answer(Number::from(&combine(a, b))),
        _ => Ok(None),
    }
}

/// Returns by how much to shift: Go takes the lowest 64 bits of a number that is not negative.
fn places(args: &[&Value], meter: &Meter) -> Result<Option<u64>, EvalError> {
    let places = integer(args, 1, meter)?.filter(|places| places.sign() != num_bigint::Sign::Minus);
    Ok(places.map(|places| places.iter_u64_digits().next().unwrap_or(0)))
}

/// Implements `bits.lsh(x, s)`, and pays for the bits of the result beforehand.
pub(super) fn shift_left(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(number), Some(places)) = (integer(args, 0, meter)?, places(args, meter)?) else {
        return Ok(None);
    };
    // Zero has no words to move, however far.
    if number.sign() == num_bigint::Sign::NoSign {
        return answer(Number::from(0));
    }
    // Printing the number costs the square of its words; it is charged here, before the number exists.
    let words = usize::try_from(places / 64).unwrap_or(usize::MAX);
    meter.charge(words.saturating_mul(words).max(words.saturating_mul(8)))?;
    answer(Number::from(&(number << places)))
}

pub(super) fn shift_right(args: &[&Value], meter: &Meter) -> Answer {
    match (integer(args, 0, meter)?, places(args, meter)?) {
        (Some(number), Some(places)) => answer(Number::from(&(number >> places))),
        _ => Ok(None),
    }
}
