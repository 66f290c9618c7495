//! The texts of a pattern: wildcards, operators, ranges, `&` and `|`.
//!
//! `">2 & <11 | 20"` is "more than 2 and less than 11, or 20": `|` binds less than `&`.

use std::cmp::Ordering;

use go_compat::duration;
use serde_json::Value;

use super::number::quantity;

/// A compiled text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    text: String,
    /// All terms of one of these lists hold.
    any: Vec<Vec<Term>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    One(Comparison),
    /// `3-10`: both ends belong to it.
    Within(Comparison, Comparison),
    /// `3!-10`: what is outside.
    Outside(Comparison, Comparison),
}

/// A duration is compared with durations, a quantity with quantities, and everything else is a text with `*` and `?`.
#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    operator: Operator,
    text: String,
    /// In nanoseconds.
    duration: Option<i64>,
    quantity: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

const OPERATORS: [(&str, Operator); 5] = [
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    (">", Operator::More),
    ("<", Operator::Less),
    ("!", Operator::NotEqual),
];

/// Returns true for a text with `{{…}}` or `$(…)`, which Kyverno replaces.
pub(super) fn has_variable(text: &str) -> bool {
    text.contains("{{") || text.contains("$(")
}

// === impl Operand ===

impl Operand {
    /// Reads a text of a pattern.
    ///
    /// # Errors
    ///
    /// Variables, and operators and ranges without numbers: they would admit everything or nothing.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if has_variable(text) {
            return Err(format!("{text:?}: variables are not supported here"));
        }
        let all = |part: &str| part.split('&').map(|term| Term::read(term.trim())).collect();
        Ok(Self { text: text.to_owned(), any: text.split('|').map(all).collect::<Result<_, _>>()? })
    }

    /// Null, which stands for what is missing, is 0 where it is compared with a number; lists and objects match nothing.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        let is_same = value.as_str() == Some(&self.text);
        is_same || self.any.iter().any(|all| all.iter().all(|term| term.matches(value)))
    }
}

// === impl Term ===

impl Term {
    fn read(text: &str) -> Result<Self, String> {
        let operator =
            OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, *sign, text.strip_prefix(sign)?)));
        if let Some((operator, sign, rest)) = operator {
            let rest = rest.trim();
            let begins = rest.is_empty() || rest.starts_with(['<', '>', '!', '=']);
            return match operator {
                Operator::NotEqual if begins || range(rest).is_some() => Err(format!(
                    "{text:?}: an operator behind `!` is a text; write `3!-10` for what is outside a range"
                )),
                Operator::NotEqual => Ok(Self::One(Comparison::new(operator, rest))),
                _ => Comparison::number(operator, rest)
                    .map(Self::One)
                    .map_err(|error| format!("{text:?}: {error} behind {sign}")),
            };
        }
        let Some((from, to, not)) = range(text) else {
            return Ok(Self::One(Comparison::new(Operator::Equal, text)));
        };
        let wrong = |reason: &str| format!("{text:?}: {reason}");
        if [from, to].iter().any(|end| end.trim() != *end) {
            return Err(wrong("write a range without spaces"));
        }
        let (above, below) =
            if not { (Operator::Less, Operator::More) } else { (Operator::AtLeast, Operator::AtMost) };
        let (from, to) = (Comparison::new(above, from), Comparison::new(below, to));
        let by_duration = from.duration.zip(to.duration).map(|(from, to)| from > to);
        let by_quantity = from.quantity.zip(to.quantity).map(|(from, to)| from > to);
        match by_duration.or(by_quantity) {
            None => Err(wrong("write a number, a quantity or a duration at both ends of a range")),
            Some(true) => Err(wrong("the range is upside down")),
            Some(false) if not => Ok(Self::Outside(from, to)),
            Some(false) => Ok(Self::Within(from, to)),
        }
    }

    fn matches(&self, value: &Value) -> bool {
        match self {
            Self::One(comparison) => comparison.matches(value),
            Self::Within(from, to) => from.matches(value) && to.matches(value),
            Self::Outside(from, to) => from.matches(value) || to.matches(value),
        }
    }
}

/// `3-10` is `("3", "10", false)`, and `3!-10` is `("3", "10", true)`. Texts with a dash, such as versions and dates, are not ranges.
fn range(text: &str) -> Option<(&str, &str, bool)> {
    let (dash, _) = text.char_indices().skip(1).find(|(_, sign)| *sign == '-')?;
    let (from, to) = (text.get(..dash)?, text.get(dash.saturating_add(1)..)?);
    let (from, not) = from.strip_suffix('!').map_or((from, false), |from| (from, true));
    (is_end(from.trim()) && is_end(to.trim())).then_some((from, to, not))
}

/// A sign, digits, a fraction, letters.
fn is_end(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .strip_prefix(['+', '-'])
        .unwrap_or(text)
        .trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    number.split_once('.').map_or(digits(number), |(whole, fraction)| digits(whole) && digits(fraction))
}

// === impl Comparison ===

impl Comparison {
    fn new(operator: Operator, text: &str) -> Self {
        Self { operator, text: text.to_owned(), duration: duration::parse(text), quantity: quantity(text) }
    }

    fn number(operator: Operator, text: &str) -> Result<Self, &'static str> {
        let comparison = Self::new(operator, text);
        let is_number = comparison.duration.is_some() || comparison.quantity.is_some();
        if is_number { Ok(comparison) } else { Err("write a number, a quantity or a duration") }
    }

    fn matches(&self, value: &Value) -> bool {
        let number = number_of(value);
        let by_duration = || Some(duration::parse(number.as_deref()?)?.cmp(&self.duration?));
        let by_quantity = || quantity(number.as_deref()?)?.partial_cmp(&self.quantity?);
        if let Some(order) = by_duration().or_else(by_quantity) {
            return self.operator.holds(order);
        }
        let is_like = text_of(value).map(|text| wildcard(&self.text, &text));
        match self.operator {
            Operator::Equal => is_like == Some(true),
            Operator::NotEqual => is_like == Some(false),
            Operator::Less | Operator::AtMost | Operator::More | Operator::AtLeast => false,
        }
    }
}

/// The text of a value where it is compared with a number.
fn number_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("0".to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => number
            .as_i64()
            .map(|number| number.to_string())
            .or_else(|| Some(format!("{:.6}", number.as_f64()?))),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text of a value where it is compared with wildcards; that of 1.5 is `1.5E+00`.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        Value::Number(number) => {
            let text = format!("{:E}", number.as_f64()?);
            let (digits, exponent) = text.split_once('E')?;
            Some(format!("{digits}E{:+03}", exponent.parse::<i32>().ok()?))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

// === impl Operator ===

impl Operator {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
        }
    }
}

/// `*` stands for any characters, `?` for one. Goes back to the last `*` where the rest does not fit, so the time is at most the
/// product of both lengths.
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<_>, Vec<_>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut in_text) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match (pattern.get(at), text.get(in_text)) {
            (Some('*'), _) => {
                star = Some((at, in_text));
                at = at.saturating_add(1);
            }
            (Some(expected), Some(sign)) if *expected == '?' || expected == sign => {
                at = at.saturating_add(1);
                in_text = in_text.saturating_add(1);
            }
            _ => {
                let Some((back, from)) = star else { return false };
                star = Some((back, from.saturating_add(1)));
                at = back.saturating_add(1);
                in_text = from.saturating_add(1);
            }
        }
    }
    pattern.iter().skip(at).all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests;
