//! Positions, parts and cases of strings. Source: OPA `topdown/strings.go`.

use crate::value::Value;

use crate::builtin::Outcome;
use crate::builtin::operand::{self, CallError};

/// `trim_space(text)`: white space as Unicode has it.
pub(in crate::builtin) fn trim_space(args: &[&Value]) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(text.trim())).into()
}

/// `strings.reverse(text)`, character by character.
pub(in crate::builtin) fn reverse(args: &[&Value]) -> Outcome {
    operand::string(args, 0).map(|text| Value::from(text.chars().rev().collect::<String>())).into()
}

/// `strings.any_prefix_match(texts, prefixes)`.
pub(in crate::builtin) fn any_prefix_match(args: &[&Value]) -> Outcome {
    any_match(args, |text, prefix| text.starts_with(prefix))
}

/// `strings.any_suffix_match(texts, suffixes)`.
pub(in crate::builtin) fn any_suffix_match(args: &[&Value]) -> Outcome {
    any_match(args, |text, suffix| text.ends_with(suffix))
}

fn any_match(args: &[&Value], fits: fn(&str, &str) -> bool) -> Outcome {
    let answer = texts(args, 0).and_then(|texts_of| {
        let parts = texts(args, 1)?;
        Ok(Value::Bool(texts_of.iter().any(|text| parts.iter().any(|part| fits(text, part)))))
    });
    answer.into()
}

/// Returns a string, or the strings of an array or a set.
fn texts<'v>(args: &[&'v Value], index: usize) -> Result<Vec<&'v str>, CallError> {
    match args.get(index).copied() {
        Some(Value::String(text)) => Ok(vec![&**text]),
        Some(Value::Array(items)) => items.iter().map(text_of).collect(),
        Some(Value::Set(items)) => items.iter().map(text_of).collect(),
        _ => Err(CallError::Failed),
    }
}

fn text_of(value: &Value) -> Result<&str, CallError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(CallError::Failed),
    }
}

/// `strings.split_n(text, delimiter, n)`: the first `n` parts, or the last `-n`.
pub(in crate::builtin) fn split_n(args: &[&Value]) -> Outcome {
    split(args).into()
}

fn split(args: &[&Value]) -> Result<Value, CallError> {
    let (text, delimiter) = (operand::string(args, 0)?, operand::string(args, 1)?);
    let wanted = operand::integer(args, 2)?;
    let parts: Vec<&str> = match delimiter {
        "" => text
            .char_indices()
            .map(|(at, c)| text.get(at..at.saturating_add(c.len_utf8())).unwrap_or(""))
            .collect(),
        _ => text.split(delimiter).collect(),
    };
    let count = usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX);
    let skipped = if wanted < 0 { parts.len().saturating_sub(count) } else { 0 };
    Ok(Value::from(parts.into_iter().skip(skipped).take(count).map(Value::from).collect::<Vec<_>>()))
}

/// `strings.count(text, searched)`: how often it occurs, overlaps not counted.
pub(in crate::builtin) fn count(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let searched = operand::string(args, 1)?;
        let count = match searched {
            "" => text.chars().count().saturating_add(1),
            _ => text.matches(searched).count(),
        };
        Ok(Value::from(count))
    });
    answer.into()
}

/// `substring(text, offset, length)`, in characters; all of the rest if the length is negative.
pub(in crate::builtin) fn substring(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let (offset, length) = (operand::integer(args, 1)?, operand::integer(args, 2)?);
        let offset = usize::try_from(offset).map_err(|_| CallError::Failed)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(Value::from(text.chars().skip(offset).take(length).collect::<String>()))
    });
    answer.into()
}

/// `indexof(text, searched)`: the first place in characters, or -1.
pub(in crate::builtin) fn indexof(args: &[&Value]) -> Outcome {
    let answer = places(args).map(|places| Value::from(places.first().map_or(-1, |place| *place)));
    answer.into()
}

/// `indexof_n(text, searched)`: all places in characters, overlapping ones too.
pub(in crate::builtin) fn indexof_n(args: &[&Value]) -> Outcome {
    places(args).map(|places| Value::from(places.into_iter().map(Value::from).collect::<Vec<_>>())).into()
}

fn places(args: &[&Value]) -> Result<Vec<i64>, CallError> {
    let (text, searched) = (operand::string(args, 0)?, operand::string(args, 1)?);
    if searched.is_empty() {
        return Err(CallError::Failed);
    }
    let found =
        |(_, (at, _)): &(i64, (usize, char))| text.get(*at..).is_some_and(|rest| rest.starts_with(searched));
    Ok((0_i64..).zip(text.char_indices()).filter(found).map(|(place, _)| place).collect())
}

/// `lower(text)`, character by character as Go does: what has no single lower-case character stays.
pub(in crate::builtin) fn lower(args: &[&Value]) -> Outcome {
    // The dotted capital I is the one character whose lower case Go cuts short.
    let one = |c: char| {
        if c == '\u{130}' { 'i' } else { single(c, c.to_lowercase()) }
    };
    operand::string(args, 0).map(|text| Value::from(text.chars().map(one).collect::<String>())).into()
}

/// `upper(text)`, character by character as Go does: what has no single upper-case character stays.
pub(in crate::builtin) fn upper(args: &[&Value]) -> Outcome {
    // Greek letters with an iota below: in full their upper case has two characters, and Go takes the one of title case.
    let one = |c: char| match c {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shifted(c, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(c, 9),
        c => single(c, c.to_uppercase()),
    };
    operand::string(args, 0).map(|text| Value::from(text.chars().map(one).collect::<String>())).into()
}

fn shifted(character: char, by: u32) -> char {
    u32::from(character).checked_add(by).and_then(char::from_u32).unwrap_or(character)
}

fn single(character: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(mapped), None) => mapped,
        _ => character,
    }
}

/// `glob.quote_meta(text)`: every character that means something in a pattern, escaped.
pub(in crate::builtin) fn glob_quote_meta(args: &[&Value]) -> Outcome {
    let quoted = |text: &str| {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            if "*?\\[]{}".contains(character) {
                out.push('\\');
            }
            out.push(character);
        }
        Value::from(out)
    };
    operand::string(args, 0).map(quoted).into()
}
