//! Regular expressions: `matches`, `find`, `findAll`.
//!
//! Kubernetes uses Go's, where `\d` is ASCII and `[a&&b]` is three characters; `rego-compat` has the translation,
//! because OPA uses them too.

use std::sync::{Arc, LazyLock};

use crate::value::Value;
use rego_compat::Value as RegoValue;
use rego_compat::builtins::{Outcome, registry};

use super::super::meter::{EvalError, Meter};
use super::Native;

type Builtin = fn(&[RegoValue]) -> Outcome;

static MATCH: LazyLock<Option<Builtin>> = LazyLock::new(|| builtin("regex.match"));
static FIND: LazyLock<Option<Builtin>> = LazyLock::new(|| builtin("regex.find_n"));

fn builtin(name: &str) -> Option<Builtin> {
    let found = registry().iter().find(|builtin| builtin.name == name);
    found.map(|builtin| builtin.run)
}

pub(super) fn function(name: &str) -> Option<Native> {
    Some(match name {
        "matches" => matches,
        "find" => find,
        "findAll" => find_all,
        _ => return None,
    })
}

/// Refuses a pattern that Go does not compile.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    match run(&MATCH, &[pattern.into(), "".into()]) {
        Ok(_) => Ok(()),
        Err(EvalError::Failed(message)) => Err(message),
        Err(EvalError::Budget(limit)) => Err(limit.to_string()),
    }
}

/// Whether a pattern of our own matches.
pub(super) fn is_match(pattern: &str, subject: &str) -> Result<bool, EvalError> {
    match run(&MATCH, &[pattern.into(), subject.into()])? {
        RegoValue::Bool(truth) => Ok(truth),
        _ => Err(EvalError::no_overload()),
    }
}

fn run(builtin: &Option<Builtin>, arguments: &[RegoValue]) -> Result<RegoValue, EvalError> {
    let run = builtin.ok_or_else(|| EvalError::failed("regular expressions are not available"))?;
    match run(arguments) {
        Outcome::Value(value) => Ok(value),
        Outcome::Error(message) => Err(EvalError::Failed(message)),
        _ => Err(EvalError::failed("the regular expression has no answer")),
    }
}

/// The text and the pattern, paid for: matching takes time in proportion to both.
fn operands<'a>(meter: &mut Meter, arguments: &'a [Value]) -> Result<(&'a str, &'a str), EvalError> {
    let [Value::String(this), Value::String(pattern), ..] = arguments else {
        return Err(EvalError::no_overload());
    };
    let work = this.len().saturating_mul(pattern.len().checked_div(4).unwrap_or(0).max(1));
    meter.steps(work.checked_div(4).unwrap_or(0))?;
    meter.bytes(this.len())?;
    Ok((this, pattern))
}

fn matches(meter: &mut Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let (this, pattern) = operands(meter, arguments)?;
    is_match(pattern, this).map(Value::Bool)
}

/// The first `limit` matches; all of them when it is negative.
fn found(meter: &mut Meter, arguments: &[Value], limit: i64) -> Result<Vec<Value>, EvalError> {
    let (this, pattern) = operands(meter, arguments)?;
    let found = run(&FIND, &[pattern.into(), this.into(), limit.into()])?;
    let list = found.as_array().map_err(|_| EvalError::no_overload())?;
    meter.elements(list.len())?;
    Ok(list.iter().filter_map(|part| part.as_string().ok()).map(|part| Value::text(&**part)).collect())
}

fn find(meter: &mut Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    let first = found(meter, arguments, 1)?.into_iter().next();
    Ok(first.unwrap_or_else(|| Value::text("")))
}

fn find_all(meter: &mut Meter, arguments: &[Value]) -> Result<Value, EvalError> {
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
