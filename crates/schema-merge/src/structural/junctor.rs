//! The contents allowed inside `allOf`, `anyOf`, `oneOf` and `not`: value validations and nothing else.
//!
//! The one exception is the pattern by which a value is an integer or a string. Whether properties named inside are
//! declared outside is `completeness.rs`.

use go_compat::regexp;

use super::report::Report;
use crate::keyword::{EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE};
use crate::node::{Additional, Node};
use crate::path::SchemaPath;

const EMPTY: &str = "must be empty to be structural";
const UNDEFINED: &str = "must be undefined to be structural";
const FALSE: &str = "must be false to be structural";

/// Checks the value validations of a node that is not itself inside a junctor.
pub(super) fn check(node: &Node<'_>, at: &mut SchemaPath, report: &mut Report) {
    let first_of_all = node.all_of.first().is_some_and(is_int_or_string);
    validations(node, is_int_or_string(node), first_of_all, at, report);
}

/// Returns true if `anyOf` is exactly "an integer, or a string", in this order.
pub(crate) fn is_int_or_string(node: &Node<'_>) -> bool {
    let only = |member: &Node<'_>, kind: &str| {
        member.kind() == kind && member.raw.keys().all(|keyword| keyword == "type" || member.is_zero(keyword))
    };
    matches!(&*node.any_of, [integer, string] if only(integer, "integer") && only(string, "string"))
}

/// `skip_any` and `skip_first` excuse the int-or-string pattern, in `anyOf` or in the first member of `allOf`.
fn validations(node: &Node<'_>, skip_any: bool, skip_first: bool, at: &mut SchemaPath, report: &mut Report) {
    for (keyword, index, member) in node.junctors() {
        if keyword == "anyOf" && skip_any {
            continue;
        }
        let excused = keyword == "allOf" && index == Some(0) && skip_first;
        at.within(
            |at| {
                at.push_child(keyword);
                index.into_iter().for_each(|index| at.push_index(index));
            },
            |at| nested(member, excused, at, report),
        );
    }
    let pattern = node.string("pattern");
    if let (false, Err(error)) = (pattern.is_empty(), regexp::check(pattern)) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        report.invalid_string(at, "pattern", pattern, "pattern", &detail);
    }
}

fn nested(node: &Node<'_>, skip_any: bool, at: &mut SchemaPath, report: &mut Report) {
    validations(node, skip_any, false, at, report);
    if let Some(item) = node.item() {
        at.within(|at| at.push_child("items"), |at| nested(item, false, at, report));
    }
    for (name, property) in &node.properties {
        at.within(|at| at.push_property(name), |at| nested(property, false, at, report));
    }
    // `false` is dropped on conversion, without a word.
    let additional =
        matches!(node.additional_properties, Some(Additional::Schema(_) | Additional::Bool(true)));
    let refused = [
        ("type", !node.kind().is_empty(), EMPTY),
        ("additionalProperties", additional, UNDEFINED),
        ("default", node.default_value().is_some(), UNDEFINED),
        ("title", !node.string("title").is_empty(), EMPTY),
        ("description", !node.string("description").is_empty(), EMPTY),
        ("nullable", node.flag("nullable"), FALSE),
        (PRESERVE, node.flag(PRESERVE), FALSE),
        (EMBEDDED, node.flag(EMBEDDED), FALSE),
        (INT_OR_STRING, node.flag(INT_OR_STRING), FALSE),
        (LIST_MAP_KEYS, !node.list(LIST_MAP_KEYS).is_empty(), EMPTY),
        (LIST_TYPE, node.get(LIST_TYPE).is_some(), UNDEFINED),
        (MAP_TYPE, node.get(MAP_TYPE).is_some(), UNDEFINED),
        ("x-kubernetes-validations", !node.rules().is_empty(), EMPTY),
    ];
    for (keyword, present, detail) in refused {
        if present {
            report.forbidden(at, keyword, "junctor", detail);
        }
    }
    if node.properties.contains_key("metadata") {
        let path = at.clone().child("properties").key("metadata");
        let detail = "must not be specified in a nested context".to_owned();
        report.push(crate::Severity::Error, crate::DiagnosticKind::Forbidden, "junctor", &path, None, detail);
    }
}
