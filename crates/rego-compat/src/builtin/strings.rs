//! Functions on strings. Source: OPA `topdown/strings.go`.

pub(super) mod format;
pub(super) mod replace;
pub(super) mod search;

use crate::value::Value;

use crate::error::EvalError;
use crate::meter::Meter;

use super::{Answer, answer, text_at};

/// Implements `startswith(text, prefix)`.
pub(super) fn starts_with(args: &[&Value], meter: &Meter) -> Answer {
    tested(args, meter, |text, part| text.starts_with(part))
}

/// Implements `endswith(text, suffix)`.
pub(super) fn ends_with(args: &[&Value], meter: &Meter) -> Answer {
    tested(args, meter, |text, part| text.ends_with(part))
}

/// Implements `contains(text, part)`.
pub(super) fn contains(args: &[&Value], meter: &Meter) -> Answer {
    tested(args, meter, |text, part| text.contains(part))
}

/// Implements `trim_prefix(text, prefix)`.
pub(super) fn trim_prefix(args: &[&Value], meter: &Meter) -> Answer {
    cut(args, meter, |text, part| text.strip_prefix(part).unwrap_or(text))
}

/// Implements `trim_suffix(text, suffix)`.
pub(super) fn trim_suffix(args: &[&Value], meter: &Meter) -> Answer {
    cut(args, meter, |text, part| text.strip_suffix(part).unwrap_or(text))
}

/// Implements `trim(text, characters)`.
pub(super) fn trim(args: &[&Value], meter: &Meter) -> Answer {
    cut(args, meter, |text, set| text.trim_matches(|c| set.contains(c)))
}

/// Implements `trim_left(text, characters)`.
pub(super) fn trim_left(args: &[&Value], meter: &Meter) -> Answer {
    cut(args, meter, |text, set| text.trim_start_matches(|c| set.contains(c)))
}

/// Implements `trim_right(text, characters)`.
pub(super) fn trim_right(args: &[&Value], meter: &Meter) -> Answer {
    cut(args, meter, |text, set| text.trim_end_matches(|c| set.contains(c)))
}

fn tested(args: &[&Value], meter: &Meter, test: fn(&str, &str) -> bool) -> Answer {
    match (text_at(args, 0), text_at(args, 1)) {
        (Some(text), Some(part)) => {
            read(text, meter)?;
            answer(test(text, part))
        }
        _ => Ok(None),
    }
}

/// Pays for reading a long text.
fn read(text: &str, meter: &Meter) -> Result<(), EvalError> {
    match text.len() / 256 {
        0 => Ok(()),
        pages => meter.spend(u64::try_from(pages).unwrap_or(u64::MAX)),
    }
}

/// A function from a text and a pattern to a part of the text.
type Cut = for<'a> fn(&'a str, &str) -> &'a str;

fn cut(args: &[&Value], meter: &Meter, cut: Cut) -> Answer {
    let (Some(text), Some(part)) = (text_at(args, 0), text_at(args, 1)) else {
        return Ok(None);
    };
    // Each character may be looked for in all of the other text.
    let pages = text.len().saturating_mul(part.len()) / 256;
    if pages > 0 {
        meter.afford(u64::try_from(pages).unwrap_or(u64::MAX))?;
        read(text, meter)?;
    }
    let rest = cut(text, part);
    if rest.len() == text.len() {
        return Ok(args.first().map(|whole| (*whole).clone()));
    }
    meter.charge(rest.len())?;
    answer(rest)
}

/// Implements `split(text, separator)`; an empty separator splits between characters.
pub(super) fn split(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(separator)) = (text_at(args, 0), text_at(args, 1)) else {
        return Ok(None);
    };
    let count =
        if separator.is_empty() { text.len() } else { text.matches(separator).count().saturating_add(1) };
    meter.afford_bytes(text.len().saturating_add(count.saturating_mul(96)))?;
    let parts: Vec<Value> = if separator.is_empty() {
        text.chars().map(|c| Value::from(c.to_string())).collect()
    } else {
        text.split(separator).map(Value::from).collect()
    };
    meter.charge(text.len().saturating_add(parts.len().saturating_mul(48)))?;
    answer(parts)
}

pub(super) fn concat(args: &[&Value], meter: &Meter) -> Answer {
    let Some(separator) = text_at(args, 0) else {
        return Ok(None);
    };
    let items: Option<Vec<&str>> = match args.get(1) {
        Some(Value::Array(items)) => items.iter().map(as_text).collect(),
        Some(Value::Set(items)) => items.iter().map(as_text).collect(),
        _ => None,
    };
    let Some(items) = items else { return Ok(None) };
    let length =
        items.iter().fold(0usize, |sum, item| sum.saturating_add(item.len()).saturating_add(separator.len()));
    meter.charge(length)?;
    answer(items.join(separator))
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
