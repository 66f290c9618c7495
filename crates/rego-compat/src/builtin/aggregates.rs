//! Functions over the elements of a collection, and membership. Source: OPA `topdown/aggregates.go`.

use std::cmp::Ordering;

use crate::meter::Meter;
use crate::value::number::arithmetic as numeric;
use crate::value::{Number, Value};

use super::comparison::is_scalar;
use super::{Answer, Outcome, answer, arithmetic, operand};

/// Implements `count(xs)`: elements, pairs, or the characters of a string.
pub(super) fn count(args: &[&Value], meter: &Meter) -> Answer {
    let count = match args.first() {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Set(items)) => items.len(),
        Some(Value::Object(pairs)) => pairs.len(),
        Some(Value::String(text)) => {
            meter.spend(u64::try_from(text.len() / 256).unwrap_or(u64::MAX))?;
            text.chars().count()
        }
        _ => return Ok(None),
    };
    answer(count)
}

/// Implements `sum(xs)` of numbers.
pub(super) fn sum(args: &[&Value], meter: &Meter) -> Answer {
    summed(args, meter, numeric::sum)
}

/// Implements `product(xs)`. Every number adds its digits to the product, which is read as often as there are numbers,
/// and written at last.
pub(super) fn product(args: &[&Value], meter: &Meter) -> Answer {
    let digits = |item: &Value| item.as_number().map_or(0, |number| number.weight().max(number.text().len()));
    let weights: Vec<usize> = match args {
        [Value::Array(items)] => items.iter().map(digits).collect(),
        [Value::Set(items)] => items.iter().map(digits).collect(),
        _ => return Ok(None),
    };
    let (mut grown, mut work) = (0_usize, 0_usize);
    for weight in weights {
        meter.spend(1)?;
        let words = grown / 16;
        work = work.saturating_add(words.saturating_mul((weight / 16).saturating_add(1)));
        grown = grown.saturating_add(weight);
    }
    let words = grown / 16;
    work = work.saturating_add(words.saturating_mul(words));
    meter.afford(u64::try_from(work / 4).unwrap_or(u64::MAX))?;
    summed(args, meter, numeric::product)
}

fn summed(args: &[&Value], meter: &Meter, compute: fn(&[&Number]) -> Option<Number>) -> Answer {
    let numbers: Option<Vec<&Number>> = match args {
        [Value::Array(items)] => items.iter().map(|item| item.as_number().ok()).collect(),
        [Value::Set(items)] => items.iter().map(|item| item.as_number().ok()).collect(),
        _ => None,
    };
    let Some(numbers) = numbers else { return Ok(None) };
    let mut weight = 0_usize;
    for number in &numbers {
        meter.spend(1)?;
        arithmetic::pay(number, weight, meter)?;
        weight = weight.saturating_add(number.weight());
    }
    Ok(compute(&numbers).map(Value::from))
}

/// Implements `sort(xs)`: the elements of an array or set as an ordered array.
pub(super) fn sort(args: &[&Value]) -> Outcome {
    let ordered = |mut elements: Vec<Value>| {
        elements.sort();
        Value::from(elements)
    };
    operand::elements(args, 0).map(ordered).into()
}

/// Implements `max(xs)`; undefined where there are no elements.
pub(super) fn max(args: &[&Value]) -> Outcome {
    extreme(args, Ordering::Greater)
}

/// Implements `min(xs)`; undefined where there are no elements.
pub(super) fn min(args: &[&Value]) -> Outcome {
    extreme(args, Ordering::Less)
}

fn extreme(args: &[&Value], wanted: Ordering) -> Outcome {
    let elements = match operand::elements(args, 0) {
        Ok(elements) => elements,
        Err(error) => return Outcome::Error(error),
    };
    let found = elements
        .into_iter()
        .reduce(|best, next| if next.cmp(&best) == wanted.reverse() { best } else { next });
    found.map_or(Outcome::Undefined, Outcome::Value)
}

/// Implements `all(xs)`: whether every element of an array or set is `true`.
pub(super) fn all(args: &[&Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::Bool(elements.iter().all(is_true))).into()
}

/// Implements `any(xs)`: whether some element of an array or set is `true`.
pub(super) fn any(args: &[&Value]) -> Outcome {
    operand::elements(args, 0).map(|elements| Value::Bool(elements.iter().any(is_true))).into()
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

/// Implements `x in xs`: false for what is not a collection.
pub(super) fn member(args: &[&Value], meter: &Meter) -> Answer {
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

/// Implements `k, v in xs`.
pub(super) fn member_at(args: &[&Value], meter: &Meter) -> Answer {
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
