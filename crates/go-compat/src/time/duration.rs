//! `time.parse_duration_ns`. Source: OPA `topdown/time.go` and Go's `time.ParseDuration`.

use crate::value::Value;

use super::Outcome;
use super::operand::{self, Fault};

const HOUR: u64 = 3_600_000_000_000;

/// `time.parse_duration_ns(text)`: Go's durations, and days, weeks and years besides.
pub(super) fn parse_ns(args: &[Value]) -> Outcome {
    operand::string(args, 0).and_then(|text| nanoseconds(text).map(Value::from)).into()
}

fn nanoseconds(text: &str) -> Result<i64, Fault> {
    let invalid = || format!("time: invalid duration \"{text}\"");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (part, after) = segment(rest).ok_or_else(invalid)?;
        total = total.checked_add(part).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (true, _) => Ok(0_i64.checked_sub_unsigned(total).ok_or_else(invalid)?),
        (false, Ok(total)) => Ok(total),
        (false, Err(_)) => Err(invalid()),
    }
}

/// One number with its unit, in nanoseconds, and what follows.
fn segment(text: &str) -> Option<(u64, &str)> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(number_end)?;
    let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(unit_end)?;
    let days = match unit {
        "d" => Some(1.0),
        "w" => Some(7.0),
        "y" => Some(365.0),
        _ => None,
    };
    let nanoseconds = match days {
        // OPA turns these into hours first, through a binary float.
        Some(days) => scaled(&(number.parse::<f64>().ok()? * days * 24.0).to_string(), HOUR)?,
        None => scaled(number, nanoseconds_of(unit)?)?,
    };
    Some((nanoseconds, rest))
}

fn nanoseconds_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => HOUR,
        _ => return None,
    })
}

/// A decimal number times a unit. The fraction is cut to whole nanoseconds as Go cuts it.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(unit)?;
    let digits: String = fraction.chars().take(18).collect();
    if fraction.bytes().any(|byte| !byte.is_ascii_digit()) {
        return None;
    }
    if !digits.is_empty() {
        let scale = 10_f64.powi(i32::try_from(digits.len()).ok()?);
        let share = digits.parse::<u64>().ok()? as f64 * (unit as f64 / scale);
        total = total.checked_add(share as u64)?;
    }
    Some(total)
}
