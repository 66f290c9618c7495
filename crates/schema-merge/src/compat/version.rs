//! Compares whole CRDs: which versions there are, which is stored, and the schema of each.

use serde_json::Value;

use super::{Change, Direction, Impact, based};
use crate::path::SchemaPath;

/// Compares two CRDs: returns every change from `old` to `new` that affects stored objects or clients.
///
/// The schemas of versions with the same name are compared. Objects are stored in one version and read through all of
/// them, so a field has to survive in each.
#[must_use]
pub fn compare_crds(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut push = |path: SchemaPath, rule: &'static str, direction: Direction, detail: String| {
        changes.push(Change { base: String::new(), path, rule, direction, impact: Impact::Breaking, detail });
    };
    let (before, now) = (versions(old), versions(new));
    for (index, (name, version)) in before.iter().enumerate() {
        let path = SchemaPath::root().child("spec").child("versions").index(index);
        let same = now.iter().find(|(other, _)| other == name);
        match same {
            None if is_set(version, "storage") => {
                let detail = format!("objects are stored as {name}, which does not exist any more");
                push(path, "version-removed", Direction::Stored, detail);
            }
            None if is_set(version, "served") => {
                push(path, "version-removed", Direction::Clients, format!("{name} is not served any more"));
            }
            Some((_, other)) if is_set(version, "served") && !is_set(other, "served") => {
                push(path, "version-removed", Direction::Clients, format!("{name} is not served any more"));
            }
            _ => {}
        }
    }
    for field in ["group", "scope"] {
        let (before, now) = (old.pointer(&format!("/spec/{field}")), new.pointer(&format!("/spec/{field}")));
        if before != now {
            let path = SchemaPath::root().child("spec").child(field);
            push(path, field, Direction::Stored, format!("{field} cannot change; the objects would be lost"));
        }
    }
    for (index, (name, version)) in now.iter().enumerate() {
        let Some((_, other)) = before.iter().find(|(other, _)| other == name) else {
            continue;
        };
        if let (Some(old), Some(new)) = (schema(other), schema(version)) {
            changes.extend(based(old, new, &format!("/spec/versions/{index}/schema/openAPIV3Schema")));
        }
    }
    changes.sort();
    changes
}

fn versions(crd: &Value) -> Vec<(&str, &Value)> {
    let list = crd.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|version| (version.get("name").and_then(Value::as_str).unwrap_or_default(), version))
        .collect()
}

fn schema(version: &Value) -> Option<&Value> {
    version.pointer("/schema/openAPIV3Schema")
}

fn is_set(version: &Value, name: &str) -> bool {
    version.get(name).and_then(Value::as_bool).unwrap_or(false)
}
