//! The requirements on an embedded resource: apiVersion, kind and plausible metadata.

use serde_json::{Map, Value};

use super::validate::{Violation, go_value};
use crate::diagnostic::DiagnosticKind;
use crate::keyword::EMBEDDED;
use crate::label;
use crate::node::Node;
use crate::structural::go_quoted;

/// Returns what is wrong with the resources embedded in `value`, which is one itself if `resource` says so.
///
/// As on the server, metadata that cannot be decoded keeps everything else from being looked at.
pub(crate) fn embedded(node: &Node<'_>, value: &Value, resource: bool) -> Vec<Violation> {
    let mut undecodable = Vec::new();
    walk(Some(node), value, "", resource, &mut |map, path| undecodable.extend(decode(map, path)));
    if !undecodable.is_empty() {
        undecodable.truncate(1);
        return undecodable;
    }
    let mut violations = Vec::new();
    walk(Some(node), value, "", resource, &mut |map, path| resource_meta(map, path, &mut violations));
    violations
}

/// Returns what is wrong with the kind, the apiVersion and the metadata of one resource.
pub(crate) fn resource(map: &Map<String, Value>) -> Vec<Violation> {
    let mut violations = decode(map, "");
    violations.truncate(1);
    if violations.is_empty() {
        resource_meta(map, "", &mut violations);
    }
    violations
}

/// Calls `look` on every embedded resource, with its path.
fn walk<F: FnMut(&Map<String, Value>, &str)>(
    node: Option<&Node<'_>>,
    value: &Value,
    path: &str,
    resource: bool,
    look: &mut F,
) {
    let Some(node) = node else { return };
    match value {
        Value::Object(map) => {
            if resource {
                look(map, path);
            }
            for (name, value) in map {
                let (below, place) = match node.properties.get(name.as_str()) {
                    Some(property) => (Some(property), format!("{path}.{name}")),
                    None => (node.additional(), format!("{path}[{name}]")),
                };
                let resource = below.is_some_and(|below| below.flag(EMBEDDED));
                walk(below, value, &place, resource, look);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                let resource = node.item().is_some_and(|item| item.flag(EMBEDDED));
                walk(node.item(), value, &format!("{path}[{index}]"), resource, look);
            }
        }
        _ => {}
    }
}

fn resource_meta(map: &Map<String, Value>, path: &str, violations: &mut Vec<Violation>) {
    let mut push = |name: &str, kind: DiagnosticKind, value: Option<String>, detail: String| {
        violations.push(Violation::plain(&format!("{path}.{name}"), kind, value, detail));
    };
    for name in ["apiVersion", "kind"] {
        match map.get(name) {
            None => push(name, DiagnosticKind::Required, None, String::new()),
            Some(Value::String(text)) if text.is_empty() => {
                push(name, DiagnosticKind::Invalid, Some(go_quoted(text)), "must not be empty".to_owned());
            }
            Some(Value::String(text)) if name == "kind" => {
                let errors = label::dns1035(&text.to_lowercase());
                if !errors.is_empty() {
                    let detail =
                        format!("may have mixed case, but should otherwise match: {}", errors.join(","));
                    push(name, DiagnosticKind::Invalid, Some(go_quoted(text)), detail);
                }
            }
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {text}");
                push(name, DiagnosticKind::Invalid, Some(go_quoted(text)), detail);
            }
            // Refused on decoding.
            Some(_) => {}
        }
    }
}

/// The fields of metadata that are text, and those that map texts to texts.
const TEXTS: [&str; 6] = ["name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"];
const TEXT_MAPS: [&str; 2] = ["labels", "annotations"];

/// Returns what keeps apiVersion, kind and metadata from being decoded.
fn decode(map: &Map<String, Value>, path: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for name in ["apiVersion", "kind"] {
        if let Some(other) = map.get(name).filter(|value| !value.is_string()) {
            let name = format!("{path}.{name}");
            let detail = "must be a string".to_owned();
            violations.push(Violation::plain(&name, DiagnosticKind::Invalid, Some(go_value(other)), detail));
        }
    }
    let Some(metadata) = map.get("metadata") else {
        return violations;
    };
    let mut refuse = |found: &Value, target: String| {
        let detail = format!("json: cannot unmarshal {} into Go {target}", go_kind(found));
        let name = format!("{path}.metadata");
        violations.push(Violation::plain(&name, DiagnosticKind::Invalid, Some(go_value(metadata)), detail));
    };
    match metadata {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                let field = |kind: &str| format!("struct field ObjectMeta.{name} of type {kind}");
                match value {
                    Value::String(_) if TEXTS.contains(&name.as_str()) => {}
                    other if TEXTS.contains(&name.as_str()) => refuse(other, field("string")),
                    Value::Object(texts) if TEXT_MAPS.contains(&name.as_str()) => {
                        let wrong = texts.values().find(|value| !value.is_string() && !value.is_null());
                        wrong.into_iter().for_each(|wrong| refuse(wrong, field("string")));
                    }
                    other if TEXT_MAPS.contains(&name.as_str()) => refuse(other, field("map[string]string")),
                    _ => {}
                }
            }
        }
        Value::Null => {}
        other => refuse(other, "value of type v1.ObjectMeta".to_owned()),
    }
    violations
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Bool(_) => "bool",
        Value::Object(_) => "object",
        _ => "number",
    }
}
