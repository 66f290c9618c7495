//! The keywords that the root of a schema may hold when the status subresource is enabled.
//!
//! The server validates `status` by taking its property out of the root, so nothing may stand there that speaks about
//! both spec and status.

use super::dump::go_schema;
use super::report::Report;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::{EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE, RULES};
use crate::node::Node;
use crate::path::SchemaPath;

/// The fields of the server's struct in their order, the keyword of each, and whether the root may have it.
const FIELDS: [(&str, bool); 44] = [
    ("id", false),
    ("$schema", false),
    ("$ref", false),
    ("description", true),
    ("type", true),
    ("nullable", false),
    ("format", true),
    ("title", true),
    ("default", false),
    ("maximum", true),
    ("exclusiveMaximum", true),
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("maxLength", true),
    ("minLength", true),
    ("pattern", true),
    ("maxItems", true),
    ("minItems", true),
    ("uniqueItems", true),
    ("multipleOf", true),
    ("enum", false),
    ("maxProperties", false),
    ("minProperties", false),
    ("required", true),
    ("items", true),
    ("allOf", false),
    ("oneOf", false),
    ("anyOf", false),
    ("not", false),
    ("properties", true),
    ("additionalProperties", false),
    ("patternProperties", false),
    ("dependencies", false),
    ("additionalItems", false),
    ("definitions", false),
    ("externalDocs", true),
    ("example", true),
    (PRESERVE, true),
    (EMBEDDED, false),
    (INT_OR_STRING, false),
    (LIST_MAP_KEYS, false),
    (LIST_TYPE, false),
    (MAP_TYPE, false),
    (RULES, true),
];

const ALLOWED: &str = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled";

pub(super) fn check(node: &Node<'_>, status_subresource: bool, report: &mut Report) {
    let root = SchemaPath::root();
    if status_subresource {
        // The server stops at the first one.
        let refused = FIELDS.iter().find(|(keyword, allowed)| match *keyword {
            "type" => !matches!(node.kind(), "" | "object"),
            keyword => !allowed && is_set(node, keyword),
        });
        match refused {
            Some(("type", _)) => {
                let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                report.invalid_string(&root, "type", node.kind(), "status-subresource", detail);
            }
            Some(_) => {
                let dump = Some(go_schema(node));
                report.push(
                    Severity::Error,
                    DiagnosticKind::Invalid,
                    "status-subresource",
                    &root,
                    dump,
                    ALLOWED.to_owned(),
                );
            }
            None => {}
        }
    }
    if node.flag("nullable") {
        report.forbidden(&root, "nullable", "root-nullable", "nullable cannot be true at the root");
    }
}

/// Returns true if the field differs from Go's zero value. An empty list or map is not nil, so it does.
fn is_set(node: &Node<'_>, keyword: &str) -> bool {
    match node.get(keyword) {
        None => false,
        Some(serde_json::Value::Bool(set)) => {
            *set || matches!(keyword, "default" | "additionalProperties" | "additionalItems")
        }
        Some(serde_json::Value::String(text)) => {
            !text.is_empty() || matches!(keyword, "$ref" | "default" | LIST_TYPE | MAP_TYPE)
        }
        Some(_) => true,
    }
}
