//! Comparing JSON values as schemas mean them: numbers by value, whatever way they are written.
//!
//! serde_json keeps `1` and `1.0` apart; a schema does not. Nothing here knows any keyword.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Orders two numbers by value. Integers are compared exactly, anything else as doubles.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    let (left, right) = (left.as_f64().unwrap_or(f64::NAN), right.as_f64().unwrap_or(f64::NAN));
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// The number as an integer, when it was written as one.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Whether two values are the same: numbers by value, lists in order, keys in any order.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    order(left, right) == Ordering::Equal
}

/// A total order of JSON values, in which equal means [`same`].
pub(crate) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => compare(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let pairs = left.iter().zip(right).map(|(left, right)| order(left, right));
            first_difference(pairs).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let (left, right) = (sorted(left), sorted(right));
            let pairs = left.iter().zip(&right).map(|(l, r)| l.0.cmp(r.0).then_with(|| order(l.1, r.1)));
            first_difference(pairs).then(left.len().cmp(&right.len()))
        }
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

fn first_difference(mut orders: impl Iterator<Item = Ordering>) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The entries by key: a map keeps insertion order when some crate switches serde_json's `preserve_order` on.
fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|left, right| left.0.cmp(right.0));
    entries
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}
