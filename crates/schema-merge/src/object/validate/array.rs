//! The items of a list and how many there may be.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Outcome, Validator, Violation};
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
    // By text, because here Go tells 1 from 1.0.
    let mut seen = BTreeSet::new();
    if node.flag("uniqueItems") && list.iter().any(|value| !seen.insert(value.to_string())) {
        outcome.add(Violation::invalid(path, "\"\"".to_owned(), "shouldn't contain duplicates"));
    }
    outcome.count();
    outcome
}
