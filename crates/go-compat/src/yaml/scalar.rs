//! The meaning of plain words: Go's resolution of YAML 1.1's or 1.2's words, with the numbers of YAML 1.1.

use super::Scalar;
use crate::time::{RFC3339_NANO, Time};
use crate::{base64, strconv, utf8};

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolved {
    /// `~`, `null`, or nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number of 64 bits, with or without a sign.
    Int(i128),
    /// A number with a point or an exponent, or a whole one that is larger.
    Float(f64),
    /// Anything else.
    String(String),
    /// A date, perhaps with a time, in RFC 3339.
    Timestamp(String),
    /// `<<`.
    Merge,
    /// Not of the type that its tag asks for.
    Mismatch,
}

const PREFIX: &str = "tag:yaml.org,2002:";

/// The words that are booleans. Numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// YAML 1.1, which version 2 reads: `yes`, `no`, `on`, `off`, `y` and `n` are booleans.
    Yaml11,
    /// YAML 1.2, which version 3 reads: they are strings.
    Yaml12,
}

/// Returns the value of a plain scalar without a tag.
#[must_use]
pub fn plain(text: &str, words: Words) -> Resolved {
    let old = || old_bool(text).filter(|_| words == Words::Yaml11).map(Resolved::Bool);
    let found = word(text).or_else(old).or_else(|| number(text, true));
    found.unwrap_or_else(|| Resolved::String(text.to_owned()))
}

/// Returns the boolean that a word is in YAML 1.1 only.
#[must_use]
pub fn old_bool(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Returns the value of a scalar of a document as version 3 decodes it to JSON, where a date without a tag is a string.
#[must_use]
pub fn resolve(scalar: &Scalar) -> Resolved {
    let text = scalar.text.as_str();
    match scalar.tag.as_deref().filter(|tag| !tag.is_empty() && *tag != "!") {
        None if scalar.is_quoted => Resolved::String(text.to_owned()),
        None => match plain(text, Words::Yaml12) {
            Resolved::Timestamp(_) => Resolved::String(text.to_owned()),
            resolved => resolved,
        },
        Some(tag) => tagged(text, tag).unwrap_or(Resolved::Mismatch),
    }
}

/// The value of a scalar with a tag; none where it does not fit.
fn tagged(text: &str, tag: &str) -> Option<Resolved> {
    let Some(kind) = tag.strip_prefix(PREFIX) else { return Some(Resolved::String(text.to_owned())) };
    let found =
        || word(text).or_else(|| number(text, false)).unwrap_or_else(|| Resolved::String(text.to_owned()));
    match (kind, found()) {
        ("binary", _) => base64::decode(text.as_bytes()).map(|bytes| Resolved::String(utf8::lossy(&bytes))),
        ("timestamp", found) => match found {
            Resolved::String(text) => timestamp(&text).map(Resolved::Timestamp),
            _ => None,
        },
        ("bool", found @ Resolved::Bool(_))
        | ("int", found @ Resolved::Int(_))
        | ("null", found @ Resolved::Null) => Some(found),
        ("float", Resolved::Int(whole)) => {
            i64::try_from(whole).ok().map(|whole| Resolved::Float(whole as f64))
        }
        ("float", found @ Resolved::Float(_)) => Some(found),
        ("bool" | "int" | "null" | "float", _) => None,
        _ => Some(Resolved::String(text.to_owned())),
    }
}

fn word(text: &str) -> Option<Resolved> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        "<<" => Resolved::Merge,
        _ => return None,
    })
}

fn number(text: &str, may_be_date: bool) -> Option<Resolved> {
    match text.as_bytes().first()? {
        b'.' => float(text).map(Resolved::Float),
        b'0'..=b'9' | b'+' | b'-' => {
            if may_be_date && let Some(date) = timestamp(text) {
                return Some(Resolved::Timestamp(date));
            }
            let digits: String = text.chars().filter(|character| *character != '_').collect();
            integer(&digits).map(Resolved::Int).or_else(|| float(&digits).map(Resolved::Float))
        }
        _ => None,
    }
}

/// An integer of 64 bits with any base's prefix; without a sign it may be larger.
fn integer(text: &str) -> Option<i128> {
    let signed = strconv::parse_int(text, 0).map(i128::from);
    signed.or_else(|_| strconv::parse_uint(text, 0).map(i128::from)).ok()
}

/// A decimal number with a point or an exponent.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = digits(whole) && digits(fraction) && digits(exponent) && !exponent.is_empty();
    // Digits are wanted on one side of the point at least.
    let has_digits = !whole.is_empty() || (mantissa.starts_with('.') && !fraction.is_empty());
    strconv::parse_float(text).ok().filter(|_| well_formed && has_digits)
}

/// A date, perhaps with a time, as JSON has it: in RFC 3339.
fn timestamp(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    const LAYOUTS: [&str; 4] = [
        "2006-1-2T15:4:5.999999999Z07:00",
        "2006-1-2t15:4:5.999999999Z07:00",
        "2006-1-2 15:4:5.999999999",
        "2006-1-2",
    ];
    let time = LAYOUTS.iter().find_map(|layout| Time::parse(layout, text).ok())?;
    Some(time.format(RFC3339_NANO, ""))
}
