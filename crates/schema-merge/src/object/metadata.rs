//! What an embedded resource must have: apiVersion, kind and plausible metadata.

use serde_json::{Map, Value};

use super::validate::{Violation, go_value};
use crate::finding::Problem;
use crate::keyword::EMBEDDED;
use crate::label;
use crate::node::Node;
use crate::structural::go_quoted;

/// What is wrong with the resources embedded in `value`, which is one itself if `resource` says so.
pub(crate) fn embedded(node: &Node<'_>, value: &Value, resource: bool) -> Vec<Violation> {
    let mut violations = Vec::new();
    walk(Some(node), value, "", resource, &mut violations);
    violations
}

fn walk(node: Option<&Node<'_>>, value: &Value, path: &str, resource: bool, violations: &mut Vec<Violation>) {
    let Some(node) = node else { return };
    match value {
        Value::Object(map) => {
            if resource {
                resource_meta(map, path, violations);
            }
            for (name, value) in map {
                let (below, place) = match node.properties.get(name.as_str()) {
                    Some(property) => (Some(property), format!("{path}.{name}")),
                    None => (node.additional(), format!("{path}[{name}]")),
                };
                let resource = below.is_some_and(|below| below.flag(EMBEDDED));
                walk(below, value, &place, resource, violations);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                let resource = node.item().is_some_and(|item| item.flag(EMBEDDED));
                walk(
                    node.item(),
                    value,
                    &format!("{path}[{index}]"),
                    resource,
                    violations,
                );
            }
        }
        _ => {}
    }
}

fn resource_meta(map: &Map<String, Value>, path: &str, violations: &mut Vec<Violation>) {
    let mut push = |name: &str, problem: Problem, value: Option<String>, detail: String| {
        violations.push(Violation::plain(
            &format!("{path}.{name}"),
            problem,
            value,
            detail,
        ));
    };
    for name in ["apiVersion", "kind"] {
        match map.get(name) {
            None => push(name, Problem::Required, None, String::new()),
            Some(Value::String(text)) if text.is_empty() => {
                push(
                    name,
                    Problem::Invalid,
                    Some(go_quoted(text)),
                    "must not be empty".to_owned(),
                );
            }
            Some(Value::String(text)) if name == "kind" => {
                let errors = label::dns1035(&text.to_lowercase());
                if !errors.is_empty() {
                    let detail = format!(
                        "may have mixed case, but should otherwise match: {}",
                        errors.join(",")
                    );
                    push(name, Problem::Invalid, Some(go_quoted(text)), detail);
                }
            }
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                push(name, Problem::Invalid, Some(go_quoted(text)), detail);
            }
            Some(Value::String(_)) => {}
            Some(other) => push(
                name,
                Problem::Invalid,
                Some(go_value(other)),
                "must be a string".to_owned(),
            ),
        }
    }
    match map.get("metadata") {
        None | Some(Value::Object(_) | Value::Null) => {}
        Some(other) => {
            let found = match other {
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            let detail = format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta");
            push("metadata", Problem::Invalid, Some(go_value(other)), detail);
        }
    }
}
