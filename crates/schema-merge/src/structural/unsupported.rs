//! Keywords that keep the server from looking at a schema's structure at all.
//!
//! Most of them are refused by name in `openapi.rs`; `$schema` is not, and shows only when nothing else is wrong.

use crate::keyword::PRESERVE;
use crate::node::{Items, Node};

/// The first reason, or `None` when the structure can be looked at.
pub(super) fn first(node: &Node<'_>) -> Option<&'static str> {
    own(node)
        .or_else(|| node.junctors().find_map(|(_, _, member)| first(member)))
        .or_else(|| node.item().and_then(first))
        .or_else(|| node.properties.values().find_map(first))
        .or_else(|| node.additional().and_then(first))
}

fn own(node: &Node<'_>) -> Option<&'static str> {
    let refused = node.refused.as_deref();
    let holds =
        |keyword| node.get(keyword).and_then(serde_json::Value::as_object).is_some_and(|map| !map.is_empty());
    [
        (!node.string("id").is_empty(), "OpenAPIV3Schema 'id' is not supported"),
        (!node.string("$schema").is_empty(), "OpenAPIV3Schema 'schema' is not supported"),
        (!node.string("$ref").is_empty(), "OpenAPIV3Schema '$ref' is not supported"),
        (holds("patternProperties"), "OpenAPIV3Schema 'patternProperties' is not supported"),
        (holds("dependencies"), "OpenAPIV3Schema 'dependencies' is not supported"),
        (node.get("additionalItems").is_some(), "OpenAPIV3Schema 'additionalItems' is not supported"),
        (
            refused.is_some_and(|refused| !refused.definitions.is_empty()),
            "OpenAPIV3Schema 'definitions' is not supported",
        ),
        (
            node.get(PRESERVE).is_some() && !node.flag(PRESERVE),
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
        (
            matches!(node.items, Some(Items::Schemas(_))),
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
    ]
    .into_iter()
    .find_map(|(present, detail)| present.then_some(detail))
}
