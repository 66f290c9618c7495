//! The keywords that a CRD schema may use, at any depth and inside junctors as well.
//!
//! Extensions are `extension.rs`, validation rules `rule.rs`.

use super::report::Report;
use super::rule_cost::Costs;
use super::scope::Scope;
use super::{extension, rule};
use crate::cel::Rules;
use crate::keyword::{EMBEDDED, LIST_TYPE, MAP_TYPE};
use crate::node::{Additional, Items, Node};
use crate::path::SchemaPath;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Checks a schema; its validation rules only if `rules` is true. The server has types for them only when the structure is sound.
pub(super) fn check(node: &Node<'_>, rules: bool, report: &mut Report) {
    let scope = Scope { root: true, detached: !rules, cardinality: Some(1), ..Scope::default() };
    let mut placement = report.fresh();
    let mut costs = Costs::default();
    let mut visit =
        Visit { report, placement: &mut placement, costs: &mut costs, compiler: Rules::default() };
    visit.node(node, &scope, &mut SchemaPath::root());
    costs.settle(&mut placement);
    report.diagnostics.append(&mut placement.diagnostics);
}

/// Diagnostics about rules are kept apart, because any other diagnostic below a node silences those about its rules.
struct Visit<'r> {
    report: &'r mut Report,
    placement: &'r mut Report,
    costs: &'r mut Costs,
    compiler: Rules,
}

impl Visit<'_> {
    fn node(&mut self, node: &Node<'_>, scope: &Scope, at: &mut SchemaPath) {
        let before = self.report.diagnostics.len();
        kind(node, at, self.report);
        refused_keywords(node, scope, at, self.report);
        self.additional(node, scope, at);
        self.properties(node, scope, at);
        let detached = Scope { detached: true, root: false, ..scope.clone() };
        for (keyword, index, member) in node.junctors() {
            at.within(
                |at| {
                    at.push_child(keyword);
                    index.into_iter().for_each(|index| at.push_index(index));
                },
                |at| self.node(member, &detached, at),
            );
        }
        self.items(node, scope, at);
        self.refused(node, &detached, at);
        extension::check(node, at, self.report);
        rule::check(node, at, self.report);
        if !scope.detached && self.report.diagnostics.len() == before {
            rule::expressions(node, scope, at, self.placement, self.costs, &mut self.compiler);
        }
    }

    /// Schemas below keywords that are refused are checked all the same.
    fn refused(&mut self, node: &Node<'_>, detached: &Scope, at: &mut SchemaPath) {
        let Some(refused) = &node.refused else { return };
        for (keyword, schemas) in
            [("definitions", &refused.definitions), ("dependencies", &refused.dependencies)]
        {
            for (name, schema) in schemas {
                at.within(
                    |at| {
                        at.push_child(keyword);
                        at.push_key(name);
                    },
                    |at| self.node(schema, detached, at),
                );
            }
        }
    }

    fn additional(&mut self, node: &Node<'_>, scope: &Scope, at: &mut SchemaPath) {
        let Some(additional) = &node.additional_properties else {
            return;
        };
        if !node.properties.is_empty() && !matches!(additional, Additional::Bool(true)) {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.report.forbidden(at, "additionalProperties", "properties-and-map", detail);
        }
        let Additional::Schema(schema) = additional else {
            return;
        };
        let mut below = scope.below(node);
        if scope.inside_meta {
            below.no_defaults = Some("inside additionalProperties applying to object metadata".to_owned());
        }
        at.within(|at| at.push_child("additionalProperties"), |at| self.node(schema, &below, at));
    }

    fn properties(&mut self, node: &Node<'_>, scope: &Scope, at: &mut SchemaPath) {
        for (name, property) in &node.properties {
            let mut below = scope.below(node);
            // Only a map type that the server does not know keeps it from matching up properties by name.
            let map_type = node.get(MAP_TYPE).and_then(serde_json::Value::as_str);
            if !matches!(map_type, None | Some("granular" | "atomic")) {
                below.uncorrelatable.get_or_insert_with(|| at.clone());
            }
            if (scope.root || node.flag(EMBEDDED)) && matches!(*name, "metadata" | "kind" | "apiVersion") {
                below.inside_meta = true;
                if scope.root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            at.within(|at| at.push_property(name), |at| self.node(property, &below, at));
        }
    }

    fn items(&mut self, node: &Node<'_>, scope: &Scope, at: &mut SchemaPath) {
        let mut below = scope.below(node);
        if node.string(LIST_TYPE) != "map" {
            below.uncorrelatable.get_or_insert_with(|| at.clone());
        }
        match &node.items {
            Some(Items::Schema(item)) => {
                at.within(|at| at.push_child("items"), |at| self.node(item, &below, at))
            }
            Some(Items::Schemas(list)) => {
                for (index, item) in list.iter().enumerate() {
                    at.within(
                        |at| {
                            at.push_child("items");
                            at.push_index(index);
                        },
                        |at| self.node(item, &below, at),
                    );
                }
            }
            _ => {}
        }
    }
}

fn kind(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let kind = node.kind();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        report.unsupported(at, "type", kind, "type", &TYPES);
    }
    if kind == "null" {
        report.forbidden(at, "type", "type", "type cannot be set to null, use nullable as an alternative");
    }
    if node.flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        report.forbidden(at, "uniqueItems", "unique-items", detail);
    }
}

fn refused_keywords(node: &Node<'_>, scope: &Scope, at: &SchemaPath, report: &mut Report) {
    if let (Some(_), Some(reason)) = (node.default_value(), &scope.no_defaults) {
        report.forbidden(at, "default", "default-forbidden", &format!("must not be set {reason}"));
    }
    let filled = |keyword: &str| {
        node.get(keyword).and_then(serde_json::Value::as_object).is_some_and(|map| !map.is_empty())
    };
    let refused = [
        ("id", !node.string("id").is_empty()),
        ("additionalItems", node.get("additionalItems").is_some()),
        ("patternProperties", filled("patternProperties")),
        ("definitions", filled("definitions")),
        ("dependencies", node.get("dependencies").is_some()),
        ("$ref", node.get("$ref").is_some()),
    ];
    for (keyword, present) in refused {
        if present {
            report.forbidden(at, keyword, "keyword", &format!("{keyword} is not supported"));
        }
    }
    if matches!(node.items, Some(Items::Schemas(_))) {
        report.forbidden(at, "items", "tuple", "items must be a schema object and not an array");
    }
    if scope.inside_meta && node.flag(EMBEDDED) {
        report.forbidden(at, EMBEDDED, "embedded-resource", "must not be used inside of resource meta");
    }
}
