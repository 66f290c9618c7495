//! `time.*`. Source: OPA `topdown/time.go`; layouts, the calendar and zones are Go's ([`go_compat::time`]).
//!
//! Instants are nanoseconds since 1970 in 64 bits.

use go_compat::duration;
use go_compat::time::{Civil, NANOS, RFC3339, Time, Zone, known_layout};

use crate::meter::Now;
use crate::value::number::float::Float;
use crate::value::{Number, Value};

use super::Outcome;
use super::operand::{self, CallError};

/// An instant as a policy writes it: nanoseconds, `[ns, zone]` or `[ns, zone, layout]`.
struct Moment<'a> {
    nanos: i64,
    zone: Zone,
    layout: &'a str,
}

impl<'a> Moment<'a> {
    fn of(args: &[&'a Value], index: usize) -> Result<Self, CallError> {
        match args.get(index).copied() {
            Some(Value::Number(number)) => Ok(Self { nanos: instant(number)?, zone: Zone::UTC, layout: "" }),
            Some(Value::Array(parts)) if !parts.is_empty() => {
                let Some(Value::Number(number)) = parts.first() else {
                    return Err(CallError::Failed);
                };
                let parts: Vec<&Value> = parts.iter().collect();
                let zone =
                    if parts.len() > 1 { Zone::named(operand::string(&parts, 1)?)? } else { Zone::UTC };
                let layout = if parts.len() > 2 { operand::string(&parts, 2)? } else { "" };
                Ok(Self { nanos: instant(number)?, zone, layout })
            }
            _ => Err(CallError::Failed),
        }
    }

    fn civil(&self) -> Civil {
        let seconds = self.nanos.div_euclid(NANOS);
        Civil::at(seconds, self.zone.offset_at(seconds))
    }
}

/// Returns whole nanoseconds in 64 bits; the number is rounded to 64 binary digits first, as OPA does.
fn instant(number: &Number) -> Result<i64, CallError> {
    if let Some(small) = number.small() {
        return Ok(small);
    }
    let float = Float::of(number).filter(Float::is_whole).ok_or(CallError::Failed)?;
    // A mantissa of 64 bits; anything with a magnitude beyond that is not an instant, and is not written out.
    if float.magnitude().is_some_and(|bits| bits > 64) {
        return Err(CallError::Failed);
    }
    i64::try_from(float.truncated()).map_err(|_| CallError::Failed)
}

fn integers(parts: &[i64]) -> Value {
    Value::from(parts.iter().map(|part| Value::from(*part)).collect::<Vec<_>>())
}

/// Implements `time.now_ns()`: the time of the evaluation.
pub(super) fn now_ns(_: &[&Value], now: Now) -> Outcome {
    Outcome::Value(Value::from(now))
}

/// Implements `time.date(ns)`: year, month and day.
pub(super) fn date(args: &[&Value]) -> Outcome {
    let parts = Moment::of(args, 0).map(|moment| moment.civil());
    parts.map(|civil| integers(&[civil.date.year, civil.date.month, civil.date.day])).into()
}

/// Implements `time.clock(ns)`: hour, minute and second.
pub(super) fn clock(args: &[&Value]) -> Outcome {
    let parts = Moment::of(args, 0).map(|moment| moment.civil());
    parts.map(|civil| integers(&[civil.hour, civil.minute, civil.second])).into()
}

/// Implements `time.weekday(ns)`: the English name.
pub(super) fn weekday(args: &[&Value]) -> Outcome {
    Moment::of(args, 0).map(|moment| Value::from(moment.civil().date.weekday())).into()
}

/// Implements `time.add_date(ns, years, months, days)`: by the calendar and the clocks of the zone.
pub(super) fn add_date(args: &[&Value]) -> Outcome {
    added(args).into()
}

fn added(args: &[&Value]) -> Result<Value, CallError> {
    let moment = Moment::of(args, 0)?;
    let part = |index| operand::integer(args, index);
    let (years, months, days) = (part(1)?, part(2)?, part(3)?);
    let later = moment.civil().plus(years, months, days).ok_or(CallError::Failed)?;
    nanoseconds(moment.zone.instant_of(later), moment.nanos.rem_euclid(NANOS))
}

/// Implements `time.diff(ns, ns)`: years, months, days, hours, minutes and seconds, on the first one's clocks.
pub(super) fn diff(args: &[&Value]) -> Outcome {
    let moments = Moment::of(args, 0).and_then(|first| Ok((first, Moment::of(args, 1)?)));
    let answer = moments.map(|(first, mut second)| {
        second.zone = first.zone;
        let (first, second) = if first.nanos > second.nanos { (second, first) } else { (first, second) };
        integers(&first.civil().until(&second.civil()))
    });
    answer.into()
}

/// Implements `time.format(moment)`, by RFC 3339 unless there is a layout.
pub(super) fn format(args: &[&Value]) -> Outcome {
    let answer = Moment::of(args, 0).map(|moment| {
        let layout = if moment.layout.is_empty() { "RFC3339Nano" } else { moment.layout };
        let seconds = moment.nanos.div_euclid(NANOS);
        let (offset, name) = (moment.zone.offset_at(seconds), moment.zone.abbreviation_at(seconds));
        let time = Time { seconds, nanos: moment.nanos.rem_euclid(NANOS), offset };
        Value::from(time.format(known_layout(layout), &name))
    });
    answer.into()
}

/// Implements `time.parse_ns(layout, text)`.
pub(super) fn parse_ns(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|layout| {
        let text = operand::string(args, 1)?;
        let parsed = Time::parse(known_layout(layout), text)?;
        nanoseconds(parsed.seconds, parsed.nanos)
    });
    answer.into()
}

/// Implements `time.parse_rfc3339_ns(text)`.
pub(super) fn parse_rfc3339_ns(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let parsed = Time::parse(RFC3339, text)?;
        nanoseconds(parsed.seconds, parsed.nanos)
    });
    answer.into()
}

/// Nanoseconds since 1970, if there are so many in 64 bits.
fn nanoseconds(seconds: i64, nanos: i64) -> Result<Value, CallError> {
    let total = i128::from(seconds).saturating_mul(i128::from(NANOS)).saturating_add(i128::from(nanos));
    i64::try_from(total).map(Value::from).map_err(|_| CallError::Failed)
}

/// Implements `time.parse_duration_ns(text)`: Go's durations, and days, weeks and years besides.
pub(super) fn parse_duration_ns(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let nanoseconds = in_hours(text).and_then(|text| duration::parse(&text));
        nanoseconds.map(Value::from).ok_or(CallError::Failed)
    });
    answer.into()
}

/// Returns a duration with its days, weeks and years written in hours, through a binary float as OPA does: `1.5d` is `36h`.
fn in_hours(text: &str) -> Option<String> {
    let (sign, mut rest) = text.split_at_checked(usize::from(text.starts_with(['-', '+'])))?;
    let mut out = sign.to_owned();
    while !rest.is_empty() && rest != "0" {
        let (number, unit, after) = duration::segment(rest)?;
        let days = match unit {
            "d" => Some(1.0),
            "w" => Some(7.0),
            "y" => Some(365.0),
            _ => None,
        };
        match days {
            Some(days) => out.push_str(&format!("{}h", number.parse::<f64>().ok()? * days * 24.0)),
            None => out.extend([number, unit]),
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}
