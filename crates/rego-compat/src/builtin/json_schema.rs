//! `json.match_schema` and `json.verify_schema`, as OPA's copy of `gojsonschema` has them: drafts 4, 6 and 7, and a
//! mixture of them where a schema does not say which.
//!
//! [`compile`] reads a schema and says what is wrong with it, [`validate`] a document, both in that library's words. A
//! reference leads into the schema, to one of its `$id`s or to the schema of a draft; nothing is loaded from elsewhere. Where the library walks a
//! Go map, whose order is chance, the order of the keys is taken.

mod canonical;
mod compile;
mod decimal;
mod diagnostic;
mod format;
mod node;
mod pool;
mod validate;

use go_compat::GoError;

use crate::builtin::json::to_json;
use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::{Array, Number, Object, Value};

use self::diagnostic::Diagnostic;
use self::node::Schema;
use super::{Answer, answer};

/// The reason why there is no schema, or no verdict.
enum Error {
    /// In the library's words.
    Schema(String),
    Limit(EvalError),
}

impl From<EvalError> for Error {
    fn from(limit: EvalError) -> Self {
        Self::Limit(limit)
    }
}

impl From<GoError> for Error {
    fn from(error: GoError) -> Self {
        Self::Schema(error.into())
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Schema(text)
    }
}

pub(super) fn verify_schema(args: &[&Value], meter: &Meter) -> Answer {
    match args.first().map(|schema| compiled(schema, meter)) {
        None => Ok(None),
        Some(Ok(_)) => answer(vec![Value::Bool(true), Value::Null]),
        Some(Err(Error::Limit(limit))) => Err(limit),
        Some(Err(Error::Schema(text))) => {
            let text = format!("jsonschema: {text}");
            meter.charge(text.len())?;
            answer(vec![Value::Bool(false), text.into()])
        }
    }
}

pub(super) fn match_schema(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(document), Some(schema)) = (args.first(), args.get(1)) else { return Ok(None) };
    let diagnostics =
        document_of(document, meter).and_then(|document| compiled(schema, meter)?.validate(&document, meter));
    match diagnostics {
        Ok(diagnostics) => {
            let matches = diagnostics.is_empty();
            let diagnostics: Array = diagnostics.into_iter().map(described).collect();
            answer(vec![Value::Bool(matches), diagnostics.into_value()])
        }
        Err(Error::Schema(_)) => Ok(None),
        Err(Error::Limit(limit)) => Err(limit),
    }
}

fn described(diagnostic: Diagnostic) -> Value {
    let error = format!("{}: {}", diagnostic.field, diagnostic.description);
    let pairs = [
        ("error", error),
        ("type", diagnostic.kind.to_owned()),
        ("field", diagnostic.field),
        ("desc", diagnostic.description),
    ];
    pairs
        .into_iter()
        .map(|(key, text)| (Value::from(key), Value::from(text)))
        .collect::<Object>()
        .into_value()
}

fn compiled(schema: &Value, meter: &Meter) -> Result<Schema, Error> {
    let document = document_of(schema, meter)?;
    compile::schema(&document, meter)
}

/// Returns the JSON document that an argument is, or is the text of.
fn document_of(value: &Value, meter: &Meter) -> Result<Value, Error> {
    meter.charge_tree(value)?;
    match value {
        Value::String(text) => {
            meter.afford_bytes(text.len().saturating_mul(32))?;
            meter.spend(u64::try_from(text.len() / 8).unwrap_or(u64::MAX))?;
            let read = Value::from_json_str(text);
            read.map_err(|_| Error::Schema("invalid JSON string".to_owned()))
        }
        Value::Object(_) | Value::Array(_) => match unwritable(value) {
            Some(number) => Err(Error::Schema(format!("json: invalid number literal {number}"))),
            None => Ok(plain(value)),
        },
        _ => Err(Error::Schema("wrong type, expected string or object".to_owned())),
    }
}

/// Returns the first number whose spelling JSON does not have.
fn unwritable(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => (!number.is_json()).then_some(number),
        Value::Array(items) => items.iter().find_map(unwritable),
        Value::Set(items) => items.iter().find_map(unwritable),
        Value::Object(pairs) => {
            pairs.iter().find_map(|(key, value)| unwritable(key).or_else(|| unwritable(value)))
        }
        _ => None,
    }
}

/// Returns a value as JSON has it: sets as arrays, keys as texts.
fn plain(value: &Value) -> Value {
    if is_plain(value) {
        return value.clone();
    }
    match value {
        Value::Array(items) => items.iter().map(plain).collect::<Array>().into_value(),
        Value::Set(items) => items.iter().map(plain).collect::<Array>().into_value(),
        Value::Object(pairs) => {
            let name = |key: &Value| match key {
                Value::String(_) => key.clone(),
                key => to_json(key).into(),
            };
            pairs.iter().map(|(key, value)| (name(key), plain(value))).collect::<Object>().into_value()
        }
        other => other.clone(),
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(pairs) => {
            pairs.iter().all(|(key, value)| matches!(key, Value::String(_)) && is_plain(value))
        }
        Value::Set(_) | Value::Undefined => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
