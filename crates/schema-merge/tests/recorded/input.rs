//! The rows of which the inputs are frozen. The test that asks a server uses the same file.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "only tests include this file")]

use serde::Deserialize as _;
use serde_json::{Value, json};

/// The rows of a recording.
pub(crate) fn rows(text: &str) -> Vec<Value> {
    let row = |line: &str| {
        // One row nests 200 objects, which is more than serde_json reads by default.
        let mut deserializer = serde_json::Deserializer::from_str(line);
        deserializer.disable_recursion_limit();
        Value::deserialize(&mut deserializer).unwrap()
    };
    text.lines().map(row).collect()
}

/// The CRD of a row's input, as the README describes it.
pub(crate) fn crd(input: &Value) -> Value {
    if let Some(crd) = input.get("crd") {
        return crd.clone();
    }
    let version = |name: &str, schema: Option<&Value>, storage: bool| {
        let mut version = json!({"name": name, "served": true, "storage": storage});
        if let Some(schema) = schema {
            version["schema"] = json!({"openAPIV3Schema": schema});
        }
        if input["status"] == json!(true) {
            version["subresources"] = json!({"status": {}});
        }
        version
    };
    let mut versions = vec![version("v1", input.get("schema"), true)];
    versions.extend(input.get("second").map(|schema| version("v2", Some(schema), false)));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
        },
    })
}
