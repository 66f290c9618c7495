//! The errors of a document that no API server would accept as an object.

use serde_json::Value;

use crate::cli::manifest::{Manifest, at};

use super::ManifestError;

/// A document that no API server would take for an object: everything that is wrong with its type and metadata.
pub(super) fn malformed(manifest: &Manifest) -> Option<ManifestError> {
    let object = &manifest.object;
    if !object.is_object() {
        return Some(ManifestError::at(
            manifest,
            format!("not a Kubernetes object: it is {}", kind_of(object)),
        ));
    }
    let mut wrong = Vec::new();
    for pointer in ["/apiVersion", "/kind", "/metadata/name", "/metadata/generateName", "/metadata/namespace"]
    {
        match at(object, pointer) {
            Some(Value::Null) | None => {}
            Some(value) => wrong.extend(not_text(pointer, value)),
        }
    }
    for pointer in ["/metadata", "/metadata/labels"] {
        let value = at(object, pointer).filter(|value| !value.is_object() && !value.is_null());
        wrong.extend(value.map(|value| format!("{pointer} must be a mapping, not {}", kind_of(value))));
    }
    for (label, value) in at(object, "/metadata/labels").and_then(Value::as_object).into_iter().flatten() {
        wrong.extend(not_text(&format!("/metadata/labels/{label}"), value));
    }
    let absent = ["apiVersion", "kind"]
        .into_iter()
        .filter(|field| object.get(field).is_none_or(|value| *value == "" || value.is_null()));
    wrong.extend(absent.map(|field| format!("it has no {field}")));
    if let Some(version) = object.get("apiVersion").and_then(Value::as_str) {
        let parts = version.matches('/').count();
        let rule = || format!("/apiVersion must be a version or group/version, not {version:?}");
        wrong.extend((parts > 1).then(rule));
    }
    (!wrong.is_empty())
        .then(|| ManifestError::at(manifest, format!("not a Kubernetes object: {}", wrong.join("; "))))
}

fn not_text(pointer: &str, value: &Value) -> Option<String> {
    (!value.is_string()).then(|| format!("{pointer} must be text, not {} (quote it)", kind_of(value)))
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(_) => "text".to_owned(),
        other => other.to_string(),
    }
}
