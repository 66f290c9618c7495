//! Whether the defaults of a schema are values the schema accepts.
//!
//! A default is checked before the defaults inside it are filled in, and must not hold unknown fields. Defaults below
//! `additionalProperties` are not looked at by the server; `lint.rs` does.

use serde_json::Value;

use super::dump::go_json;
use super::report::Report;
use crate::finding::{Problem, Severity};
use crate::keyword::EMBEDDED;
use crate::node::Node;
use crate::object::{Dialect, Validator, embedded_violations, go_value, prune};
use crate::path::SchemaPath;

pub(super) fn check(node: &Node<'_>, report: &mut Report) {
    let mut walk = Walk {
        validator: Validator::new(Dialect::Default),
        report,
    };
    walk.node(node, true, false, &mut SchemaPath::root());
}

struct Walk<'r> {
    validator: Validator,
    report: &'r mut Report,
}

impl Walk<'_> {
    /// `inside_meta` is true within the kind, apiVersion and metadata of a resource.
    fn node(&mut self, node: &Node<'_>, root: bool, inside_meta: bool, at: &mut SchemaPath) {
        let resource = root || node.flag(EMBEDDED);
        let inside_meta = inside_meta && !node.flag(EMBEDDED);
        if let Some(default) = node.default_value() {
            at.within(
                |at| at.push_child("default"),
                |at| self.default(node, default, resource, inside_meta, at),
            );
        }
        if let Some(item) = node.item() {
            at.within(
                |at| at.push_child("items"),
                |at| self.node(item, false, inside_meta, at),
            );
        }
        for (name, property) in &node.properties {
            let meta = inside_meta || (resource && matches!(*name, "metadata" | "apiVersion" | "kind"));
            at.within(
                |at| at.push_property(name),
                |at| self.node(property, false, meta, at),
            );
        }
    }

    fn default(
        &mut self,
        node: &Node<'_>,
        default: &Value,
        resource: bool,
        inside_meta: bool,
        at: &SchemaPath,
    ) {
        let mut violations = Vec::new();
        if !inside_meta {
            let mut kept = default.clone();
            prune(node, &mut kept, resource);
            if kept != *default {
                let detail = "must not have unknown fields".to_owned();
                let value = Some(if default.is_object() {
                    go_json(default)
                } else {
                    go_value(default)
                });
                self.report
                    .push(Severity::Error, Problem::Invalid, "default", at, value, detail);
            }
            violations = embedded_violations(node, default, resource);
        }
        if violations.is_empty() {
            violations = self.validator.violations(node, default);
        }
        let (prefix, base) = self.report.origin();
        self.report.findings.extend(
            violations
                .into_iter()
                .map(|violation| violation.below(at, &prefix, &base)),
        );
    }
}
