//! `io.jwt.*`. Source: OPA `topdown/tokens.go`.
//!
//! A token is a compact JWS: three parts of unpadded base64url between periods.

use go_compat::utf8;

use crate::value::Value;

use self::algorithm::Algorithm;
pub(super) use self::constraint::decode_verify;
pub(super) use self::sign::{encode_sign, encode_sign_raw};
use super::encoding::from_base64url;
use super::operand::{self, CallError};
use super::{Outcome, crypto};

mod algorithm;
mod constraint;
mod key;
mod sign;

/// Tokens inside tokens are looked into this deep.
const MOST_NESTED: usize = 16;

struct Token<'a> {
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Token<'a> {
    fn parse(text: &'a str) -> Result<Self, CallError> {
        if !text.contains('.') {
            return Err(CallError::Failed);
        }
        let parts: Vec<&str> = text.split('.').collect();
        match *parts.as_slice() {
            [header, payload, signature] => Ok(Self { header, payload, signature }),
            _ => Err(CallError::Failed),
        }
    }

    fn header(&self) -> Result<Value, CallError> {
        let text = from_base64url(self.header)?;
        let header = json_object(&text)?;
        match field(&header, "enc") {
            Some(_) => Err(CallError::Failed),
            None => Ok(header),
        }
    }

    fn signature(&self) -> Result<Vec<u8>, CallError> {
        from_base64url(self.signature)
    }

    /// Returns the bytes that are signed.
    fn signed(&self) -> Vec<u8> {
        format!("{}.{}", self.header, self.payload).into_bytes()
    }

    fn payload(&self) -> Result<Vec<u8>, CallError> {
        from_base64url(self.payload)
    }
}

fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.as_object().ok()?.get(&Value::from(name))
}

fn json_object(text: &[u8]) -> Result<Value, CallError> {
    let value = Value::from_json_str(&utf8::lossy(text)).map_err(|_| CallError::Failed)?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err(CallError::Failed),
    }
}

/// Implements `io.jwt.decode(token)`: header, payload and the signature in hexadecimal. Nothing is verified.
pub(super) fn decode(args: &[&Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| decode_nested(text, MOST_NESTED)).into()
}

fn decode_nested(text: &str, depth: usize) -> Result<Value, CallError> {
    let token = Token::parse(text)?;
    let header = token.header()?;
    let payload = token.payload()?;
    if field(&header, "cty") == Some(&Value::from("JWT")) {
        let inner = utf8::lossy(&payload);
        let depth = depth.checked_sub(1).ok_or(CallError::Failed)?;
        return decode_nested(inner.trim_matches(['"', '\'']), depth);
    }
    let payload = json_object(&payload)?;
    let signature = from_base64url(token.signature)?;
    Ok(Value::from(vec![header, payload, Value::from(crypto::hexadecimal(&signature))]))
}

/// The fields of a header that verification reads.
struct Header {
    algorithm: String,
    key_id: Option<String>,
    content_type: String,
    /// Parameters that must be understood, of those that are not.
    critical_unknown: bool,
}

impl Header {
    fn parse(document: &Value) -> Result<Self, CallError> {
        const KNOWN: [&str; 5] = ["alg", "kid", "typ", "cty", "crit"];
        let text = |name: &str| match field(document, name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_string())),
            Some(_) => Err(CallError::Failed),
        };
        text("typ")?;
        let critical = match field(document, "crit") {
            None => Vec::new(),
            Some(Value::Array(names)) => names.to_vec(),
            Some(_) => return Err(CallError::Failed),
        };
        let names = document.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
        let unknown = |name: &Value| !KNOWN.iter().any(|known| *name == Value::from(*known));
        let critical_unknown =
            names.unwrap_or_default().iter().any(|name| unknown(name) && critical.contains(name));
        Ok(Self {
            algorithm: text("alg")?.unwrap_or_default(),
            key_id: text("kid")?,
            content_type: text("cty")?.unwrap_or_default(),
            critical_unknown,
        })
    }

    fn is_valid(&self) -> bool {
        !self.algorithm.is_empty() && !self.critical_unknown
    }
}

/// Implements `io.jwt.verify_hs256(token, secret)`.
pub(super) fn verify_hs256(args: &[&Value]) -> Outcome {
    verify_secret(args, "HS256")
}

/// Implements `io.jwt.verify_hs384(token, secret)`.
pub(super) fn verify_hs384(args: &[&Value]) -> Outcome {
    verify_secret(args, "HS384")
}

/// Implements `io.jwt.verify_hs512(token, secret)`.
pub(super) fn verify_hs512(args: &[&Value]) -> Outcome {
    verify_secret(args, "HS512")
}

fn verify_secret(args: &[&Value], name: &str) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let secret = operand::string(args, 1)?;
        let token = Token::parse(text)?;
        let signature = token.signature()?;
        let verifies = |algorithm: Algorithm| algorithm.secret_verifies(secret, &token.signed(), &signature);
        Ok(Value::Bool(Algorithm::named(name).is_some_and(verifies)))
    });
    answer.into()
}

/// Implements `io.jwt.verify_rs256(token, keys)`.
pub(super) fn verify_rs256(args: &[&Value]) -> Outcome {
    verify_public(args, "RS256")
}

/// Implements `io.jwt.verify_rs384(token, keys)`.
pub(super) fn verify_rs384(args: &[&Value]) -> Outcome {
    verify_public(args, "RS384")
}

/// Implements `io.jwt.verify_rs512(token, keys)`.
pub(super) fn verify_rs512(args: &[&Value]) -> Outcome {
    verify_public(args, "RS512")
}

/// Implements `io.jwt.verify_ps256(token, keys)`.
pub(super) fn verify_ps256(args: &[&Value]) -> Outcome {
    verify_public(args, "PS256")
}

/// Implements `io.jwt.verify_ps384(token, keys)`.
pub(super) fn verify_ps384(args: &[&Value]) -> Outcome {
    verify_public(args, "PS384")
}

/// Implements `io.jwt.verify_ps512(token, keys)`.
pub(super) fn verify_ps512(args: &[&Value]) -> Outcome {
    verify_public(args, "PS512")
}

/// Implements `io.jwt.verify_es256(token, keys)`.
pub(super) fn verify_es256(args: &[&Value]) -> Outcome {
    verify_public(args, "ES256")
}

/// Implements `io.jwt.verify_es384(token, keys)`.
pub(super) fn verify_es384(args: &[&Value]) -> Outcome {
    verify_public(args, "ES384")
}

/// Implements `io.jwt.verify_es512(token, keys)`.
pub(super) fn verify_es512(args: &[&Value]) -> Outcome {
    verify_public(args, "ES512")
}

/// Implements `io.jwt.verify_eddsa(token, keys)`.
pub(super) fn verify_eddsa(args: &[&Value]) -> Outcome {
    verify_public(args, "EdDSA")
}

fn verify_public(args: &[&Value], name: &str) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let token = Token::parse(text)?;
        let keys = key::parse(operand::string(args, 1)?)?;
        let signature = token.signature()?;
        let header = Header::parse(&token.header()?)?;
        let verifies =
            |algorithm| constraint::any_verifies(&keys, &header, algorithm, &token.signed(), &signature);
        Ok(Value::Bool(Algorithm::named(name).is_some_and(verifies)))
    });
    answer.into()
}
