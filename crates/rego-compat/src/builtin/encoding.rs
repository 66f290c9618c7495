//! `base64.*`, `base64url.*` and `urlquery.*`. Source: OPA `topdown/encoding.go` and Go's `net/url`.

use go_compat::url::{parse_query, query_escape, query_unescape};
use go_compat::{base64, utf8};
use std::collections::BTreeMap;

use crate::value::Value;

use super::Outcome;
use super::operand::{self, CallError};

/// Base64url with or without its padding.
pub(super) fn from_base64url(text: &str) -> Result<Vec<u8>, CallError> {
    let padding = match text.len() % 4 {
        _ if text.ends_with('=') => "",
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(CallError::Failed),
    };
    base64::decode_url(format!("{text}{padding}").as_bytes()).ok_or(CallError::Failed)
}

/// `base64.encode(text)`.
pub(super) fn base64_encode(args: &[&Value]) -> Outcome {
    encoded(args, &data_encoding::BASE64)
}

/// `base64url.encode(text)`.
pub(super) fn base64url_encode(args: &[&Value]) -> Outcome {
    encoded(args, &data_encoding::BASE64URL)
}

/// `base64url.encode_no_pad(text)`.
pub(super) fn base64url_encode_no_pad(args: &[&Value]) -> Outcome {
    encoded(args, &data_encoding::BASE64URL_NOPAD)
}

/// `hex.encode(text)`.
pub(super) fn hex_encode(args: &[&Value]) -> Outcome {
    encoded(args, &data_encoding::HEXLOWER)
}

fn encoded(args: &[&Value], encoding: &data_encoding::Encoding) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(encoding.encode(text.as_bytes()))).into()
}

/// `hex.decode(text)`.
pub(super) fn hex_decode(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes());
        let bytes = bytes.map_err(|_| CallError::Failed)?;
        Ok(Value::from(utf8::lossy(&bytes)))
    });
    answer.into()
}

/// `base64.is_valid(text)`; what is not a string is not valid.
pub(super) fn base64_is_valid(args: &[&Value]) -> Outcome {
    let valid = operand::string(args, 0).is_ok_and(|text| base64::decode(text.as_bytes()).is_some());
    Outcome::Value(Value::Bool(valid))
}

/// `base64.decode(text)`.
pub(super) fn base64_decode(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let bytes = base64::decode(text.as_bytes()).ok_or(CallError::Failed)?;
        Ok(Value::from(utf8::lossy(&bytes)))
    });
    answer.into()
}

/// `base64url.decode(text)`.
pub(super) fn base64url_decode(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| Ok(Value::from(utf8::lossy(&from_base64url(text)?)))).into()
}

/// `urlquery.encode(text)`.
pub(super) fn urlquery_encode(args: &[&Value]) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(query_escape(text))).into()
}

/// `urlquery.decode(text)`.
pub(super) fn urlquery_decode(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| Ok(Value::from(query_unescape(text)?))).into()
}

/// `urlquery.encode_object(object)`: values are texts, or arrays or sets of texts.
pub(super) fn urlquery_encode_object(args: &[&Value]) -> Outcome {
    encoded_object(args).into()
}

fn encoded_object(args: &[&Value]) -> Result<Value, CallError> {
    // In the order of the texts that keys become, the last of those that become the same.
    let mut pairs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in operand::object(args, 0)?.iter() {
        let key = super::json::name_of(key)?;
        let mut texts = Vec::new();
        let values = match value {
            Value::String(_) => vec![value.clone()],
            Value::Array(array) => array.to_vec(),
            Value::Set(set) => set.iter().cloned().collect(),
            _ => return Err(CallError::Failed),
        };
        for value in values {
            let Value::String(value) = value else {
                return Err(CallError::Failed);
            };
            texts.push(query_escape(&value));
        }
        pairs.insert(key, texts);
    }
    let joined: Vec<String> = pairs
        .iter()
        .flat_map(|(key, texts)| texts.iter().map(move |text| format!("{}={text}", query_escape(key))))
        .collect();
    Ok(Value::from(joined.join("&")))
}

/// `urlquery.decode_object(text)`: every name with the array of its values.
pub(super) fn urlquery_decode_object(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(decoded_object).into()
}

fn decoded_object(text: &str) -> Result<Value, CallError> {
    let mut fields: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
    for pair in parse_query(text) {
        let (key, value) = pair?;
        fields.entry(Value::from(key)).or_default().push(Value::from(value));
    }
    Ok(Value::from(
        fields.into_iter().map(|(key, values)| (key, Value::from(values))).collect::<crate::value::Object>(),
    ))
}
