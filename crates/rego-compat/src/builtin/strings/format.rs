//! Values as text: `sprintf`, `format_int` and template strings. The formatting itself is Go's ([`go_compat::fmt`]).
//! Source: OPA `topdown/strings.go` and `topdown/template_string.go`.

use eval_budget::Limit;
use go_compat::fmt::{self, Arg};

use crate::builtin::{Answer, Outcome, answer, operand, text_at};
use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::number::float::Float;
use crate::value::{Value, literal};

use super::read;

/// A value as `builtinSprintf` hands it to Go: the spelling of a number decides, `1.0` is a float; what is neither a
/// number nor a string is printed as a term.
pub(in crate::builtin) fn argument(value: &Value) -> Arg {
    let Value::Number(number) = value else {
        return Arg::String(match value {
            Value::String(text) => text.to_string(),
            other => literal::of(other),
        });
    };
    let text = || Arg::String(number.text().into_owned());
    if number.is_spelled_as_float() {
        return number.as_f64().map_or_else(text, Arg::Float);
    }
    let small = number.as_i64().map(Arg::Int);
    small.or_else(|| number.plain_integer().map(Arg::Big)).unwrap_or_else(text)
}

/// Go's `fmt.Sprintf`, whose directives may each ask for a million characters.
pub(in crate::builtin) fn sprintf(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(format), Some(Value::Array(values))) = (text_at(args, 0), args.get(1).copied()) else {
        return Ok(None);
    };
    values.iter().try_for_each(|value| meter.charge_tree(value))?;
    read(format, meter)?;
    let values: Vec<Arg> = values.iter().map(argument).collect();
    // Time is looked after as well: text is made at about a byte in a nanosecond.
    match fmt::sprintf(format, &values, meter.bytes_left()) {
        Some(text) => {
            meter.charge(text.len())?;
            answer(text)
        }
        None => Err(EvalError::Budget(Limit::Memory)),
    }
}

/// `format_int(x, base)`, without the fraction of `x`.
pub(in crate::builtin) fn format_int(args: &[&Value]) -> Outcome {
    let (Some(Value::Number(number)), Some(Value::Number(base))) =
        (args.first().copied(), args.get(1).copied())
    else {
        return Outcome::Error(operand::CallError::Failed);
    };
    // The base has to be spelled plainly too.
    let Some(radix @ (2 | 8 | 10 | 16)) = base.small() else {
        return Outcome::Error(operand::CallError::Failed);
    };
    let whole = number.as_i64().map(Into::into).or_else(|| number.plain_integer());
    let whole = whole.or_else(|| Some(Float::of(number)?.truncated())).unwrap_or_default();
    Outcome::Value(Value::from(whole.to_str_radix(u32::try_from(radix).unwrap_or(10))))
}

/// Parts of a template string: texts as they are, sets of at most one value as `sprintf` prints it.
pub(in crate::builtin) fn template_string(args: &[&Value], meter: &Meter) -> Answer {
    let Some(Value::Array(parts)) = args.first().copied() else {
        return Ok(None);
    };
    let mut text = String::new();
    for part in parts.iter() {
        meter.charge_tree(part)?;
        meter.afford_bytes(text.len())?;
        match part {
            Value::Set(values) if values.len() > 1 => return Ok(None),
            Value::Set(values) => match values.first() {
                Some(Value::String(value)) => text.push_str(value),
                Some(value) => text.push_str(&literal::of(value)),
                None => text.push_str("<undefined>"),
            },
            Value::String(value) => text.push_str(value),
            value => text.push_str(&literal::of(value)),
        }
    }
    meter.charge(text.len())?;
    answer(text)
}
