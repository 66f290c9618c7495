//! The properties of an object: which there must be, which there may be, and what each holds.

use serde_json::{Map, Value};

use super::{Outcome, Validator, Violation};
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
    for (name, property) in &node.properties {
        if let Some(value) = object.get(*name) {
            let place = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
            let result = validator.validate(property, value, &place);
            outcome.merge(result);
        }
    }
    others(validator, node, object, path, &mut outcome);
    for name in node.strings("required").filter(|name| !object.contains_key(*name)) {
        outcome.add(Violation::required(&format!("{path}.{name}")));
    }
    outcome
}

/// Validates what is not declared by name. Where the schema says nothing about it, it is not even looked at.
fn others(
    validator: &mut Validator,
    node: &Node<'_>,
    object: &Map<String, Value>,
    path: &str,
    outcome: &mut Outcome,
) {
    let Some(additional @ (Additional::Schema(_) | Additional::Bool(false))) = &node.additional_properties
    else {
        return;
    };
    for (name, value) in object.iter().filter(|(name, _)| !node.properties.contains_key(name.as_str())) {
        if let Additional::Schema(schema) = additional {
            let result = validator.validate(schema, value, &format!("{path}.{name}"));
            outcome.merge(result);
        } else {
            let message = format!("{path}.{name} in body is a forbidden property");
            outcome.add(Violation::worded(path, go_quoted(name), message));
        }
    }
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
