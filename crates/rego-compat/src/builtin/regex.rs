//! `regex.*` over long texts: match by match, so that each is paid for.
//!
//! One search takes at most the length of the text times the size of the pattern, but searches for all matches may
//! each read all of the rest. Patterns themselves are in `go_compat::regexp`.

pub(super) mod globs;
pub(super) mod template;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;
use eval_budget::Limit;
use go_compat::regexp::{self, Pattern};

use super::{Answer, Outcome, answer, operand, text_at};

/// A pattern with a text, and what one search of it may cost.
struct Search<'a> {
    pattern: Pattern,
    text: &'a str,
    cost: u64,
    meter: &'a Meter,
}

impl<'a> Search<'a> {
    fn new(
        pattern: Option<&str>,
        text: Option<&'a str>,
        meter: &'a Meter,
    ) -> Result<Option<Self>, EvalError> {
        let (Some(pattern), Some(text)) = (pattern, text) else { return Ok(None) };
        let pattern = match regexp::compile(pattern) {
            Ok(pattern) => pattern,
            Err(regexp::Error::Syntax(_)) => return Ok(None),
            Err(_) => return Err(EvalError::Budget(Limit::Memory)),
        };
        let cost = size(text.len()).saturating_mul(pattern.states) / 4;
        let search = Self { pattern, text, cost, meter };
        search.pay()?;
        meter.spend(size(text.len() / 64))?;
        Ok(Some(search))
    }

    /// Before each search.
    fn pay(&self) -> Result<(), EvalError> {
        self.meter.spend(1)?;
        self.meter.afford(self.cost)
    }

    fn pay_part(&self, length: usize) -> Result<(), EvalError> {
        self.meter.charge(length.saturating_add(48))?;
        self.pay()
    }
}

fn size(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

pub(super) fn matches(args: &[&Value], meter: &Meter) -> Answer {
    let Some(search) = Search::new(text_at(args, 0), text_at(args, 1), meter)? else { return Ok(None) };
    answer(search.pattern.regex.is_match(search.text))
}

/// `regex.is_valid(pattern)`; what is not a string is not valid.
pub(super) fn is_valid(args: &[&Value]) -> Outcome {
    let valid = operand::string(args, 0).is_ok_and(regexp::is_valid);
    Outcome::Value(Value::Bool(valid))
}

/// Go's `Regexp.Split`, part by part.
pub(super) fn split(args: &[&Value], meter: &Meter) -> Answer {
    let (pattern, text) = (text_at(args, 0), text_at(args, 1));
    let Some(search) = Search::new(pattern, text, meter)? else { return Ok(None) };
    let mut parts = Vec::new();
    for part in regexp::split(search.text, pattern.unwrap_or_default(), &search.pattern.regex) {
        search.pay_part(part.len())?;
        parts.push(Value::from(part));
    }
    answer(parts)
}

/// Returns how many matches are wanted: all, where the number is negative.
fn limit(args: &[&Value]) -> Option<usize> {
    match args.get(2) {
        Some(Value::Number(number)) => {
            number.as_i64().map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
        }
        _ => None,
    }
}

pub(super) fn find_n(args: &[&Value], meter: &Meter) -> Answer {
    let Some(limit) = limit(args) else { return Ok(None) };
    let Some(search) = Search::new(text_at(args, 0), text_at(args, 1), meter)? else { return Ok(None) };
    let mut all = Vec::new();
    for found in search.pattern.regex.find_iter(search.text).take(limit) {
        search.pay_part(found.len())?;
        all.push(Value::from(found.as_str()));
    }
    answer(all)
}

/// Matches with their groups, of which one that took no part is empty.
pub(super) fn groups_n(args: &[&Value], meter: &Meter) -> Answer {
    let Some(limit) = limit(args) else { return Ok(None) };
    let Some(search) = Search::new(text_at(args, 0), text_at(args, 1), meter)? else { return Ok(None) };
    let mut all = Vec::new();
    for found in search.pattern.regex.captures_iter(search.text).take(limit) {
        let mut groups = Vec::new();
        for group in found.iter() {
            let group = group.map_or("", |group| group.as_str());
            search.pay_part(group.len())?;
            groups.push(Value::from(group));
        }
        all.push(Value::from(groups));
    }
    answer(all)
}

/// `$1` and `${name}` in the replacement stand for groups.
pub(super) fn replace(args: &[&Value], meter: &Meter) -> Answer {
    let Some(replacement) = text_at(args, 2) else { return Ok(None) };
    let Some(search) = Search::new(text_at(args, 1), text_at(args, 0), meter)? else { return Ok(None) };
    let references = replacement.matches('$').count();
    let (mut out, mut copied) = (String::new(), 0usize);
    for found in search.pattern.regex.captures_iter(search.text) {
        let Some(whole) = found.get(0) else { continue };
        // A name is looked up among all groups.
        let names = size(references).saturating_mul(size(found.len()));
        meter.afford(names.saturating_mul(8))?;
        let longest = references.saturating_mul(whole.len()).saturating_add(replacement.len());
        meter.afford_bytes(longest.saturating_add(out.len()))?;
        let before = out.len();
        out.push_str(search.text.get(copied..whole.start()).unwrap_or(""));
        out.push_str(&regexp::expand(replacement, &found));
        copied = whole.end();
        search.pay_part(out.len().saturating_sub(before))?;
    }
    out.push_str(search.text.get(copied..).unwrap_or(""));
    meter.charge(out.len())?;
    answer(out)
}

#[cfg(test)]
mod tests {
    use eval_budget::Budget;

    use super::*;

    fn call(name: &str, args: &[Value]) -> Answer {
        let args: Vec<&Value> = args.iter().collect();
        crate::builtin::find(name)
            .unwrap()
            .call(&args, &Meter::new(&Budget::default().with_instructions(1_000_000)))
    }

    /// The answer without a meter, all matches at once.
    fn plain(name: &str, pattern: &str, text: &str) -> Option<Value> {
        let regex = regexp::compile(pattern).ok()?.regex;
        let strings = |parts: Vec<&str>| Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>());
        let groups = |found: regexp::Captures<'_>| {
            strings(found.iter().map(|group| group.map_or("", |group| group.as_str())).collect())
        };
        Some(match name {
            "regex.match" => regex.is_match(text).into(),
            "regex.split" => strings(regexp::split(text, pattern, &regex).collect()),
            "regex.find_n" => strings(regex.find_iter(text).take(2).map(|found| found.as_str()).collect()),
            "regex.replace" => {
                let expand = |found: &regexp::Captures<'_>| regexp::expand("<$1$0>", found);
                regex.replace_all(text, expand).into_owned().into()
            }
            _ => regex.captures_iter(text).take(2).map(groups).collect::<Vec<_>>().into(),
        })
    }

    #[test]
    fn answers_are_those_of_the_engine() {
        let texts = ["", "a", "ab", "abcabc", "xaxbx", "éaé", "aXbXc"];
        let patterns = ["", "a", "x*", "(a)|(b)", "[^a]", "X", "b$", "("];
        let names = [
            "regex.match",
            "regex.split",
            "regex.find_n",
            "regex.find_all_string_submatch_n",
            "regex.replace",
        ];
        for (text, pattern) in texts.iter().flat_map(|text| patterns.map(|pattern| (*text, pattern))) {
            for name in names {
                let args: Vec<Value> = match name {
                    "regex.match" | "regex.split" => vec![pattern.into(), text.into()],
                    "regex.replace" => vec![text.into(), pattern.into(), "<$1$0>".into()],
                    _ => vec![pattern.into(), text.into(), 2u64.into()],
                };
                assert_eq!(call(name, &args), Ok(plain(name, pattern, text)), "{name} {pattern:?} {text:?}");
            }
        }
    }

    #[test]
    fn matches_that_each_read_all_the_rest_are_stopped() {
        let args = [".*[^x]|x".into(), "x".repeat(1 << 20).into(), (-1i64).into()];
        assert_eq!(call("regex.find_n", &args), Err(EvalError::Budget(Limit::Instructions)));
        let bomb = ["(x{1,100}){1,10}y".into(), "x".repeat(1 << 16).into()];
        assert_eq!(call("regex.match", &bomb), Err(EvalError::Budget(Limit::Instructions)));
    }

    #[test]
    fn replacements_that_multiply_are_stopped() {
        let args = ["x".repeat(1 << 16).into(), "(.*)".into(), "$1".repeat(1 << 16).into()];
        assert!(matches!(call("regex.replace", &args), Err(EvalError::Budget(_))));
    }
}
