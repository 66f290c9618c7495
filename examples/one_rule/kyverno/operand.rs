//! The leaves of a pattern: wildcards, operators, ranges, `&` and `|`.
//!
//! `">2 & <11 | 20"` is "more than 2 and less than 11, or 20": `|` binds less than `&`.

use serde_json::Value;

/// A compiled leaf.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand(Vec<Vec<Term>>);

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Compare(Operator, f64),
    /// Both ends belong to it; `true` for "not in".
    Range(f64, f64, bool),
    /// A text with `*` and `?`; `true` for "not like".
    Like(String, bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
}

// === impl Operand ===

impl Operand {
    /// Reads the text of a leaf.
    ///
    /// # Errors
    ///
    /// An operator without a number: quantities and durations are not part of this subset, and a pattern that would
    /// silently never match is refused.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let all = |part: &str| part.split('&').map(|term| Term::read(term.trim())).collect();
        text.split('|').map(all).collect::<Result<_, _>>().map(Self)
    }

    /// A number is compared as a number, and is its text for wildcards; only texts, numbers and booleans match.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return false,
        };
        self.0.iter().any(|all| all.iter().all(|term| term.matches(&text)))
    }
}

// === impl Term ===

impl Term {
    fn read(text: &str) -> Result<Self, String> {
        let operators = [
            (">=", Operator::AtLeast),
            ("<=", Operator::AtMost),
            (">", Operator::More),
            ("<", Operator::Less),
        ];
        for (sign, operator) in operators {
            if let Some(rest) = text.strip_prefix(sign) {
                let number = rest.trim().parse();
                let wrong =
                    |_| format!("{text:?}: write a number behind {sign}; other units are not supported here");
                return number.map(|number| Self::Compare(operator, number)).map_err(wrong);
            }
        }
        if let Some((from, to, not)) = range(text) {
            return Ok(Self::Range(from, to, not));
        }
        Ok(match text.strip_prefix('!') {
            Some(rest) => Self::Like(rest.trim().to_owned(), true),
            None => Self::Like(text.to_owned(), false),
        })
    }

    fn matches(&self, text: &str) -> bool {
        let number = text.parse::<f64>();
        match (self, number) {
            (Self::Compare(operator, bound), Ok(number)) => match operator {
                Operator::Less => number < *bound,
                Operator::AtMost => number <= *bound,
                Operator::More => number > *bound,
                Operator::AtLeast => number >= *bound,
            },
            (Self::Range(from, to, not), Ok(number)) => (*from <= number && number <= *to) != *not,
            (Self::Compare(..) | Self::Range(..), Err(_)) => false,
            (Self::Like(pattern, not), _) => wildcard(pattern.as_bytes(), text.as_bytes()) != *not,
        }
    }
}

/// `3-10`, or `3!-10` for what is outside.
fn range(text: &str) -> Option<(f64, f64, bool)> {
    let (from, to, not) = match text.split_once("!-") {
        Some((from, to)) => (from, to, true),
        None => text.split_once('-').map(|(from, to)| (from, to, false))?,
    };
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?, not))
}

/// `*` stands for any bytes, `?` for one. Goes back to the last `*` where the rest does not fit, so the time is at most the
/// product of both lengths.
pub(crate) fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_text) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match (pattern.get(at), text.get(in_text)) {
            (Some(b'*'), _) => {
                star = Some((at, in_text));
                at = at.saturating_add(1);
            }
            (Some(expected), Some(byte)) if *expected == b'?' || expected == byte => {
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
    pattern.iter().skip(at).all(|rest| *rest == b'*')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pattern: &str, value: &Value, expected: bool) {
        assert_eq!(Operand::read(pattern).unwrap().matches(value), expected, "{pattern} {value}");
    }

    #[test]
    fn operators_ranges_and_their_combinations() {
        for number in -1..25 {
            let value = json!(number);
            check(">2", &value, number > 2);
            check("<= 10", &value, number <= 10);
            check("3-10", &value, (3..=10).contains(&number));
            check("3!-10", &value, !(3..=10).contains(&number));
            check(">2 & <11 | 20", &value, (3..11).contains(&number) || number == 20);
            check("!5", &value, number != 5);
        }
    }

    #[test]
    fn texts_are_matched_by_wildcards_and_never_by_operators() {
        check("nginx:*", &json!("nginx:1.2"), true);
        check("!*:latest", &json!("nginx:latest"), false);
        check("?*", &json!(""), false);
        check("?*", &json!("a"), true);
        check("*", &json!(""), true);
        check(">2", &json!("many"), false);
        check(">2", &json!("3"), true);
        check("true", &json!(true), true);
        for value in [json!(null), json!([]), json!({})] {
            check("*", &value, false);
        }
    }

    #[test]
    fn a_unit_that_is_not_supported_is_refused() {
        assert!(Operand::read(">10Mi").unwrap_err().contains("write a number"));
    }

    /// Every pattern of up to four signs against every text of up to four, compared with the definition of `*` and `?`.
    #[test]
    fn wildcards_do_what_their_definition_says() {
        fn definition(pattern: &[u8], text: &[u8]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some((b'*', rest)) => {
                    (0..=text.len()).any(|from| definition(rest, text.get(from..).unwrap()))
                }
                Some((sign, rest)) => text
                    .split_first()
                    .is_some_and(|(byte, text)| (*sign == b'?' || sign == byte) && definition(rest, text)),
            }
        }
        let words = |signs: &[u8]| {
            let mut words = vec![Vec::new()];
            let mut last = words.clone();
            for _ in 0..4 {
                last = last
                    .iter()
                    .flat_map(|word| signs.iter().map(move |sign| [word.as_slice(), &[*sign]].concat()))
                    .collect();
                words.extend(last.clone());
            }
            words
        };
        for pattern in words(b"ab*?") {
            for text in words(b"ab") {
                assert_eq!(wildcard(&pattern, &text), definition(&pattern, &text), "{pattern:?} {text:?}");
            }
        }
    }
}
