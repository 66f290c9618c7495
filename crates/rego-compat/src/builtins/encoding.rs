//! `base64.*`, `base64url.*` and `urlquery.*`. Source: OPA `topdown/encoding.go` and Go's `net/url`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::value::Value;
use data_encoding::{BASE64, BASE64URL, Encoding};

use super::Outcome;
use super::operand::{self, Fault};

/// Go's decoders skip line breaks and do not look at bits behind the last byte.
static STANDARD: LazyLock<Encoding> = LazyLock::new(|| lenient(&BASE64));
static URL_SAFE: LazyLock<Encoding> = LazyLock::new(|| lenient(&BASE64URL));

fn lenient(encoding: &Encoding) -> Encoding {
    let mut specification = encoding.specification();
    specification.check_trailing_bits = false;
    specification.ignore.push_str("\r\n");
    specification.encoding().unwrap_or_else(|_| encoding.clone())
}

/// Bytes as text, each byte that is not UTF-8 as the replacement character, which is how Go reads them.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
    }
    text
}

/// Base64url with or without its padding.
pub(super) fn from_base64url(text: &str) -> Result<Vec<u8>, Fault> {
    let illegal = || format!("illegal base64url string: {text}");
    let padding = match text.len() % 4 {
        _ if text.ends_with('=') => "",
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(illegal()),
    };
    URL_SAFE.decode(format!("{text}{padding}").as_bytes()).map_err(|_| illegal())
}

/// Base64 with line breaks, as Go's decoder takes it.
pub(super) fn from_base64(digits: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(digits).ok()
}

/// `base64.is_valid(text)`; what is no text is not valid.
pub(super) fn base64_is_valid(args: &[Value]) -> Outcome {
    let valid = operand::string(args, 0).is_ok_and(|text| STANDARD.decode(text.as_bytes()).is_ok());
    Outcome::Value(Value::Bool(valid))
}

/// `base64.decode(text)`.
pub(super) fn base64_decode(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let bytes = STANDARD.decode(text.as_bytes()).map_err(|_| "illegal base64 data".to_owned())?;
        Ok(Value::from(text_of(&bytes)))
    });
    answer.into()
}

/// `base64url.decode(text)`.
pub(super) fn base64url_decode(args: &[Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| Ok(Value::from(text_of(&from_base64url(text)?)))).into()
}

/// `urlquery.encode(text)`.
pub(super) fn urlquery_encode(args: &[Value]) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(escaped(text))).into()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// `urlquery.decode(text)`.
pub(super) fn urlquery_decode(args: &[Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| unescaped(text, true).map(Value::from)).into()
}

/// Text with its `%41` read, and `+` as a space if that is asked for.
pub(super) fn unescaped(text: &str, plus_is_space: bool) -> Result<String, Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(), digit());
                let pair = high.zip(low).map(|(high, low)| high.saturating_mul(16).saturating_add(low));
                let byte = pair.and_then(|byte| u8::try_from(byte).ok());
                byte.ok_or_else(|| format!("invalid URL escape in {text}"))?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Ok(text_of(&bytes))
}

/// `urlquery.encode_object(object)`: values are texts, or arrays or sets of texts.
pub(super) fn urlquery_encode_object(args: &[Value]) -> Outcome {
    encoded_object(args).into()
}

fn encoded_object(args: &[Value]) -> Result<Value, Fault> {
    // In the order of the texts that keys become, the last of those that become the same.
    let mut pairs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in operand::object(args, 0)?.iter() {
        let key = super::document::name_of(key)?;
        let mut texts = Vec::new();
        let values = match value {
            Value::String(_) => vec![value.clone()],
            Value::Array(array) => array.to_vec(),
            Value::Set(set) => set.iter().cloned().collect(),
            _ => return Err(operand::wrong(0, "one of {string, array, set}", Some(value))),
        };
        for value in values {
            let Value::String(value) = value else {
                return Err(operand::wrong(0, "string", Some(&value)));
            };
            texts.push(escaped(&value));
        }
        pairs.insert(key, texts);
    }
    let joined: Vec<String> = pairs
        .iter()
        .flat_map(|(key, texts)| texts.iter().map(move |text| format!("{}={text}", escaped(key))))
        .collect();
    Ok(Value::from(joined.join("&")))
}

/// `urlquery.decode_object(text)`: every name with the array of its values.
pub(super) fn urlquery_decode_object(args: &[Value]) -> Outcome {
    operand::string(args, 0).and_then(decoded_object).into()
}

fn decoded_object(text: &str) -> Result<Value, Fault> {
    let mut fields: std::collections::BTreeMap<Value, Vec<Value>> = std::collections::BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if pair.contains(';') {
            return Err("invalid semicolon separator in query".to_owned());
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (unescaped(key, true)?, unescaped(value, true)?);
        fields.entry(Value::from(key)).or_default().push(Value::from(value));
    }
    Ok(Value::from(
        fields.into_iter().map(|(key, values)| (key, Value::from(values))).collect::<crate::value::Object>(),
    ))
}
