//! `uuid.*`. Source: OPA `internal/uuid` and `github.com/google/uuid`.

use crate::value::Object;
use crate::value::Value;

use super::{Outcome, operand};

/// The hundreds of nanoseconds between the Gregorian calendar's beginning and 1970.
const UNIX_EPOCH: i64 = 122_192_928_000_000_000;

/// Implements `uuid.parse(text)`: what a UUID says about itself; undefined for other text.
pub(super) fn parse(args: &[&Value]) -> Outcome {
    match operand::string(args, 0) {
        Ok(text) => bytes_of(text).map_or(Outcome::Undefined, |bytes| Outcome::Value(described(bytes))),
        Err(error) => Outcome::Error(error),
    }
}

/// Implements `uuid.rfc4122(key)`: a random UUID; an evaluation has one answer for each key, which is remembered where
/// builtins are called.
pub(super) fn rfc4122(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|_| {
        let mut bytes = super::numbers::random()?;
        // Version 4 of the variant of RFC 4122.
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let digits = data_encoding::HEXLOWER.encode(&bytes);
        let group = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
        let groups = [group(0..8), group(8..12), group(12..16), group(16..20), group(20..32)];
        Ok(Value::from(groups.join("-")))
    });
    answer.into()
}

/// Returns the bytes of a UUID: plain, as a URN, within any two characters, or without hyphens.
fn bytes_of(text: &str) -> Option<[u8; 16]> {
    let hyphenated = match text.len() {
        32 => return hexadecimal(text),
        36 => text,
        38 => text.get(1..37)?,
        45 => {
            let (scheme, rest) = text.split_at_checked(9)?;
            scheme.eq_ignore_ascii_case("urn:uuid:").then_some(rest)?
        }
        _ => return None,
    };
    let at = |index: usize| hyphenated.as_bytes().get(index) == Some(&b'-');
    if ![8, 13, 18, 23].into_iter().all(at) {
        return None;
    }
    hexadecimal(&hyphenated.replace('-', ""))
}

fn hexadecimal(digits: &str) -> Option<[u8; 16]> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok()
}

fn described(bytes: [u8; 16]) -> Value {
    let number = u128::from_be_bytes(bytes);
    let field = |shift: u32, bits: u32| {
        u64::try_from(number.wrapping_shr(shift) & (1_u128.wrapping_shl(bits)).saturating_sub(1)).unwrap_or(0)
    };
    let version = field(76, 4);
    let variant = match field(61, 3) {
        4 | 5 => "RFC4122",
        6 => "Microsoft",
        7 => "Future",
        _ => "Reserved",
    };
    let mut object = Object::default();
    let mut insert = |key: &str, value: Value| drop(object.insert(Value::from(key), value));
    insert("version", Value::from(version));
    insert("variant", Value::from(variant));
    if matches!(version, 1 | 2) {
        let ticks = field(96, 32) | field(80, 16) << 32 | field(64, 12) << 48;
        let ticks = i64::try_from(ticks).unwrap_or(0).saturating_sub(UNIX_EPOCH);
        insert("time", Value::from(ticks.saturating_mul(100)));
        insert("nodeid", Value::from(node(&bytes)));
        insert("macvariables", Value::from(address_kind(field(40, 8))));
        insert("clocksequence", Value::from(field(48, 14)));
    }
    if version == 2 {
        insert("id", Value::from(field(96, 32)));
        insert("domain", Value::from(domain(field(48, 8))));
    }
    Value::from(object)
}

fn node(bytes: &[u8; 16]) -> String {
    let texts: Vec<String> = bytes.iter().skip(10).map(|byte| format!("{byte:02x}")).collect();
    texts.join("-")
}

fn address_kind(first: u64) -> &'static str {
    match first & 3 {
        3 => "local:multicast",
        1 => "global:multicast",
        2 => "local:unicast",
        _ => "global:unicast",
    }
}

fn domain(number: u64) -> String {
    match number {
        0 => "Person".to_owned(),
        1 => "Group".to_owned(),
        2 => "Org".to_owned(),
        other => format!("Domain{other}"),
    }
}
