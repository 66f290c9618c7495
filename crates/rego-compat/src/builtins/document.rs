//! `json.marshal`, `json.is_valid` and `yaml.is_valid`. Source: OPA `topdown/encoding.go` and Go's
//! `encoding/json`.

use regorus::Value;

use super::{Outcome, operand};
use crate::fmt_go::literal;

/// `json.is_valid(text)`; what is no text is not valid.
pub(super) fn json_is_valid(args: &[Value]) -> Outcome {
    let valid = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

/// `yaml.is_valid(text)`; what is no text is not valid.
pub(super) fn yaml_is_valid(args: &[Value]) -> Outcome {
    let valid = |text: &str| Value::from_yaml_str(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

/// `json.marshal(x)`: compact, with what HTML gives a meaning escaped.
pub(super) fn json_marshal(args: &[Value]) -> Outcome {
    args.first().map_or(Outcome::Undefined, |value| Outcome::Value(Value::from(marshalled(value))))
}

/// A value as Go's `encoding/json` writes it.
pub(super) fn marshalled(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(_) => out.push_str(&literal::number(value)),
        Value::String(text) => quote(text, out),
        Value::Array(array) => list(array.iter(), out),
        Value::Set(set) => list(literal::sorted(set.iter()).into_iter(), out),
        Value::Object(object) => {
            let mut fields: Vec<(String, &Value)> =
                object.iter().map(|(key, value)| (name_of(key), value)).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push('{');
            for (position, (name, value)) in fields.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                quote(&name, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// A key that is no text is written as JSON.
pub(super) fn name_of(key: &Value) -> String {
    if let Value::String(text) = key {
        return text.to_string();
    }
    marshalled(key)
}

fn list<'a>(elements: impl Iterator<Item = &'a Value>, out: &mut String) {
    out.push('[');
    for (position, element) in elements.enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(element, out);
    }
    out.push(']');
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
