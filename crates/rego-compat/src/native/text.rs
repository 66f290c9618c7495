//! Strings.

use crate::value::Value;

use crate::meter::Meter;

use super::{Answer, Native, answer, text_at};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "startswith" => |args, _| tested(args, |text, part| text.starts_with(part)),
        "endswith" => |args, _| tested(args, |text, part| text.ends_with(part)),
        "contains" => |args, _| tested(args, |text, part| text.contains(part)),
        "trim_prefix" => |args, meter| cut(args, meter, |text, part| text.strip_prefix(part).unwrap_or(text)),
        "trim_suffix" => |args, meter| cut(args, meter, |text, part| text.strip_suffix(part).unwrap_or(text)),
        "trim" => |args, meter| cut(args, meter, |text, set| text.trim_matches(|c| set.contains(c))),
        "trim_left" => {
            |args, meter| cut(args, meter, |text, set| text.trim_start_matches(|c| set.contains(c)))
        }
        "trim_right" => {
            |args, meter| cut(args, meter, |text, set| text.trim_end_matches(|c| set.contains(c)))
        }
        "replace" => replace,
        "split" => split,
        "concat" => concat,
        "lower" => |args, meter| mapped(args, meter, str::to_lowercase),
        "upper" => |args, meter| mapped(args, meter, str::to_uppercase),
        _ => return None,
    })
}

fn tested(args: &[&Value], test: fn(&str, &str) -> bool) -> Answer {
    match (text_at(args, 0), text_at(args, 1)) {
        (Some(text), Some(part)) => answer(test(text, part)),
        _ => Ok(None),
    }
}

/// A function from a text and a pattern to a part of the text.
type Cut = for<'a> fn(&'a str, &str) -> &'a str;

fn cut(args: &[&Value], meter: &Meter, cut: Cut) -> Answer {
    let (Some(text), Some(part)) = (text_at(args, 0), text_at(args, 1)) else {
        return Ok(None);
    };
    let rest = cut(text, part);
    if rest.len() == text.len() {
        return Ok(args.first().map(|whole| (*whole).clone()));
    }
    meter.charge(rest.len())?;
    answer(rest)
}

fn mapped(args: &[&Value], meter: &Meter, map: fn(&str) -> String) -> Answer {
    let Some(text) = text_at(args, 0) else {
        return Ok(None);
    };
    meter.charge(text.len())?;
    answer(map(text))
}

/// Every occurrence; an empty pattern occurs in front of every byte and at the end, as in Go.
fn replace(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(old), Some(new)) = (text_at(args, 0), text_at(args, 1), text_at(args, 2)) else {
        return Ok(None);
    };
    let occurrences = if old.is_empty() { text.len().saturating_add(1) } else { text.matches(old).count() };
    meter.charge(text.len().saturating_add(occurrences.saturating_mul(new.len())))?;
    answer(if old.is_empty() {
        crate::builtins::text::replace_all(text, &[(old, new)])
    } else {
        text.replace(old, new)
    })
}

/// An empty separator splits between characters.
fn split(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(separator)) = (text_at(args, 0), text_at(args, 1)) else {
        return Ok(None);
    };
    let parts: Vec<Value> = if separator.is_empty() {
        text.chars().map(|c| Value::from(c.to_string())).collect()
    } else {
        text.split(separator).map(Value::from).collect()
    };
    meter.charge(text.len().saturating_add(parts.len().saturating_mul(48)))?;
    answer(parts)
}

fn concat(args: &[&Value], meter: &Meter) -> Answer {
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
