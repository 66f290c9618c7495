//! The errors of a document that no API server would accept as an object.

use schema_merge::MountPath;
use serde_json::Value;

use crate::cli::manifest::{Manifest, at};
use crate::cli::snippet::FieldPlaces;

use super::ManifestError;

/// The errors of a document that no API server would take for an object, each at its field.
pub(super) fn object_errors(manifest: &Manifest, places: &FieldPlaces) -> Vec<ManifestError> {
    let placed = |(pointer, text): (String, String)| ManifestError {
        place: Some(places.of(&pointer, manifest)),
        message: format!("not a Kubernetes object: {text}"),
    };
    errors(&manifest.object).into_iter().map(placed).collect()
}

/// Returns true for what an API server would take for an object.
pub(super) fn is_sound(manifest: &Manifest) -> bool {
    errors(&manifest.object).is_empty()
}

/// Errors in an object's type and metadata: the pointer to each field, and a message.
fn errors(object: &Value) -> Vec<(String, String)> {
    if !object.is_object() {
        return vec![(String::new(), format!("it is {}", kind_of(object)))];
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
        let text = |value| format!("{pointer} must be a mapping, not {}", kind_of(value));
        wrong.extend(value.map(|value| (pointer.to_owned(), text(value))));
    }
    for (label, value) in at(object, "/metadata/labels").and_then(Value::as_object).into_iter().flatten() {
        if !value.is_string() {
            wrong.extend(not_text(&MountPath::of(["metadata", "labels", label]).to_string(), value));
        }
    }
    let absent = ["apiVersion", "kind"]
        .into_iter()
        .filter(|field| object.get(field).is_none_or(|value| *value == "" || value.is_null()));
    wrong.extend(absent.map(|field| (String::new(), format!("it has no {field}"))));
    if let Some(version) = object.get("apiVersion").and_then(Value::as_str) {
        let parts = version.matches('/').count();
        let text = || format!("/apiVersion must be a version or group/version, not {version:?}");
        wrong.extend((parts > 1).then(|| ("/apiVersion".to_owned(), text())));
    }
    wrong
}

fn not_text(pointer: &str, value: &Value) -> Option<(String, String)> {
    let text = || format!("{pointer} must be a string, not {} (quote it)", kind_of(value));
    (!value.is_string()).then(|| (pointer.to_owned(), text()))
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::String(_) => "a string".to_owned(),
        other => other.to_string(),
    }
}
