//! `glob.match`, with the patterns of `gobwas/glob`, which OPA uses.
//!
//! A pattern becomes a regular expression, so that a match takes time linear in the text. `*` and `?` stay between
//! separators, `**` does not; a class such as `[!a-c]` may be a separator.

mod translate;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;
use eval_budget::Limit;
use go_compat::regexp::{self, Pattern};

use self::translate::translate;
use super::{Answer, answer, text_at};

/// The patterns a thread remembers; OPA remembers as many.
const REMEMBERED: usize = 100;

/// Levels of alternatives that regular expressions can be made from.
const MOST_LEVELS: usize = 64;

/// A pattern and its separators.
type Key = (Box<str>, Box<str>);

thread_local! {
    static RECENT: RefCell<HashMap<Key, Pattern>> = RefCell::new(HashMap::new());
}

pub(super) fn matches(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(pattern), Some(text)) = (text_at(args, 0), text_at(args, 2)) else { return Ok(None) };
    let Some(separators) = args.get(1).and_then(|value| separators(value)) else { return Ok(None) };
    let Some(glob) = compiled(pattern, separators, meter)? else { return Ok(None) };
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    meter.afford(length.saturating_mul(glob.states) / 4)?;
    meter.spend(length / 64)?;
    answer(glob.regex.is_match(text))
}

/// Returns the separators: single characters, a dot where the array is empty, none for null.
fn separators(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Array(items) if items.is_empty() => Some(".".to_owned()),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => text.chars().next().filter(|first| first.len_utf8() == text.len()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Returns the compiled form of a pattern; none where OPA refuses it.
fn compiled(pattern: &str, separators: String, meter: &Meter) -> Result<Option<Pattern>, EvalError> {
    let key = (pattern.into(), separators.into_boxed_str());
    if let Some(known) = RECENT.with_borrow(|recent| recent.get(&key).cloned()) {
        return Ok(Some(known));
    }
    // A character of a pattern may become a class without all separators.
    meter.afford_bytes(pattern.len().saturating_mul(key.1.len().saturating_add(16)))?;
    if levels(pattern) > MOST_LEVELS {
        return Err(EvalError::Budget(Limit::Depth));
    }
    let Some(expression) = translate(pattern, &key.1) else { return Ok(None) };
    let Ok(Some(fresh)) = regexp::from_rust_syntax(&expression) else {
        return Err(EvalError::Budget(Limit::Memory));
    };
    RECENT.with_borrow_mut(|recent| {
        if recent.len() >= REMEMBERED {
            recent.clear();
        }
        recent.insert(key, fresh.clone());
    });
    Ok(Some(fresh))
}

/// Counts how deep braces nest.
fn levels(pattern: &str) -> usize {
    let (mut level, mut deepest) = (0usize, 0usize);
    for byte in pattern.bytes() {
        match byte {
            b'{' => level = level.saturating_add(1),
            b'}' => level = level.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(level);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use eval_budget::Budget;

    use super::*;

    fn call(pattern: &str, separators: Value, text: &str) -> Answer {
        let args = [pattern.into(), separators, text.into()];
        let args: Vec<&Value> = args.iter().collect();
        matches(&args, &Meter::new(&Budget::default()))
    }

    #[test]
    fn texts_match_as_in_opa() {
        let dots = || Value::new_array();
        for (pattern, text, wanted) in [
            ("*.github.com", "api.github.com", true),
            ("*.github.com", "a.b.github.com", false),
            ("**.github.com", "a.b.github.com", true),
            ("?at", "cat", true),
            ("?at", ".at", false),
            ("[!c]at", ".at", true),
            ("[a-c]at", "dat", false),
            ("{cat,bat,[fr]at}", "rat", true),
            ("{,x}", "", true),
            ("{**/,}x", "x", true),
            ("{}", "", true),
            ("a,b}]", "a,b}]", true),
            ("\\*a", "*a", true),
            ("a\nb*", "a\nb\n", true),
            ("***", "a.b", true),
        ] {
            assert_eq!(call(pattern, dots(), text), answer(wanted), "{pattern} {text}");
        }
        assert_eq!(call("*hub.com", Value::Null, "api.github.com"), answer(true));
    }

    #[test]
    fn what_is_no_pattern_is_undefined() {
        for pattern in ["[", "[]", "[a", "{a", "a\\", "[b-a]", "[a-]", "[a-bc]", "[!]"] {
            assert_eq!(call(pattern, Value::Null, "a"), Ok(None), "{pattern}");
        }
        let long = Value::from(vec![Value::from("ab")]);
        assert_eq!(call("a", long, "a"), Ok(None));
    }

    #[test]
    fn what_cannot_be_compiled_is_stopped() {
        let deep = "{a,".repeat(100) + &"}".repeat(100);
        assert_eq!(call(&deep, Value::Null, "a"), Err(EvalError::Budget(Limit::Depth)));
    }
}
