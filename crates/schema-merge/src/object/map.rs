//! The properties of an object: which there must be, which there may be, and what each holds.

use serde_json::{Map, Value};

use super::validate::{Outcome, Validator, Violation};
use crate::node::{Additional, Node};
use crate::structural::go_quoted;

pub(super) fn check(
    validator: &mut Validator,
    node: &Node<'_>,
    object: &Map<String, Value>,
    path: &str,
) -> Outcome {
    let mut outcome = Outcome::default();
    size(node, object.len(), path, &mut outcome);
    for (name, value) in object {
        match (node.properties.get(name.as_str()), &node.additional_properties) {
            (Some(property), _) => {
                let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let result = validator.validate(property, value, &place);
                outcome.merge(result);
            }
            (None, Some(Additional::Schema(schema))) => {
                let result = validator.validate(schema, value, &format!("{path}.{name}"));
                outcome.merge(result);
            }
            (None, Some(Additional::Bool(false))) => {
                let message = format!("{path}.{name} in body is a forbidden property");
                outcome.add(Violation::worded(path, go_quoted(name), message));
            }
            (None, _) => {}
        }
    }
    for name in node.texts("required").filter(|name| !object.contains_key(*name)) {
        outcome.add(Violation::required(&format!("{path}.{name}")));
    }
    outcome
}

fn size(node: &Node<'_>, size: usize, path: &str, outcome: &mut Outcome) {
    let count = i64::try_from(size).unwrap_or(i64::MAX);
    if let Some(min) = node.integer("minProperties").filter(|min| count < *min) {
        outcome.add(Violation::invalid(
            path,
            count.to_string(),
            &format!("should have at least {min} properties"),
        ));
    }
    if let Some(max) = node.integer("maxProperties").filter(|max| count > *max) {
        outcome.add(Violation::too_many(path, size, max, "properties"));
    }
}
