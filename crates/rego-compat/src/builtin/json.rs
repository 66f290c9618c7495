//! `json.*` as text. Source: OPA `topdown/encoding.go` and Go's `encoding/json`.

pub(super) mod patch;
pub(super) mod path;

use std::collections::BTreeMap;

pub(crate) use go_compat::json::quote;

use crate::value::{Object, Value, ValueError};

use super::Outcome;
use super::operand::{self, CallError};

/// Returns a value as Go's `encoding/json` writes it, compact: what `json.marshal` gives, and what OPA prints. Sets are arrays
/// in OPA's order, keys that are not strings are their JSON, and what HTML gives a meaning is escaped.
#[must_use]
pub fn to_json(value: &Value) -> String {
    marshalled(value).unwrap_or_else(|_| value.to_json_str())
}

/// `json.is_valid(text)`; what is not a string is not valid.
pub(super) fn json_is_valid(args: &[&Value]) -> Outcome {
    let valid = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    Outcome::Value(Value::Bool(operand::string(args, 0).is_ok_and(valid)))
}

/// `json.unmarshal(text)`. OPA asks Go's decoder for one more token, takes `null` for none, and does not look beyond it.
pub(super) fn json_unmarshal(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let read = Value::from_json_str(text).or_else(|error| {
            let document = before_null(text, &error).ok_or(error)?;
            Value::from_json_str(document)
        });
        read.map_err(|error| if error.is_depth() { CallError::Excess } else { CallError::Failed })
    });
    answer.into()
}

/// The part of a text before a `null` that is one too many.
fn before_null<'a>(text: &'a str, error: &ValueError) -> Option<&'a str> {
    let ValueError::Json { at, .. } = error else { return None };
    let (document, rest) = text.split_at_checked(*at)?;
    rest.starts_with("null").then_some(document)
}

/// `json.marshal(x)`: compact, with what HTML gives a meaning escaped.
pub(super) fn json_marshal(args: &[&Value]) -> Outcome {
    let text = args.first().copied().ok_or(CallError::Failed).and_then(marshalled);
    text.map(Value::from).into()
}

/// `json.marshal_with_options(x, {"pretty": …, "indent": …, "prefix": …})`.
pub(super) fn json_marshal_with_options(args: &[&Value]) -> Outcome {
    let answer = Layout::of(args).and_then(|layout| match (layout, args.first()) {
        (_, None) => Err(CallError::Failed),
        (None, Some(value)) => marshalled(value),
        (Some(Layout { prefix, indent }), Some(value)) => {
            Ok(format!("{prefix}{}", go_compat::json::indent(&marshalled(value)?, prefix, indent)))
        }
    });
    answer.map(Value::from).into()
}

/// The beginnings of lines.
#[derive(Clone, Copy)]
struct Layout<'a> {
    prefix: &'a str,
    indent: &'a str,
}

impl<'a> Layout<'a> {
    /// The layout that the options ask for; none for a compact text.
    fn of(args: &[&'a Value]) -> Result<Option<Self>, CallError> {
        let mut layout = Self { prefix: "", indent: "\t" };
        let (mut pretty, mut implied) = (None, false);
        for (key, value) in operand::object(args, 1)?.iter() {
            let text = || value.as_string().map(|text| &**text).map_err(|_| CallError::Failed);
            match key.as_string().map(|key| &**key).unwrap_or_default() {
                "prefix" => (layout.prefix, implied) = (text()?, true),
                "indent" => (layout.indent, implied) = (text()?, true),
                "pretty" => pretty = Some(value.as_bool().map_err(|_| CallError::Failed)?),
                _ => return Err(CallError::Failed),
            }
        }
        Ok(pretty.unwrap_or(implied).then_some(layout))
    }
}

/// A value as Go's `encoding/json` writes it.
pub(super) fn marshalled(value: &Value) -> Result<String, CallError> {
    let mut out = String::new();
    append(value, &mut out)?;
    Ok(out)
}

/// A key that is not a string is written as JSON.
pub(crate) fn name_of(key: &Value) -> Result<String, CallError> {
    match key {
        Value::String(text) => Ok(text.to_string()),
        key => marshalled(key),
    }
}

fn append(value: &Value, out: &mut String) -> Result<(), CallError> {
    match value {
        Value::Null | Value::Undefined => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) if number.is_json() => out.push_str(&number.text()),
        Value::Number(_) => return Err(CallError::Failed),
        Value::String(text) => quote(text, out),
        Value::Array(items) => append_list(items.iter(), out)?,
        Value::Set(items) => append_list(items.iter(), out)?,
        Value::Object(pairs) => append_object(pairs, out)?,
    }
    Ok(())
}

fn append_list<'v>(items: impl Iterator<Item = &'v Value>, out: &mut String) -> Result<(), CallError> {
    out.push('[');
    for (position, item) in items.enumerate() {
        out.push_str(if position == 0 { "" } else { "," });
        append(item, out)?;
    }
    out.push(']');
    Ok(())
}

/// Of keys that are written alike, the last counts.
fn append_object(pairs: &Object, out: &mut String) -> Result<(), CallError> {
    let mut fields = BTreeMap::new();
    for (key, value) in pairs.iter() {
        fields.insert(name_of(key)?, value);
    }
    out.push('{');
    for (position, (name, value)) in fields.into_iter().enumerate() {
        out.push_str(if position == 0 { "" } else { "," });
        quote(&name, out);
        out.push(':');
        append(value, out)?;
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_behind_a_document_ends_the_text() {
        for (text, expected) in [
            ("1 null x", Some("1")),
            ("1null", Some("1")),
            ("[1]\n null}", Some("[1]")),
            ("null null 5", Some("null")),
            ("true\n\n nullx", Some("true")),
            ("1 nul", None),
            ("1 2", None),
            ("[1, null null", None),
        ] {
            let answer = json_unmarshal(&[&Value::from(text)]);
            let value = if let Outcome::Value(value) = answer { Some(value.to_json_str()) } else { None };
            assert_eq!(value.as_deref(), expected, "{text}");
        }
    }
}
