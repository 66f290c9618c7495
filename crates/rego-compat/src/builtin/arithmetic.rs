//! Arithmetic, and set difference, union and intersection under the same operators.

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::number::arithmetic;
use crate::value::{Number, Set, Value};

use super::{Answer, Native, answer};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "plus" => |args, meter| computed(args, meter, arithmetic::plus),
        "minus" => minus,
        "mul" => |args, meter| computed(args, meter, arithmetic::times),
        "div" => |args, meter| computed(args, meter, arithmetic::over),
        "rem" => |args, meter| computed(args, meter, arithmetic::remainder),
        "or" => |args, meter| sets(args, meter, Set::union),
        "and" => |args, meter| sets(args, meter, Set::intersection),
        "abs" => |args, meter| mapped(args, meter, arithmetic::absolute),
        "round" => |args, meter| mapped(args, meter, arithmetic::round),
        "ceil" => |args, meter| mapped(args, meter, arithmetic::ceil),
        "floor" => |args, meter| mapped(args, meter, arithmetic::floor),
        "sum" => |args, meter| summed(args, meter, arithmetic::sum),
        "product" => product,
        _ => return None,
    })
}

/// Squaring a number over and over doubles its digits each time: the work is paid for before it is done.
fn pay(number: &Number, other: usize, meter: &Meter) -> Result<(), EvalError> {
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

fn minus(args: &[&Value], meter: &Meter) -> Answer {
    match args {
        [Value::Number(_), Value::Number(_)] => computed(args, meter, arithmetic::minus),
        _ => sets(args, meter, Set::difference),
    }
}

/// Every number adds its digits to the product, which is read as often as there are numbers, and written at last.
fn product(args: &[&Value], meter: &Meter) -> Answer {
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
    summed(args, meter, arithmetic::product)
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
        pay(number, weight, meter)?;
        weight = weight.saturating_add(number.weight());
    }
    Ok(compute(&numbers).map(Value::from))
}

fn sets(args: &[&Value], meter: &Meter, combine: fn(&Set, &Set) -> Set) -> Answer {
    let [left @ Value::Set(a), right @ Value::Set(b)] = args else {
        return Ok(None);
    };
    meter.charge_tree(left)?;
    meter.charge_tree(right)?;
    answer(combine(a, b).into_value())
}
