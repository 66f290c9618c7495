//! Semantic versions: `semver`, `isSemver` and their parts. Build metadata plays no part in comparing them.

use std::cmp::Ordering;

use crate::value::Declared;
use crate::value::Value;
use semver::Version;

use super::super::error::EvalError;
use super::Native;

#[derive(Debug)]
struct Semver(Version);

impl Declared for Semver {
    const NAME: &'static str = "kubernetes.Semver";
}

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.0.cmp_precedence(&other.0) == Ordering::Equal
    }
}

impl Eq for Semver {}

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] = &[
    ("semver", |_, arguments| match read(arguments)? {
        Ok(version) => Ok(Value::opaque(Semver(version))),
        Err(error) => Err(EvalError::Failed(error)),
    }),
    ("isSemver", |_, arguments| read(arguments).map(|read| Value::Bool(read.is_ok()))),
    ("major", |_, arguments| part(arguments, |version| version.major)),
    ("minor", |_, arguments| part(arguments, |version| version.minor)),
    ("patch", |_, arguments| part(arguments, |version| version.patch)),
];

/// The order of two versions; `None` when the arguments are something else.
pub(super) fn order(arguments: &[Value]) -> Option<Ordering> {
    match arguments {
        [a, b] => Some(as_version(a)?.cmp_precedence(as_version(b)?)),
        _ => None,
    }
}

fn as_version(value: &Value) -> Option<&Version> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<Semver>().map(|semver| &semver.0),
        _ => None,
    }
}

fn part(arguments: &[Value], part: fn(&Version) -> u64) -> Result<Value, EvalError> {
    let version = arguments.first().and_then(as_version).ok_or_else(EvalError::no_overload)?;
    // Go converts without a check as well, so that the largest parts come out negative.
    Ok(Value::Int(part(version).cast_signed()))
}

fn read(arguments: &[Value]) -> Result<Result<Version, String>, EvalError> {
    let text = match arguments {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => text.to_string(),
        [Value::String(text), Value::Bool(true)] => match normal(text) {
            Some(text) => text,
            None => {
                return Ok(Err("short version cannot contain PreRelease/Build meta data".to_owned()));
            }
        },
        _ => return Err(EvalError::no_overload()),
    };
    Ok(Version::parse(&text).map_err(|error| error.to_string()))
}

/// A version in full: without `v`, without leading zeros, with the parts that are missing. `None` when a version with
/// parts missing says more than its numbers.
fn normal(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<_> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return None;
    }
    parts.resize(3, "0".to_owned());
    Some(parts.join("."))
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    match part.trim_start_matches('0') {
        rest if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        rest => format!("0{rest}"),
    }
}
