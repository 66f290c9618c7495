//! What a plain word means: the resolution rules of `sigs.k8s.io/yaml`, found by running it.

pub use go_compat::yaml::Words;
use serde_json::{Number, Value};

/// A scalar before it is JSON.
#[derive(Clone, Debug, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Integer(Number),
    Float(f64),
    Text(String),
    /// A date, which becomes text.
    Timestamp(String),
}

const TAG: &str = "tag:yaml.org,2002:";

/// The value of a scalar. Quoted text is text; a plain word may be null, a boolean or a number, and a tag says what it has
/// to be.
///
/// # Errors
/// The word is not what its tag says, or a number that JSON does not have.
pub(super) fn resolve(text: String, quoted: bool, tag: Option<&str>, words: Words) -> Result<Value, String> {
    match scalar(text, quoted, tag, words)? {
        Scalar::Null => Ok(Value::Null),
        Scalar::Bool(value) => Ok(Value::Bool(value)),
        Scalar::Integer(number) => Ok(Value::Number(number)),
        Scalar::Float(number) => {
            json_float(number).ok_or_else(|| format!("{number} is not a number of JSON"))
        }
        Scalar::Text(text) | Scalar::Timestamp(text) => Ok(Value::String(text)),
    }
}

/// The JSON that Kubernetes' tools make of a float: 1 of 1.0. `None` for what JSON does not have.
pub(super) fn json_float(number: f64) -> Option<Value> {
    serde_json::from_str(&as_json(number)?).ok()
}

/// The text of a key: JSON has no others. `None` for null, and for what is above 63 bits, as for Kubernetes' tools.
///
/// # Errors
/// As [`resolve`].
pub(super) fn key(
    text: String,
    quoted: bool,
    tag: Option<&str>,
    words: Words,
) -> Result<Option<String>, String> {
    Ok(match scalar(text, quoted, tag, words)? {
        Scalar::Null => None,
        Scalar::Bool(word) => Some(word.to_string()),
        Scalar::Integer(number) => number.is_i64().then(|| number.to_string()),
        Scalar::Float(number) => Some(as_key(number)),
        Scalar::Text(text) | Scalar::Timestamp(text) => Some(text),
    })
}

fn scalar(text: String, quoted: bool, tag: Option<&str>, words: Words) -> Result<Scalar, String> {
    let wanted = match tag {
        None if quoted => return Ok(Scalar::Text(text)),
        None => return Ok(plain(text, words)),
        Some(tag) => tag.strip_prefix(TAG).unwrap_or_default(),
    };
    let mistaken = |text: &str, found: &str| format!("cannot decode !!{found} `{text}` as a !!{wanted}");
    match (wanted, plain(text.clone(), words)) {
        ("binary", _) => binary(&text).map(Scalar::Text),
        ("bool", scalar @ Scalar::Bool(_))
        | ("int", scalar @ Scalar::Integer(_))
        | ("float", scalar @ Scalar::Float(_))
        | ("null", scalar @ Scalar::Null)
        | ("timestamp", scalar @ Scalar::Timestamp(_)) => Ok(scalar),
        ("float", Scalar::Integer(number)) if number.is_i64() => {
            number.as_f64().map(Scalar::Float).ok_or_else(|| mistaken(&text, "int"))
        }
        // Only an explicit tag makes a number out of what could be a date.
        ("bool" | "int" | "float" | "null" | "timestamp", scalar) => Err(mistaken(&text, scalar.tag())),
        _ => Ok(Scalar::Text(text)),
    }
}

impl Scalar {
    const fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Integer(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::Timestamp(_) => "timestamp",
        }
    }
}

/// What a word means without quotes and tags.
fn plain(text: String, words: Words) -> Scalar {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if words == Words::Yaml11 => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if words == Words::Yaml11 => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ if is_date(&text) => Scalar::Timestamp(text),
        _ => number(&text).unwrap_or(Scalar::Text(text)),
    }
}

/// Standard base64 with line breaks; each byte that is not UTF-8 becomes a replacement character, as in Go's JSON.
fn binary(text: &str) -> Result<String, String> {
    let invalid = || "!!binary value contains invalid base64 data".to_owned();
    let compact: Vec<u8> = text.bytes().filter(|byte| !b"\r\n".contains(byte)).collect();
    let bytes = data_encoding::BASE64.decode(&compact);
    // Go does not look at the bits behind the last byte.
    let bytes = bytes.or_else(|_| lenient().decode(&compact)).map_err(|_| invalid())?;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}

fn lenient() -> data_encoding::Encoding {
    let mut specification = data_encoding::BASE64.specification();
    specification.check_trailing_bits = false;
    specification.encoding().unwrap_or(data_encoding::BASE64)
}

/// A float as Go's JSON encoder writes it: `1` for 1.0, with an exponent below 1e-6 and from 1e21.
fn as_json(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return Some(format!("{number:e}"));
    }
    Some(format!("{number}"))
}

/// A float as the key of a mapping, which `sigs.k8s.io/yaml` writes with 32 bits and Go's `%g`.
fn as_key(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() {
            ".nan"
        } else if number > 0.0 {
            ".inf"
        } else {
            "-.inf"
        }
        .to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "that is what it does")]
    let narrow = number as f32;
    if narrow.is_infinite() {
        return if narrow > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{narrow:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if narrow != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{narrow}")
}

/// The forms of dates that Kubernetes' reader knows: four digits, a hyphen, and what `time.Parse` takes.
fn is_date(text: &str) -> bool {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let mut part = |digits: std::ops::RangeInclusive<usize>| {
        let text = parts.next().filter(|text| digits.contains(&text.len()))?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok())?
    };
    let [year, month, day] = [part(4..=4), part(1..=2), part(1..=2)];
    let (Some(year), Some(month), Some(day)) = (year, month, day) else { return false };
    is_day(year, month, day) && time.is_none_or(|time| is_time(time, text.contains(' ')))
}

fn is_day(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `15:4:5.999`, and unless it stands behind a space, a zone.
fn is_time(text: &str, is_spaced: bool) -> bool {
    let zone = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at_checked(zone).unwrap_or((text, ""));
    let is_zone = match zone {
        "" => is_spaced,
        "Z" => !is_spaced,
        offset => !is_spaced && is_offset(offset),
    };
    let mut parts = clock.splitn(3, ':');
    let mut within = |end: u32| {
        let text = parts.next().unwrap_or_default();
        let whole = text.split(['.', ',']).next().unwrap_or_default();
        let fraction = text.get(whole.len()..).unwrap_or_default();
        let sound = (1..=2).contains(&whole.len()) && whole.bytes().all(|byte| byte.is_ascii_digit());
        let digits = fraction.get(1..).unwrap_or_default();
        let exact =
            fraction.is_empty() || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        sound
            && exact
            && whole.parse::<u32>().is_ok_and(|number| number < end)
            && (end == 60 || fraction.is_empty())
    };
    is_zone && within(24) && within(60) && within(60)
}

fn is_offset(text: &str) -> bool {
    let digits = text.get(1..).unwrap_or_default();
    digits.split_once(':').is_some_and(|(hours, minutes)| {
        let two = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        two(hours) && two(minutes) && hours <= "24" && minutes < "60"
    })
}

/// Numbers begin with a digit, a sign or a dot. Behind a dot no underscores are allowed.
fn number(text: &str) -> Option<Scalar> {
    if text.starts_with('.') {
        return float(text);
    }
    let starts_like_one = text.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first));
    let plain: String = text.chars().filter(|character| *character != '_').collect();
    starts_like_one.then(|| integer(&plain).map(Scalar::Integer).or_else(|| float(&plain)))?
}

/// Decimal, or with a prefix: `0x`, `0b`, `0o`, and the bare `0` of YAML 1.1's octals.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0b", 2), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((radix, lower.strip_prefix(prefix)?)))
        .or_else(|| Some((8, lower.strip_prefix('0').filter(|rest| !rest.is_empty())?)))
        .unwrap_or((10, &lower));
    // `from_str_radix` takes a sign of its own, which would let `0x-1` pass.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match (negative, text.starts_with('+')) {
        (true, _) => 0_i64.checked_sub_unsigned(magnitude).map(Number::from),
        // Go reads no sign before a number beyond 63 bits.
        (false, true) => i64::try_from(magnitude).ok().map(Number::from),
        (false, false) => Some(Number::from(magnitude)),
    }
}

/// Only what looks like a decimal number, and is none beyond 64 bits: Rust would also read `inf`.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|e| !e.is_empty() && digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    let number: f64 = well_formed.then(|| text.parse().ok())??;
    number.is_finite().then_some(Scalar::Float(number))
}
