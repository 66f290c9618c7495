//! `format`: values in a text, after the verbs of cel-go's string library.
//!
//! The form of one value is in `format/part`.

mod part;

use crate::types::Type;
use crate::value::Value;

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::{Native, time};

use self::part::one;

/// The most decimals that a verb may ask for; cel-go's bound.
const MOST_DECIMALS: usize = 1000;
const DECIMALS: usize = 6;

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("format", format_text),
    ("strings.quote", |meter, arguments| match arguments {
        [Value::String(plain)] => {
            meter.bytes(plain.len().saturating_mul(2))?;
            Ok(Value::string(go_compat::strconv::quote_named_escapes(plain)))
        }
        _ => Err(EvalError::no_overload()),
    }),
];

fn format_text(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let [Value::String(template), Value::List(values)] = arguments else {
        return Err(EvalError::no_overload());
    };
    let mut made = String::new();
    let mut values = values.iter().enumerate();
    let mut rest = &**template;
    while let Some((plain, behind)) = rest.split_once('%') {
        made.push_str(plain);
        if let Some(behind) = behind.strip_prefix('%') {
            made.push('%');
            rest = behind;
            continue;
        }
        let count = values.len();
        let Some((_, value)) = values.next() else {
            let index = template_index(arguments, count);
            return Err(EvalError::Failed(format!("index {index} out of range")));
        };
        let (verb, decimals, behind) = verb(behind)?;
        let part = one(meter, verb, decimals, value)?;
        meter.bytes(made.len().saturating_add(part.len()))?;
        made.push_str(&part);
        rest = behind;
    }
    made.push_str(rest);
    meter.bytes(made.len())?;
    Ok(Value::string(made))
}

/// The number of values there are, which is the first index that is not there.
fn template_index(arguments: &[Value], left: usize) -> usize {
    match arguments {
        [_, Value::List(values)] => values.len().saturating_sub(left),
        _ => 0,
    }
}

/// The verbs of a template, one for each value it takes.
///
/// # Errors
/// The template is malformed.
pub(in super::super) fn verbs(template: &str) -> Result<Vec<char>, String> {
    let mut verbs = Vec::new();
    let mut rest = template;
    while let Some((_, behind)) = rest.split_once('%') {
        rest = match behind.strip_prefix('%') {
            Some(behind) => behind,
            None => {
                let (verb, _, behind) = verb(behind).map_err(|error| error.to_string())?;
                verbs.push(verb);
                behind
            }
        };
    }
    Ok(verbs)
}

/// Checks that a verb takes values of a type, as far as the type is known. What is inside a list or a map is not looked
/// at.
///
/// # Errors
/// The verb's rule, in the words of the error that formatting such a value has.
pub(in super::super) fn admits(verb: char, of: &Type, printed: &str) -> Result<(), String> {
    use Type::{Bool, Bytes, Double, Dyn, Int, String, Uint};
    let is_admitted = match (verb, of) {
        (_, Dyn | Type::Error | Type::Open(_) | Type::Parameter(_)) => true,
        ('s', Type::Optional(_) | Type::Opaque(_) | Type::Object(_) | Type::Struct(_)) => false,
        ('s', _) => true,
        ('f' | 'e', of) => matches!(of, Double | String),
        ('b', of) => matches!(of, Int | Uint | Bool),
        ('x' | 'X', of) => matches!(of, Int | Uint | String | Bytes),
        (_, of) => matches!(of, Int | Uint),
    };
    if is_admitted { Ok(()) } else { Err(formatting_error(clause(verb), printed)) }
}

/// Returns the rule of a verb: which values it takes.
const fn clause(verb: char) -> &'static str {
    match verb {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
             and timestamps"
        }
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'o' => "octal clause can only be used on integers",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        _ => "decimal clause can only be used on integers",
    }
}

fn formatting_error(clause: &str, of: &str) -> String {
    format!("error during formatting: {clause}, was given {of}")
}

fn bad_precision(reason: &str) -> EvalError {
    EvalError::Failed(format!("could not parse formatting clause: error while parsing precision: {reason}"))
}

/// A verb, its decimals, and what follows it.
fn verb(behind: &str) -> Result<(char, usize, &str), EvalError> {
    let mut rest = behind;
    let mut decimals = DECIMALS;
    if let Some(digits) = behind.strip_prefix('.') {
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let end = end.ok_or_else(|| bad_precision("could not find end of precision specifier"))?;
        let (number, tail) = digits.split_at_checked(end).unwrap_or((digits, ""));
        decimals = number.parse().ok().filter(|decimals| *decimals <= MOST_DECIMALS).ok_or_else(|| {
            let reason = if number.is_empty() { "invalid syntax" } else { "value out of range" };
            bad_precision(&format!(
                "error while converting precision to integer: strconv.Atoi: parsing \"{number}\": {reason}"
            ))
        })?;
        rest = tail;
    }
    let verb = rest.chars().next().ok_or_else(|| EvalError::failed("unexpected end of string"))?;
    if !"sdfebxXo".contains(verb) {
        let message = format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"");
        return Err(EvalError::Failed(message));
    }
    Ok((verb, decimals, rest.get(1..).unwrap_or_default()))
}
