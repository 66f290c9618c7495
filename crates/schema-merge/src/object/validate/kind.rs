//! The check that a value has the type its schema requires.

use serde_json::Value;

use super::{Outcome, Validator, Violation, numeric};
use crate::node::Node;
use crate::structural::go_quoted;

pub(super) fn check(validator: &Validator, node: &Node<'_>, value: &Value, path: &str) -> Outcome {
    let types = validator.types(node);
    let mismatch = |expected: &str, found: &str| {
        let complaint = format!("must be of type {expected}: {}", go_quoted(found));
        Outcome::of(Violation::invalid(path, go_quoted(found), &complaint))
    };
    if value.is_null() {
        if !types.is_empty() && !types.contains(&"null") && !node.flag("nullable") {
            return mismatch(&types.join(","), "null");
        }
        return Outcome { matches: 1, ..Outcome::default() };
    }
    let (found, format_found) = kind_of(value);
    let format = validator.format(node);
    let whole =
        value.as_f64().is_some_and(numeric::is_integer) && found == "number" && types.contains(&"integer");
    let widened = found == "integer" && types.contains(&"number");
    let textual = matches!(value, Value::String(_) | Value::Array(_));
    let numeric = types.contains(&"number") || types.contains(&"integer");
    if !textual && !format.is_empty() {
        let fits = types.contains(&found) || format_found == format || whole || widened;
        if !fits {
            return mismatch(format, format_found);
        }
    }
    // With a format, the server leaves texts and lists to the check of the format.
    let excused = textual && !format.is_empty() && !numeric;
    if !(excused || types.contains(&found) || whole || widened) {
        return mismatch(&types.join(","), found);
    }
    Outcome { matches: 1, ..Outcome::default() }
}

fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}
