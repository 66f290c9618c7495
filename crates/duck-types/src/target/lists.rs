//! Comparisons of lists: which observed element an element of the view was read from, and which old element a new one
//! continues.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use crate::patch::common_ends;

/// The most pairs of elements that are compared to find out which element was changed into which.
const COMPARED: usize = 1 << 18;

type Members = Map<String, Value>;

pub(super) fn at<'a>(value: &'a Value, steps: &[String]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |current, step| match current {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The only element of `old` that is not in `rest`, in any order.
pub(super) fn gone<'a>(old: &'a [Value], rest: &[Value]) -> Option<&'a Value> {
    let mut rest: Vec<&Value> = rest.iter().collect();
    let mut missing = old.iter().filter(|one| match rest.iter().position(|other| same(one, other)) {
        Some(index) => {
            rest.swap_remove(index);
            false
        }
        None => true,
    });
    let only = missing.next()?;
    (missing.next().is_none() && rest.is_empty()).then_some(only)
}

/// Equality of two JSON forms, of which one can have nulls where the other leaves members out.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let equal = |one: &Members, other: &Members| {
                one.iter().all(|(name, value)| same(value, other.get(name).unwrap_or(&Value::Null)))
            };
            equal(one, other) && equal(other, one)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => one == other,
    }
}

/// Returns true if every member of `old` is in `seen` with the same value; `seen` may have others.
pub(super) fn is_view_of(old: &Value, seen: &Value) -> bool {
    match (old, seen) {
        (Value::Object(old), Value::Object(seen)) => {
            old.iter().all(|(name, old)| seen.get(name).is_some_and(|seen| is_view_of(old, seen)))
        }
        (Value::Array(old), Value::Array(seen)) => {
            old.len() == seen.len() && old.iter().zip(seen).all(|(old, seen)| is_view_of(old, seen))
        }
        _ => old == seen,
    }
}

/// As `places`, where the type cannot be asked: the same order, or each element covers exactly one observed element.
pub(super) fn correspondence(old: &[Value], seen: &[Value]) -> Option<Vec<usize>> {
    if old.len() != seen.len() {
        return None;
    }
    if old.iter().zip(seen).all(|(old, seen)| covers(seen, old)) {
        return Some((0..old.len()).collect());
    }
    let mut taken = vec![false; seen.len()];
    let mut places = Vec::with_capacity(old.len());
    for old in old {
        let mut fits = seen.iter().enumerate().filter(|(_, seen)| covers(seen, old));
        let (place, _) = fits.next()?;
        if fits.next().is_some() || std::mem::replace(taken.get_mut(place)?, true) {
            return None;
        }
        places.push(place);
    }
    Some(places)
}

/// Returns true if `old` may be the view of `seen`: every member that both have is equal.
fn covers(seen: &Value, old: &Value) -> bool {
    match (seen, old) {
        (Value::Object(seen), Value::Object(old)) => {
            old.iter().all(|(name, old)| seen.get(name).is_none_or(|seen| covers(seen, old)))
        }
        (Value::Array(seen), Value::Array(old)) => correspondence(old, seen).is_some(),
        (Value::Number(seen), Value::Number(old)) => seen == old || seen.as_f64() == old.as_f64(),
        _ => seen == old,
    }
}

/// For each new element the old element it continues, if there is one: an equal element, or the one element that has
/// more in common with it than any other has.
///
/// ```text
/// old  [{"type": "A", "ok": true}, {"type": "B", "ok": true}]
/// new  [{"type": "B", "ok": false}, {"type": "C", "ok": false}]     B continues B, and C is new
/// ```
pub(super) fn partners(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let (front, back) = common_ends(old, new);
    let shift = |index: usize| index.saturating_add(old.len()).checked_sub(new.len());
    let (old_end, new_end) = (old.len().saturating_sub(back), new.len().saturating_sub(back));
    let mut free: HashMap<&Value, VecDeque<usize>> = HashMap::new();
    for (index, element) in old.iter().enumerate().take(old_end).skip(front) {
        free.entry(element).or_default().push_back(index);
    }
    let mut found = Vec::with_capacity(new.len());
    for (index, element) in new.iter().enumerate() {
        found.push(match index {
            index if index < front => Some(index),
            index if index >= new_end => shift(index),
            _ => free.get_mut(element).and_then(VecDeque::pop_front),
        });
    }
    let mut free: Vec<usize> = free.into_values().flatten().collect();
    free.sort_unstable();
    let open: Vec<usize> = (front..new_end).filter(|index| found.get(*index) == Some(&None)).collect();
    for (index, partner) in most_alike(old, new, &free, &open) {
        if let Some(slot) = found.get_mut(index) {
            *slot = Some(partner);
        }
    }
    found
}

/// The pairs of an open new element and a free old one that have more in common than either has with any other.
fn most_alike(old: &[Value], new: &[Value], free: &[usize], open: &[usize]) -> Vec<(usize, usize)> {
    if free.len().saturating_mul(open.len()) > COMPARED {
        return Vec::new();
    }
    let likeness = |new_at: &usize, old_at: &usize| match (new.get(*new_at), old.get(*old_at)) {
        (Some(new), Some(old)) => in_common(old, new),
        _ => 0,
    };
    let rows: Vec<Vec<usize>> =
        open.iter().map(|new_at| free.iter().map(|old_at| likeness(new_at, old_at)).collect()).collect();
    let columns: Vec<Vec<usize>> = (0..free.len())
        .map(|column| rows.iter().filter_map(|row| row.get(column).copied()).collect())
        .collect();
    let pair = |(row, new_at): (usize, &usize)| {
        let column = only_largest(rows.get(row)?)?;
        let mutual = only_largest(columns.get(column)?)? == row;
        mutual.then_some((*new_at, *free.get(column)?))
    };
    open.iter().enumerate().filter_map(pair).collect()
}

/// The position of the largest number, if it is not zero and no other is as large.
fn only_largest(numbers: &[usize]) -> Option<usize> {
    let largest = *numbers.iter().max().filter(|number| **number > 0)?;
    let mut found = numbers.iter().enumerate().filter(|(_, number)| **number == largest);
    let (position, _) = found.next()?;
    found.next().is_none().then_some(position)
}

/// The number of scalars that two values have at the same place.
fn in_common(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().filter_map(|(name, value)| Some(in_common(value, other.get(name)?))).sum()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.iter().zip(other).map(|(one, other)| in_common(one, other)).sum()
        }
        _ => usize::from(one == other),
    }
}
