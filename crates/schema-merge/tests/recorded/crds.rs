//! CRDs written by hand and those that kube-derive makes of Rust types, and what becomes of an object of some.
#![allow(clippy::indexing_slicing, clippy::panic, reason = "a test says no by panicking")]

use std::collections::BTreeSet;

use schema_merge::{Severity, StructuralOptions, check_structural, defaulted, pruned, validate_crd};
use serde::Deserialize;
use serde_json::Value;

use crate::none_differ;
use crate::verdict::{Answer, difference, of, rows};

/// Rows whose verdict or words need rules compiled, and are left out without the feature `cel`; crates/schema-merge/README.md
/// has the reason of each.
const NEEDS_CEL: [&str; 4] =
    ["cel cost 2", "cel nonbool", "cel oldSelf uncorrelatable", "cel self.metadata in spec"];

#[derive(Deserialize)]
struct Row {
    name: String,
    crd: Value,
    answer: Answer,
    /// The error under strict validation, of a CRD that is decoded otherwise.
    strict: Option<String>,
    object: Option<Object>,
}

/// An object of the CRD.
#[derive(Deserialize)]
struct Object {
    sent: Value,
    /// As the server stores it.
    stored: Value,
    /// The error under strict validation.
    strict: Option<String>,
}

fn recorded() -> Vec<Row> {
    rows(include_str!("crds.jsonl"))
}

impl Row {
    /// The schema of the first version.
    fn schema(&self) -> &Value {
        &self.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }

    /// The difference between our diagnostics and the server's answer.
    fn difference(&self) -> Option<String> {
        let diagnostics = validate_crd(&self.crd);
        let unknown = of(&diagnostics, Severity::UnknownField);
        if unknown != unknown_fields(self.strict.as_deref()) {
            return Some(format!("{}: {unknown:?}, the server: {:?}", self.name, self.strict));
        }
        Some(format!("{}: {}", self.name, difference(&diagnostics, &self.answer)?))
    }
}

/// The errors in the server's message: `strict decoding error: unknown field "spec.a", unknown field "spec.b"`.
fn unknown_fields(message: Option<&str>) -> BTreeSet<String> {
    let listed = message.and_then(|text| text.split_once("strict decoding error: "));
    listed.into_iter().flat_map(|(_, errors)| errors.split(", ").map(str::to_owned)).collect()
}

#[test]
fn crds_have_the_servers_verdict_in_its_words() {
    let rows = recorded();
    let compared = |row: &&Row| cfg!(feature = "cel") || !NEEDS_CEL.contains(&row.name.as_str());
    none_differ(rows.len(), &rows.iter().filter(compared).filter_map(Row::difference).collect::<Vec<_>>());
    let accepted = rows.iter().filter(|row| row.answer == Answer::Accepted).count();
    let names: BTreeSet<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert!(rows.len() >= 150 && (50..100).contains(&accepted), "{accepted} of {} are accepted", rows.len());
    assert!(NEEDS_CEL.iter().all(|name| names.contains(name)));
}

#[test]
fn objects_are_defaulted_and_pruned_as_by_the_server() {
    let rows = recorded();
    let with_object = || rows.iter().filter_map(|row| Some((row, row.object.as_ref()?)));
    assert!(with_object().count() >= 6);
    for (row, object) in with_object() {
        let pruned = pruned(row.schema(), &object.sent);
        assert_eq!(defaulted(row.schema(), &pruned.object), object.stored, "{}", row.name);
        let unknown: BTreeSet<_> =
            pruned.unknown_fields.iter().map(|field| format!("unknown field \"{field}\"")).collect();
        assert_eq!(unknown, unknown_fields(object.strict.as_deref()), "{}", row.name);
    }
}

#[test]
fn diagnostics_do_not_depend_on_the_order_of_keys() {
    for row in recorded() {
        let [shuffled] = &rows::<Value>(&reversed(row.schema()))[..] else { panic!("one schema") };
        let options = StructuralOptions::default();
        assert_eq!(
            check_structural(row.schema(), &options),
            check_structural(shuffled, &options),
            "{}",
            row.name
        );
    }
}

/// The document with the keys of each object in the other order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}:{}", Value::from(&**key), reversed(value));
            format!("{{{}}}", map.iter().rev().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(reversed).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}
