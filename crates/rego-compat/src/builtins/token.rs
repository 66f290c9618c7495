//! `io.jwt.*`: decoding, and signatures by a shared secret. Source: OPA `topdown/tokens.go`.
//!
//! A token is a compact JWS: three parts of unpadded base64url between periods.

use hmac::Hmac;
use regorus::Value;
use sha2::{Sha256, Sha384, Sha512};

use super::encoding::{from_base64url, text_of};
use super::operand::{self, Fault};
use super::{Outcome, digest};

/// Tokens inside tokens are looked into this deep.
const MOST_NESTED: usize = 16;

struct Token<'a> {
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl<'a> Token<'a> {
    fn parse(text: &'a str) -> Result<Self, Fault> {
        if !text.contains('.') {
            return Err("encoded JWT had no period separators".to_owned());
        }
        let parts: Vec<&str> = text.split('.').collect();
        match *parts.as_slice() {
            [header, payload, signature] => Ok(Self {
                header,
                payload,
                signature,
            }),
            _ => Err(format!("encoded JWT must have 3 sections, found {}", parts.len())),
        }
    }

    fn header(&self) -> Result<Value, Fault> {
        let text = from_base64url(self.header)
            .map_err(|fault| format!("JWT header had invalid encoding: {fault}"))?;
        let header = json_object(&text).map_err(|fault| format!("bad JWT header: {fault}"))?;
        match field(&header, "enc") {
            Some(_) => Err("JWT is a JWE object, which is not supported".to_owned()),
            None => Ok(header),
        }
    }

    fn payload(&self) -> Result<Vec<u8>, Fault> {
        from_base64url(self.payload).map_err(|fault| format!("JWT payload had invalid encoding: {fault}"))
    }
}

fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.as_object().ok()?.get(&Value::from(name))
}

fn json_object(text: &[u8]) -> Result<Value, Fault> {
    let value = Value::from_json_str(&text_of(text)).map_err(|error| format!("invalid JSON: {error}"))?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err("decoded JSON type was not an Object".to_owned()),
    }
}

/// `io.jwt.decode(token)`: header, payload and the signature in hexadecimal. Nothing is verified.
pub(super) fn decode(args: &[Value]) -> Outcome {
    operand::string(args, 0)
        .and_then(|text| decode_nested(text, MOST_NESTED))
        .into()
}

fn decode_nested(text: &str, depth: usize) -> Result<Value, Fault> {
    let token = Token::parse(text)?;
    let header = token.header()?;
    let payload = token.payload()?;
    if field(&header, "cty") == Some(&Value::from("JWT")) {
        let inner = text_of(&payload);
        let depth = depth.checked_sub(1).ok_or("tokens are nested too deeply")?;
        return decode_nested(inner.trim_matches(['"', '\'']), depth);
    }
    let payload = json_object(&payload)?;
    let signature = from_base64url(token.signature)
        .map_err(|fault| format!("JWT signature had invalid encoding: {fault}"))?;
    Ok(Value::from(vec![
        header,
        payload,
        Value::from(digest::hexadecimal(&signature)),
    ]))
}

/// `io.jwt.verify_hs256(token, secret)`.
pub(super) fn verify_hs256(args: &[Value]) -> Outcome {
    verify(args, digest::authenticate::<Hmac<Sha256>>)
}

/// `io.jwt.verify_hs384(token, secret)`.
pub(super) fn verify_hs384(args: &[Value]) -> Outcome {
    verify(args, digest::authenticate::<Hmac<Sha384>>)
}

/// `io.jwt.verify_hs512(token, secret)`.
pub(super) fn verify_hs512(args: &[Value]) -> Outcome {
    verify(args, digest::authenticate::<Hmac<Sha512>>)
}

fn verify(args: &[Value], code: fn(&[u8], &[u8]) -> Option<Vec<u8>>) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let secret = operand::string(args, 1)?;
        let token = Token::parse(text)?;
        let signature = from_base64url(token.signature)?;
        let signed = format!("{}.{}", token.header, token.payload);
        let expected = code(signed.as_bytes(), secret.as_bytes()).ok_or("the secret is not usable")?;
        Ok(Value::Bool(digest::same(&signature, &expected)))
    });
    answer.into()
}
