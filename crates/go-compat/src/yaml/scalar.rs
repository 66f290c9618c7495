//! What a plain word means: Go's resolution of YAML 1.2's words with the numbers of YAML 1.1.

use super::super::encoding::text_of;
use crate::value::Number;

/// The value of a scalar before it becomes JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Timestamp(String),
    Merge,
    /// Not what its tag says.
    Wrong,
}

const PREFIX: &str = "tag:yaml.org,2002:";

/// The value of a plain scalar without a tag.
pub(super) fn plain(text: &str) -> Scalar {
    word(text).or_else(|| number(text, true)).unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

/// The value of a scalar in a document, where a date without a tag is text.
pub(super) fn resolve(text: &str, tag: Option<&str>, quoted: bool) -> Scalar {
    match tag.filter(|tag| !tag.is_empty() && *tag != "!") {
        None if quoted => Scalar::Text(text.to_owned()),
        None => match plain(text) {
            Scalar::Timestamp(_) => Scalar::Text(text.to_owned()),
            scalar => scalar,
        },
        Some(tag) => tagged(text, tag).unwrap_or(Scalar::Wrong),
    }
}

/// The value of a scalar with a tag; none where it does not fit.
fn tagged(text: &str, tag: &str) -> Option<Scalar> {
    let Some(kind) = tag.strip_prefix(PREFIX) else { return Some(Scalar::Text(text.to_owned())) };
    let found =
        || word(text).or_else(|| number(text, false)).unwrap_or_else(|| Scalar::Text(text.to_owned()));
    match (kind, found()) {
        ("binary", _) => base64(text).map(Scalar::Text),
        ("timestamp", found) => match found {
            Scalar::Text(text) => timestamp(&text).map(Scalar::Timestamp),
            _ => None,
        },
        ("bool", found @ Scalar::Bool(_))
        | ("int", found @ Scalar::Int(_))
        | ("null", found @ Scalar::Null) => Some(found),
        ("float", Scalar::Int(whole)) => i64::try_from(whole).ok().map(|whole| Scalar::Float(whole as f64)),
        ("float", found @ Scalar::Float(_)) => Some(found),
        ("bool" | "int" | "null" | "float", _) => None,
        _ => Some(Scalar::Text(text.to_owned())),
    }
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        "<<" => Scalar::Merge,
        _ => return None,
    })
}

fn number(text: &str, may_be_date: bool) -> Option<Scalar> {
    match text.as_bytes().first()? {
        b'.' => float(text).map(Scalar::Float),
        b'0'..=b'9' | b'+' | b'-' => {
            if may_be_date && let Some(date) = timestamp(text) {
                return Some(Scalar::Timestamp(date));
            }
            let digits: String = text.chars().filter(|character| *character != '_').collect();
            integer(&digits).map(Scalar::Int).or_else(|| float(&digits).map(Scalar::Float))
        }
        _ => None,
    }
}

/// Go's integers with any base's prefix, of 64 bits; without a sign they may be larger.
fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let signed = digits.len() != text.len();
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)?),
        [b'0', b'b', ..] => (2, lower.get(2..)?),
        [b'0', b'o', ..] => (8, lower.get(2..)?),
        [b'0', _, ..] => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let number = if negative { magnitude.checked_neg()? } else { magnitude };
    let fits = i64::try_from(number).is_ok() || (!signed && u64::try_from(number).is_ok());
    fits.then_some(number)
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
    finite(text).filter(|_| well_formed && has_digits)
}

/// Go does not take what is too large for a float.
fn finite(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// A date, perhaps with a time, as JSON has it: in RFC 3339.
fn timestamp(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    super::super::time::rfc3339_of_yaml(text)
}

fn base64(text: &str) -> Option<String> {
    let mut specification = data_encoding::BASE64.specification();
    specification.check_trailing_bits = false;
    specification.ignore.push_str("\r\n");
    let bytes = specification.encoding().ok()?.decode(text.as_bytes()).ok()?;
    Some(text_of(&bytes))
}

/// A float as Go's `encoding/json` writes it; none for infinities.
pub(super) fn json_number(float: f64) -> Option<Number> {
    if !float.is_finite() {
        return None;
    }
    let size = float.abs();
    let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        if size >= 1.0 { text.replace('e', "e+") } else { text }
    } else {
        format!("{float}")
    };
    Some(Number::spelled(&text))
}

/// A float as Go's `'g'` format writes it, the shortest that reads the same.
pub(super) fn general(float: f64) -> String {
    decimal(&format!("{float:e}"))
}

/// As [`general`], with the precision of 32 bits.
pub(super) fn general_short(float: f32) -> String {
    decimal(&format!("{float:e}"))
}

fn decimal(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |float| float.to_string())
}
