//! A value as OPA prints a term: `{"a": [1, true], "b": {2, 3}}`.
//!
//! This is `ast.Value.String()`: strings quoted as Go quotes them, sets and objects in OPA's order.

use std::cmp::Ordering;

use regorus::Value;

use super::text;

/// The text of a value.
pub(crate) fn of(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(_) => out.push_str(&number(value)),
        Value::String(string) => out.push_str(&text::quoted(string)),
        Value::Array(array) => list('[', array.iter(), ']', out),
        Value::Set(set) if set.is_empty() => out.push_str("set()"),
        Value::Set(set) => list('{', sorted(set.iter()).into_iter(), '}', out),
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.iter().collect();
            pairs.sort_by(|(a, _), (b, _)| compare(a, b));
            out.push('{');
            for (position, (key, value)) in pairs.into_iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write(key, out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn list<'a>(open: char, elements: impl Iterator<Item = &'a Value>, close: char, out: &mut String) {
    out.push(open);
    for (position, element) in elements.enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        write(element, out);
    }
    out.push(close);
}

/// A number as JSON text: as Go's `encoding/json` writes it, with an exponent only for the very small and
/// the very large. OPA shows the text of the document, which a binary float no longer has.
pub(crate) fn number(value: &Value) -> String {
    let Ok(number) = value.as_number() else {
        return String::new();
    };
    let decimal = number.format_decimal();
    match number.as_f64() {
        Some(float) if !number.is_integer() && float.abs() < 1e-6 => exponential(float),
        Some(float) if !number.is_integer() && float.abs() >= 1e21 => exponential(float),
        _ => decimal,
    }
}

fn exponential(float: f64) -> String {
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
        _ => text,
    }
}

/// The elements in OPA's order.
pub(crate) fn sorted<'a>(elements: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut elements: Vec<_> = elements.collect();
    elements.sort_by(|a, b| compare(a, b));
    elements
}

/// OPA's order over all values (`ast.Compare`). It is the engine's but for one thing: to OPA an object comes
/// before a set, and an object is compared key by value by key.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => lexical(a.iter(), b.iter()),
        (Value::Set(a), Value::Set(b)) => lexical(sorted(a.iter()).into_iter(), sorted(b.iter()).into_iter()),
        (Value::Object(a), Value::Object(b)) => {
            let flat = |object: &'_ regorus::value::Object| -> Vec<Value> {
                let mut pairs: Vec<_> = object.iter().collect();
                pairs.sort_by(|(a, _), (b, _)| compare(a, b));
                pairs.into_iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect()
            };
            lexical(flat(a).iter(), flat(b).iter())
        }
        _ => rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)),
    }
}

fn lexical<'a>(mut a: impl Iterator<Item = &'a Value>, mut b: impl Iterator<Item = &'a Value>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match compare(a, b) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(_) => 2,
        Value::Number(_) => 3,
        Value::String(_) => 4,
        Value::Array(_) => 5,
        Value::Object(_) => 6,
        Value::Set(_) => 7,
    }
}
