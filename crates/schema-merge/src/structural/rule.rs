//! The form of `x-kubernetes-validations`: texts, reason, field path, and where `oldSelf` may be used.
//!
//! Whether a rule compiles and what it costs is `cel.rs`.

use serde_json::Value;

use super::field_path;
use super::openapi::Scope;
use super::report::Report;
use super::unsupported;
use crate::cel;
use crate::finding::{Problem, Severity};
use crate::keyword::RULES;
use crate::node::Node;
use crate::path::SchemaPath;

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

pub(super) fn check(node: &Node<'_>, at: &mut SchemaPath, report: &mut Report) {
    for (index, rule) in node.rules().iter().enumerate() {
        at.within(
            |at| {
                at.push_child(RULES);
                at.push_index(index);
            },
            |at| form(node, rule, at, report),
        );
    }
}

fn form(node: &Node<'_>, rule: &Value, at: &SchemaPath, report: &mut Report) {
    let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let (expression, message) = (text("rule"), text("message"));
    if expression.trim().is_empty() {
        report.required(at, "rule", "rule", "rule is not specified");
    } else if !message.is_empty() && message.trim().is_empty() {
        report.invalid_text(at, "message", message, "rule", "must be non-empty if specified");
    } else if has_newline(message.trim()) {
        report.invalid_text(at, "message", message, "rule", "must not contain line breaks");
    } else if has_newline(expression.trim()) && message.trim().is_empty() {
        report.required(
            at,
            "message",
            "rule",
            "message must be specified if rule contains line breaks",
        );
    }
    let message_expression = text("messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        report.required(
            at,
            "messageExpression",
            "rule",
            "messageExpression must be non-empty if specified",
        );
    }
    if let Some(reason) = rule
        .get("reason")
        .and_then(Value::as_str)
        .filter(|reason| !REASONS.contains(reason))
    {
        report.unsupported(at, "reason", reason, "rule", &REASONS);
    }
    let path = text("fieldPath");
    if !path.is_empty() && path.trim().is_empty() {
        report.invalid_text(at, "fieldPath", path, "rule", "must be non-empty if specified");
    }
    if has_newline(path) {
        report.invalid_text(at, "fieldPath", path, "rule", "must not contain line breaks");
    }
    if !path.is_empty() && unsupported::first(node).is_none() && !field_path::is_valid(path, node) {
        report.invalid_text(at, "fieldPath", path, "rule", "must be a valid path");
    }
}

/// What the server says about an expression that it can compile.
///
/// Called only for nodes of which nothing, and nothing below, was refused: the server has no types otherwise.
pub(super) fn placement(node: &Node<'_>, scope: &Scope, at: &mut SchemaPath, report: &mut Report) {
    for (index, rule) in node.rules().iter().enumerate() {
        let place = at.clone().child(RULES).index(index);
        let expression = rule.get("rule").and_then(Value::as_str).unwrap_or_default();
        if cel::uses_old_self(expression) {
            if let Some(above) = &scope.uncorrelatable {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
                    above.server(report.prefix())
                );
                report.invalid_text(&place, "rule", expression, "old-self", &detail);
            }
        } else if let Some(Value::Bool(optional)) = rule.get("optionalOldSelf") {
            let detail = "may not be set if oldSelf is not used in rule".to_owned();
            let path = place.child("optionalOldSelf");
            report.push(
                Severity::Error,
                Problem::Invalid,
                "old-self",
                &path,
                Some(optional.to_string()),
                detail,
            );
        }
    }
}

fn has_newline(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriage_returns_are_line_breaks_too() {
        assert!(has_newline("a\rb") && !has_newline("a b"));
    }
}
