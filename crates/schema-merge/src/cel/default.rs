//! The check of defaults against the rules of their schema, node by node as the API server evaluates them.
//!
//! A default is validated twice: as an update of itself, where `oldSelf` is the default too, and if nothing was found,
//! as a value that is new.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel_compat::{Budget, Environment, EvalError, Evaluation, Expression, Value as CelValue};
use serde_json::Value;

use super::NotCompiled;
use super::compile::{Program, program};
use super::declare::Declared;
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::keyword::{EMBEDDED, LIST_MAP_KEYS, LIST_TYPE};
use crate::node::Node;
use crate::path::SchemaPath;
use crate::structural::{Report, go_quoted, normalized};

/// The lint for what only the server can decide.
const UNCHECKED: &str = "default-rule-unchecked";

/// Reports the rules of `node`, and of the nodes below, that `default` does not satisfy.
pub(super) fn check(
    declared: &mut Declared,
    node: &Node<'_>,
    default: &Value,
    is_resource: bool,
    at: &SchemaPath,
    report: &mut Report,
) {
    let before = report.errors();
    for old in [Some(default), None] {
        let mut walk = Walk { declared, report };
        walk.node(node, default, old, is_resource, &mut at.clone());
        if report.errors() > before {
            return;
        }
    }
}

struct Walk<'r> {
    declared: &'r mut Declared,
    report: &'r mut Report,
}

impl Walk<'_> {
    fn node(
        &mut self,
        node: &Node<'_>,
        value: &Value,
        old: Option<&Value>,
        is_resource: bool,
        at: &mut SchemaPath,
    ) {
        if value.is_null() {
            return;
        }
        self.rules(node, value, old, is_resource, at);
        match value {
            Value::Array(items) => {
                let Some(item) = node.item() else { return };
                let is_map = node.string(LIST_TYPE) == "map" && !node.list(LIST_MAP_KEYS).is_empty();
                for (index, value) in items.iter().enumerate() {
                    let old = old.filter(|_| is_map).map(|_| value);
                    at.within(
                        |at| at.push_index(index),
                        |at| self.node(item, value, old, item.flag(EMBEDDED), at),
                    );
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(values) = node.additional() {
                        at.within(
                            |at| at.push_key(name),
                            |at| self.node(values, value, old, values.flag(EMBEDDED), at),
                        );
                    }
                    if let Some(property) = node.properties.get(name.as_str()) {
                        at.within(
                            |at| at.push_child(name.clone()),
                            |at| self.node(property, value, old, property.flag(EMBEDDED), at),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    /// Evaluates the rules of one node. A value that cannot be read here, such as a time of another form, is left to the
    /// server.
    fn rules(
        &mut self,
        node: &Node<'_>,
        value: &Value,
        old: Option<&Value>,
        is_resource: bool,
        at: &SchemaPath,
    ) {
        if node.rules().is_empty() {
            return;
        }
        // Without a declaration there are no rules here, which is reported with them.
        let Some(declaration) = self.declared.of(node, is_resource) else { return };
        let Some(this) = declaration.value(value) else {
            let detail = "the default was not validated against the rules here: CEL does not read it as a value of its \
                          format";
            return self.report.lint(at, UNCHECKED, detail.to_owned());
        };
        let old = old.and_then(|old| declaration.value(old));
        for rule in node.rules() {
            let is_optional = rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false);
            let environment = Environment::for_rule(&declaration, is_optional);
            match program(rule, &environment) {
                // Reported with the rule.
                Err(NotCompiled::LeftToServer(_)) => {}
                Err(NotCompiled::Refused(error)) => {
                    let detail = format!("rule compile error: {error}");
                    self.invalid(at, Some(go_quoted(node.kind())), detail);
                }
                Ok(program) => {
                    if program.rule.uses("oldSelf") && old.is_none() && !is_optional {
                        continue;
                    }
                    let old = if is_optional {
                        CelValue::Optional(old.clone().map(Arc::new))
                    } else {
                        old.clone().unwrap_or(CelValue::Null)
                    };
                    let values =
                        BTreeMap::from([("self".to_owned(), this.clone()), ("oldSelf".to_owned(), old)]);
                    let mut run = Run { environment: &environment, values: &values };
                    self.verdict(node, rule, value, &program, &mut run, at);
                }
            }
        }
    }

    fn verdict(
        &mut self,
        node: &Node<'_>,
        rule: &Value,
        value: &Value,
        program: &Program,
        run: &mut Run<'_>,
        at: &SchemaPath,
    ) {
        let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
        let named = [text("message"), text("rule")].into_iter().map(str::trim).find(|text| !text.is_empty());
        let named = named.unwrap_or_default();
        let error = match run.evaluate(&program.rule) {
            Ok(CelValue::Bool(true)) => return,
            Err(EvalError::Failed(error)) => error,
            Ok(_) => {
                let said = program.message.as_ref().and_then(|message| run.message(message));
                let detail = said.unwrap_or_else(|| match text("message") {
                    "" => format!("failed rule: {named}"),
                    message => message.trim().to_owned(),
                });
                return self.failed(node, rule, value, detail, at);
            }
            Err(unfinished) => {
                let detail =
                    format!("the default was not validated against the rule {named:?}: {unfinished}");
                return self.report.lint(at, UNCHECKED, detail);
            }
        };
        let detail = if error.starts_with("no such overload") {
            format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {named}"
            )
        } else {
            format!("{error} evaluating rule: {named}")
        };
        self.invalid(at, Some(go_quoted(node.kind())), detail);
    }

    /// Reports a rule that is false, in the way its `reason` asks for, at the field it points to.
    fn failed(&mut self, node: &Node<'_>, rule: &Value, value: &Value, detail: String, at: &SchemaPath) {
        let text = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
        let mut place = at.clone();
        if let Some(field) = normalized(text("fieldPath"), node) {
            place.push_child(field);
        }
        let shown = if matches!(node.kind(), "object" | "array") {
            None
        } else {
            Some(crate::object::go_value(value))
        };
        let (kind, value, detail) = match text("reason") {
            "FieldValueForbidden" => (DiagnosticKind::Forbidden, None, detail),
            "FieldValueRequired" => (DiagnosticKind::Required, None, detail),
            "FieldValueDuplicate" => (DiagnosticKind::Duplicate, shown, String::new()),
            _ => (DiagnosticKind::Invalid, shown, detail),
        };
        self.report.push(Severity::Error, kind, "default-rule", &place, value, detail);
    }

    fn invalid(&mut self, at: &SchemaPath, value: Option<String>, detail: String) {
        self.report.push(Severity::Error, DiagnosticKind::Invalid, "default-rule", at, value, detail);
    }
}

/// The values of one evaluation.
struct Run<'r> {
    environment: &'r Environment,
    values: &'r BTreeMap<String, CelValue>,
}

impl Run<'_> {
    fn evaluate(&mut self, expression: &Expression) -> Result<CelValue, EvalError> {
        Evaluation::new(self.environment, self.values, &Budget::default()).evaluate(expression)
    }

    /// Evaluates a `messageExpression`; `None` where the server takes the message instead.
    fn message(&mut self, expression: &Expression) -> Option<String> {
        match self.evaluate(expression) {
            Ok(CelValue::String(text)) => {
                let text = text.trim();
                let is_taken = !text.is_empty() && text.len() <= 5 * 1024 && !text.contains('\n');
                is_taken.then(|| text.to_owned())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{StructuralOptions, check_structural};

    #[track_caller]
    fn check(format: &str, rule: &str, default: &str, expected: &[&str]) {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "format": format, "maxLength": 99,
            "default": default, "x-kubernetes-validations": [{"rule": rule}]}}});
        let found = check_structural(&schema, &StructuralOptions::default());
        let rules: Vec<_> = found.iter().map(|diagnostic| diagnostic.rule).collect();
        assert_eq!(rules, expected, "{found}");
    }

    #[test]
    fn bytes_are_compared_and_what_cel_does_not_read_is_reported() {
        check("byte", "self == b'abc'", "YWJj", &[]);
        check("byte", "self == b'abd'", "YWJj", &["default-rule"]);
        // The format allows the digits of base64, and the conversion those of file names.
        check("byte", "self == b'abc'", "YW/+", &["default-rule-unchecked"]);
        check("duration", "self < duration('1h')", "3 days", &["default-rule-unchecked"]);
    }
}
