//! Operators and functions on sets. Source: OPA `topdown/sets.go`.

use crate::meter::Meter;
use crate::value::{Set, Value};

use super::operand::{self, CallError};
use super::{Answer, Outcome, answer};

/// Implements `set_diff(a, b)`: what is in `a` and not in `b`; the operator `-` replaced it in Rego v1.
pub(super) fn set_diff(args: &[&Value]) -> Outcome {
    let difference = || Ok::<_, CallError>(operand::set(args, 0)?.difference(operand::set(args, 1)?));
    difference().map(Set::into_value).into()
}

/// Implements `intersection(xs)` of a set of sets; that of none is empty.
pub(super) fn intersection(args: &[&Value]) -> Outcome {
    let common = |sets: Vec<&Set>| {
        let (first, rest) = sets.split_first()?;
        Some(rest.iter().fold((*first).clone(), |common, set| common.intersection(set)))
    };
    sets(args).map(|sets| common(sets).unwrap_or_default().into_value()).into()
}

fn sets<'v>(args: &[&'v Value]) -> Result<Vec<&'v Set>, CallError> {
    operand::set(args, 0)?.iter().map(element).collect()
}

fn element(value: &Value) -> Result<&Set, CallError> {
    match value {
        Value::Set(set) => Ok(set),
        _ => Err(CallError::Failed),
    }
}

/// Implements `a | b`.
pub(super) fn or(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, Set::union)
}

/// Implements `a & b`.
pub(super) fn and(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, Set::intersection)
}

/// Implements `a - b`.
pub(super) fn difference(args: &[&Value], meter: &Meter) -> Answer {
    combined(args, meter, Set::difference)
}

fn combined(args: &[&Value], meter: &Meter, combine: fn(&Set, &Set) -> Set) -> Answer {
    let [left @ Value::Set(a), right @ Value::Set(b)] = args else {
        return Ok(None);
    };
    meter.charge_tree(left)?;
    meter.charge_tree(right)?;
    answer(combine(a, b).into_value())
}

/// Implements `union(xs)`: everything in any set of a set of sets.
pub(super) fn union(args: &[&Value], meter: &Meter) -> Answer {
    let [Value::Set(sets)] = args else { return Ok(None) };
    let mut united = Set::new();
    for set in sets.iter() {
        let Value::Set(set) = set else { return Ok(None) };
        for element in set.iter() {
            meter.charge_tree(element)?;
            meter.charge(48)?;
            united.insert(element.clone());
        }
    }
    answer(united.into_value())
}
