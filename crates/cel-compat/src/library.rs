//! The functions of CEL and of Kubernetes: the code behind each name.
//!
//! They answer as the Go libraries of the API server do, because a policy must have one verdict in both places.
//! `overload` holds the signatures, so that a function finds arguments of the types it declares.

mod conversion;
mod format;
mod list;
mod named;
mod network;
mod pattern;
mod quantity;
mod text;
mod time;
mod url;
mod version;

use std::cmp::Ordering;

use eval_budget::Budget;

use crate::value::Value;

use super::error::EvalError;
use super::meter::Meter;

pub(super) use format::{admits, verbs};

/// The code of a function: its arguments, the target of a call on a target first, to its value.
pub(super) type Native = fn(&Meter, &[Value]) -> Result<Value, EvalError>;

/// The code for a function, which exists in the table of overloads.
pub(super) fn function(name: &str, on_target: bool) -> Option<Native> {
    text::function(name)
        .or_else(|| list::function(name, on_target))
        .or_else(|| pattern::function(name))
        .or_else(|| time::function(name))
        .or_else(|| conversion::function(name))
        .or_else(|| format::function(name))
        .or_else(|| network::function(name))
        .or_else(|| quantity::function(name))
        .or_else(|| version::function(name))
        .or_else(|| url::function(name))
        .or_else(|| named::function(name))
        .or_else(|| ordering(name))
        .or_else(|| optionals(name))
}

/// `optional.of`.
pub(super) fn optional_of() -> Native {
    |_, arguments| Ok(Value::optional(arguments.first().cloned()))
}

/// Conversions, which are applied to a constant when an expression is compiled.
const CONVERSIONS: [&str; 8] = ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"];

/// The value of a conversion of a constant; `None` for all other functions.
///
/// # Errors
/// When the conversion fails: an expression that holds it is refused, as the API server does.
pub(super) fn folded(name: &str, constant: &Value) -> Result<Option<Value>, String> {
    let function = if CONVERSIONS.contains(&name) { function(name, false) } else { None };
    let Some(function) = function else { return Ok(None) };
    let meter = Meter::new(Budget::default());
    function(&meter, std::slice::from_ref(constant)).map(Some).map_err(|error| error.to_string())
}

/// A string converted by `duration` or `timestamp`; `None` when it is not one.
pub(crate) fn time_of(function: &str, text: &str) -> Option<Value> {
    folded(function, &Value::text(text)).ok().flatten()
}

/// Checks that a regular expression compiles.
///
/// # Errors
/// The pattern is invalid.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    pattern::check(pattern)
}

/// Returns what quantities and versions are compared by.
fn ordering(name: &str) -> Option<Native> {
    fn order(arguments: &[Value]) -> Result<Ordering, EvalError> {
        quantity::order(arguments).or_else(|| version::order(arguments)).ok_or_else(EvalError::no_overload)
    }
    Some(match name {
        "compareTo" => |_, arguments| order(arguments).map(|order| Value::Int(i64::from(order as i8))),
        "isGreaterThan" => |_, arguments| order(arguments).map(|order| Value::Bool(order.is_gt())),
        "isLessThan" => |_, arguments| order(arguments).map(|order| Value::Bool(order.is_lt())),
        _ => return None,
    })
}

fn optionals(name: &str) -> Option<Native> {
    Some(match name {
        "optional.none" => |_, _| Ok(Value::optional(None)),
        "optional.of" => |_, arguments| Ok(Value::optional(arguments.first().cloned())),
        "optional.ofNonZeroValue" => {
            |_, arguments| Ok(Value::optional(arguments.first().filter(|v| !v.is_zero()).cloned()))
        }
        "hasValue" => |_, arguments| inner(arguments).map(|inner| Value::Bool(inner.is_some())),
        "value" => |_, arguments| {
            inner(arguments)?.cloned().ok_or_else(|| EvalError::failed("optional.none() dereference"))
        },
        "type" => |_, arguments| match arguments {
            [value] => Ok(Value::Type(value.type_name())),
            _ => Err(EvalError::no_overload()),
        },
        _ => return None,
    })
}

fn inner(arguments: &[Value]) -> Result<Option<&Value>, EvalError> {
    arguments.first().and_then(Value::as_optional).ok_or_else(EvalError::no_overload)
}
