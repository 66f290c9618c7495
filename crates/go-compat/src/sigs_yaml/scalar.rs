//! Resolution of YAML scalars to JSON by the rules of `sigs.k8s.io/yaml`, found by running it.

use serde_json::{Number, Value};

use crate::strconv;
use crate::yaml::{Resolved, Scalar, Words, tagged, untagged};

/// The value of a scalar. Quoted text is text; a plain word may be null, a boolean or a number, and a tag says what it has
/// to be.
///
/// # Errors
/// The word is not what its tag says, or a number that JSON does not have.
pub(super) fn resolve(scalar: &Scalar, words: Words) -> Result<Value, String> {
    let text = || Value::String(scalar.text.clone());
    match resolved(scalar, words)? {
        Resolved::Null => Ok(Value::Null),
        Resolved::Bool(value) => Ok(Value::Bool(value)),
        Resolved::Int(number) => Ok(Number::from_i128(number).map_or_else(text, Value::Number)),
        Resolved::Float(number) => {
            json_float(number).ok_or_else(|| format!("{number} is not a number of JSON"))
        }
        Resolved::String(text) => Ok(Value::String(text)),
        // A date is the text that it was.
        _ => Ok(text()),
    }
}

/// The JSON that Kubernetes' tools make of a float: 1 of 1.0. `None` for what JSON does not have.
pub(super) fn json_float(number: f64) -> Option<Value> {
    serde_json::from_str(&strconv::format_json(number)?).ok()
}

/// The name of the field for a key: JSON has no other keys. `None` for null, and for what is above 63 bits, as for
/// Kubernetes' tools.
///
/// # Errors
/// The errors of [`resolve`].
pub(super) fn key(scalar: &Scalar, words: Words) -> Result<Option<String>, String> {
    Ok(match resolved(scalar, words)? {
        Resolved::Int(number) if i64::try_from(number).is_err() => None,
        Resolved::Timestamp(_) => Some(scalar.text.clone()),
        resolved => resolved.field_name(),
    })
}

fn resolved(scalar: &Scalar, words: Words) -> Result<Resolved, String> {
    match scalar.tag.as_deref() {
        None => Ok(untagged(scalar, words)),
        Some(tag) => tagged(&scalar.text, tag, words),
    }
}
