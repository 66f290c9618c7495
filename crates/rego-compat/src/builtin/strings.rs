//! Strings.

pub(super) mod format;
pub(super) mod search;

use crate::value::Value;

use crate::builtin::strings::format::argument;
use crate::error::EvalError;
use crate::meter::Meter;
use eval_budget::Limit;
use go_compat::fmt::{self, Arg};

use super::{Answer, Native, answer, text_at};

pub(super) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "startswith" => |args, meter| tested(args, meter, |text, part| text.starts_with(part)),
        "endswith" => |args, meter| tested(args, meter, |text, part| text.ends_with(part)),
        "contains" => |args, meter| tested(args, meter, |text, part| text.contains(part)),
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
        "sprintf" => sprintf,
        "strings.replace_n" => replace_n,
        _ => return None,
    })
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

/// Every occurrence; an empty pattern occurs in front of every byte and at the end, as in Go.
fn replace(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(old), Some(new)) = (text_at(args, 0), text_at(args, 1), text_at(args, 2)) else {
        return Ok(None);
    };
    let occurrences = if old.is_empty() { text.len().saturating_add(1) } else { text.matches(old).count() };
    meter.charge(text.len().saturating_add(occurrences.saturating_mul(new.len())))?;
    answer(if old.is_empty() {
        crate::builtin::strings::search::replace_all(text, &[(old, new)])
    } else {
        text.replace(old, new)
    })
}

/// An empty separator splits between characters.
fn split(args: &[&Value], meter: &Meter) -> Answer {
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

/// Go's `fmt.Sprintf`, whose directives may each ask for a million characters.
fn sprintf(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(format), Some(Value::Array(values))) = (text_at(args, 0), args.get(1)) else {
        return Ok(None);
    };
    values.iter().try_for_each(|value| meter.charge_tree(value))?;
    read(format, meter)?;
    let values: Vec<Arg> = values.iter().map(argument).collect();
    // Time is looked after as well: text is made at about a byte in a nanosecond.
    match fmt::sprintf(format, &values, meter.bytes_left()) {
        Some(text) => {
            meter.charge(text.len())?;
            answer(text)
        }
        None => Err(EvalError::Budget(Limit::Memory)),
    }
}

/// All patterns at once, as Go's `strings.Replacer`: at every place the first pair that fits; an empty pattern fits
/// between any two bytes, but not right after it has fitted.
fn replace_n(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(Value::Object(patterns)), Some(text)) = (args.first(), text_at(args, 1)) else {
        return Ok(None);
    };
    let mut patterns: Vec<(&Value, &Value)> = patterns.iter().collect();
    patterns.sort_by_key(|(a, _)| *a);
    let pairs: Option<Vec<(&str, &str)>> =
        patterns.into_iter().map(|(old, new)| Some((as_text(old)?, as_text(new)?))).collect();
    let Some(pairs) = pairs else { return Ok(None) };
    let between = pairs.iter().find(|(old, _)| old.is_empty()).map_or("", |(_, new)| *new);
    let tried = u64::try_from(pairs.len() / 4).unwrap_or(u64::MAX).saturating_add(1);
    let (mut out, mut rest, mut after_empty) = (String::new(), text, false);
    loop {
        meter.spend(tried)?;
        let fits = |(old, _): &&(&str, &str)| !(after_empty && old.is_empty()) && rest.starts_with(old);
        if let Some((old, new)) = pairs.iter().find(fits) {
            meter.charge(new.len())?;
            out.push_str(new);
            after_empty = old.is_empty();
            rest = rest.strip_prefix(old).unwrap_or("");
            continue;
        }
        after_empty = false;
        let Some(character) = rest.chars().next() else { break };
        if between.is_empty() || character.is_ascii() {
            out.push(character);
        } else {
            // The bytes of a character that is broken apart are shown as Go shows them.
            let bytes = vec![char::REPLACEMENT_CHARACTER.to_string(); character.len_utf8()];
            meter.charge(between.len().saturating_mul(character.len_utf8()))?;
            out.push_str(&bytes.join(between));
        }
        rest = rest.get(character.len_utf8()..).unwrap_or("");
    }
    meter.charge(text.len())?;
    answer(out)
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}
