//! Kubernetes label selectors, compiled once when a constraint is added.
//!
//! Semantics: <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::api::FieldError;
use crate::review::Document;

/// A label selector as users write it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LabelSelector {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Option<Vec<String>>,
}

/// A compiled selector: every requirement must hold; none means everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Clone, Debug)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

impl LabelSelector {
    pub(super) fn compile(&self, pointer: &str, errors: &mut Vec<FieldError>) -> Selector {
        let labels = self.match_labels.iter().flatten();
        let mut requirements: Vec<_> =
            labels.map(|(key, value)| Requirement::In(key.clone(), vec![value.clone()])).collect();
        for (position, expression) in self.match_expressions.iter().flatten().enumerate() {
            let pointer = format!("{pointer}/matchExpressions/{position}");
            requirements.extend(expression.compile(&pointer, errors));
        }
        Selector(requirements)
    }
}

impl Expression {
    fn compile(&self, pointer: &str, errors: &mut Vec<FieldError>) -> Option<Requirement> {
        let values = self.values.clone().unwrap_or_default();
        if self.key.is_empty() {
            errors.push(FieldError::new(format!("{pointer}/key"), "must name a label"));
        }
        let (requirement, wants_values) = match self.operator.as_str() {
            "In" => (Requirement::In(self.key.clone(), values.clone()), true),
            "NotIn" => (Requirement::NotIn(self.key.clone(), values.clone()), true),
            "Exists" => (Requirement::Exists(self.key.clone()), false),
            "DoesNotExist" => (Requirement::DoesNotExist(self.key.clone()), false),
            other => {
                let rule = format!("must be In, NotIn, Exists or DoesNotExist, not {other:?}");
                errors.push(FieldError::new(format!("{pointer}/operator"), rule));
                return None;
            }
        };
        if wants_values == values.is_empty() {
            let rule = if wants_values { "must not be empty for" } else { "must be empty for" };
            errors.push(FieldError::new(format!("{pointer}/values"), format!("{rule} {}", self.operator)));
        }
        Some(requirement)
    }
}

impl Selector {
    pub(super) fn matches(&self, object: &Document) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => {
                object.label(key).is_some_and(|value| values.iter().any(|v| v == value))
            }
            Requirement::NotIn(key, values) => {
                !object.label(key).is_some_and(|value| values.iter().any(|v| v == value))
            }
            Requirement::Exists(key) => object.label(key).is_some(),
            Requirement::DoesNotExist(key) => object.label(key).is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn matches(selector: Value, labels: Value) -> bool {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        let mut errors = Vec::new();
        let compiled = selector.compile("", &mut errors);
        assert_eq!(errors, []);
        compiled.matches(&Document::from_value(&json!({"metadata": {"labels": labels}})).unwrap())
    }

    fn expression(operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]})
    }

    #[test]
    fn each_operator_means_what_kubernetes_says() {
        assert!(matches(json!({}), json!({})));
        assert!(matches(json!({"matchLabels": {"a": "1"}}), json!({"a": "1", "b": "2"})));
        assert!(!matches(json!({"matchLabels": {"a": "1"}}), json!({"a": "2"})));
        assert!(matches(expression("In", &["1", "2"]), json!({"a": "2"})));
        assert!(!matches(expression("In", &["1"]), json!({})));
        assert!(matches(expression("NotIn", &["1"]), json!({})));
        assert!(!matches(expression("NotIn", &["1"]), json!({"a": "1"})));
        assert!(matches(expression("Exists", &[]), json!({"a": ""})));
        assert!(matches(expression("DoesNotExist", &[]), json!({"b": ""})));
    }

    #[test]
    fn mistakes_come_with_pointers_and_all_at_once() {
        let selector: LabelSelector = serde_json::from_value(json!({"matchExpressions": [
            {"key": "a", "operator": "in", "values": ["x"]},
            {"key": "", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]}
        ]}))
        .unwrap();
        let mut errors = Vec::new();
        selector.compile("/s", &mut errors);
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        let at = "/s/matchExpressions";
        assert_eq!(
            pointers,
            [
                format!("{at}/0/operator"),
                format!("{at}/1/key"),
                format!("{at}/1/values"),
                format!("{at}/2/values")
            ]
        );
    }
}
