//! What a plain word means: the resolution rules of `sigs.k8s.io/yaml`, found by running it.

use serde_json::{Number, Value};

/// Which plain words are booleans. Numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// YAML 1.1, which `kubectl` reads: `yes`, `no`, `on`, `off`, `y` and `n` are booleans.
    Yaml11,
    /// YAML 1.2, which `gator verify` reads suites in: they are text.
    Yaml12,
}

/// The value of a scalar. Quoted text is text; a plain word may be null, a boolean or a number.
pub(super) fn resolve(text: String, quoted: bool, tag: Option<&str>, words: Words) -> Value {
    if quoted || tag == Some("tag:yaml.org,2002:str") || tag == Some("!") {
        return Value::String(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if words == Words::Yaml11 => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if words == Words::Yaml11 => {
            Value::Bool(false)
        }
        _ => number(&text).map_or(Value::String(text), Value::Number),
    }
}

/// The text of a key: JSON has no others. `None` for lists, mappings and null.
pub(super) fn key(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Bool(word) => Some(word.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number(text: &str) -> Option<Number> {
    let starts_like_one = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let plain: String = text.chars().filter(|character| *character != '_').collect();
    starts_like_one.then(|| integer(&plain).or_else(|| float(&plain)))?
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
    if negative {
        0_i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// Only what looks like a decimal number: Rust would also read `inf` and `nan`, which JSON cannot hold.
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|e| !e.is_empty() && digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    well_formed.then(|| text.parse().ok().and_then(Number::from_f64))?
}
