//! Functions over numbers that the engine answers differently. Source: OPA `topdown/numbers.go`,
//! `topdown/arithmetic.go` and `topdown/casts.go`.

use regorus::Value;

use super::Outcome;
use super::operand::{self, Fault};

/// The numbers that a range holds at most. OPA generates until the query's deadline; an array of this size
/// is where that is out of reach of an evaluation's budget.
const MOST_NUMBERS: i128 = 1 << 22;

/// `numbers.range(a, b)`.
pub(super) fn range(args: &[Value]) -> Outcome {
    bounds(args).and_then(|(from, to)| numbers("numbers.range", from, to, 1)).into()
}

/// `numbers.range_step(a, b, step)`.
pub(super) fn range_step(args: &[Value]) -> Outcome {
    let answer = bounds(args).and_then(|(from, to)| {
        let step = integer(args, 2)?;
        if step <= 0 {
            return Err("numbers.range_step: step must be a positive integer".to_owned());
        }
        numbers("numbers.range_step", from, to, step)
    });
    answer.into()
}

fn bounds(args: &[Value]) -> Result<(i128, i128), Fault> {
    Ok((integer(args, 0)?, integer(args, 1)?))
}

/// An integer of up to 128 bits.
fn integer(args: &[Value], index: usize) -> Result<i128, Fault> {
    let Some(Value::Number(number)) = args.get(index) else {
        return Err(operand::wrong(index, "number", args.get(index)));
    };
    let fault = || {
        format!("operand {} must be integer number but got floating-point number", index.saturating_add(1))
    };
    number.as_i128().ok_or_else(fault)
}

fn numbers(name: &str, from: i128, to: i128, step: i128) -> Result<Value, Fault> {
    let distance = to.checked_sub(from).map(i128::unsigned_abs);
    let count = distance.and_then(|distance| i128::try_from(distance).ok()?.checked_div(step));
    if count.is_none_or(|count| count >= MOST_NUMBERS) {
        return Err(format!("{name}: timed out before generating all numbers in range"));
    }
    let direction = if from <= to { step } else { step.saturating_neg() };
    let mut next = Some(from);
    let within = |number: &i128| if from <= to { *number <= to } else { *number >= to };
    let listed = std::iter::from_fn(|| {
        let number = next.filter(within)?;
        next = number.checked_add(direction);
        Some(Value::from(number))
    });
    Ok(Value::from(listed.collect::<Vec<_>>()))
}

/// `ceil(x)`. OPA adds one to what is left without its fraction, unless that is negative: `ceil(-0.5)` is 1.
pub(super) fn ceil(args: &[Value]) -> Outcome {
    whole(args, |float, cut| if cut < 0.0 || cut == float { cut } else { cut + 1.0 })
}

/// `floor(x)`. OPA takes one off what is left without its fraction, if that is negative: `floor(-0.5)` is 0.
pub(super) fn floor(args: &[Value]) -> Outcome {
    whole(args, |float, cut| if cut >= 0.0 || cut == float { cut } else { cut - 1.0 })
}

fn whole(args: &[Value], choose: fn(f64, f64) -> f64) -> Outcome {
    let Some(value @ Value::Number(number)) = args.first() else {
        return Outcome::Error(operand::wrong(0, "number", args.first()));
    };
    match number.as_f64().filter(|_| !number.is_integer()) {
        // Adding zero turns a negative zero into zero.
        Some(float) => Value::from_numeric_string(&format!("{:.0}", choose(float, float.trunc()) + 0.0))
            .map_err(|error| error.to_string())
            .into(),
        None => Outcome::Value(value.clone()),
    }
}

/// `to_number(x)`.
pub(super) fn to_number(args: &[Value]) -> Outcome {
    match args.first() {
        Some(Value::Null | Value::Bool(false)) => Outcome::Value(Value::from(0_u64)),
        Some(Value::Bool(true)) => Outcome::Value(Value::from(1_u64)),
        Some(number @ Value::Number(_)) => Outcome::Value(number.clone()),
        Some(Value::String(text)) => parsed(text).into(),
        other => Outcome::Error(operand::wrong(0, "one of {null, boolean, number, string}", other)),
    }
}

/// A number as Go's `strconv.ParseFloat` takes it, within the range of a float.
fn parsed(text: &str) -> Result<Value, Fault> {
    let fault = || format!("strconv.ParseFloat: parsing {text:?}: invalid syntax");
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let grouped =
        |text: &str| text.is_empty() || text.split('_').all(|group| !group.is_empty() && digits(group));
    let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let well_formed = grouped(whole) && grouped(fraction) && !power.is_empty() && digits(power);
    if !well_formed || (whole.is_empty() && fraction.is_empty()) {
        return Err(fault());
    }
    let plain = text.replace('_', "");
    let float: f64 = plain.parse().map_err(|_| fault())?;
    if float.is_infinite() {
        return Err(format!("strconv.ParseFloat: parsing {text:?}: value out of range"));
    }
    // The engine reads neither `5.` nor a leading plus.
    let sign = if text.starts_with('-') { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = if fraction.is_empty() { "0" } else { fraction };
    let canonical = format!("{sign}{whole}.{fraction}e{exponent}").replace('_', "");
    let text = if mantissa.contains('.') || unsigned.contains(['e', 'E']) { &canonical } else { &plain };
    Value::from_numeric_string(text).map_err(|error| error.to_string())
}

/// `format_int(x, base)`, without the fraction of `x`.
pub(super) fn format_int(args: &[Value]) -> Outcome {
    let Some(Value::Number(number)) = args.first() else {
        return Outcome::Error(operand::wrong(0, "number", args.first()));
    };
    let radix = match args.get(1) {
        Some(Value::Number(base)) => base.as_i64().filter(|base| [2, 8, 10, 16].contains(base)),
        other => return Outcome::Error(operand::wrong(1, "number", other)),
    };
    let Some(radix) = radix.and_then(|radix| u32::try_from(radix).ok()) else {
        return Outcome::Error("operand 2 must be one of {2, 8, 10, 16}".to_owned());
    };
    let cut = number
        .as_f64()
        .filter(|_| !number.is_integer())
        .map(|float| Value::from_numeric_string(&format!("{:.0}", float.trunc() + 0.0)));
    let whole = cut.and_then(Result::ok).unwrap_or_else(|| Value::Number(number.clone()));
    let text = whole.as_number().ok().and_then(|number| number.as_big()).map(|big| big.to_str_radix(radix));
    text.map_or_else(|| Outcome::Error("not an integer".to_owned()), |text| Outcome::Value(Value::from(text)))
}
