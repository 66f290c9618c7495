//! `crypto.x509.*` and `crypto.parse_private_keys`: certificates and keys, as the JSON of Go's structures. Source: OPA
//! `topdown/crypto.go` and Go's `crypto/x509`.
//!
//! The input is DER (`der`), mostly in PEM (`pem`); curves and signatures are libraries'.

mod alternative;
mod certificate;
mod constraint;
mod curve;
mod der;
mod extension;
mod host;
mod mailbox;
mod name;
mod pem;
mod permission;
mod policy;
mod private_key;
mod public_key;
mod request;
mod signature;
mod time;
mod verify;

use data_encoding::BASE64;

use crate::meter::Now;
use crate::value::{Object, Value};

use self::certificate::Certificate;
use self::private_key::PrivateKey;
use self::verify::Options;
use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};
use go_compat::base64::decode as from_base64;

/// Returns the bytes as Go writes them in JSON.
fn base64(bytes: &[u8]) -> Value {
    Value::from(BASE64.encode(bytes))
}

/// Returns a list, which is null to Go while it is empty.
fn list_or_null(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::from(items) }
}

/// Returns an object with these fields.
fn record(fields: Vec<(&'static str, Value)>) -> Value {
    fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value()
}

fn texts<'t>(texts: impl Iterator<Item = &'t str>) -> Value {
    list_or_null(texts.map(Value::from).collect())
}

fn decoded(text: &str) -> Result<Vec<u8>, CallError> {
    from_base64(text.as_bytes()).ok_or(CallError::Failed)
}

/// Returns the certificates in a text: PEM, base64 of PEM, or base64 of DER.
fn certificates(text: &str) -> Result<Vec<Certificate>, CallError> {
    if text.starts_with("-----BEGIN") {
        return of_pem(text.as_bytes());
    }
    let bytes = decoded(text)?;
    if bytes.starts_with(b"-----BEGIN") { of_pem(&bytes) } else { Certificate::read_all(&bytes) }
}

fn of_pem(mut bytes: &[u8]) -> Result<Vec<Certificate>, CallError> {
    let mut all = Vec::new();
    while let Some((block, rest)) = pem::next(bytes) {
        if block.label != "CERTIFICATE" {
            return Err(CallError::Failed);
        }
        all.extend(block.content);
        bytes = rest;
    }
    Certificate::read_all(&all)
}

fn values(certificates: &[&Certificate], with_uri_texts: bool) -> Value {
    Value::from(certificates.iter().map(|one| one.to_value(with_uri_texts)).collect::<Vec<_>>())
}

/// `crypto.x509.parse_certificates(text)`.
pub(in crate::builtin) fn parse_certificates(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(certificates);
    answer.map(|found| values(&found.iter().collect::<Vec<_>>(), true)).into()
}

/// `crypto.x509.parse_and_verify_certificates(text)`: from a root to a leaf, for servers, now.
pub(in crate::builtin) fn parse_and_verify(args: &[&Value], now: Now) -> Outcome {
    let options = Options { host: String::new(), now: now.into(), usages: Vec::new() };
    let answer =
        operand::string(args, 0).map(|text| verified(certificates(text).ok().as_deref(), &options, true));
    answer.into()
}

/// `crypto.x509.parse_and_verify_certificates_with_options(text, options)`.
pub(in crate::builtin) fn parse_and_verify_with_options(args: &[&Value], now: Now) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let options = operand::object(args, 1)?;
        match certificates(text) {
            Ok(found) => Ok(verified(Some(&found), &self::options(options, now)?, false)),
            Err(_) => Ok(verified(None, &Options { host: String::new(), now: 0, usages: Vec::new() }, false)),
        }
    });
    answer.into()
}

/// Returns whether there is a chain, and the chain from the leaf on.
fn verified(certificates: Option<&[Certificate]>, options: &Options, with_uri_texts: bool) -> Value {
    let enough = certificates.filter(|certificates| certificates.len() > 1);
    match enough.and_then(|certificates| verify::chain(certificates, options)) {
        Some(chain) => Value::from(vec![Value::Bool(true), values(&chain, with_uri_texts)]),
        None => Value::from(vec![Value::Bool(false), Value::new_array()]),
    }
}

fn options(object: &Object, now: Now) -> Result<Options, CallError> {
    let mut options = Options { host: String::new(), now: now.into(), usages: Vec::new() };
    for (key, value) in object.iter() {
        let Value::String(key) = key else { continue };
        let number = || match value {
            Value::Number(number) => number.as_i64().ok_or(CallError::Failed),
            _ => Err(CallError::Failed),
        };
        match &**key {
            "DNSName" => {
                let name = value.as_string().map_err(|_| CallError::Failed)?;
                options.host = name.trim_matches('"').to_owned();
            }
            "CurrentTime" => options.now = i128::from(number()?),
            // Go does not count comparisons any more.
            "MaxConstraintComparisons" => drop(number()?),
            "KeyUsages" => options.usages = usages(value)?,
            _ => return Err(CallError::Failed),
        }
    }
    Ok(options)
}

fn usages(value: &Value) -> Result<Vec<i64>, CallError> {
    const NAMES: [&str; 14] = [
        "Any",
        "ServerAuth",
        "ClientAuth",
        "CodeSigning",
        "EmailProtection",
        "IPSECEndSystem",
        "IPSECTunnel",
        "IPSECUser",
        "TimeStamping",
        "OCSPSigning",
        "MicrosoftServerGatedCrypto",
        "NetscapeServerGatedCrypto",
        "MicrosoftCommercialCodeSigning",
        "MicrosoftKernelCodeSigning",
    ];
    let list: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Set(items) => items.iter().collect(),
        _ => return Err(CallError::Failed),
    };
    let mut found = Vec::new();
    for name in list.into_iter().filter_map(|item| item.as_string().ok()) {
        let name = name.trim_matches('"');
        let place =
            name.strip_prefix("KeyUsage").and_then(|name| NAMES.iter().position(|known| *known == name));
        let place = place.and_then(|place| i64::try_from(place).ok());
        found.push(place.ok_or(CallError::Failed)?);
    }
    Ok(found)
}

/// `crypto.x509.parse_certificate_request(text)`.
pub(in crate::builtin) fn parse_certificate_request(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let is_pem = text.starts_with("-----BEGIN CERTIFICATE REQUEST-----");
        let bytes = if is_pem { text.as_bytes().to_vec() } else { decoded(text)? };
        match pem::next(&bytes) {
            Some((block, _)) if block.label == "CERTIFICATE REQUEST" => request::read(&block.content),
            Some(_) => Err(CallError::Failed),
            None => request::read(&bytes),
        }
    });
    answer.into()
}

/// Returns the keys in a text of PEM, or base64 of that. Blocks of other kinds are passed over.
fn private_keys(text: &str) -> Result<Vec<PrivateKey>, CallError> {
    let bytes = from_base64(text.as_bytes()).unwrap_or_else(|| text.as_bytes().to_vec());
    let (mut rest, mut keys) = (bytes.as_slice(), Vec::new());
    while let Some((block, after)) = pem::next(rest) {
        match block.label.as_str() {
            "RSA PRIVATE KEY" => keys.push(PrivateKey::pkcs1(&block.content)?),
            "PRIVATE KEY" => keys.push(PrivateKey::pkcs8(&block.content)?),
            "EC PRIVATE KEY" => keys.push(PrivateKey::sec1(&block.content)?),
            _ => {}
        }
        rest = after;
    }
    Ok(keys)
}

/// `crypto.parse_private_keys(text)`; null for an empty text.
pub(in crate::builtin) fn parse_private_keys(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let keys = private_keys(text)?;
        Ok(if text.is_empty() {
            Value::Null
        } else {
            Value::from(keys.iter().map(PrivateKey::to_value).collect::<Vec<_>>())
        })
    });
    answer.into()
}

/// `crypto.x509.parse_rsa_private_key(text)`: the first key, of whatever kind, as a JSON web key.
pub(in crate::builtin) fn parse_rsa_private_key(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        if text.is_empty() {
            return Err(CallError::Failed);
        }
        let bytes = if text.starts_with("-----BEGIN") { text.as_bytes().to_vec() } else { decoded(text)? };
        let keys = private_keys(&go_compat::utf8::lossy(&bytes))?;
        keys.first().map_or(Ok(Value::Null), PrivateKey::to_web_key)
    });
    answer.into()
}

/// `crypto.x509.parse_keypair(certificate, key)`.
pub(in crate::builtin) fn parse_keypair(args: &[&Value]) -> Outcome {
    let answer =
        operand::string(args, 0).and_then(|certificate| keypair(certificate, operand::string(args, 1)?));
    answer.into()
}

fn keypair(certificate: &str, key: &str) -> Result<Value, CallError> {
    let of = |text: &str| {
        if text.starts_with("-----BEGIN ") { Ok(text.as_bytes().to_vec()) } else { decoded(text) }
    };
    let (certificate, key) = (of(certificate)?, of(key)?);
    let chain =
        if certificate.starts_with(b"-----BEGIN ") { blocks(&certificate) } else { vec![certificate] };
    let leaf = Certificate::read(chain.first().ok_or(CallError::Failed)?)?;
    let key = if key.starts_with(b"-----BEGIN") { key_block(&key)? } else { key };
    let key = PrivateKey::any(&key)?;
    if key.public() != leaf.key || leaf.key == public_key::PublicKey::Unknown {
        return Err(CallError::Failed);
    }
    let fields = [
        ("Certificate", Value::from(chain.iter().map(|one| base64(one)).collect::<Vec<_>>())),
        ("PrivateKey", key.to_value()),
        ("SupportedSignatureAlgorithms", Value::Null),
        ("OCSPStaple", Value::Null),
        ("SignedCertificateTimestamps", Value::Null),
        ("Leaf", leaf.to_value(false)),
    ];
    Ok(fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect::<Object>().into_value())
}

/// Returns the contents of all blocks that are certificates.
fn blocks(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some((block, rest)) = pem::next(bytes) {
        if block.label == "CERTIFICATE" {
            found.push(block.content);
        }
        bytes = rest;
    }
    found
}

fn key_block(mut bytes: &[u8]) -> Result<Vec<u8>, CallError> {
    while let Some((block, rest)) = pem::next(bytes) {
        if block.label == "PRIVATE KEY" || block.label.ends_with(" PRIVATE KEY") {
            return Ok(block.content);
        }
        bytes = rest;
    }
    Err(CallError::Failed)
}
