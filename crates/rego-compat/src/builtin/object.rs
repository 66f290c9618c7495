//! `object.*`. Source: OPA `topdown/object.go`.

pub(super) mod subset;

use crate::meter::Meter;
use crate::value::{Object, Set, Value};

use super::operand::{self, CallError};
use super::{Answer, Outcome, answer};

/// Implements `object.get(x, key, default)`: the value under a key or path, or the default.
pub(super) fn get(args: &[&Value], _: &Meter) -> Answer {
    let [subject @ Value::Object(pairs), key, default] = args else {
        return Ok(None);
    };
    let found = match key {
        Value::Array(path) => path.iter().try_fold(*subject, crate::lookup::get),
        key => pairs.get(key),
    };
    answer(found.unwrap_or(default).clone())
}

/// Implements `object.keys(x)`.
pub(super) fn keys(args: &[&Value]) -> Outcome {
    operand::object(args, 0).map(|object| object.keys().cloned().collect::<Set>().into_value()).into()
}

/// Implements `object.remove(x, keys)`.
pub(super) fn remove(args: &[&Value]) -> Outcome {
    let rest = || {
        let (object, keys) = (operand::object(args, 0)?, keys_of(args)?);
        let kept = object.iter().filter(|(key, _)| !keys.contains(key));
        Ok::<_, CallError>(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Object>())
    };
    rest().map(Object::into_value).into()
}

/// Implements `object.filter(x, keys)`.
pub(super) fn filter(args: &[&Value]) -> Outcome {
    let kept = || {
        let (object, keys) = (operand::object(args, 0)?, keys_of(args)?);
        // The shorter of both says how the keys are spelled.
        let pairs: Object = if object.len() < keys.len() {
            let found = object.iter().filter(|(key, _)| keys.contains(key));
            found.map(|(key, value)| (key.clone(), value.clone())).collect()
        } else {
            keys.iter().filter_map(|key| Some((key.clone(), object.get(key)?.clone()))).collect()
        };
        Ok::<_, CallError>(pairs)
    };
    kept().map(Object::into_value).into()
}

/// Returns the keys that an array, a set or an object lists.
fn keys_of(args: &[&Value]) -> Result<Set, CallError> {
    match args.get(1).copied() {
        Some(Value::Array(items)) => Ok(items.iter().cloned().collect()),
        Some(Value::Set(items)) => Ok((**items).clone()),
        Some(Value::Object(pairs)) => Ok(pairs.keys().cloned().collect()),
        _ => Err(CallError::Failed),
    }
}

/// Implements `object.union(a, b)`: both, and objects in both as unions again; otherwise `b` wins.
pub(super) fn union(args: &[&Value]) -> Outcome {
    let both =
        || Ok::<_, CallError>(merged(operand::object(args, 0)?, operand::object(args, 1)?, Spelling::First));
    both().map(Object::into_value).into()
}

/// Implements `object.union_n(xs)`: the union of all, from the first to the last.
pub(super) fn union_n(args: &[&Value]) -> Outcome {
    let all = || {
        let objects =
            operand::array(args, 0)?.iter().map(element).collect::<Result<Vec<&Object>, CallError>>()?;
        let (first, rest) =
            objects.split_first().map_or((Object::new(), &[][..]), |(first, rest)| ((*first).clone(), rest));
        Ok(rest.iter().fold(first, |union, object| merged(&union, object, Spelling::Last)))
    };
    all().map(Object::into_value).into()
}

fn element(value: &Value) -> Result<&Object, CallError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(CallError::Failed),
    }
}

/// The object whose spelling a key in both has: `1` and `1.0` are one key.
#[derive(Clone, Copy)]
enum Spelling {
    First,
    Last,
}

fn merged(first: &Object, last: &Object, spelling: Spelling) -> Object {
    let (mut pairs, mut common) = (Vec::with_capacity(first.len().saturating_add(last.len())), Object::new());
    for (key, value) in first.iter() {
        match last.get(key) {
            None => pairs.push((key.clone(), value.clone())),
            Some(other) => drop(common.insert(key.clone(), joined(value, other, spelling))),
        }
    }
    for (key, value) in last.iter() {
        match (common.remove(key), spelling) {
            (None, _) => pairs.push((key.clone(), value.clone())),
            (Some(joined), Spelling::Last) => pairs.push((key.clone(), joined)),
            (Some(joined), Spelling::First) => {
                pairs.push((first.key(key).unwrap_or(key).clone(), joined));
            }
        }
    }
    Object::of(pairs)
}

fn joined(first: &Value, last: &Value, spelling: Spelling) -> Value {
    match (first, last) {
        (Value::Object(first), Value::Object(last)) => merged(first, last, spelling).into_value(),
        _ => last.clone(),
    }
}
