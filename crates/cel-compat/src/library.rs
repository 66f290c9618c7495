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
mod strings;
mod time;
mod url;
mod version;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use eval_budget::Budget;

use crate::value::Value;

use super::error::EvalError;
use super::meter::Meter;

pub(super) use format::{admits, verbs};
pub(super) use list::sum_of;

/// The code of a function: its arguments, the target of a call on a target first, to its value.
pub(super) type Native = fn(&Meter, &[Value]) -> Result<Value, EvalError>;

/// The functions of all families. Each name stands in one of them.
const FAMILIES: [&[(&str, Native)]; 13] = [
    conversion::FUNCTIONS,
    format::FUNCTIONS,
    list::FUNCTIONS,
    named::FUNCTIONS,
    network::FUNCTIONS,
    pattern::FUNCTIONS,
    quantity::FUNCTIONS,
    strings::FUNCTIONS,
    time::FUNCTIONS,
    url::FUNCTIONS,
    version::FUNCTIONS,
    OPTIONALS,
    ORDERING,
];

static TABLE: LazyLock<BTreeMap<&'static str, Native>> =
    LazyLock::new(|| FAMILIES.iter().copied().flatten().copied().collect());

/// The code for a function, which exists in the table of overloads.
pub(super) fn function(name: &str) -> Option<Native> {
    TABLE.get(name).copied()
}

/// `optional.of`.
pub(super) fn optional_of(_: &Meter, arguments: &[Value]) -> Result<Value, EvalError> {
    Ok(Value::optional(arguments.first().cloned()))
}

/// Conversions, which are applied to a constant when an expression is compiled.
const CONVERSIONS: [&str; 8] = ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"];

/// The value of a conversion of a constant; `None` for all other functions.
///
/// # Errors
/// When the conversion fails: an expression that holds it is refused, as the API server does.
pub(super) fn folded(name: &str, constant: &Value) -> Result<Option<Value>, String> {
    let function = if CONVERSIONS.contains(&name) { function(name) } else { None };
    let Some(function) = function else { return Ok(None) };
    let meter = Meter::new(Budget::default());
    function(&meter, std::slice::from_ref(constant)).map(Some).map_err(|error| error.to_string())
}

/// A string converted by `duration` or `timestamp`; `None` when it is not one.
pub(crate) fn time_of(function: &str, text: &str) -> Option<Value> {
    folded(function, &Value::string(text)).ok().flatten()
}

/// Checks that a regular expression compiles.
///
/// # Errors
/// The pattern is invalid.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    pattern::check(pattern)
}

/// The comparisons of quantities and of versions.
const ORDERING: &[(&str, Native)] = &[
    ("compareTo", |_, arguments| order(arguments).map(|order| Value::Int(i64::from(order as i8)))),
    ("isGreaterThan", |_, arguments| order(arguments).map(|order| Value::Bool(order.is_gt()))),
    ("isLessThan", |_, arguments| order(arguments).map(|order| Value::Bool(order.is_lt()))),
];

fn order(arguments: &[Value]) -> Result<Ordering, EvalError> {
    quantity::order(arguments).or_else(|| version::order(arguments)).ok_or_else(EvalError::no_overload)
}

/// Optional values, and types.
const OPTIONALS: &[(&str, Native)] = &[
    ("optional.none", |_, _| Ok(Value::optional(None))),
    ("optional.of", optional_of),
    ("optional.ofNonZeroValue", |_, arguments| {
        Ok(Value::optional(arguments.first().filter(|v| !v.is_zero()).cloned()))
    }),
    ("hasValue", |_, arguments| inner(arguments).map(|inner| Value::Bool(inner.is_some()))),
    ("value", |_, arguments| {
        inner(arguments)?.cloned().ok_or_else(|| EvalError::failed("optional.none() dereference"))
    }),
    ("type", |_, arguments| match arguments {
        [value] => Ok(Value::Type(value.type_name())),
        _ => Err(EvalError::no_overload()),
    }),
];

fn inner(arguments: &[Value]) -> Result<Option<&Value>, EvalError> {
    arguments.first().and_then(Value::as_optional).ok_or_else(EvalError::no_overload)
}

/// Returns the names of all functions that have code.
#[cfg(test)]
pub(super) fn names() -> Vec<&'static str> {
    FAMILIES.iter().copied().flatten().map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_in_one_family() {
        assert_eq!(names().len(), TABLE.len());
    }
}
