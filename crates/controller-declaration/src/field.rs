//! Fields of an object as JSON pointers, with the keys of sets and maps that have several owners.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The fields that identify an object, and those that only the API server sets though an update sends them back: no
/// field manager owns them.
const UNOWNED_FIELDS: [&str; 10] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/namespace",
    "/metadata/generateName",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/creationTimestamp",
    "/metadata/generation",
    "/metadata/managedFields",
];
const FINALIZERS: &str = "/metadata/finalizers";
const CONDITIONS: &str = "/status/conditions";

pub(crate) fn finalizer(name: &str) -> String {
    format!("{FINALIZERS}/{}", escaped(name))
}

fn condition(name: &str) -> String {
    format!("{CONDITIONS}/{}", escaped(name))
}

pub(crate) fn annotation(key: &str) -> String {
    format!("/metadata/annotations/{}", escaped(key))
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// True if `field` is `declared` or below it.
pub(crate) fn is_within(field: &str, declared: &str) -> bool {
    field.strip_prefix(declared).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The fields that the body of a create, an update or a patch of any kind writes.
///
/// A list is one field, except where each entry has an owner: finalizers are a set, and conditions a map by type.
/// `{"metadata": {"finalizers": ["a/b"]}, "spec": {"x": [1]}, "status": {"conditions": [{"type": "Ready"}]}}` writes
/// `/metadata/finalizers/a~1b`, `/spec/x` and `/status/conditions/Ready`.
pub(crate) fn written(body: &Value) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    match body {
        Value::Array(operations) => json_patch(operations, &mut fields),
        body => leaves(body, String::new(), &mut fields),
    }
    fields.retain(|field| !UNOWNED_FIELDS.contains(&field.as_str()));
    fields
}

/// The fields of a JSON patch. An entry that is removed by its place has the name that a `test` of that place gives.
fn json_patch(operations: &[Value], fields: &mut BTreeSet<String>) {
    let mut tested = BTreeMap::new();
    for operation in operations {
        let at = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
        match (at("op"), at("path"), operation.get("value")) {
            ("test", path, Some(value)) => drop(tested.insert(path, value)),
            ("test", ..) => {}
            ("remove", path, _) => {
                let named = tested.get(path).and_then(|value| entry(path, value));
                fields.insert(named.unwrap_or_else(|| path.to_owned()));
            }
            ("move", path, _) => fields.extend([at("from").to_owned(), path.to_owned()]),
            ("copy", path, _) | (_, path, None) => drop(fields.insert(path.to_owned())),
            (_, path, Some(value)) => match entry(path, value) {
                Some(field) => drop(fields.insert(field)),
                None => leaves(value, path.to_owned(), fields),
            },
        }
    }
}

/// The field of an entry of a list whose entries have owners, by its place (`/metadata/finalizers/0`) and its value.
fn entry(path: &str, value: &Value) -> Option<String> {
    let (list, _) = path.rsplit_once('/')?;
    match list {
        FINALIZERS => value.as_str().map(finalizer),
        CONDITIONS => value.get("type")?.as_str().map(condition),
        _ => None,
    }
}

fn leaves(value: &Value, at: String, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                leaves(value, format!("{at}/{}", escaped(key)), fields);
            }
        }
        Value::Array(names) if at == FINALIZERS && !names.is_empty() => {
            fields.extend(names.iter().filter_map(Value::as_str).map(finalizer));
        }
        Value::Array(conditions) if at == CONDITIONS && !conditions.is_empty() => {
            let types = conditions.iter().filter_map(|condition| condition.get("type")?.as_str());
            fields.extend(types.map(condition));
        }
        _ if at.is_empty() => {}
        _ => drop(fields.insert(at)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(body: &Value, expected: &[&str]) {
        assert_eq!(written(body).iter().map(String::as_str).collect::<Vec<_>>(), expected, "{body}");
    }

    #[test]
    fn an_applied_object_writes_its_leaves_and_not_its_name() {
        check(
            &json!({"apiVersion": "v1", "kind": "M", "metadata": {"name": "a", "uid": "u",
                "finalizers": ["x/y", "z"], "annotations": {"k/l": "v"}}, "spec": {"a": {"b": 1}, "c": [1, 2]},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
            &[
                "/metadata/annotations/k~1l",
                "/metadata/finalizers/x~1y",
                "/metadata/finalizers/z",
                "/spec/a/b",
                "/spec/c",
                "/status/conditions/Ready",
            ],
        );
        check(&json!({"kind": "M", "metadata": {"name": "a"}}), &[]);
        check(&json!({}), &[]);
    }

    #[test]
    fn an_update_writes_nothing_that_only_the_api_server_sets() {
        let metadata = json!({"name": "a", "uid": "u", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2020-01-01T00:00:00Z", "managedFields": [{"manager": "a"}], "labels": {"l": "v"}});
        check(
            &json!({"metadata": metadata, "spec": {"holderIdentity": "a"}}),
            &["/metadata/labels/l", "/spec/holderIdentity"],
        );
    }

    #[test]
    fn a_json_patch_writes_where_its_operations_lead() {
        check(
            &json!([{"op": "test", "path": "/metadata/uid", "value": "u"},
                {"op": "replace", "path": "/status", "value": {"a": 1, "b": {"c": 2}}},
                {"op": "remove", "path": "/spec/x"}]),
            &["/spec/x", "/status/a", "/status/b/c"],
        );
    }

    #[test]
    fn a_json_patch_writes_both_ends_of_a_move_and_the_end_of_a_copy() {
        check(
            &json!([{"op": "copy", "from": "/spec/a", "path": "/status/a"},
                {"op": "move", "from": "/spec/b", "path": "/spec/c"}]),
            &["/spec/b", "/spec/c", "/status/a"],
        );
    }

    /// As `kube::runtime::finalizer` adds and removes one: by its place, which a `test` has named.
    #[test]
    fn finalizers_and_conditions_of_a_json_patch_have_their_names() {
        let field = "/metadata/finalizers/example.com~1drain";
        let of = "/metadata/finalizers";
        check(
            &json!([{"op": "test", "path": of, "value": null}, {"op": "add", "path": of, "value": ["example.com/drain"]}]),
            &[field],
        );
        for place in ["-", "1"] {
            let path = format!("{of}/{place}");
            check(&json!([{"op": "add", "path": path, "value": "example.com/drain"}]), &[field]);
        }
        let removed = json!({"op": "remove", "path": format!("{of}/1")});
        check(
            &json!([{"op": "test", "path": format!("{of}/1"), "value": "example.com/drain"}, removed]),
            &[field],
        );
        // Nothing says whose it is.
        check(&json!([removed]), &["/metadata/finalizers/1"]);
        let ready = json!({"type": "Ready", "status": "True"});
        check(
            &json!([{"op": "add", "path": "/status/conditions/-", "value": ready}]),
            &["/status/conditions/Ready"],
        );
    }

    #[test]
    fn a_list_of_finalizers_that_is_emptied_is_written() {
        check(&json!({"metadata": {"finalizers": []}}), &["/metadata/finalizers"]);
        check(&json!({"metadata": {"finalizers": null}}), &["/metadata/finalizers"]);
    }

    #[test]
    fn a_field_is_within_itself_and_its_parents() {
        assert!(is_within("/status/a", "/status") && is_within("/status", "/status"));
        assert!(!is_within("/statusquo", "/status") && !is_within("/status", "/status/a"));
    }
}
