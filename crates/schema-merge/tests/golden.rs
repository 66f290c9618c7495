//! The recorded verdicts of the API server's own validator, reproduced row by row.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says no by panicking")]

use std::collections::BTreeSet;

use schema_merge::{
    Diagnostic, Severity, StructuralOptions, check_structural, defaulted, pruned, validate_crd,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

const RULES: &str = include_str!("fixtures/crd-validation.jsonl");
const DERIVED: &str = include_str!("fixtures/kube-derive-schemas.jsonl");

/// Rows whose verdict or words need rules compiled, and are left out without the feature `cel`; the reason of each stands
/// in crates/schema-merge/README.md. Everything else is compared word for word, and with `cel` these are too.
const NEEDS_CEL: [&str; 4] =
    ["cel cost 2", "cel nonbool", "cel oldSelf uncorrelatable", "cel self.metadata in spec"];

fn rows(text: &str) -> Vec<Value> {
    let row = |line: &str| {
        // One row nests 200 objects, which is more than serde_json reads by default.
        let mut deserializer = serde_json::Deserializer::from_str(line);
        deserializer.disable_recursion_limit();
        Value::deserialize(&mut deserializer).unwrap()
    };
    text.lines().map(row).collect()
}

/// The CRD of a row, as the fixtures' README describes it.
fn crd(input: &Value) -> Value {
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

fn texts(diagnostics: &[Diagnostic], severity: Severity) -> BTreeSet<String> {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).map(ToString::to_string).collect()
}

fn recorded(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_row_has_the_servers_verdict_and_words() {
    let mut wrong = Vec::new();
    let all = [rows(RULES), rows(DERIVED)].concat();
    let mut same_words = 0;
    for row in &all {
        let (name, server) = (row["name"].as_str().unwrap(), &row["server"]);
        let diagnostics = validate_crd(&crd(&row["input"]));
        let ours = !diagnostics.iter().any(Diagnostic::is_error);
        if cfg!(not(feature = "cel")) && NEEDS_CEL.contains(&name) {
            continue;
        }
        if Some(ours) != server["ok"].as_bool() {
            wrong.push(format!("{name}: the server says {}, we say {diagnostics:#?}", server["ok"]));
            continue;
        }
        let words = (
            texts(&diagnostics, Severity::Error),
            texts(&diagnostics, Severity::UnknownField),
            texts(&diagnostics, Severity::Decode),
        );
        let theirs = (
            recorded(&server["errors"]),
            recorded(&server["strict"]),
            server["decode"].as_str().map(str::to_owned).into_iter().collect(),
        );
        if words == theirs {
            same_words += 1;
        } else {
            wrong.push(format!("{name}:\n server {theirs:#?}\n ours {words:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    // A fixture that loses rows would pass otherwise.
    let left_out = if cfg!(feature = "cel") { 0 } else { NEEDS_CEL.len() };
    assert_eq!((all.len(), same_words), (164, 164 - left_out));
}

#[test]
fn objects_are_defaulted_and_pruned_as_recorded() {
    let mut seen = 0;
    for row in rows(RULES) {
        let (input, server) = (&row["input"], &row["server"]);
        let Some(object) = input.get("obj") else { continue };
        seen += 1;
        let name = &row["name"];
        assert_eq!(defaulted(&input["schema"], object), server["defaulted"], "{name}");
        let pruned = pruned(&input["schema"], object);
        let text = format!("{} [{}]", pruned.object, pruned.unknown_fields.join(" "));
        assert_eq!(text, server["pruned_raw"].as_str().unwrap(), "{name}");
    }
    assert_eq!(seen, 7);
}

#[test]
fn diagnostics_do_not_depend_on_the_order_of_keys() {
    fn reversed(value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let entries: Vec<_> = map
                    .iter()
                    .rev()
                    .map(|(key, value)| format!("{}:{}", json!(key), reversed(value)))
                    .collect();
                format!("{{{}}}", entries.join(","))
            }
            Value::Array(list) => format!("[{}]", list.iter().map(reversed).collect::<Vec<_>>().join(",")),
            scalar => scalar.to_string(),
        }
    }
    for row in rows(RULES) {
        let Some(schema) = row["input"].get("schema") else {
            continue;
        };
        let shuffled = rows(&reversed(schema)).remove(0);
        let options = StructuralOptions::default();
        assert_eq!(
            check_structural(schema, &options),
            check_structural(&shuffled, &options),
            "{}",
            row["name"]
        );
    }
}
