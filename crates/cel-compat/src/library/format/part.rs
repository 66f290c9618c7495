//! One value in a text, as a verb asks for it.

use go_compat::strconv::quote;

use crate::value::Value;

use super::super::super::error::EvalError;
use super::super::super::meter::Meter;
use super::super::conversion::shortest;
use super::{DECIMALS, clause, formatting_error, time};

fn refused(verb: char, value: &Value) -> EvalError {
    EvalError::Failed(formatting_error(clause(verb), value.type_name()))
}

pub(super) fn one(meter: &Meter, verb: char, decimals: usize, value: &Value) -> Result<String, EvalError> {
    match (verb, value) {
        ('s', value) => plain(meter, value),
        ('d', Value::Int(number)) => Ok(number.to_string()),
        ('d', Value::Uint(number)) => Ok(number.to_string()),
        ('d', value) => Err(refused(verb, value)),
        ('f', value) => fixed(as_float(verb, value)?, decimals),
        ('e', value) => scientific(as_float(verb, value)?, decimals),
        ('b', Value::Int(number)) => Ok(signed(*number, |digits| format!("{digits:b}"))),
        ('b', Value::Uint(number)) => Ok(format!("{number:b}")),
        ('b', Value::Bool(truth)) => Ok(u8::from(*truth).to_string()),
        ('b', value) => Err(refused(verb, value)),
        ('o', Value::Int(number)) => Ok(signed(*number, |digits| format!("{digits:o}"))),
        ('o', Value::Uint(number)) => Ok(format!("{number:o}")),
        ('o', value) => Err(refused(verb, value)),
        (_, value) => hexadecimal(verb, value).map(|hex| if verb == 'X' { hex.to_uppercase() } else { hex }),
    }
}

fn signed(number: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", digits(number.unsigned_abs()))
}

fn hexadecimal(verb: char, value: &Value) -> Result<String, EvalError> {
    let of_bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match value {
        Value::Int(number) => Ok(signed(*number, |digits| format!("{digits:x}"))),
        Value::Uint(number) => Ok(format!("{number:x}")),
        Value::String(text) => Ok(of_bytes(text.as_bytes())),
        Value::Bytes(bytes) => Ok(of_bytes(bytes)),
        value => Err(refused(verb, value)),
    }
}

fn as_float(verb: char, value: &Value) -> Result<f64, EvalError> {
    match value {
        Value::Float(number) => Ok(*number),
        Value::String(word) => match &**word {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            _ => Err(refused(verb, value)),
        },
        value => Err(refused(verb, value)),
    }
}

fn not_finite(number: f64) -> Option<String> {
    if number.is_finite() {
        return None;
    }
    Some(
        if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "∞"
        } else {
            "-∞"
        }
        .to_owned(),
    )
}

/// With a comma between thousands, as cel-go's locale has it.
fn fixed(number: f64, decimals: usize) -> Result<String, EvalError> {
    if let Some(word) = not_finite(number) {
        return Ok(word);
    }
    let plain = format!("{number:.decimals$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut grouped = String::new();
    for (position, digit) in whole.chars().enumerate() {
        let left = whole.len().saturating_sub(position);
        if position > 0 && left % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    Ok(match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    })
}

/// Returns a number as a product with a power of ten, the exponent in superscript digits, at least two. The precision is taken for a
/// width: cel-go's slip, and visible in messages.
fn scientific(number: f64, width: usize) -> Result<String, EvalError> {
    if let Some(word) = not_finite(number) {
        return Ok(format!("{word:>width$}"));
    }
    let made = format!("{number:.DECIMALS$e}");
    let (mantissa, exponent) = made.split_once('e').unwrap_or((made.as_str(), "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
    let superscript: String = format!("{digits:0>2}")
        .chars()
        .map(|digit| match digit {
            '0' => '⁰',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            _ => '⁹',
        })
        .collect();
    let made = format!("{mantissa}×10{sign}{superscript}");
    Ok(format!("{made:>width$}"))
}

/// `%s` of a value by itself.
fn plain(meter: &Meter, value: &Value) -> Result<String, EvalError> {
    Ok(match value {
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => utf8(bytes)?.to_owned(),
        Value::Float(number) => shortest(*number),
        Value::Timestamp(at) => time::format_timestamp(*at),
        Value::Duration(span) => time::format_duration(*span),
        value => nested(meter, value)?,
    })
}

/// A value inside a list or a map, in the form of a literal.
fn nested(meter: &Meter, value: &Value) -> Result<String, EvalError> {
    meter.step()?;
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) if number.is_finite() => format!("{number:.6}"),
        Value::Float(number) => quote(&shortest(*number)),
        Value::String(text) => quote(text),
        Value::Bytes(bytes) => format!("b{}", quote(utf8(bytes)?)),
        Value::Timestamp(at) => format!("timestamp({})", quote(&time::format_timestamp(*at))),
        Value::Duration(span) => format!("duration({})", quote(&time::format_duration(*span))),
        Value::List(list) => {
            let parts: Result<Vec<_>, _> = list.iter().map(|part| nested(meter, part)).collect();
            join(meter, '[', &parts?, ']')?
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.iter() {
                entries.push((nested(meter, &Value::from(key))?, nested(meter, value)?));
            }
            entries.sort();
            let parts: Vec<_> = entries.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            join(meter, '{', &parts, '}')?
        }
        Value::Type(name) => (*name).to_owned(),
        value => return Err(refused('s', value)),
    })
}

fn utf8(bytes: &[u8]) -> Result<&str, EvalError> {
    std::str::from_utf8(bytes).map_err(|_| {
        EvalError::failed(
            "error during formatting: could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" \
             to string",
        )
    })
}

fn join(meter: &Meter, open: char, parts: &[String], close: char) -> Result<String, EvalError> {
    let length =
        parts.iter().fold(2_usize, |length, part| length.saturating_add(part.len()).saturating_add(2));
    meter.bytes(length)?;
    Ok(format!("{open}{}{close}", parts.join(", ")))
}
