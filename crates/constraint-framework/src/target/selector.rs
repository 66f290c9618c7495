//! Kubernetes label selectors, compiled once when a constraint is added.
//!
//! Semantics: <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>.

use std::collections::BTreeMap;

use schema_merge::is_dns1123_subdomain;
use serde::Deserialize;

use crate::api::{FieldError, pointer_segment};
use crate::review::Document;

/// The most bytes of the DNS name before the `/` of a label's key.
const SUBDOMAIN_LENGTH: usize = 253;

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
        for (key, value) in labels.clone() {
            let pointer = format!("{pointer}/matchLabels/{}", pointer_segment(key));
            errors.extend(check_label(key, std::slice::from_ref(value), &pointer, &pointer));
        }
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
        errors.extend(check_label(
            &self.key,
            &values,
            &format!("{pointer}/key"),
            &format!("{pointer}/values"),
        ));
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

/// Reports what Kubernetes would refuse as a label's key, and as values of it.
fn check_label(key: &str, values: &[String], at_key: &str, at_values: &str) -> Vec<FieldError> {
    let bad_key = (!is_label_key(key)).then(|| {
        let rule =
            "must be a label's key: letters, digits, '-', '_' and '.', after a DNS name and '/' if need be";
        FieldError::new(at_key, format!("{rule}, not {key:?}"))
    });
    let bad_values = values.iter().filter(|value| !value.is_empty() && !is_label_name(value));
    let bad_values = bad_values.map(|value| {
        let rule = "must be a label's value: up to 63 letters, digits, '-', '_' and '.'";
        FieldError::new(at_values, format!("{rule}, not {value:?}"))
    });
    bad_key.into_iter().chain(bad_values).collect()
}

fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= SUBDOMAIN_LENGTH && is_dns1123_subdomain(prefix) && is_label_name(name)
        }
        None => is_label_name(key),
    }
}

fn is_label_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63 && name.chars().all(inner) && ends(name.chars().next()) && ends(name.chars().next_back())
}

impl Selector {
    /// Returns labels of which a matching object has at least one; `None` if the selector does not imply any.
    pub(super) fn one_of(&self) -> Option<Vec<(String, String)>> {
        self.0.iter().find_map(|requirement| match requirement {
            Requirement::In(key, values) => {
                Some(values.iter().map(|value| (key.clone(), value.clone())).collect())
            }
            _ => None,
        })
    }

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
    fn labels_are_checked_as_kubernetes_does() {
        for (key, expected) in [
            ("app", true),
            ("example.com/team", true),
            ("a.b_c-d", true),
            ("", false),
            ("-a", false),
            ("a b", false),
            ("a/b/c", false),
            ("/a", false),
            ("Example.com/team", false),
            ("example.com/", false),
        ] {
            assert_eq!(is_label_key(key), expected, "{key}");
        }
        assert!(!is_label_key(&"a".repeat(64)) && is_label_key(&"a".repeat(63)));
        assert_eq!(check_label("a", &["".to_owned(), "x-1".to_owned(), "x/y".to_owned()], "", "").len(), 1);
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
