//! Lints: accepted by the API server without a warning, but likely an error.
//!
//! Three families: fields that are dropped although the schema looks as if it kept them, keywords that never have an
//! effect, and schemas that nothing can satisfy. None of these keeps a CRD from being accepted.

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::completeness;
use super::report::Report;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::{EMBEDDED, INT_OR_STRING, PRESERVE};
use crate::node::{Additional, Node};
use crate::number::{self, ByValue};
use crate::object::{Dialect, Validator, is_supported};
use crate::path::SchemaPath;

/// Keywords that concern values of one type only.
const OF_TYPE: [(&str, &[&str]); 5] = [
    ("string", &["minLength", "maxLength", "pattern"]),
    ("array", &["minItems", "maxItems", "items", "uniqueItems"]),
    ("object", &["minProperties", "maxProperties", "required", "properties", "additionalProperties"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("integer", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

pub(super) fn check(node: &Node<'_>, report: &mut Report) {
    let mut walk = Walk { validator: Validator::new(Dialect::Object), report };
    walk.node(node, Place::Root, &mut SchemaPath::root());
    vacuous_spec(node, walk.report);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Structure,
    /// Below `additionalProperties`, where the server does not look at defaults.
    Map,
    Junctor,
}

struct Walk<'r> {
    validator: Validator,
    report: &'r mut Report,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node<'_>, place: Place, at: &mut SchemaPath) {
        if place == Place::Junctor {
            if matches!(node.additional_properties, Some(Additional::Bool(false))) {
                let detail =
                    "additionalProperties: false has no effect inside a junctor: the server drops it"
                        .to_owned();
                self.report.lint(at, "no-effect", detail);
            }
        } else {
            pruning(node, place, at, self.report);
            effect(node, at, self.report);
            self.default(node, place, at);
        }
        if place != Place::Root && place != Place::Junctor {
            gaps(node, at, self.report);
        }
        required(node, place, at, self.report);
        enumeration(node, at, self.report);
        bounds(node, at, self.report);
        format(node, at, self.report);
        self.below(node, place, at);
    }

    fn below(&mut self, node: &Node<'_>, place: Place, at: &mut SchemaPath) {
        let inner = if place == Place::Root { Place::Structure } else { place };
        for (name, property) in &node.properties {
            at.within(|at| at.push_property(name), |at| self.node(property, inner, at));
        }
        if let Some(item) = node.item() {
            at.within(|at| at.push_child("items"), |at| self.node(item, inner, at));
        }
        if let Some(schema) = node.additional() {
            let inner = if place == Place::Junctor { place } else { Place::Map };
            at.within(|at| at.push_child("additionalProperties"), |at| self.node(schema, inner, at));
        }
        for (keyword, index, member) in node.junctors() {
            at.within(
                |at| {
                    at.push_child(keyword);
                    index.into_iter().for_each(|index| at.push_index(index));
                },
                |at| self.node(member, Place::Junctor, at),
            );
        }
    }

    /// The server checks no defaults below maps, and then fills them in.
    fn default(&mut self, node: &Node<'_>, place: Place, at: &SchemaPath) {
        let (Place::Map, Some(default)) = (place, node.default_value()) else {
            return;
        };
        if !self.validator.violations(node, default).is_empty() {
            let detail = format!(
                "the default {default} is not valid here; the server does not check it and will fill it in"
            );
            self.report.lint(at, "default-in-map", detail);
        }
    }
}

/// Schemas that look as if they kept what they drop.
fn pruning(node: &Node<'_>, place: Place, at: &SchemaPath, report: &mut Report) {
    if matches!(node.additional_properties, Some(Additional::Bool(true))) && !node.flag(PRESERVE) {
        let detail = "additionalProperties: true keeps the keys, but everything inside nested objects is dropped; \
                      write additionalProperties: {x-kubernetes-preserve-unknown-fields: true}";
        report.lint(at, "pruned-map", detail.to_owned());
    }
    let bare = node.kind() == "object" && node.properties.is_empty() && node.additional_properties.is_none();
    if bare && place != Place::Root && !node.flag(PRESERVE) && !node.flag(EMBEDDED) && !is_metadata(at) {
        let detail = "an object without properties: everything inside is dropped; declare the properties, or set \
                      x-kubernetes-preserve-unknown-fields: true";
        report.lint(at, "pruned-object", detail.to_owned());
    }
    if node.flag(PRESERVE) && place != Place::Root {
        let closing = node.properties.iter().filter(|(_, property)| closes(property)).map(|(name, _)| *name);
        let names: Vec<_> = closing.collect();
        if !names.is_empty() {
            let detail = format!(
                "unknown fields are kept here, but not inside {}: preserving ends where properties are declared",
                names.join(", ")
            );
            report.lint(at, "preserve-ends", detail);
        }
    }
}

/// The resource's own metadata is implicitly declared.
fn is_metadata(at: &SchemaPath) -> bool {
    at.pointer() == "/properties/metadata"
}

fn closes(node: &Node<'_>) -> bool {
    !node.flag(PRESERVE) && !node.properties.is_empty()
}

/// Keywords that concern values of another type.
fn effect(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let kind = node.kind();
    if kind.is_empty() || node.flag(INT_OR_STRING) {
        return;
    }
    let own = OF_TYPE.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, keywords)| keywords);
    for keyword in OF_TYPE.iter().flat_map(|(_, keywords)| *keywords).collect::<BTreeSet<_>>() {
        if node.get(keyword).is_some() && !own.contains(keyword) {
            let detail = format!("{keyword} has no effect on a value of type {kind}");
            report.lint(at, "no-effect", detail);
        }
    }
}

/// Below the root the server does not notice a junctor that speaks about what is not declared.
fn gaps(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    for gap in completeness::gaps(node, at) {
        let detail =
            format!("mentioned in {} and not declared, so that the server drops it", gap.mentioned.pointer());
        report.lint(&gap.declared, "undeclared", detail);
    }
}

fn required(node: &Node<'_>, place: Place, at: &SchemaPath, report: &mut Report) {
    let mut seen = BTreeSet::new();
    for name in node.strings("required") {
        if !seen.insert(name) {
            report.lint(at, "required-twice", format!("required names {name:?} twice"));
        }
        let open = node.flag(PRESERVE) || node.additional_properties.is_some() || node.flag(EMBEDDED);
        let implied = place == Place::Root && matches!(name, "apiVersion" | "kind" | "metadata");
        let declared = open || implied || node.properties.contains_key(name);
        if node.kind() == "object" && !declared && place != Place::Junctor {
            let detail = format!(
                "required names {name:?}, which is not declared: the server drops it, and no object is valid"
            );
            report.lint(at, "required-undeclared", detail);
        }
    }
}

/// Warns that what `spec` requires has no force while `spec` itself may be left out.
fn vacuous_spec(node: &Node<'_>, report: &mut Report) {
    let Some(spec) = node.properties.get("spec") else {
        return;
    };
    let required = node.strings("required").any(|name| name == "spec");
    if !required && spec.default_value().is_none() && !spec.list("required").is_empty() {
        let at = SchemaPath::root().child("properties").key("spec");
        let detail = "spec may be left out, and what it requires with it; require spec at the root, or give it a default";
        report.lint(&at, "vacuous-required", detail.to_owned());
    }
}

fn enumeration(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let Some(Value::Array(values)) = node.get("enum") else {
        return;
    };
    if values.is_empty() {
        report.lint(at, "enum-empty", "an empty enum allows every value".to_owned());
    }
    let mut seen = BTreeSet::new();
    for value in values {
        if !seen.insert(ByValue(value)) {
            report.lint(at, "enum-twice", format!("enum lists {value} twice"));
        }
        if !has_type(value, node) {
            report.lint(
                at,
                "enum-type",
                format!("enum lists {value}, which no value of type {} can be", node.kind()),
            );
        }
    }
    if node.flag("nullable") && !values.is_empty() {
        let detail =
            "nullable has no effect beside an enum: the server never accepts null for one".to_owned();
        report.lint(at, "enum-nullable", detail);
    }
}

fn has_type(value: &Value, node: &Node<'_>) -> bool {
    if node.flag(INT_OR_STRING) {
        return value.is_i64() || value.is_string();
    }
    match (node.kind(), value) {
        ("", _) | (_, Value::Null) => true,
        ("string", value) => value.is_string(),
        ("boolean", value) => value.is_boolean(),
        ("integer", value) => value.as_f64().is_some_and(|value| value.fract() == 0.0),
        ("number", value) => value.is_number(),
        ("array", value) => value.is_array(),
        ("object", value) => value.is_object(),
        _ => true,
    }
}

fn bounds(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    for (low, high) in [
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ] {
        if let (Some(min), Some(max)) = (node.number(low), node.number(high))
            && number::compare(min, max).is_gt()
        {
            let (min, max) = (number::shown(min), number::shown(max));
            report.lint(at, "unsatisfiable", format!("{low} {min} is above {high} {max}: no value is valid"));
        }
        for keyword in [low, high].into_iter().filter(|keyword| !keyword.ends_with("imum")) {
            if let Some(length) = node.integer(keyword).filter(|length| *length < 0) {
                report.lint(at, "negative", format!("{keyword} is {length}; a length is never negative"));
            }
        }
    }
    if let Some(factor) =
        node.number("multipleOf").filter(|factor| Number::as_f64(factor).is_some_and(|f| f <= 0.0))
    {
        report.lint(at, "unsatisfiable", format!("multipleOf is {factor}: the server refuses every value"));
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if node.flag(exclusive) && node.number(bound).is_none() {
            report.lint(at, "no-effect", format!("{exclusive} has no effect without {bound}"));
        }
    }
}

/// The server warns about formats that it will not check.
fn format(node: &Node<'_>, at: &SchemaPath, report: &mut Report) {
    let format = node.string("format");
    if !format.is_empty() && !is_supported(node.kind(), format) {
        let detail = format!("unrecognized format {format:?}");
        report.push(Severity::Warning, DiagnosticKind::Plain, "format", at, None, detail);
    }
}
