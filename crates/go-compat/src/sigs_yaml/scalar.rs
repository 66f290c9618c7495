//! Resolution of YAML scalars to JSON by the rules of `sigs.k8s.io/yaml`, found by running it.

use serde_json::{Number, Value};

use crate::yaml::{Resolved, Scalar, Words, plain};
use crate::{base64, strconv, utf8};

const TAG: &str = "tag:yaml.org,2002:";

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

/// The text of a key: JSON has no others. `None` for null, and for what is above 63 bits, as for Kubernetes' tools.
///
/// # Errors
/// As [`resolve`].
pub(super) fn key(scalar: &Scalar, words: Words) -> Result<Option<String>, String> {
    Ok(match resolved(scalar, words)? {
        Resolved::Null => None,
        Resolved::Bool(word) => Some(word.to_string()),
        Resolved::Int(number) => i64::try_from(number).is_ok().then(|| number.to_string()),
        Resolved::Float(number) => Some(float_key(number)),
        Resolved::String(text) => Some(text),
        _ => Some(scalar.text.clone()),
    })
}

fn resolved(scalar: &Scalar, words: Words) -> Result<Resolved, String> {
    let text = &scalar.text;
    let wanted = match scalar.tag.as_deref() {
        None if scalar.is_quoted => return Ok(Resolved::String(text.clone())),
        None => return Ok(plain(text, words)),
        Some(tag) => tag.strip_prefix(TAG).unwrap_or_default(),
    };
    let mistaken = |found: &str| format!("cannot decode !!{found} `{text}` as a !!{wanted}");
    match (wanted, plain(text, words)) {
        ("binary", _) => base64::decode(text.as_bytes())
            .map(|bytes| Resolved::String(utf8::lossy(&bytes)))
            .ok_or_else(|| "!!binary value contains invalid base64 data".to_owned()),
        ("bool", found @ Resolved::Bool(_))
        | ("int", found @ Resolved::Int(_))
        | ("float", found @ Resolved::Float(_))
        | ("null", found @ Resolved::Null)
        | ("timestamp", found @ Resolved::Timestamp(_)) => Ok(found),
        ("float", Resolved::Int(whole)) => match i64::try_from(whole) {
            #[expect(clippy::cast_precision_loss, reason = "that is what it does")]
            Ok(whole) => Ok(Resolved::Float(whole as f64)),
            Err(_) => Err(mistaken("int")),
        },
        ("bool" | "int" | "float" | "null" | "timestamp", found) => Err(mistaken(tag(&found))),
        _ => Ok(Resolved::String(text.clone())),
    }
}

const fn tag(resolved: &Resolved) -> &'static str {
    match resolved {
        Resolved::Null => "null",
        Resolved::Bool(_) => "bool",
        Resolved::Int(_) => "int",
        Resolved::Float(_) => "float",
        Resolved::Timestamp(_) => "timestamp",
        _ => "str",
    }
}

/// A float as the key of a mapping, which `sigs.k8s.io/yaml` writes with 32 bits and Go's `%g`.
fn float_key(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "that is what it does")]
    let narrow = number as f32;
    match narrow {
        _ if number.is_nan() => ".nan".to_owned(),
        f32::INFINITY => ".inf".to_owned(),
        f32::NEG_INFINITY => "-.inf".to_owned(),
        _ => strconv::format_float32(narrow),
    }
}
