//! `array.*`. Source: OPA `topdown/array.go`.

use crate::value::{Array, Value};

use super::Outcome;
use super::operand::{self, CallError};

/// Implements `array.concat(a, b)`.
pub(super) fn concat(args: &[&Value]) -> Outcome {
    let joined =
        || Ok(operand::array(args, 0)?.iter().chain(operand::array(args, 1)?.iter()).cloned().collect());
    joined().map(Array::into_value).into()
}

/// Implements `array.reverse(xs)`.
pub(super) fn reverse(args: &[&Value]) -> Outcome {
    operand::array(args, 0).map(|items| items.iter().rev().cloned().collect::<Array>().into_value()).into()
}

/// Implements `array.slice(xs, start, stop)`; places outside are the nearest one inside.
pub(super) fn slice(args: &[&Value]) -> Outcome {
    let part = || {
        let items = operand::array(args, 0)?;
        let (start, stop) = (operand::integer(args, 1)?, operand::integer(args, 2)?);
        let place = |index: i64| usize::try_from(index.max(0)).unwrap_or(usize::MAX);
        let stop = place(stop).min(items.len());
        let start = place(start).min(stop);
        Ok::<_, CallError>(items.get(start..stop).unwrap_or(&[]).iter().cloned().collect::<Array>())
    };
    part().map(Array::into_value).into()
}

/// Implements `array.flatten(xs)`: the elements of `xs`, an array among them replaced by its own elements, one level deep.
pub(super) fn flatten(args: &[&Value]) -> Outcome {
    operand::array(args, 0).map(|items| items.iter().flat_map(level).collect::<Array>().into_value()).into()
}

fn level(element: &Value) -> Vec<Value> {
    match element {
        Value::Array(inner) => inner.to_vec(),
        other => vec![other.clone()],
    }
}
