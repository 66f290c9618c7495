//! OPA's arithmetic: exact on whole numbers, in floats of 64 significant bits on others
//! (`topdown/arithmetic.go`). None where OPA reports an error.
//!
//! OPA takes small operands first, then whole ones, then floats; for all that fit 64 bits the three agree,
//! so that the machine's integers are tried first here.

use num_bigint::BigInt;
use num_traits::CheckedDiv;

use super::Number;
use super::float::{Float, PRECISION};

pub(crate) fn plus(a: &Number, b: &Number) -> Option<Number> {
    computed(a, b, i64::checked_add, |a, b| a + b, Float::plus)
}

pub(crate) fn minus(a: &Number, b: &Number) -> Option<Number> {
    computed(a, b, i64::checked_sub, |a, b| a - b, Float::minus)
}

pub(crate) fn times(a: &Number, b: &Number) -> Option<Number> {
    computed(a, b, i64::checked_mul, |a, b| a * b, Float::times)
}

fn computed(
    a: &Number,
    b: &Number,
    small: fn(i64, i64) -> Option<i64>,
    whole: fn(&BigInt, &BigInt) -> BigInt,
    float: fn(&Float, &Float) -> Float,
) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(result) = small(a, b)
    {
        return Some(result.into());
    }
    if let (Some(a), Some(b)) = (a.to_integer(), b.to_integer()) {
        return Some(Number::from(&whole(&a, &b)));
    }
    Some(float(&Float::of(a)?, &Float::of(b)?).to_number())
}

/// Returns the quotient: whole where it divides evenly, though a zero divided is one of floats and has their sign.
pub(crate) fn over(a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && a != 0
        && a.checked_rem(b) == Some(0)
        && let Some(quotient) = a.checked_div(b)
    {
        return Some(quotient.into());
    }
    let divisor = Float::of(b)?;
    if divisor.is_zero() {
        return None;
    }
    Some(Float::of(a)?.over(&divisor).to_number())
}

/// Returns the remainder of a division of whole numbers, with the sign of the dividend.
pub(crate) fn remainder(a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return if b == -1 { Some(0.into()) } else { a.checked_rem(b).map(Number::from) };
    }
    let (a, b) = (a.to_integer()?, b.to_integer()?);
    let quotient = CheckedDiv::checked_div(&a, &b)?;
    Some(Number::from(&(a - quotient * b)))
}

pub(crate) fn absolute(number: &Number) -> Option<Number> {
    unary(number, i64::checked_abs, Float::absolute)
}

/// Returns the nearest whole number, halves away from zero.
pub(crate) fn round(number: &Number) -> Option<Number> {
    unary(number, Some, |float| {
        let moved =
            if float.is_negative() { float.minus(&Float::half()) } else { float.plus(&Float::half()) };
        Float::integer(&moved.truncated())
    })
}

/// Rounds up as OPA does, which adds one to what is left without its fraction unless that is negative: `ceil(-0.5)` is 1.
pub(crate) fn ceil(number: &Number) -> Option<Number> {
    unary(number, Some, |float| {
        let cut = Float::integer(&float.truncated());
        if cut.is_negative() || float.is_whole() { cut } else { cut.plus(&Float::small(1, 53)) }
    })
}

/// Rounds down as OPA does, which takes one off what is left without its fraction if that is negative: `floor(-0.5)` is 0.
pub(crate) fn floor(number: &Number) -> Option<Number> {
    unary(number, Some, |float| {
        let cut = Float::integer(&float.truncated());
        if !cut.is_negative() || float.is_whole() { cut } else { cut.minus(&Float::small(1, 53)) }
    })
}

fn unary(number: &Number, small: fn(i64) -> Option<i64>, float: fn(Float) -> Float) -> Option<Number> {
    if let Some(result) = number.as_i64().and_then(small) {
        return Some(result.into());
    }
    Some(float(Float::of(number)?).to_number())
}

/// Returns the sum of numbers: exact if all are whole.
pub(crate) fn sum(numbers: &[&Number]) -> Option<Number> {
    let small = numbers.iter().try_fold(0_i64, |sum, number| sum.checked_add(number.as_i64()?));
    if let Some(sum) = small {
        return Some(sum.into());
    }
    let whole = numbers.iter().try_fold(BigInt::ZERO, |sum, number| Some(sum + number.to_integer()?));
    if let Some(sum) = whole {
        return Some(Number::from(&sum));
    }
    let mut floats = numbers.iter().map(|number| Float::of(number));
    let zero = Float::small(0, PRECISION);
    Some(floats.try_fold(zero, |sum, float| Some(sum.plus(&float?)))?.to_number())
}

/// Returns the product of numbers: exact if all are whole. OPA starts from a float of 53 bits, which stays one.
pub(crate) fn product(numbers: &[&Number]) -> Option<Number> {
    let one = BigInt::from(1);
    let whole = numbers.iter().try_fold(one, |product, number| Some(product * number.to_integer()?));
    if let Some(product) = whole {
        return Some(Number::from(&product));
    }
    let mut floats = numbers.iter().map(|number| Float::of(number));
    let one = Float::small(1, 53);
    Some(floats.try_fold(one, |product, float| Some(product.times(&float?)))?.to_number())
}
