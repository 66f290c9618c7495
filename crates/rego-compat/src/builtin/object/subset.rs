//! `object.subset`. Source: OPA `topdown/subset.go`.

use crate::value::Value;
use crate::value::{Array, Object, Set};

use crate::builtin::{CallError, Outcome};

/// `object.subset(super, sub)`: whether all of `sub` is in `super`, objects within objects included. An array is
/// in another as a run of its elements, a set in an array regardless of their order.
pub(in crate::builtin) fn subset(args: &[&Value]) -> Outcome {
    let answer = match args {
        [Value::Object(whole), Value::Object(part)] => in_object(whole, part),
        [Value::Set(whole), Value::Set(part)] => part.is_subset(whole),
        [Value::Array(whole), Value::Array(part)] => in_array(whole, part),
        [Value::Array(whole), Value::Set(part)] => set_in_array(whole, part),
        _ => return Outcome::Error(CallError::Failed),
    };
    Outcome::Value(Value::Bool(answer))
}

fn in_object(whole: &Object, part: &Object) -> bool {
    part.iter().all(|(key, wanted)| match (whole.get(key), wanted) {
        (None, _) => false,
        (Some(found), wanted) if found == wanted => true,
        (Some(Value::Object(whole)), Value::Object(part)) => in_object(whole, part),
        (Some(Value::Set(whole)), Value::Set(part)) => part.is_subset(whole),
        (Some(Value::Array(whole)), Value::Array(part)) => in_array(whole, part),
        _ => false,
    })
}

/// Searches as OPA does: on a mismatch it goes on one further without looking at what had matched again.
fn in_array(whole: &Array, part: &Array) -> bool {
    if part.len() > whole.len() {
        return false;
    }
    let (mut start, mut matched) = (0_usize, 0_usize);
    while matched < part.len() {
        let Some(element) = whole.get(start.saturating_add(matched)) else {
            return false;
        };
        if part.get(matched) == Some(element) {
            matched = matched.saturating_add(1);
        } else {
            start = start.saturating_add(1);
            matched = 0;
        }
    }
    true
}

/// OPA counts the elements of the array that are in the set, one that is there twice twice; and it looks at
/// nothing where the array is empty.
fn set_in_array(whole: &Array, part: &Set) -> bool {
    let mut unmatched = part.len();
    whole.iter().any(|element| {
        if part.contains(element) {
            unmatched = unmatched.saturating_sub(1);
        }
        unmatched == 0
    })
}
