//! Equality and order of values.

use std::cmp::Ordering;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::{Key, Map, Value};

/// Bytes that are compared in the time of a step.
const BYTES_PER_STEP: usize = 64;

impl PartialEq for Value {
    /// Compares like `==` of the language, where that has an answer.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().all(|(key, value)| b.get(key) == Some(value))
            }
            (Self::Optional(a), Self::Optional(b)) => a == b,
            (a, b) => scalar_equal(a, b),
        }
    }
}

fn scalar_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Opaque(a), Value::Opaque(b)) => a == b,
        _ => compare(a, b) == Some(Ordering::Equal),
    }
}

/// Returns true if two values are equal. Values of different types are not, but numbers are compared across their
/// types.
pub(crate) fn equal(meter: &Meter, a: &Value, b: &Value) -> Result<bool, EvalError> {
    meter.step()?;
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if differ(meter, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => equal_maps(meter, a, b),
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => equal(meter, a, b),
        (Value::Optional(a), Value::Optional(b)) => Ok(a.is_none() && b.is_none()),
        (Value::Opaque(_), _) if a.type_name() != b.type_name() => Err(EvalError::no_overload()),
        (Value::Opaque(_), Value::Opaque(right)) if right.is_incomparable() => Err(EvalError::no_overload()),
        _ => {
            pay(meter, a, b)?;
            Ok(scalar_equal(a, b))
        }
    }
}

/// Returns true if two values are equal, where what cannot be compared is not.
pub(crate) fn is_same(meter: &Meter, a: &Value, b: &Value) -> Result<bool, EvalError> {
    match equal(meter, a, b) {
        Err(EvalError::Failed(_)) => Ok(false),
        answer => answer,
    }
}

/// Returns true if two elements make their lists or maps different. What cannot be compared does not: cel-go's reading.
fn differ(meter: &Meter, a: &Value, b: &Value) -> Result<bool, EvalError> {
    match equal(meter, a, b) {
        Err(EvalError::Failed(_)) => Ok(false),
        answer => answer.map(|equal| !equal),
    }
}

fn equal_maps(meter: &Meter, a: &Map, b: &Map) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (key, value) in a.iter() {
        match b.get(key) {
            Some(other) if !differ(meter, value, other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Comparing texts takes time in proportion to the shorter one.
fn pay(meter: &Meter, a: &Value, b: &Value) -> Result<(), EvalError> {
    let length = match (a, b) {
        (Value::String(a), Value::String(b)) => a.len().min(b.len()),
        (Value::Bytes(a), Value::Bytes(b)) => a.len().min(b.len()),
        _ => return Ok(()),
    };
    meter.steps(length.checked_div(BYTES_PER_STEP).unwrap_or(0))
}

/// The order of two values, or the error of a comparison that has no answer.
pub(crate) fn order(meter: &Meter, a: &Value, b: &Value) -> Result<Ordering, EvalError> {
    pay(meter, a, b)?;
    if is_nan(a) || is_nan(b) {
        return Err(EvalError::failed("NaN values cannot be ordered"));
    }
    compare(a, b).ok_or_else(EvalError::no_overload)
}

/// Sorts by keys of one type that have an order, and pays for all comparisons first.
pub(crate) fn sort_by<T>(
    meter: &Meter,
    items: &mut [T],
    key: impl Fn(&T) -> &Value,
    mixed: &str,
) -> Result<(), EvalError> {
    let of = items.first().map(|first| key(first).type_name());
    for item in items.iter() {
        let key = key(item);
        if Some(key.type_name()) != of {
            return Err(EvalError::failed(mixed));
        }
        // Sorting compares each item about as often as the length has bits; 32 bounds that.
        for _ in 0..32 {
            meter.step()?;
            pay(meter, key, key)?;
        }
        order(meter, key, key)?;
    }
    items.sort_by(|a, b| compare(key(a), key(b)).unwrap_or(Ordering::Equal));
    Ok(())
}

pub(crate) fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(number) if number.is_nan())
}

/// The order of two values; `None` where there is none.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Float(a), Value::Int(b)) => compare_float(*a, *b as f64, i64::MIN as f64, i64::MAX as f64),
        (Value::Float(a), Value::Uint(b)) => compare_float(*a, *b as f64, 0.0, u64::MAX as f64),
        (Value::Int(_) | Value::Uint(_), Value::Float(_)) => compare(b, a).map(Ordering::reverse),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// A float against a whole number, as cel-go compares them: outside the whole numbers' range by that alone.
fn compare_float(float: f64, whole: f64, least: f64, most: f64) -> Option<Ordering> {
    if float < least {
        Some(Ordering::Less)
    } else if float > most {
        Some(Ordering::Greater)
    } else {
        float.partial_cmp(&whole)
    }
}

/// The value at a key of a map.
pub(crate) fn lookup<'a>(map: &'a Map, key: &Value) -> Option<&'a Value> {
    match key {
        Value::String(name) => map.field(name),
        Value::Float(number) => map.get(&Key::Int(whole(*number)?)),
        other => map.get(&Key::try_from(other.clone()).ok()?),
    }
}

/// The integer that a number without a fraction stands for.
pub(crate) fn whole(number: f64) -> Option<i64> {
    // Both bounds are exact: the upper one is the first number that does not fit.
    let fits = number >= i64::MIN as f64 && number < -(i64::MIN as f64) && number.fract() == 0.0;
    fits.then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use eval_budget::Budget;

    use super::*;

    #[test]
    fn numbers_are_compared_across_types() {
        assert_eq!(Value::Int(1), Value::Uint(1));
        assert_eq!(Value::Float(1.0), Value::Uint(1));
        assert_ne!(Value::Int(-1), Value::Uint(u64::MAX));
        assert_eq!(compare(&Value::Int(i64::MIN), &Value::Float(-1e300)), Some(Ordering::Greater));
        assert_eq!(compare(&Value::Uint(0), &Value::Float(f64::NAN)), None);
    }

    #[test]
    fn comparing_long_texts_costs() {
        let meter = Meter::new(Budget::default().with_instructions(100));
        let long = Value::string("a".repeat(10_000));
        assert!(equal(&meter, &long, &long).is_err());
    }
}
