//! Comparing JSON values as schemas mean them: numbers by value, whatever way they are written.
//!
//! serde_json keeps `1` and `1.0` apart; a schema does not. Nothing here knows any keyword.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Number, Value};

/// Orders two numbers by value, exactly: sorting needs an order in which equal is transitive.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    let float = |number: &Number| number.as_f64().unwrap_or(0.0);
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => against(left, float(right)),
        (None, Some(right)) => against(right, float(left)).reverse(),
        (None, None) => float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal),
    }
}

/// Compares an integer with a double; the cast saturates, and no JSON integer comes near its bounds.
fn against(integer: i128, float: f64) -> Ordering {
    integer
        .cmp(&(float.trunc() as i128))
        .then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

/// The number as an integer, when it was written as one.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Returns true if two values are the same: numbers by value, lists in order, keys in any order.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    order(left, right) == Ordering::Equal
}

/// A value by its value, for sets.
#[derive(Clone, Copy)]
pub(crate) struct ByValue<'a>(pub(crate) &'a Value);

impl PartialEq for ByValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        same(self.0, other.0)
    }
}

impl Eq for ByValue<'_> {}

impl PartialOrd for ByValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        order(self.0, other.0)
    }
}

/// The values without repetitions, each where it came first.
pub(crate) fn unique(values: &[Value]) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    values.iter().filter(|value| seen.insert(ByValue(value))).cloned().collect()
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

/// The number in a message: `7.0`, which types of Kubernetes make of 7, as `7`.
pub(crate) fn shown(number: &Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_number_is_shown_alike_whatever_it_was_read_as() {
        let shown = |value: Value| shown(value.as_number().unwrap());
        assert_eq!([shown(json!(7)), shown(json!(7.0)), shown(json!(-1.5))], ["7", "7", "-1.5"]);
    }

    #[test]
    fn numbers_beyond_the_precision_of_doubles_keep_their_order() {
        let sorted = [
            json!(-1e300),
            json!(i64::MIN),
            json!(-0.5),
            json!(0),
            json!(0.5),
            json!(9_007_199_254_740_992.0),
            json!(9_007_199_254_740_993_u64),
            json!(u64::MAX),
            json!(1e300),
        ];
        for (left, right) in sorted.iter().zip(sorted.iter().skip(1)) {
            assert_eq!(order(left, right), Ordering::Less, "{left} {right}");
            assert_eq!(order(right, left), Ordering::Greater, "{left} {right}");
        }
        assert!(same(&json!(1), &json!(1.0)) && same(&json!(0), &json!(-0.0)));
    }
}
