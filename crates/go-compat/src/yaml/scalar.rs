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
    let found = word(text).or_else(old).or_else(|| number(text));
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
    match scalar.tag.as_deref() {
        None | Some("" | "!") => match untagged(scalar, Words::Yaml12) {
            Resolved::Timestamp(_) => Resolved::String(scalar.text.clone()),
            resolved => resolved,
        },
        Some(tag) => tagged(&scalar.text, tag, Words::Yaml12).unwrap_or(Resolved::Mismatch),
    }
}

/// Returns the value of a scalar without a tag: what is quoted is a string.
pub(crate) fn untagged(scalar: &Scalar, words: Words) -> Resolved {
    if scalar.is_quoted { Resolved::String(scalar.text.clone()) } else { plain(&scalar.text, words) }
}

/// Returns the value of a scalar with a tag, or the reason why it is not of the type that the tag asks for.
pub(crate) fn tagged(text: &str, tag: &str, words: Words) -> Result<Resolved, String> {
    let Some(wanted) = tag.strip_prefix(PREFIX) else { return Ok(Resolved::String(text.to_owned())) };
    let mismatch = |found: &str| format!("cannot decode !!{found} `{text}` as a !!{wanted}");
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
            Err(_) => Err(mismatch("int")),
        },
        ("bool" | "int" | "float" | "null" | "timestamp", found) => Err(mismatch(found.tag())),
        _ => Ok(Resolved::String(text.to_owned())),
    }
}

impl Resolved {
    /// Returns the name of the field that a key becomes in JSON; `None` for what no field is named after: null, a date, and
    /// a value that is not of its tag's type.
    #[must_use]
    pub fn field_name(&self) -> Option<String> {
        match self {
            Self::Bool(word) => Some(word.to_string()),
            Self::Int(whole) => Some(whole.to_string()),
            Self::Float(float) => Some(float_name(*float)),
            Self::String(text) => Some(text.clone()),
            Self::Merge => Some("<<".to_owned()),
            Self::Null | Self::Timestamp(_) | Self::Mismatch => None,
        }
    }

    const fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp(_) => "timestamp",
            _ => "str",
        }
    }
}

/// The name of a field for a float, which `sigs.k8s.io/yaml` writes with 32 bits and Go's `%g`: 0.1 is `0.1`, and
/// 16777217.0 is `1.6777216e+07`.
fn float_name(float: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "that is what it does")]
    let narrow = float as f32;
    match narrow {
        _ if narrow.is_nan() => ".nan".to_owned(),
        f32::INFINITY => ".inf".to_owned(),
        f32::NEG_INFINITY => "-.inf".to_owned(),
        _ => strconv::format_float32(narrow),
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

fn number(text: &str) -> Option<Resolved> {
    match text.as_bytes().first()? {
        b'.' => float(text).map(Resolved::Float),
        b'0'..=b'9' | b'+' | b'-' => {
            if let Some(date) = timestamp(text) {
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
