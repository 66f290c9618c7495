//! The rules of `x-kubernetes-list-type`, `-list-map-keys`, `-map-type` and `-preserve-unknown-fields`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::dump::go_items;
use super::report::Report;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::{LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE};
use crate::node::Node;
use crate::path::SchemaPath;

pub(super) fn check(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    if node.get(PRESERVE).is_some() && !node.flag(PRESERVE) {
        report.invalid(at, PRESERVE, &json!(false), "preserve", "must be true or undefined");
    }
    if let Some(map_type) = node.get(MAP_TYPE).and_then(Value::as_str) {
        on_type(node, "object", "must be object if x-kubernetes-map-type is specified", at, report);
        if !matches!(map_type, "atomic" | "granular") {
            report.unsupported(at, MAP_TYPE, map_type, "map-type", &["atomic", "granular"]);
        }
    }
    if let Some(list_type) = node.get(LIST_TYPE).and_then(Value::as_str) {
        on_type(node, "array", "must be array if x-kubernetes-list-type is specified", at, report);
        if !matches!(list_type, "atomic" | "set" | "map") {
            report.unsupported(at, LIST_TYPE, list_type, "list-type", &["atomic", "set", "map"]);
        }
    }
    set_items(node, at, report);
    map_keys(node, at, report);
    map_items(node, at, report);
    not_nullable(node, at, report);
}

fn on_type(node: &Node<'_>, expected: &str, detail: &str, at: &SchemaPath, report: &mut Report) {
    match node.kind() {
        "" => report.required(at, "type", "extension-type", detail),
        kind if kind == expected => {}
        kind => report.invalid_string(at, "type", kind, "extension-type", detail),
    }
}

/// The items of a set must be scalar, or atomic as a whole.
fn set_items(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let (true, "array", Some(item)) = (node.string(LIST_TYPE) == "set", node.kind(), node.item()) else {
        return;
    };
    // The server prints the list type of the items in both cases.
    let value = item.get(LIST_TYPE).unwrap_or(&Value::Null);
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let items = at.clone().child("items");
    match item.kind() {
        "array" if item.get(LIST_TYPE).is_some() && item.string(LIST_TYPE) != "atomic" => {
            report.invalid(&items, LIST_TYPE, value, "set-items", detail);
        }
        "object" if item.string(MAP_TYPE) != "atomic" => {
            report.invalid(&items, MAP_TYPE, value, "set-items", detail)
        }
        _ => {}
    }
}

fn map_keys(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let keys = node.list(LIST_MAP_KEYS);
    let list_type = node.get(LIST_TYPE).and_then(Value::as_str);
    let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    match list_type {
        None if !keys.is_empty() => report.required(at, LIST_TYPE, "list-map-keys", detail),
        Some(other) if !keys.is_empty() && other != "map" => {
            report.invalid_string(at, LIST_TYPE, other, "list-map-keys", detail)
        }
        Some("map") if keys.is_empty() => {
            report.required(
                at,
                LIST_MAP_KEYS,
                "list-map-keys",
                "must not be empty if x-kubernetes-list-type is map",
            );
        }
        _ => {}
    }
}

/// The items of a map must be objects with all the keys, which must be scalar.
fn map_items(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    if node.string(LIST_TYPE) != "map" {
        return;
    }
    let Some(item) = node.item() else { return no_single_item(node, at, report) };
    let items = at.clone().child("items");
    if item.kind() != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        report.invalid_string(&items, "type", item.kind(), "map-items", detail);
        return;
    }
    let keys: Value = node.strings(LIST_MAP_KEYS).collect();
    let mut seen = BTreeSet::new();
    for key in node.strings(LIST_MAP_KEYS) {
        match item.properties.get(key) {
            Some(property) if matches!(property.kind(), "array" | "object") => {
                let place = items.clone().child("properties").key(key);
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                report.invalid_string(&place, "type", item.kind(), "map-items", detail);
            }
            Some(_) => {}
            None => report.invalid(
                at,
                LIST_MAP_KEYS,
                &keys,
                "map-items",
                "entries must all be names of item properties",
            ),
        }
        if !seen.insert(key) {
            report.invalid(at, LIST_MAP_KEYS, &keys, "map-items", "must not contain duplicate entries");
        }
    }
}

fn no_single_item(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let Some(items) = &node.items else {
        return report.required(
            at,
            "items",
            "map-items",
            "must have a schema if x-kubernetes-list-type is map",
        );
    };
    let path = at.clone().child("items");
    let detail = "must only have a single schema if x-kubernetes-list-type is map".to_owned();
    report.push(Severity::Error, DiagnosticKind::Invalid, "map-items", &path, Some(go_items(items)), detail);
}

/// The items of sets and maps cannot be null, and neither can the keys of a map, which must not be absent either.
fn not_nullable(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let (list_type @ ("set" | "map"), Some(item)) = (node.string(LIST_TYPE), node.item()) else {
        return;
    };
    let items = at.clone().child("items");
    if item.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        report.forbidden(&items, "nullable", "map-items", &detail);
    }
    if list_type != "map" {
        return;
    }
    let required: BTreeSet<_> = item.strings("required").collect();
    for key in node.strings(LIST_MAP_KEYS) {
        let Some(property) = item.properties.get(key) else {
            continue;
        };
        let place = items.clone().child("properties").key(key);
        if !required.contains(key) && property.default_value().is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            report.required(&place, "default", "map-items", detail);
        }
        if property.flag("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            report.forbidden(&place, "nullable", "map-items", detail);
        }
    }
}
