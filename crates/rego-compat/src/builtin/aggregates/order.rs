//! `sort`, `max` and `min`, in OPA's order over all values. Source: OPA `topdown/aggregates.go`.

use std::cmp::Ordering;

use crate::value::Value;

use crate::builtin::{Outcome, operand};

/// `sort(xs)`: the elements of an array or set as an ordered array.
pub(in crate::builtin) fn sort(args: &[Value]) -> Outcome {
    let ordered = |mut elements: Vec<Value>| {
        elements.sort();
        Value::from(elements)
    };
    operand::elements(args, 0).map(ordered).into()
}

/// `max(xs)`; undefined where there are no elements.
pub(in crate::builtin) fn max(args: &[Value]) -> Outcome {
    extreme(args, Ordering::Greater)
}

/// `min(xs)`; undefined where there are no elements.
pub(in crate::builtin) fn min(args: &[Value]) -> Outcome {
    extreme(args, Ordering::Less)
}

fn extreme(args: &[Value], wanted: Ordering) -> Outcome {
    let elements = match operand::elements(args, 0) {
        Ok(elements) => elements,
        Err(fault) => return Outcome::Error(fault),
    };
    let found = elements
        .into_iter()
        .reduce(|best, next| if next.cmp(&best) == wanted.reverse() { best } else { next });
    found.map_or(Outcome::Undefined, Outcome::Value)
}
