//! `semver.*`. Source: OPA `internal/semver`.

use std::cmp::Ordering;

use crate::value::Value;

use super::Outcome;
use super::operand::{self, CallError};

/// A version: its numbers, and the identifiers of its pre-release.
#[derive(PartialEq, Eq)]
struct Version<'a> {
    numbers: [i64; 3],
    pre_release: Vec<&'a str>,
}

impl<'a> Version<'a> {
    /// Reads `1.2.3-alpha.1+build`, with a `v` before it or not.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = cut(text, '+');
        let (core, pre_release) = cut(text, '-');
        let build_fits = build.is_none_or(|build| build.split('.').all(is_identifier));
        let pre_release: Vec<&str> = pre_release.map(|text| text.split('.').collect()).unwrap_or_default();
        let zero_first = |id: &&str| id.len() > 1 && id.starts_with('0') && is_number(id);
        if !build_fits
            || !pre_release.iter().all(|id| is_identifier(id))
            || pre_release.iter().any(zero_first)
        {
            return None;
        }
        let numbers: Option<Vec<i64>> = core.split('.').map(number).collect();
        Some(Self { numbers: numbers?.try_into().ok()?, pre_release })
    }
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let released = |version: &Self| version.pre_release.is_empty();
        let by_release = released(self).cmp(&released(other));
        self.numbers.cmp(&other.numbers).then(by_release).then_with(|| {
            let unequal = self.pre_release.iter().zip(&other.pre_release).map(|(a, b)| identifiers(a, b));
            let by_identifier = unequal.into_iter().find(|order| order.is_ne());
            by_identifier.unwrap_or_else(|| self.pre_release.len().cmp(&other.pre_release.len()))
        })
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<i64> {
    if !is_number(text) || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}

/// Numbers come before words, and are compared as numbers.
fn identifiers(a: &str, b: &str) -> Ordering {
    match (is_number(a), is_number(b)) {
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (a_is, b_is) => b_is.cmp(&a_is).then_with(|| a.cmp(b)),
    }
}

/// Implements `semver.compare(a, b)`: -1, 0 or 1.
pub(super) fn compare(args: &[&Value]) -> Outcome {
    let answer = version(args, 0).and_then(|a| Ok(Value::from(a.cmp(&version(args, 1)?) as i64)));
    answer.into()
}

fn version<'v>(args: &[&'v Value], index: usize) -> Result<Version<'v>, CallError> {
    let text = operand::string(args, index)?;
    Version::parse(text).ok_or(CallError::Failed)
}

/// Implements `semver.is_valid(text)`; what is not a string is not valid.
pub(super) fn is_valid(args: &[&Value]) -> Outcome {
    Outcome::Value(Value::Bool(version(args, 0).is_ok()))
}
