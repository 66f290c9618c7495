//! The rule that what a junctor mentions is declared outside of it.
//!
//! The server checks the junctors of the root only. Further down, `lint.rs` uses the same walk.

use super::report::Report;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::node::Node;
use crate::path::SchemaPath;

/// A place a junctor mentions that has no declaration, and where it is mentioned.
pub(super) struct Gap {
    pub(super) declared: SchemaPath,
    pub(super) mentioned: SchemaPath,
}

pub(super) fn check(node: &Node<'_>, report: &mut Report) {
    for gap in gaps(node, &SchemaPath::root()) {
        let detail = format!("because it is defined in {}", gap.mentioned.server(report.prefix()));
        report.push(Severity::Error, DiagnosticKind::Required, "completeness", &gap.declared, None, detail);
    }
}

/// Everything the junctors of `node` mention without a declaration.
pub(super) fn gaps(node: &Node<'_>, at: &SchemaPath) -> Vec<Gap> {
    let mut gaps = Vec::new();
    members(node, Some(node), &mut at.clone(), &mut at.clone(), &mut gaps);
    gaps
}

fn members(
    validation: &Node<'_>,
    declared: Option<&Node<'_>>,
    declared_at: &mut SchemaPath,
    at: &mut SchemaPath,
    gaps: &mut Vec<Gap>,
) {
    for (keyword, index, member) in validation.junctors() {
        at.within(
            |at| {
                at.push_child(keyword);
                index.into_iter().for_each(|index| at.push_index(index));
            },
            |at| nested(member, declared, declared_at, at, gaps),
        );
    }
}

fn nested(
    validation: &Node<'_>,
    declared: Option<&Node<'_>>,
    declared_at: &mut SchemaPath,
    at: &mut SchemaPath,
    gaps: &mut Vec<Gap>,
) {
    let Some(node) = declared else {
        gaps.push(Gap { declared: declared_at.clone(), mentioned: at.clone() });
        return;
    };
    members(validation, declared, declared_at, at, gaps);
    if let Some(item) = validation.item() {
        let descend = |at: &mut SchemaPath| at.push_child("items");
        declared_at.within(descend, |declared_at| {
            at.within(descend, |at| nested(item, node.item(), declared_at, at, gaps));
        });
    }
    for (name, property) in &validation.properties {
        let descend = |at: &mut SchemaPath| at.push_property(name);
        declared_at.within(descend, |declared_at| {
            at.within(descend, |at| nested(property, node.properties.get(name), declared_at, at, gaps));
        });
    }
}
