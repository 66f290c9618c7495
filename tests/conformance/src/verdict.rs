//! The answer of one side to one question, in a form in which two sides can be compared.

use rego_compat::Value;
use serde_json::Value as Json;

use crate::tagged;

/// OPA's code for rules with different values.
const CONFLICT: &str = "eval_conflict_error";

/// An answer of either side.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// The query has this value.
    Value(Value),
    /// The query is undefined.
    Undefined,
    /// The modules were refused before evaluation.
    Refused(String),
    /// The evaluation failed.
    Failed(String),
}

impl Verdict {
    /// Reads a judge's answer.
    #[must_use]
    pub fn of_judge(answer: &Json) -> Self {
        if let Some(result) = answer.get("result") {
            let unreadable = || Self::Failed(format!("unreadable: {result}"));
            return tagged::read(result).map_or_else(unreadable, Self::Value);
        }
        if answer.get("undefined").is_some() {
            return Self::Undefined;
        }
        let error = answer.get("error");
        let part = |name| error.and_then(|error| error.get(name)).and_then(Json::as_str).unwrap_or("?");
        let mut text = format!("{}: {}", part("code"), part("message"));
        if part("code") == CONFLICT {
            let row = error.and_then(|error| error.get("row")).unwrap_or(&Json::Null);
            text = format!("{}:{row}: {text}", part("file"));
        }
        if part("code").starts_with("rego_") { Self::Refused(text) } else { Self::Failed(text) }
    }

    /// Returns true if both sides name the difference in the same words; `None` where one of them does not name it.
    #[must_use]
    pub fn same_conflict(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Failed(a), Self::Failed(b)) if a.contains(CONFLICT) || b.contains(CONFLICT) => {
                Some(a == b)
            }
            _ => None,
        }
    }

    /// Returns true if two sides agree: on the value, or that there is none, or that and at which stage it failed.
    /// Texts may differ: see [`Self::same_conflict`].
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => same(a, b),
            (Self::Undefined, Self::Undefined)
            | (Self::Refused(_), Self::Refused(_))
            | (Self::Failed(_), Self::Failed(_)) => true,
            _ => false,
        }
    }
}

/// Equality of values to the letter: a number has to be spelled alike, because policies can print it.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.text() == b.text(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (Value::Set(a), Value::Set(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, v), (l, w))| same(k, l) && same(v, w))
        }
        _ => a == b,
    }
}
