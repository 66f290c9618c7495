//! Durations and timestamps: reading, writing, and their parts.

use chrono::{DateTime, Datelike, FixedOffset, Offset, TimeDelta, TimeZone, Timelike, Utc};
use go_compat::time as go;

use crate::value::Value;

use super::super::error::EvalError;
use super::Native;

type Time = DateTime<FixedOffset>;

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("duration", |_, arguments| duration(arguments)),
    ("timestamp", |_, arguments| timestamp(arguments)),
    ("getFullYear", |_, arguments| part(arguments, |time| i64::from(time.year()))),
    ("getMonth", |_, arguments| part(arguments, |time| i64::from(time.month0()))),
    ("getDayOfYear", |_, arguments| part(arguments, |time| i64::from(time.ordinal0()))),
    ("getDayOfMonth", |_, arguments| part(arguments, |time| i64::from(time.day0()))),
    ("getDate", |_, arguments| part(arguments, |time| i64::from(time.day()))),
    ("getDayOfWeek", |_, arguments| part(arguments, |time| i64::from(time.weekday().num_days_from_sunday()))),
    ("getHours", |_, arguments| either(arguments, |time| i64::from(time.hour()), |span| span.num_hours())),
    ("getMinutes", |_, arguments| {
        either(arguments, |time| i64::from(time.minute()), |span| span.num_minutes())
    }),
    ("getSeconds", |_, arguments| {
        either(arguments, |time| i64::from(time.second()), |span| span.num_seconds())
    }),
    ("getMilliseconds", |_, arguments| {
        either(arguments, |time| i64::from(time.timestamp_subsec_millis()), |span| span.num_milliseconds())
    }),
];

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
        let offset = go::Zone::named(zone).ok()?.offset_at(time.timestamp());
        return Some(time.with_timezone(&FixedOffset::east_opt(i32::try_from(offset).ok()?)?));
    };
    let hours = hours.parse::<i32>().ok()?.checked_mul(60)?;
    let minutes = minutes.parse::<i32>().ok()?;
    // cel-go looks at the first character, so that `-0:30` is half an hour west.
    let east =
        if zone.starts_with('-') { hours.checked_sub(minutes)? } else { hours.checked_add(minutes)? };
    // Moved instead of put into a zone: Go's may be days away.
    time.with_timezone(&Utc.fix()).checked_add_signed(TimeDelta::try_minutes(i64::from(east))?)
}

fn timestamp(arguments: &[Value]) -> Result<Value, EvalError> {
    match arguments {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => {
            let utc = Utc.timestamp_opt(*seconds, 0).single();
            Value::timestamp(utc.map(|utc| utc.with_timezone(&Utc.fix())))
        }
        [Value::String(text)] => {
            let unreadable =
                || EvalError::failed("type conversion error from 'string' to 'google.protobuf.Timestamp'");
            let read = go::Time::parse(go::RFC3339, text).map_err(|_| unreadable())?;
            Value::timestamp(Some(in_chrono(read).ok_or_else(unreadable)?))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn in_chrono(time: go::Time) -> Option<Time> {
    let utc = DateTime::from_timestamp(time.seconds, u32::try_from(time.nanos).ok()?)?;
    Some(utc.with_timezone(&FixedOffset::east_opt(i32::try_from(time.offset).ok()?)?))
}

fn duration(arguments: &[Value]) -> Result<Value, EvalError> {
    match arguments {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        [Value::String(text)] => go_compat::duration::parse(text)
            .map(|nanoseconds| Value::Duration(TimeDelta::nanoseconds(nanoseconds)))
            .ok_or_else(|| {
                EvalError::failed("type conversion error from 'string' to 'google.protobuf.Duration'")
            }),
        _ => Err(EvalError::no_overload()),
    }
}

/// RFC 3339 with as many decimals as needed.
pub(super) fn format_timestamp(time: Time) -> String {
    let offset = i64::from(time.offset().local_minus_utc());
    let nanos = i64::from(time.timestamp_subsec_nanos());
    go::Time { seconds: time.timestamp(), nanos, offset }.format(go::RFC3339_NANO, "")
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
