//! Durations and timestamps: reading, writing, and their parts.

use crate::value::Value;
use chrono::{DateTime, Datelike, FixedOffset, Offset, TimeDelta, TimeZone, Timelike, Utc};

use super::super::meter::EvalError;
use super::Native;

type Time = DateTime<FixedOffset>;

/// Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, between which CEL has timestamps.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

pub(super) fn function(name: &str) -> Option<Native> {
    Some(match name {
        "duration" => |_, arguments| duration(arguments),
        "timestamp" => |_, arguments| timestamp(arguments),
        "getFullYear" => |_, arguments| part(arguments, |time| i64::from(time.year())),
        "getMonth" => |_, arguments| part(arguments, |time| i64::from(time.month0())),
        "getDayOfYear" => |_, arguments| part(arguments, |time| i64::from(time.ordinal0())),
        "getDayOfMonth" => |_, arguments| part(arguments, |time| i64::from(time.day0())),
        "getDate" => |_, arguments| part(arguments, |time| i64::from(time.day())),
        "getDayOfWeek" => {
            |_, arguments| part(arguments, |time| i64::from(time.weekday().num_days_from_sunday()))
        }
        "getHours" => {
            |_, arguments| either(arguments, |time| i64::from(time.hour()), |span| span.num_hours())
        }
        "getMinutes" => {
            |_, arguments| either(arguments, |time| i64::from(time.minute()), |span| span.num_minutes())
        }
        "getSeconds" => {
            |_, arguments| either(arguments, |time| i64::from(time.second()), |span| span.num_seconds())
        }
        "getMilliseconds" => |_, arguments| {
            either(
                arguments,
                |time| i64::from(time.timestamp_subsec_millis()),
                |span| span.num_milliseconds(),
            )
        },
        _ => return None,
    })
}

/// A timestamp, if there is one and CEL has it.
pub(in super::super) fn in_range(time: Option<Time>) -> Result<Value, EvalError> {
    time.filter(|time| SECONDS.contains(&time.timestamp()))
        .map(Value::Timestamp)
        .ok_or_else(|| EvalError::failed("timestamp overflow"))
}

fn either(
    arguments: &[Value],
    time: fn(&Time) -> i64,
    span: fn(&TimeDelta) -> i64,
) -> Result<Value, EvalError> {
    match arguments {
        [Value::Duration(value)] => Ok(Value::Int(span(value))),
        _ => part(arguments, time),
    }
}

/// A part of a timestamp in UTC, or in the zone that the second argument names.
fn part(arguments: &[Value], part: fn(&Time) -> i64) -> Result<Value, EvalError> {
    let local = match arguments {
        [Value::Timestamp(time)] => time.with_timezone(&Utc.fix()),
        [Value::Timestamp(time), Value::String(zone)] => {
            in_zone(time, zone).ok_or_else(|| EvalError::Failed(format!("unknown time zone {zone}")))?
        }
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Value::Int(part(&local)))
}

/// A timestamp in a zone: `UTC`, the name of a place, or hours and minutes such as `+02:00`.
fn in_zone(time: &Time, zone: &str) -> Option<Time> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        if matches!(zone, "" | "UTC") {
            return Some(time.with_timezone(&Utc.fix()));
        }
        let place: chrono_tz::Tz = zone.parse().ok()?;
        return Some(time.with_timezone(&place).fixed_offset());
    };
    let hours = hours.parse::<i32>().ok()?.checked_mul(60)?;
    let minutes = minutes.parse::<i32>().ok()?;
    // cel-go looks at the first character, so that `-0:30` is half an hour west.
    let east =
        if zone.starts_with('-') { hours.checked_sub(minutes)? } else { hours.checked_add(minutes)? };
    Some(time.with_timezone(&FixedOffset::east_opt(east.checked_mul(60)?)?))
}

fn timestamp(arguments: &[Value]) -> Result<Value, EvalError> {
    match arguments {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => {
            let utc = Utc.timestamp_opt(*seconds, 0).single();
            in_range(utc.map(|utc| utc.with_timezone(&Utc.fix())))
        }
        [Value::String(text)] => {
            let unreadable =
                || EvalError::failed("type conversion error from 'string' to 'google.protobuf.Timestamp'");
            // chrono also reads lower-case letters and a blank, which RFC 3339 allows and Go refuses.
            let is_strict = text.get(10..11) == Some("T") && !text.contains('z');
            let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| is_strict);
            in_range(Some(time.ok_or_else(unreadable)?))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn duration(arguments: &[Value]) -> Result<Value, EvalError> {
    match arguments {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        [Value::String(text)] => parse_duration(text)
            .map(|nanoseconds| Value::Duration(TimeDelta::nanoseconds(nanoseconds)))
            .ok_or_else(|| {
                EvalError::failed("type conversion error from 'string' to 'google.protobuf.Duration'")
            }),
        _ => Err(EvalError::no_overload()),
    }
}

/// Whether a text is a date such as `2020-01-31`.
pub(super) fn is_date(text: &str) -> bool {
    let is_shaped = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_shaped && chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// Nanoseconds of a text such as `1h30m` or `-1.5s`, as Go reads it.
fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at_checked(end)?;
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end)?;
        total = total.checked_add(nanoseconds(number, unit)?)?;
        rest = behind;
    }
    i64::try_from(if negative { total.checked_neg()? } else { total }).ok()
}

/// One number with its unit, cut off below the nanosecond.
fn nanoseconds(number: &str, unit: &str) -> Option<i128> {
    let scale: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let kept = fraction.get(..fraction.len().min(18))?;
    let part: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let parts = 10_i128.checked_pow(u32::try_from(kept.len()).ok()?)?;
    let below = part.checked_mul(scale)?.checked_div(parts)?;
    whole.checked_mul(scale)?.checked_add(below)
}

/// RFC 3339 with as many decimals as needed.
pub(super) fn format_timestamp(time: Time) -> String {
    let seconds = time.format("%Y-%m-%dT%H:%M:%S");
    let decimals = format!("{:09}", time.timestamp_subsec_nanos());
    let decimals = match decimals.trim_end_matches('0') {
        "" => String::new(),
        decimals => format!(".{decimals}"),
    };
    if time.offset().local_minus_utc() == 0 {
        format!("{seconds}{decimals}Z")
    } else {
        format!("{seconds}{decimals}{}", time.format("%:z"))
    }
}

/// Seconds with as many decimals as needed, such as `90s` or `0.001s`.
pub(super) fn format_duration(span: TimeDelta) -> String {
    let sign = if span < TimeDelta::zero() { "-" } else { "" };
    let span = span.abs();
    let decimals = format!("{:09}", span.subsec_nanos());
    match decimals.trim_end_matches('0') {
        "" => format!("{sign}{}s", span.num_seconds()),
        decimals => format!("{sign}{}.{decimals}s", span.num_seconds()),
    }
}
