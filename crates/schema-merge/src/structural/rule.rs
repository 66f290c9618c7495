//! The form of `x-kubernetes-validations`: texts, reason, field path, and where `oldSelf` may be used.
//!
//! Compilation of rules is in `cel.rs`, the budget of all rules together in `rule_cost.rs`.

use serde_json::Value;

use super::dump::go_rule;
use super::field_path;
use super::report::Report;
use super::rule_cost::Costs;
use super::scope::Scope;
use super::unsupported;
use crate::cel::{Compiled, NotCompiled, Rules};
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::{EMBEDDED, RULES};
use crate::node::Node;
use crate::path::SchemaPath;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

pub(super) fn check(node: &Node<'_>, at: &mut SchemaPath, report: &mut Report) {
    if node.rules().is_empty() {
        return;
    }
    // A field path is looked up only in a schema that the server can convert.
    let convertible = unsupported::first(node).is_none();
    for (index, rule) in node.rules().iter().enumerate() {
        at.within(
            |at| {
                at.push_child(RULES);
                at.push_index(index);
            },
            |at| form(node, rule, convertible, at, report),
        );
    }
}

fn form(node: &Node<'_>, rule: &Value, convertible: bool, at: &SchemaPath, report: &mut Report) {
    let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
    let (expression, message) = (text("rule"), text("message"));
    if expression.trim().is_empty() {
        report.required(at, "rule", "rule", "rule is not specified");
    } else if !message.is_empty() && message.trim().is_empty() {
        report.invalid_string(at, "message", message, "rule", "must be non-empty if specified");
    } else if has_newline(message.trim()) {
        report.invalid_string(at, "message", message, "rule", "must not contain line breaks");
    } else if has_newline(expression.trim()) && message.trim().is_empty() {
        report.required(at, "message", "rule", "message must be specified if rule contains line breaks");
    }
    let message_expression = text("messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        report.required(at, "messageExpression", "rule", "messageExpression must be non-empty if specified");
    }
    if let Some(reason) =
        rule.get("reason").and_then(Value::as_str).filter(|reason| !REASONS.contains(reason))
    {
        report.unsupported(at, "reason", reason, "rule", &REASONS);
    }
    let path = text("fieldPath");
    if !path.is_empty() && path.trim().is_empty() {
        report.invalid_string(at, "fieldPath", path, "rule", "must be non-empty if specified");
    }
    if has_newline(path) {
        report.invalid_string(at, "fieldPath", path, "rule", "must not contain line breaks");
    }
    if !path.is_empty() && convertible && !field_path::is_valid(path, node) {
        report.invalid_string(at, "fieldPath", path, "rule", "must be a valid path");
    }
}

/// Reports what the server says about expressions once it compiles them.
///
/// Called only for nodes of which nothing, and nothing below, was refused: the server has no types otherwise.
pub(super) fn expressions(
    node: &Node<'_>,
    scope: &Scope,
    at: &SchemaPath,
    report: &mut Report,
    costs: &mut Costs,
    rules: &mut Rules,
) {
    if node.rules().is_empty() {
        return;
    }
    let is_resource = scope.root || node.flag(EMBEDDED);
    let Some(compiled) = rules.compile(node, is_resource) else {
        let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                      convert structural schema to CEL declarations";
        let path = at.clone().child(RULES);
        return report.push(
            Severity::Error,
            DiagnosticKind::Internal,
            "rule-type",
            &path,
            None,
            detail.to_owned(),
        );
    };
    for (index, (rule, compiled)) in node.rules().iter().zip(compiled).enumerate() {
        let place = at.clone().child(RULES).index(index);
        refused(rule, &compiled, &place, report);
        let times = scope.cardinality.unwrap_or(compiled.max_cardinality);
        costs.observe(place.clone().child("rule"), "rule", compiled.cost.saturating_mul(times), report);
        if let Some(cost) = compiled.message_cost {
            costs.observe(place.clone().child("messageExpression"), "messageExpression", cost, report);
        }
        if let Some(is_used) = compiled.uses_old_self {
            old_self(rule, is_used, scope, &place, report);
        }
    }
}

/// Reports the expressions that do not compile, and those of which only the server knows.
fn refused(rule: &Value, compiled: &Compiled, place: &SchemaPath, report: &mut Report) {
    let errors = [("rule", &compiled.error), ("messageExpression", &compiled.message_error)];
    for (field, error) in errors {
        let path = place.clone().child(field);
        match error {
            None => {}
            Some(NotCompiled::Refused(error)) => {
                let (value, detail) = (Some(go_rule(rule)), error.clone());
                report.push(Severity::Error, DiagnosticKind::Invalid, "rule-compile", &path, value, detail);
            }
            Some(NotCompiled::LeftToServer(bound)) => {
                let detail = format!(
                    "not checked ({bound}): only the API server can say whether the {field} compiles; its cost is not \
                     estimated, and defaults are not validated against it"
                );
                report.lint(&path, "rule-unchecked", detail);
            }
        }
    }
}

fn old_self(rule: &Value, is_used: bool, scope: &Scope, place: &SchemaPath, report: &mut Report) {
    if is_used {
        if let Some(above) = &scope.uncorrelatable {
            let above = above.server(report.prefix());
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
            let expression = rule.get("rule").and_then(Value::as_str).unwrap_or_default();
            report.invalid_string(place, "rule", expression, "old-self", &detail);
        }
    } else if let Some(Value::Bool(optional)) = rule.get("optionalOldSelf") {
        let detail = "may not be set if oldSelf is not used in rule".to_owned();
        let path = place.clone().child("optionalOldSelf");
        report.push(
            Severity::Error,
            DiagnosticKind::Invalid,
            "old-self",
            &path,
            Some(optional.to_string()),
            detail,
        );
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

    /// A rule beyond the bounds of the parser is accepted with a lint, not in silence.
    #[cfg(feature = "cel")]
    #[test]
    fn a_rule_that_cannot_be_read_here_is_reported() {
        let schema = |rule: &str, message: &str| {
            serde_json::json!({"type": "object", "properties": {"n": {"type": "integer", "default": 1,
                "x-kubernetes-validations": [{"rule": rule, "messageExpression": message}]}}})
        };
        let bracketed = |inner: &str| format!("{}{inner}{}", "(".repeat(150), ")".repeat(150));
        let options = crate::StructuralOptions::default();
        for (rule, message, field) in [
            (bracketed("self > 0"), "'a'".to_owned(), "rule"),
            ("self > 0".to_owned(), bracketed("'a'"), "messageExpression"),
        ] {
            let found = crate::check_structural(&schema(&rule, &message), &options);
            let unchecked: Vec<_> = found.iter().filter(|found| found.rule == "rule-unchecked").collect();
            assert_eq!(unchecked.len(), 1, "{found}");
            let pointer = format!("/properties/n/x-kubernetes-validations/0/{field}");
            assert_eq!(unchecked[0].pointer(), pointer);
            assert!(found.clone().into_result().is_ok(), "{found}");
            assert!(
                crate::check_structural(&schema(&rule, &message), &options.clone().errors_only()).is_empty()
            );
        }
        assert!(
            !crate::check_structural(&schema("self > 0", "'a'"), &options)
                .iter()
                .any(|found| found.rule == "rule-unchecked")
        );
    }
}
