//! Regular expressions: `matches`, `find`, `findAll`. Patterns are Go's ([`go_compat::regexp`]).

use std::rc::Rc;
use std::sync::Arc;

use go_compat::regexp::{self, Regex};

use crate::value::Value;

use super::super::error::EvalError;
use super::super::meter::Meter;
use super::Native;

/// The functions of this file, by name.
pub(super) const FUNCTIONS: &[(&str, Native)] =
    &[("matches", matches), ("find", find), ("findAll", find_all)];

/// Refuses a pattern that Go does not compile.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    regexp::compile(pattern).map(drop).map_err(|error| error.to_string())
}

/// Returns true where a pattern of our own matches.
pub(super) fn is_match(pattern: &str, subject: &str) -> Result<bool, EvalError> {
    compiled(pattern).map(|regex| regex.is_match(subject))
}

fn compiled(pattern: &str) -> Result<Rc<Regex>, EvalError> {
    regexp::compile(pattern)
        .map(|pattern| pattern.regex)
        .map_err(|error| EvalError::Failed(error.to_string()))
}

/// The text and the pattern, paid for: matching takes time in proportion to both.
fn operands<'a>(meter: &Meter, arguments: &'a [Value]) -> Result<(&'a str, &'a str), EvalError> {
    let [Value::String(this), Value::String(pattern), ..] = arguments else {
        return Err(EvalError::no_overload());
    };
    let work = this.len().saturating_mul(pattern.len().checked_div(4).unwrap_or(0).max(1));
    meter.steps(work.checked_div(4).unwrap_or(0))?;
    meter.bytes(this.len())?;
    Ok((this, pattern))
}

fn matches(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (this, pattern) = operands(meter, arguments)?;
    is_match(pattern, this).map(Value::Bool)
}

/// The first `limit` matches; all of them when it is negative.
fn found(meter: &Meter, arguments: &[Value], limit: i64) -> Result<Vec<Value>, EvalError> {
    let (this, pattern) = operands(meter, arguments)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let regex = compiled(pattern)?;
    let found: Vec<Value> =
        regex.find_iter(this).take(limit).map(|found| Value::string(found.as_str())).collect();
    meter.elements(found.len())?;
    Ok(found)
}

fn find(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let first = found(meter, arguments, 1)?.into_iter().next();
    Ok(first.unwrap_or_else(|| Value::string("")))
}

fn find_all(meter: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let limit = match arguments {
        [_, _, Value::Int(limit)] => *limit,
        _ => -1,
    };
    if limit == 0 {
        operands(meter, arguments)?;
        return Ok(Value::List(Arc::default()));
    }
    found(meter, arguments, limit).map(|found| Value::List(Arc::new(found)))
}
