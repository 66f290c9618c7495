//! Arithmetic, and set difference, union and intersection under the same operators.

use regorus::Value;
use regorus::value::{Array, Set};

use crate::error::EvalError;
use crate::meter::Meter;

use super::{Answer, Native, answer};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "plus" => |args, _| plus(args),
        "minus" => |args, meter| minus(args, meter),
        "mul" => mul,
        "div" => |args, _| div(args),
        "rem" => |args, _| rem(args),
        "or" => |args, meter| sets(args, meter, Set::union),
        "and" => |args, meter| sets(args, meter, Set::intersection),
        "numbers.range" => |args, meter| range(args, meter),
        "numbers.range_step" => |args, meter| range(args, meter),
        "to_number" => |args, _| to_number(args),
        "bits.lsh" => |args, meter| shift_left(args, meter),
        _ => return None,
    })
}

/// Text as Go's `strconv.ParseFloat` reads decimal numbers, leading zeros and all.
fn to_number(args: &[&Value]) -> Answer {
    Ok(match args.first() {
        Some(Value::Null | Value::Bool(false)) => Some(0u64.into()),
        Some(Value::Bool(true)) => Some(1u64.into()),
        Some(number @ Value::Number(_)) => Some((*number).clone()),
        Some(Value::String(text)) => decimal(text),
        _ => None,
    })
}

fn decimal(text: &str) -> Option<Value> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, exponent) =
        rest.split_once(['e', 'E']).map_or((rest, None), |(digits, exponent)| (digits, Some(exponent)));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let valid_exponent = exponent.is_none_or(|text| {
        let text = text.strip_prefix(['+', '-']).unwrap_or(text);
        !text.is_empty() && text.len() < 6 && all_digits(text)
    });
    if !all_digits(whole)
        || !all_digits(fraction)
        || (whole.is_empty() && fraction.is_empty())
        || !valid_exponent
    {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    let exponent = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
    match Value::from_numeric_string(&format!("{sign}{whole}{fraction}{exponent}")) {
        Ok(number @ Value::Number(_)) => Some(number),
        _ => None,
    }
}

fn plus(args: &[&Value]) -> Answer {
    let [Value::Number(a), Value::Number(b)] = args else {
        return Ok(None);
    };
    Ok(a.add(b).ok().map(Value::from))
}

fn minus(args: &[&Value], meter: &Meter) -> Answer {
    match args {
        [Value::Number(a), Value::Number(b)] => Ok(a.sub(b).ok().map(Value::from)),
        _ => sets(args, meter, Set::difference),
    }
}

fn mul(args: &[&Value], meter: &Meter) -> Answer {
    let [Value::Number(a), Value::Number(b)] = args else { return Ok(None) };
    // Squaring a number over and over doubles its digits each time: the work is paid for before it is done.
    if a.as_i64().is_none() && b.as_i64().is_none() && a.is_integer() && b.is_integer() {
        let bits = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let width = a
            .to_big()
            .map_or(0, |big| bits(big.bits()))
            .saturating_add(b.to_big().map_or(0, |big| bits(big.bits())));
        let words = width / 64;
        meter.charge(words.saturating_mul(words))?;
    }
    Ok(a.mul(b).ok().map(Value::from))
}

fn div(args: &[&Value]) -> Answer {
    let [Value::Number(a), Value::Number(b)] = args else {
        return Ok(None);
    };
    Ok(a.clone().divide(b).ok().map(Value::from))
}

fn rem(args: &[&Value]) -> Answer {
    let [Value::Number(a), Value::Number(b)] = args else {
        return Ok(None);
    };
    if !a.is_integer() || !b.is_integer() {
        return Ok(None);
    }
    Ok(a.clone().modulo(b).ok().map(Value::from))
}

fn sets(args: &[&Value], meter: &Meter, combine: fn(&Set, &Set) -> Set) -> Answer {
    let [left @ Value::Set(a), right @ Value::Set(b)] = args else {
        return Ok(None);
    };
    meter.charge_tree(left)?;
    meter.charge_tree(right)?;
    answer(combine(a, b).into_value())
}

fn integer(value: Option<&&Value>) -> Option<i64> {
    match value {
        Some(Value::Number(number)) if number.is_integer() => number.as_i64(),
        _ => None,
    }
}

/// Whole numbers from the first to the second, both included, up or down.
fn range(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(from), Some(to)) = (integer(args.first()), integer(args.get(1))) else {
        return Ok(None);
    };
    let step = if args.len() == 3 { integer(args.get(2)) } else { Some(1) };
    let Some(step) = step.filter(|step| *step > 0) else {
        return Ok(None);
    };
    let mut items = Array::new();
    let mut next = from;
    let upwards = from <= to;
    while if upwards { next <= to } else { next >= to } {
        pay_item(meter)?;
        items.push(next.into());
        let following = if upwards { next.checked_add(step) } else { next.checked_sub(step) };
        match following {
            Some(following) => next = following,
            None => break,
        }
    }
    answer(items.into_value())
}

fn pay_item(meter: &Meter) -> Result<(), EvalError> {
    meter.spend(1)?;
    meter.charge(24)
}

/// The result has as many bits as the second operand says.
fn shift_left(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(Value::Number(number)), Some(by)) = (args.first(), integer(args.get(1))) else {
        return Ok(None);
    };
    let Ok(bits) = usize::try_from(by) else {
        return Ok(None);
    };
    // Whoever prints the number pays for its square in words; it is paid for here, before the number exists.
    let words = bits / 64;
    meter.charge(words.saturating_mul(words).max(bits / 8))?;
    let Some(Value::Number(by)) = args.get(1) else {
        return Ok(None);
    };
    Ok(number.lsh(by).map(Value::from))
}
