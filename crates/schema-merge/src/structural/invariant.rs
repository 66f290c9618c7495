//! Every value has a type, the root is an object, and metadata is left to the API machinery.
//!
//! Value validations and what stands inside junctors are `junctor.rs`.

use super::junctor;
use super::report::Report;
use crate::keyword::{EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE, RULES};
use crate::node::Node;
use crate::path::SchemaPath;

/// The place of a node, which decides how a missing type is worded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn check(node: &Node<'_>, report: &mut Report) {
    visit(node, Level::Root, &mut SchemaPath::root(), report);
}

fn visit(node: &Node<'_>, level: Level, at: &mut SchemaPath, report: &mut Report) {
    if node.kind() == "array" && node.item().is_none() {
        report.required(at, "items", "array-items", "must be specified");
    }
    if let Some(item) = node.item() {
        at.within(|at| at.push_child("items"), |at| visit(item, Level::Item, at, report));
    }
    for (name, property) in &node.properties {
        at.within(|at| at.push_property(name), |at| visit(property, Level::Field, at, report));
    }
    if node.additional_properties.is_some() && level == Level::Root {
        report.forbidden(
            at,
            "additionalProperties",
            "root-additional-properties",
            "must not be used at the root",
        );
    }
    if let Some(additional) = node.additional() {
        at.within(
            |at| at.push_child("additionalProperties"),
            |at| visit(additional, Level::Field, at, report),
        );
    }
    int_or_string(node, at, report);
    junctor::check(node, at, report);
    kind(node, level, at, report);
    resource(node, level, at, report);
}

fn int_or_string(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    if !node.flag(INT_OR_STRING) {
        return;
    }
    let detail = "must be false if x-kubernetes-int-or-string is true";
    for keyword in [PRESERVE, EMBEDDED] {
        if node.flag(keyword) {
            report.invalid(at, keyword, &true.into(), "int-or-string", detail);
        }
    }
}

fn kind(node: &Node<'_>, level: Level, at: &SchemaPath, report: &mut Report) {
    let kind = node.kind();
    if node.flag(EMBEDDED) && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() {
            report.required(at, "type", "embedded-resource", detail);
        } else {
            report.invalid_string(at, "type", kind, "embedded-resource", detail);
        }
    } else if kind.is_empty() && !node.flag(INT_OR_STRING) && !node.flag(PRESERVE) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        report.required(at, "type", "type-required", detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        report.invalid_string(at, "type", kind, "root-type", "must be object at the root");
    }
}

/// The rules for the resource itself and for resources embedded in it.
fn resource(node: &Node<'_>, level: Level, at: &mut SchemaPath, report: &mut Report) {
    let embedded = node.flag(EMBEDDED);
    if embedded && node.additional_properties.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        report.forbidden(at, "additionalProperties", "embedded-resource", detail);
    }
    if embedded || level == Level::Root {
        for name in ["kind", "apiVersion"] {
            let Some(property) = node.properties.get(name).filter(|property| property.kind() != "string")
            else {
                continue;
            };
            let place = at.clone().child("properties").key(name);
            report.invalid_string(&place, "type", property.kind(), "type-meta", "must be string");
        }
    }
    if let Some(metadata) = node.properties.get("metadata") {
        at.within(
            |at| at.push_property("metadata"),
            |at| self::metadata(metadata, embedded, level, at, report),
        );
    }
    if embedded && !node.flag(PRESERVE) && node.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        report.required(at, "properties", "embedded-resource", detail);
    }
}

fn metadata(node: &Node<'_>, embedded: bool, level: Level, at: &SchemaPath, report: &mut Report) {
    if (embedded || level == Level::Root) && node.kind() != "object" {
        report.invalid_string(at, "type", node.kind(), "object-meta", "must be object");
    }
    if level == Level::Root && !restricts_names_only(node) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        let path = at.clone();
        report.push(
            crate::Severity::Error,
            crate::DiagnosticKind::Forbidden,
            "object-meta",
            &path,
            None,
            detail.to_owned(),
        );
    }
}

/// Returns true if the node says no more than a type, a default (refused elsewhere) and something about the two names.
fn restricts_names_only(node: &Node<'_>) -> bool {
    let names = node.properties.keys().all(|name| matches!(*name, "name" | "generateName"));
    let silent = |keyword: &&String| {
        matches!(keyword.as_str(), "type" | "default" | "properties")
            || node.is_zero(keyword)
            || !is_compared(keyword)
    };
    names && node.raw.keys().all(|keyword| silent(&keyword))
}

/// Returns true if the keyword survives into what the server compares; unknown ones were dropped before.
fn is_compared(keyword: &str) -> bool {
    let extension =
        [EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE, RULES].contains(&keyword);
    extension || crate::keyword::holds(keyword).is_some()
}
