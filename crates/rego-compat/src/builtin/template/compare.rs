//! `eq` and `lt`, from which the others are made (`text/template/funcs.go`).

use std::cmp::Ordering;

use super::Exit;
use super::item::Item;

/// Returns true if the first argument equals one of the others.
pub(super) fn equals_any(items: &[Item<'_>]) -> Result<bool, Exit> {
    let (first, others) = items.split_first().ok_or(Exit::Error)?;
    if others.is_empty() {
        return Err(Exit::Error);
    }
    for other in others {
        if equals(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equals(a: &Item<'_>, b: &Item<'_>) -> Result<bool, Exit> {
    if !a.is_valid() || !b.is_valid() {
        return Ok(a.is_valid() == b.is_valid());
    }
    match (a, b) {
        (Item::Bool(a), Item::Bool(b)) => Ok(a == b),
        (Item::Complex(a, i), Item::Complex(b, j)) => Ok(a == b && i == j),
        _ => ordered(a, b).map(|order| order == Some(Ordering::Equal)),
    }
}

pub(super) fn is_less(a: &Item<'_>, b: &Item<'_>) -> Result<bool, Exit> {
    ordered(a, b).map(|order| order == Some(Ordering::Less))
}

/// Numbers with numbers of their kind, strings with strings; anything else is an error.
fn ordered(a: &Item<'_>, b: &Item<'_>) -> Result<Option<Ordering>, Exit> {
    let whole = |item: &Item<'_>| match item {
        Item::Int(int) => Some(*int),
        Item::Byte(byte) => Some(i64::from(*byte)),
        _ => None,
    };
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return Ok(Some(a.cmp(&b)));
    }
    if let (Item::Float(a), Item::Float(b)) = (a, b) {
        return Ok(a.partial_cmp(b));
    }
    match (a.as_string(), b.as_string()) {
        (Some(a), Some(b)) => Ok(Some(a.cmp(&b))),
        _ => Err(Exit::Error),
    }
}
