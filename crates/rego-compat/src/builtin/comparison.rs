//! Comparisons, type tests and membership.

use crate::value::Value;

use crate::error::EvalError;
use crate::meter::Meter;

use super::{Answer, Native, answer};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "eq" | "equal" => |args, meter| compared(args, meter, |a, b| a == b),
        "neq" => |args, meter| compared(args, meter, |a, b| a != b),
        "lt" => |args, meter| compared(args, meter, |a, b| a < b),
        "lte" => |args, meter| compared(args, meter, |a, b| a <= b),
        "gt" => |args, meter| compared(args, meter, |a, b| a > b),
        "gte" => |args, meter| compared(args, meter, |a, b| a >= b),
        "is_array" => |args, _| is(args, |value| matches!(value, Value::Array(_))),
        "is_boolean" => |args, _| is(args, |value| matches!(value, Value::Bool(_))),
        "is_null" => |args, _| is(args, |value| matches!(value, Value::Null)),
        "is_number" => |args, _| is(args, |value| matches!(value, Value::Number(_))),
        "is_object" => |args, _| is(args, |value| matches!(value, Value::Object(_))),
        "is_set" => |args, _| is(args, |value| matches!(value, Value::Set(_))),
        "is_string" => |args, _| is(args, |value| matches!(value, Value::String(_))),
        "type_name" => |args, _| Ok(args.first().map(|value| value.type_name().into())),
        "internal.member_2" => |args, meter| member(args, meter),
        "internal.member_3" => member_at,
        _ => return None,
    })
}

fn is(args: &[&Value], test: fn(&Value) -> bool) -> Answer {
    Ok(args.first().map(|value| test(value).into()))
}

const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Set(_) | Value::Object(_))
}

/// Comparing walks both values; where both are nested, the smaller way through is paid for first.
pub(crate) fn pay(a: &Value, b: &Value, meter: &Meter) -> Result<(), EvalError> {
    if is_scalar(a) || is_scalar(b) { Ok(()) } else { meter.charge_tree(a) }
}

fn compared(args: &[&Value], meter: &Meter, test: fn(&Value, &Value) -> bool) -> Answer {
    let [a, b] = args else { return Ok(None) };
    pay(a, b, meter)?;
    answer(test(a, b))
}

/// `x in xs`: false for what is no collection.
fn member(args: &[&Value], meter: &Meter) -> Answer {
    let [element, collection] = args else {
        return Ok(None);
    };
    let weight = if is_scalar(element) { 1 } else { meter.weigh(element)? };
    let spend = |count: usize| meter.spend(weight.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX)));
    answer(match collection {
        Value::Array(items) => {
            spend(items.len())?;
            items.iter().any(|item| item == *element)
        }
        Value::Set(items) => items.contains(element),
        Value::Object(pairs) => {
            spend(pairs.len())?;
            pairs.values().any(|value| value == *element)
        }
        _ => false,
    })
}

/// `k, v in xs`.
fn member_at(args: &[&Value], meter: &Meter) -> Answer {
    let [key, element, collection] = args else {
        return Ok(None);
    };
    if !is_scalar(key) || !is_scalar(element) {
        meter.charge_tree(key)?;
        meter.charge_tree(element)?;
    }
    answer(match collection {
        Value::Array(items) => crate::lookup::position(key).and_then(|at| items.get(at)) == Some(element),
        Value::Set(items) => key == element && items.contains(element),
        Value::Object(pairs) => pairs.get(key) == Some(element),
        _ => false,
    })
}
