//! `regex.globs_match`: whether some text fits two patterns made of characters, `.`, `[a-z]`, `*` and `+`.
//!
//! The search is that of OPA (`yashtewari/glob-intersection`), which takes each repetition greedily and looks for
//! its end where the next token fits; it is exponential at its worst, so that each step is paid for.

mod token;

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;

use self::token::{Repeat, Token, tokens};
use crate::builtin::{Answer, answer, text_at};

/// Bytes of a token and of the characters it is made from.
const TOKEN_BYTES: usize = 64;

pub(in crate::builtin) fn globs_match(args: &[&Value], meter: &Meter) -> Answer {
    let (Some(left), Some(right)) = (text_at(args, 0), text_at(args, 1)) else { return Ok(None) };
    meter.afford_bytes(left.len().saturating_add(right.len()).saturating_mul(TOKEN_BYTES))?;
    meter.spend(u64::try_from(left.len().saturating_add(right.len()) / 16).unwrap_or(u64::MAX))?;
    let (Some(left), Some(right)) = (tokens(left), tokens(right)) else { return Ok(None) };
    let Some((left, right)) = trimmed(&left, &right) else { return answer(false) };
    answer(Search { meter }.plain(left, right)?)
}

/// Returns both patterns without what they have in common at either end, one token excepted; none where they differ there.
fn trimmed<'a>(left: &'a [Token], right: &'a [Token]) -> Option<(&'a [Token], &'a [Token])> {
    let once = |(a, b): &(&Token, &Token)| a.repeat == Repeat::Once && b.repeat == Repeat::Once;
    let mut first = 0usize;
    for (a, b) in left.iter().zip(right).take_while(once) {
        a.meets(b).then_some(())?;
        first = first.saturating_add(1);
    }
    let (left, right) = (left.get(first.saturating_sub(1)..)?, right.get(first.saturating_sub(1)..)?);
    let mut last = 0usize;
    for (a, b) in left.iter().rev().zip(right.iter().rev()).take_while(once) {
        a.meets(b).then_some(())?;
        last = last.saturating_add(1);
    }
    let cut = last.saturating_sub(1);
    Some((left.get(..left.len().saturating_sub(cut))?, right.get(..right.len().saturating_sub(cut))?))
}

struct Search<'a> {
    meter: &'a Meter,
}

impl Search<'_> {
    /// Token by token, up to the first repetition.
    fn plain(&self, left: &[Token], right: &[Token]) -> Result<bool, EvalError> {
        self.meter.check_stack()?;
        let (mut left, mut right) = (left, right);
        while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
            self.meter.spend(1)?;
            if a.repeat != Repeat::Once || b.repeat != Repeat::Once {
                return self.repeated(left, right);
            }
            if !a.meets(b) {
                return Ok(false);
            }
            (left, right) = (rest_left, rest_right);
        }
        Ok(left.is_empty() && right.is_empty())
    }

    /// At least one side begins with a repetition; the left one is taken first.
    fn repeated(&self, left: &[Token], right: &[Token]) -> Result<bool, EvalError> {
        let repeats = |tokens: &[Token]| tokens.first().is_some_and(|token| token.repeat != Repeat::Once);
        let (repeated, other) = if repeats(left) { (left, right) } else { (right, left) };
        match repeated.first().map(|token| token.repeat) {
            Some(Repeat::Some) => self.some(repeated, other),
            _ => self.any(repeated, other),
        }
    }

    /// `a+`: the other side's first token belongs to it, or repeats over it.
    fn some(&self, repeated: &[Token], other: &[Token]) -> Result<bool, EvalError> {
        let ([first, rest @ ..], [head, tail @ ..]) = (repeated, other) else { return Ok(false) };
        if !first.meets(head) {
            return Ok(false);
        }
        if self.any(repeated, tail)? {
            return Ok(true);
        }
        Ok(head.repeat != Repeat::Once && self.plain(rest, other)?)
    }

    /// `a*`: takes the other side's tokens until what follows it fits the rest of them.
    fn any(&self, repeated: &[Token], other: &[Token]) -> Result<bool, EvalError> {
        let Some((first, rest)) = repeated.split_first() else { return Ok(false) };
        let mut left = other;
        while let [token, following @ ..] = left {
            self.meter.spend(1)?;
            if rest.first().is_some_and(|next| token.meets(next)) && self.plain(rest, left)? {
                return Ok(true);
            }
            if !token.meets(first) {
                return Ok(false);
            }
            left = following;
        }
        Ok(rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use eval_budget::{Budget, Limit};

    use super::*;

    fn meet(left: &str, right: &str) -> Answer {
        let args = [left.into(), right.into()];
        let args: Vec<&Value> = args.iter().collect();
        globs_match(
            &args,
            &Meter::new(
                &Budget::default()
                    .with_instructions(1_000_000)
                    .with_time(std::time::Duration::from_secs(600)),
            ),
        )
    }

    #[test]
    fn some_text_fits_both() {
        for (left, right) in [
            ("abcd", "[a-d]*"),
            ("d*", "[abcd][abcd]"),
            ("[a-p]+", "[p-z]+"),
            (".a.a", "b.b."),
            ("foo.*bar", "foobar"),
            ("[ab]+c", "[bc]+"),
            ("a\\*", "a[*]"),
            ("", ""),
        ] {
            assert_eq!(meet(left, right), answer(true), "{left} {right}");
            assert_eq!(meet(right, left), answer(true), "{right} {left}");
        }
    }

    #[test]
    fn no_text_fits_both() {
        for (left, right) in
            [("abcd", "abcda"), ("[a-d]+", "[e-f]+"), ("ab+", "a"), (".*", ""), (".*.*f", ".*.*g")]
        {
            assert_eq!(meet(left, right), answer(false), "{left} {right}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_undefined() {
        for pattern in ["]", "[a", "*", "a**", "[-a]", "[a-]", "[b-a]", "[a--]", "a\\", "[a-c-e]"] {
            assert_eq!(meet(pattern, "a"), Ok(None), "{pattern}");
        }
    }

    #[test]
    fn searches_without_end_are_stopped() {
        let (left, right) = (".*a".repeat(40) + "c+", ".*a".repeat(40) + "d+");
        assert_eq!(meet(&left, &right), Err(EvalError::Budget(Limit::Instructions)));
    }
}
