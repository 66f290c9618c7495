//! The view that CEL has of the request and of the namespace. The objects are seen as they are, see `json`.
//!
//! Each is built once per review, when a policy first asks for it, and shared by all constraints; copying a value copies
//! a pointer.

use cel_compat::Value;
use serde_json::Map;

use super::{Document, UnreadableError};

/// Returns `namespaceObject`, without the metadata that Kubernetes leaves out; `null` when there is none.
pub(super) fn namespace(namespace: Option<&Document>) -> Result<Value, UnreadableError> {
    let namespace = namespace.map(|namespace| namespace.body().parse()).transpose()?;
    Ok(namespace.filter(is_named).as_ref().map_or(Value::Null, namespace_view))
}

/// Returns the request as the API server's admission plugins show it: texts and lists without content are left out, and the
/// fields about conversion between versions repeat the others, because a webhook has nothing to convert.
pub(super) fn request(operation: &str, attributes: &Map<String, serde_json::Value>) -> Value {
    let attribute = |name: &str| attributes.get(name);
    let names = |name: &str, fields: [&'static str; 3]| {
        let found = attribute(name);
        Value::object(fields.map(|field| {
            let value = found.and_then(|found| found.get(field)).and_then(|value| value.as_str());
            (field, Value::string(value.unwrap_or_default()))
        }))
    };
    let kind = names("kind", ["group", "version", "kind"]);
    let resource = names("resource", ["group", "version", "resource"]);
    let operation = match operation {
        known @ ("CREATE" | "UPDATE" | "DELETE" | "CONNECT") => known,
        _ => "",
    };
    let dry_run = attribute("dryRun").and_then(serde_json::Value::as_bool).unwrap_or(false);
    let mut fields = vec![
        ("kind", kind.clone()),
        ("requestKind", kind),
        ("resource", resource.clone()),
        ("requestResource", resource),
        ("operation", Value::string(operation)),
        ("dryRun", Value::Bool(dry_run)),
        ("options", attribute("options").map_or(Value::Null, Value::from_json)),
        ("userInfo", user(attribute("userInfo"))),
    ];
    for (name, from) in [
        ("name", "name"),
        ("namespace", "namespace"),
        ("subResource", "subResource"),
        ("requestSubResource", "subResource"),
    ] {
        let value = attribute(from).and_then(serde_json::Value::as_str).unwrap_or_default();
        if !value.is_empty() {
            fields.push((name, Value::string(value)));
        }
    }
    Value::object(fields)
}

fn user(user: Option<&serde_json::Value>) -> Value {
    let fields =
        ["username", "uid", "groups", "extra"].map(|name| (name, user.and_then(|user| user.get(name))));
    Value::object(fields.into_iter().filter_map(|(name, value)| Some((name, with_content(value?)?))))
}

/// Returns a value that Go would not leave out of a struct.
fn with_content(value: &serde_json::Value) -> Option<Value> {
    let is_empty = match value {
        serde_json::Value::Null => true,
        serde_json::Value::String(text) => text.is_empty(),
        serde_json::Value::Array(list) => list.is_empty(),
        serde_json::Value::Object(map) => map.is_empty(),
        serde_json::Value::Number(number) => number.as_i64() == Some(0),
        serde_json::Value::Bool(_) => false,
    };
    (!is_empty).then(|| Value::from_json(value))
}

/// Returns true if a Namespace has a name. One without stands for an unknown Namespace.
fn is_named(namespace: &serde_json::Value) -> bool {
    let name = namespace.pointer("/metadata/name").and_then(serde_json::Value::as_str);
    name.is_some_and(|name| !name.is_empty())
}

fn namespace_view(namespace: &serde_json::Value) -> Value {
    let part = |name: &str, fields: &[&'static str]| {
        let found = namespace.get(name);
        let fields = fields.iter().filter_map(|field| {
            let value = found?.get(field)?;
            // The only number that Kubernetes keeps apart from an absent one.
            if *field == "deletionGracePeriodSeconds" && !value.is_null() {
                return Some((*field, Value::from_json(value)));
            }
            Some((*field, with_content(value)?))
        });
        Value::object(fields)
    };
    let metadata = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    Value::object([
        ("metadata", part("metadata", &metadata)),
        ("spec", part("spec", &["finalizers"])),
        ("status", part("status", &["phase", "conditions"])),
    ])
}
