//! Digests and message authentication codes, in hexadecimal. Source: OPA `topdown/crypto.go`.

pub(super) mod price;
pub(super) mod x509;

use crate::value::Value;
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::{Outcome, operand};

/// Implements `crypto.md5(text)`.
pub(super) fn md5(args: &[&Value]) -> Outcome {
    digest::<Md5>(args)
}

/// Implements `crypto.sha1(text)`.
pub(super) fn sha1(args: &[&Value]) -> Outcome {
    digest::<Sha1>(args)
}

/// Implements `crypto.sha256(text)`.
pub(super) fn sha256(args: &[&Value]) -> Outcome {
    digest::<Sha256>(args)
}

/// Implements `crypto.hmac.md5(text, key)`.
pub(super) fn hmac_md5(args: &[&Value]) -> Outcome {
    keyed(args, authenticate::<Hmac<Md5>>)
}

/// Implements `crypto.hmac.sha1(text, key)`.
pub(super) fn hmac_sha1(args: &[&Value]) -> Outcome {
    keyed(args, authenticate::<Hmac<Sha1>>)
}

/// Implements `crypto.hmac.sha256(text, key)`.
pub(super) fn hmac_sha256(args: &[&Value]) -> Outcome {
    keyed(args, authenticate::<Hmac<Sha256>>)
}

/// Implements `crypto.hmac.sha512(text, key)`.
pub(super) fn hmac_sha512(args: &[&Value]) -> Outcome {
    keyed(args, authenticate::<Hmac<Sha512>>)
}

/// Implements `crypto.hmac.equal(a, b)`, which takes as long for unequal codes as for equal ones.
pub(super) fn hmac_equal(args: &[&Value]) -> Outcome {
    equal(args).into()
}

fn equal(args: &[&Value]) -> Result<Value, operand::CallError> {
    Ok(Value::Bool(same(operand::string(args, 0)?.as_bytes(), operand::string(args, 1)?.as_bytes())))
}

/// Compares in constant time: looks at every byte.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b));
    a.len() == b.len() && difference == 0
}

/// Returns the code of a message under a key; none for a key that the algorithm does not take (each takes any).
pub(super) fn authenticate<M: Mac + hmac::digest::KeyInit>(message: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <M as Mac>::new_from_slice(key).ok()?;
    mac.update(message);
    Some(mac.finalize().into_bytes().to_vec())
}

fn digest<D: Digest>(args: &[&Value]) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(hexadecimal(&D::digest(text)))).into()
}

fn keyed(args: &[&Value], code: fn(&[u8], &[u8]) -> Option<Vec<u8>>) -> Outcome {
    let answer = operand::string(args, 0).and_then(|message| {
        let key = operand::string(args, 1)?;
        let code = code(message.as_bytes(), key.as_bytes());
        Ok(Value::from(hexadecimal(&code.ok_or(operand::CallError::Failed)?)))
    });
    answer.into()
}

/// Returns lower-case hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
