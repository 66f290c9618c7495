//! Functions over arrays and sets. Source: OPA `topdown/array.go` and `topdown/sets.go`.

use crate::value::{Array, Set, Value};

use super::operand::{self, Fault};
use super::{Outcome, outcome};

/// `array.concat(a, b)`.
pub(super) fn concat(args: &[Value]) -> Outcome {
    let joined =
        || Ok(operand::array(args, 0)?.iter().chain(operand::array(args, 1)?.iter()).cloned().collect());
    outcome(joined().map(Array::into_value))
}

/// `array.reverse(xs)`.
pub(super) fn reverse(args: &[Value]) -> Outcome {
    outcome(operand::array(args, 0).map(|items| items.iter().rev().cloned().collect::<Array>().into_value()))
}

/// `array.slice(xs, start, stop)`; places outside are the nearest one inside.
pub(super) fn slice(args: &[Value]) -> Outcome {
    let part = || {
        let items = operand::array(args, 0)?;
        let (start, stop) = (operand::integer(args, 1)?, operand::integer(args, 2)?);
        let place = |index: i64| usize::try_from(index.max(0)).unwrap_or(usize::MAX);
        let stop = place(stop).min(items.len());
        let start = place(start).min(stop);
        Ok::<_, Fault>(items.get(start..stop).unwrap_or(&[]).iter().cloned().collect::<Array>())
    };
    outcome(part().map(Array::into_value))
}

/// `array.flatten(xs)`: the elements of `xs`, an array among them replaced by its own elements, one level deep.
pub(super) fn flatten(args: &[Value]) -> Outcome {
    outcome(operand::array(args, 0).map(|items| items.iter().flat_map(level).collect::<Array>().into_value()))
}

fn level(element: &Value) -> Vec<Value> {
    match element {
        Value::Array(inner) => inner.to_vec(),
        other => vec![other.clone()],
    }
}

/// `set_diff(a, b)`: what is in `a` and not in `b`; the operator `-` replaced it in Rego v1.
pub(super) fn set_diff(args: &[Value]) -> Outcome {
    let difference = || Ok::<_, Fault>(operand::set(args, 0)?.difference(operand::set(args, 1)?));
    outcome(difference().map(Set::into_value))
}

/// `intersection(xs)` of a set of sets; that of none is empty.
pub(super) fn intersection(args: &[Value]) -> Outcome {
    let common = |sets: Vec<&Set>| {
        let (first, rest) = sets.split_first()?;
        Some(rest.iter().fold((*first).clone(), |common, set| common.intersection(set)))
    };
    outcome(sets(args).map(|sets| common(sets).unwrap_or_default().into_value()))
}

fn sets(args: &[Value]) -> Result<Vec<&Set>, Fault> {
    operand::set(args, 0)?.iter().map(element).collect()
}

fn element(value: &Value) -> Result<&Set, Fault> {
    match value {
        Value::Set(set) => Ok(set),
        other => Err(operand::wrong(0, "set", Some(other))),
    }
}
