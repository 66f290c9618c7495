//! The check that the defaults of a schema are values the schema accepts.
//!
//! A default is checked before the defaults inside it are filled in, and must not hold unknown fields. One inside metadata
//! must make plausible metadata. Defaults below `additionalProperties` are not looked at by the server; `lint.rs` does.

use serde_json::{Map, Value, json};

use super::dump::go_json;
use super::report::Report;
use crate::cel::Rules;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::EMBEDDED;
use crate::node::Node;
use crate::object::{
    Dialect, Validator, Violation, embedded_violations, go_value, prune, resource_violations,
};
use crate::path::SchemaPath;

pub(super) fn check(node: &Node<'_>, report: &mut Report) {
    let (validator, rules) = (Validator::new(Dialect::Default), Rules::default());
    let mut walk = Walk { validator, rules, report };
    walk.node(node, true, &mut Vec::new(), &mut SchemaPath::root());
}

/// The way from a resource to a place in its kind, apiVersion or metadata; empty elsewhere.
type Meta<'a> = Vec<Option<&'a str>>;

struct Walk<'r> {
    validator: Validator,
    rules: Rules,
    report: &'r mut Report,
}

impl Walk<'_> {
    fn node<'a>(&mut self, node: &Node<'a>, root: bool, meta: &mut Meta<'a>, at: &mut SchemaPath) {
        let resource = root || node.flag(EMBEDDED);
        let mut fresh = Vec::new();
        let meta = if node.flag(EMBEDDED) { &mut fresh } else { meta };
        if let Some(default) = node.default_value() {
            at.within(|at| at.push_child("default"), |at| self.default(node, default, resource, meta, at));
        }
        if let Some(item) = node.item() {
            at.within(|at| at.push_child("items"), |at| self.below(item, None, meta, at));
        }
        for (name, property) in &node.properties {
            let enters = resource && matches!(*name, "metadata" | "apiVersion" | "kind");
            at.within(
                |at| at.push_property(name),
                |at| {
                    if enters {
                        self.node(property, false, &mut vec![Some(*name)], at);
                    } else {
                        self.below(property, Some(*name), meta, at);
                    }
                },
            );
        }
    }

    /// Goes on further down; inside metadata, `step` is remembered.
    fn below<'a>(
        &mut self,
        node: &Node<'a>,
        step: Option<&'a str>,
        meta: &mut Meta<'a>,
        at: &mut SchemaPath,
    ) {
        let inside = !meta.is_empty();
        if inside {
            meta.push(step);
        }
        self.node(node, false, meta, at);
        if inside {
            meta.pop();
        }
    }

    fn default(
        &mut self,
        node: &Node<'_>,
        default: &Value,
        resource: bool,
        meta: &Meta<'_>,
        at: &SchemaPath,
    ) {
        let mut violations = if meta.is_empty() {
            let mut kept = default.clone();
            prune(node, &mut kept, resource);
            if kept != *default {
                self.invalid(default, "must not have unknown fields".to_owned(), at);
            }
            embedded_violations(node, default, resource)
        } else {
            let implausible = implausible(default, meta);
            if let Some(detail) = implausible {
                return self.invalid(default, format!("must result in valid metadata: {detail}"), at);
            }
            Vec::new()
        };
        if violations.is_empty() {
            violations = self.validator.violations(node, default);
            if violations.is_empty() {
                self.rules.check_default(node, default, resource, at, self.report);
            }
        }
        let (prefix, base) = self.report.origin();
        self.report
            .diagnostics
            .extend(violations.into_iter().map(|violation| violation.below(at, &prefix, &base)));
    }

    fn invalid(&mut self, default: &Value, detail: String, at: &SchemaPath) {
        let value =
            if default.is_object() || default.is_array() { go_json(default) } else { go_value(default) };
        self.report.push(Severity::Error, DiagnosticKind::Invalid, "default", at, Some(value), detail);
    }
}

/// Returns what is wrong with a resource that has this default at this place, in the words of the server.
fn implausible(default: &Value, meta: &Meta<'_>) -> Option<String> {
    let surrounding = meta.iter().rev().fold(default.clone(), |inner, step| match step {
        Some(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
        None => json!([inner]),
    });
    let mut resource = Map::from_iter([
        ("apiVersion".to_owned(), json!("validation/v1")),
        ("kind".to_owned(), json!("Validation")),
    ]);
    if let Value::Object(fields) = surrounding {
        resource.extend(fields);
    }
    let texts: Vec<String> = resource_violations(&resource)
        .into_iter()
        .map(Violation::at_root)
        .map(|diagnostic| diagnostic.to_string())
        .collect();
    match &*texts {
        [] => None,
        [text] => Some(text.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
