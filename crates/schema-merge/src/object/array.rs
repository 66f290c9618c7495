//! The items of a list and how many there may be.

use serde_json::Value;

use super::validate::{Outcome, Validator, Violation};
use crate::node::Node;

pub(super) fn check(validator: &mut Validator, node: &Node<'_>, list: &[Value], path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(item) = node.item() {
        for (index, value) in list.iter().enumerate() {
            let result = validator.validate(item, value, &format!("{path}[{index}]"));
            outcome.merge(result);
        }
    }
    let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if let Some(min) = node.integer("minItems").filter(|min| size < *min) {
        outcome.add(Violation::invalid(path, size.to_string(), &format!("should have at least {min} items")));
    }
    if let Some(max) = node.integer("maxItems").filter(|max| size > *max) {
        outcome.add(Violation::too_many(path, list.len(), max, "items"));
    }
    let repeated = |(at, value): (usize, &Value)| list.iter().take(at).any(|earlier| earlier == value);
    if node.flag("uniqueItems") && list.iter().enumerate().any(repeated) {
        outcome.add(Violation::invalid(path, "\"\"".to_owned(), "shouldn't contain duplicates"));
    }
    outcome.count();
    outcome
}
