//! Values as they cross the pipe: JSON in which a number is `{"n": TEXT}`, a set `{"s": [...]}` and an
//! object `{"o": [[KEY, VALUE], ...]}`. The other side is `judge/opa/value.go`.

use std::collections::{BTreeMap, BTreeSet};

use rego_compat::Value;
use serde_json::{Value as Json, json};

/// Reads a tagged value; `None` if it is none.
#[must_use]
pub fn read(json: &Json) -> Option<Value> {
    match json {
        Json::Null => Some(Value::Null),
        Json::Bool(bool) => Some(Value::Bool(*bool)),
        Json::String(string) => Some(Value::from(string.as_str())),
        Json::Array(elements) => Some(Value::from(read_all(elements)?)),
        Json::Number(_) => None,
        Json::Object(tag) => {
            if let Some(text) = tag.get("n").and_then(Json::as_str) {
                return rego_compat::Number::parse(text).map(Value::from);
            }
            if let Some(elements) = tag.get("s").and_then(Json::as_array) {
                return Some(Value::from(read_all(elements)?.into_iter().collect::<BTreeSet<_>>()));
            }
            let pairs = tag.get("o").and_then(Json::as_array)?;
            Some(Value::from(pairs.iter().map(read_pair).collect::<Option<BTreeMap<_, _>>>()?))
        }
    }
}

fn read_all(elements: &[Json]) -> Option<Vec<Value>> {
    elements.iter().map(read).collect()
}

fn read_pair(pair: &Json) -> Option<(Value, Value)> {
    match pair.as_array().map(Vec::as_slice) {
        Some([key, value]) => Some((read(key)?, read(value)?)),
        _ => None,
    }
}

/// Writes a value. The engine's undefined is written as null, for there is no such value.
#[must_use]
pub fn write(value: &Value) -> Json {
    match value {
        Value::Null | Value::Undefined => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::String(string) => Json::String(string.to_string()),
        Value::Number(number) => json!({ "n": number.text() }),
        Value::Array(array) => Json::Array(array.iter().map(write).collect()),
        Value::Set(set) => json!({ "s": set.iter().map(write).collect::<Vec<_>>() }),
        Value::Object(object) => {
            let pairs: Vec<Json> =
                object.iter().map(|(key, value)| json!([write(key), write(value)])).collect();
            json!({ "o": pairs })
        }
    }
}

/// Writes a tagged value as a term of Rego; `None` if it is not one.
#[must_use]
pub fn term(json: &Json) -> Option<String> {
    match json {
        Json::Null | Json::Bool(_) | Json::String(_) => Some(json.to_string()),
        Json::Array(elements) => Some(format!("[{}]", terms(elements)?)),
        Json::Number(_) => None,
        Json::Object(tag) => {
            if let Some(text) = tag.get("n").and_then(Json::as_str) {
                return Some(text.to_owned());
            }
            if let Some(elements) = tag.get("s").and_then(Json::as_array) {
                return Some(if elements.is_empty() {
                    "set()".to_owned()
                } else {
                    format!("{{{}}}", terms(elements)?)
                });
            }
            let pairs = tag.get("o").and_then(Json::as_array)?;
            let pair = |pair: &Json| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => Some(format!("{}: {}", term(key)?, term(value)?)),
                _ => None,
            };
            Some(format!("{{{}}}", pairs.iter().map(pair).collect::<Option<Vec<_>>>()?.join(", ")))
        }
    }
}

fn terms(elements: &[Json]) -> Option<String> {
    Some(elements.iter().map(term).collect::<Option<Vec<_>>>()?.join(", "))
}
