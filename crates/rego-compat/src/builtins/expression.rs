//! `regex.*`. Source: OPA `topdown/regex.go`; patterns are Go's, see [`pattern`](super::pattern).

use crate::value::Value;

use super::operand::{self, Fault};
use super::{Outcome, pattern};

/// `regex.match(pattern, text)`, and `re_match` in v0.
pub(super) fn matches(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|pattern| {
        let text = operand::string(args, 1)?;
        Ok(Value::Bool(pattern::compiled(pattern)?.is_match(text)))
    });
    answer.into()
}

/// `regex.is_valid(pattern)`; what is no text is not valid.
pub(super) fn is_valid(args: &[Value]) -> Outcome {
    let valid = operand::string(args, 0).is_ok_and(pattern::is_valid);
    Outcome::Value(Value::Bool(valid))
}

/// `regex.split(pattern, text)`.
pub(super) fn split(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|pattern| {
        let text = operand::string(args, 1)?;
        let parts = parts(text, pattern, &*pattern::compiled(pattern)?);
        Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
    });
    answer.into()
}

/// Go's `Regexp.Split`: no part before an empty match at the beginning, nor after one at the end.
fn parts<'t>(text: &'t str, pattern: &str, regex: &regex::Regex) -> Vec<&'t str> {
    if text.is_empty() && !pattern.is_empty() {
        return vec![""];
    }
    let (mut parts, mut begin, mut end) = (Vec::new(), 0, 0);
    for found in regex.find_iter(text) {
        end = found.start();
        if found.end() != 0 {
            parts.push(text.get(begin..end).unwrap_or(""));
        }
        begin = found.end();
    }
    if end != text.len() {
        parts.push(text.get(begin..).unwrap_or(""));
    }
    parts
}

/// `regex.find_n(pattern, text, n)`: the first `n` matches, or all if `n` is negative.
pub(super) fn find_n(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|pattern| {
        let (text, limit) = (operand::string(args, 1)?, limit(args)?);
        let regex = pattern::compiled(pattern)?;
        let found: Vec<Value> =
            regex.find_iter(text).take(limit).map(|found| Value::from(found.as_str())).collect();
        Ok(Value::from(found))
    });
    answer.into()
}

/// `regex.find_all_string_submatch_n(pattern, text, n)`: matches with their groups, of which one that took no
/// part is empty.
pub(super) fn find_all_string_submatch_n(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|pattern| {
        let (text, limit) = (operand::string(args, 1)?, limit(args)?);
        let regex = pattern::compiled(pattern)?;
        let groups = |found: regex::Captures<'_>| {
            let texts = found.iter().map(|group| Value::from(group.map_or("", |group| group.as_str())));
            Value::from(texts.collect::<Vec<_>>())
        };
        Ok(Value::from(regex.captures_iter(text).take(limit).map(groups).collect::<Vec<_>>()))
    });
    answer.into()
}

fn limit(args: &[Value]) -> Result<usize, Fault> {
    Ok(usize::try_from(operand::integer(args, 2)?).unwrap_or(usize::MAX))
}

/// `regex.replace(text, pattern, replacement)`; `$1` and `${name}` in the replacement stand for groups.
pub(super) fn replace(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|text| {
        let (pattern, replacement) = (operand::string(args, 1)?, operand::string(args, 2)?);
        let regex = pattern::compiled(pattern)?;
        let expanded = |found: &regex::Captures<'_>| expanded(replacement, found);
        Ok(Value::from(regex.replace_all(text, expanded).into_owned()))
    });
    answer.into()
}

/// Go's `Regexp.Expand`: a name goes as far as letters, digits and `_` do, of any script.
pub(crate) fn expanded(template: &str, found: &regex::Captures<'_>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('$') {
        out.push_str(literal);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = group_name(rest) {
            let number = name.parse::<usize>().ok().filter(|_| name.len() == 1 || !name.starts_with('0'));
            let group = number.map_or_else(|| pattern::named(found, name), |number| found.get(number));
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

/// A name at the beginning, in braces or not, and what follows it; none where there is no name.
fn group_name(text: &str) -> Option<(&str, &str)> {
    let in_braces = text.strip_prefix('{');
    let start = in_braces.unwrap_or(text);
    let end = start.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(start.len());
    let (name, after) = start.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    match in_braces {
        Some(_) => after.strip_prefix('}').map(|after| (name, after)),
        None => Some((name, after)),
    }
}

/// `regex.template_match(template, text, start, end)`: between the delimiters are patterns, all else is itself.
pub(super) fn template_match(args: &[Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|template| {
        let text = operand::string(args, 1)?;
        let (start, end) = (delimiter(args, 2, "start")?, delimiter(args, 3, "end")?);
        let pattern = template_pattern(template, start, end)?;
        Ok(Value::Bool(pattern::compiled(&pattern)?.is_match(text)))
    });
    answer.into()
}

fn delimiter(args: &[Value], index: usize, name: &str) -> Result<u8, Fault> {
    match operand::string(args, index)?.as_bytes() {
        [byte] => Ok(*byte),
        bytes => {
            Err(format!("{name} delimiter has to be exactly one character long but is {} long", bytes.len()))
        }
    }
}

fn template_pattern(template: &str, start: u8, end: u8) -> Result<String, Fault> {
    let unbalanced = || format!("unbalanced braces in {template:?}");
    let (mut pattern, mut level, mut opened, mut copied) = ("^".to_owned(), 0_usize, 0_usize, 0_usize);
    for (at, byte) in template.bytes().enumerate() {
        if byte == start {
            level = level.saturating_add(1);
            opened = if level == 1 { at } else { opened };
        } else if byte == end {
            level = level.checked_sub(1).ok_or_else(unbalanced)?;
            if level == 0 {
                let inner = template.get(opened.saturating_add(1)..at).ok_or_else(unbalanced)?;
                pattern::compiled(&format!("^{inner}$"))?;
                pattern.push_str(&regex::escape(template.get(copied..opened).ok_or_else(unbalanced)?));
                pattern.push_str(&format!("({inner})"));
                copied = at.saturating_add(1);
            }
        }
    }
    if level != 0 {
        return Err(unbalanced());
    }
    pattern.push_str(&regex::escape(template.get(copied..).ok_or_else(unbalanced)?));
    pattern.push('$');
    Ok(pattern)
}
