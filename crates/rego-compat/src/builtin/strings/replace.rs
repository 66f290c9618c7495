//! Replacing parts of strings as Go's `strings.Replacer` does. Source: OPA `topdown/strings.go`.

use crate::builtin::{Answer, answer, text_at};
use crate::meter::Meter;
use crate::value::Value;

use super::as_text;

/// Every occurrence; an empty pattern occurs in front of every byte and at the end, as in Go.
pub(in crate::builtin) fn replace(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(text), Some(old), Some(new)) = (text_at(args, 0), text_at(args, 1), text_at(args, 2)) else {
        return Ok(None);
    };
    let occurrences = if old.is_empty() { text.len().saturating_add(1) } else { text.matches(old).count() };
    meter.charge(text.len().saturating_add(occurrences.saturating_mul(new.len())))?;
    answer(if old.is_empty() { replace_all(text, &[(old, new)]) } else { text.replace(old, new) })
}

/// Go's `strings.Replacer`: at every place the first pair that fits. An empty pattern fits between any two bytes,
/// but not right after it has fitted. The bytes of a character it breaks apart are shown as Go shows them.
fn replace_all(text: &str, pairs: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_empty = false;
    let between = pairs.iter().find(|(old, _)| old.is_empty()).map_or("", |(_, new)| *new);
    loop {
        let fits = |(old, _): &&(&str, &str)| !(after_empty && old.is_empty()) && rest.starts_with(old);
        if let Some((old, new)) = pairs.iter().find(fits) {
            out.push_str(new);
            after_empty = old.is_empty();
            rest = rest.strip_prefix(old).unwrap_or("");
            continue;
        }
        after_empty = false;
        let Some(character) = rest.chars().next() else {
            return out;
        };
        if between.is_empty() || character.is_ascii() {
            out.push(character);
        } else {
            let bytes = vec![char::REPLACEMENT_CHARACTER.to_string(); character.len_utf8()];
            out.push_str(&bytes.join(between));
        }
        rest = rest.get(character.len_utf8()..).unwrap_or("");
    }
}

/// All patterns at once, as Go's `strings.Replacer`: at every place the first pair that fits; an empty pattern fits
/// between any two bytes, but not right after it has fitted.
pub(in crate::builtin) fn replace_n(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(Value::Object(patterns)), Some(text)) = (args.first().copied(), text_at(args, 1)) else {
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
