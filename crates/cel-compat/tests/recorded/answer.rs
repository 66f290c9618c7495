//! Our side of a comparison of expressions: compiled and evaluated by `cel-compat`, and shown as the judge shows them.

use std::collections::BTreeMap;
use std::fmt::Write;

use cel_compat::{Budget, Environment, EvalError, Evaluation, Type, Value};
use serde_json::{Value as Json, json};

/// The object of each expression.
#[must_use]
pub fn object() -> Json {
    json!({
        "i": 1, "f": 1.5, "s": "abc", "b": true, "n": null, "l": [1, 2, 3], "m": {"a": 1, "b": 2},
        "ls": ["x", "y"], "big": 9_007_199_254_740_993_i64, "deep": {"x": {"y": "z"}}
    })
}

/// The outcome of an expression; values and errors with the expression's type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Refused before it runs, for this reason.
    Refused(String),
    /// Type and error.
    Error(String, String),
    /// Type and value.
    Value(String, String),
}

impl Answer {
    /// Reads a judge's answer; `None` when it is none.
    #[must_use]
    pub fn of_judge(answer: &Json) -> Option<Self> {
        let text = |name: &str| answer.get(name).and_then(Json::as_str).map(str::to_owned);
        if let Some(reason) = text("refused") {
            return Some(Self::Refused(reason));
        }
        // cel-go names what a type value is the type of; ours does not look.
        let of = text("type").map(|of| if of.starts_with("type(") { "type".to_owned() } else { of })?;
        match (text("error"), text("value")) {
            (Some(error), _) => Some(Self::Error(of, error)),
            (None, Some(value)) => Some(Self::Value(of, value)),
            (None, None) => None,
        }
    }

    /// Returns true if this answer of ours is that of Kubernetes: the same value of the same type, an error of the same
    /// type, or a refusal.
    #[must_use]
    pub fn agrees(&self, theirs: &Self) -> bool {
        match (theirs, self) {
            // In a branch of a conditional, `has` of an optional yields the optional, whose type is not bool.
            (Self::Value(of, value), _) if of == "bool" && value.starts_with("optional") => true,
            (Self::Value(..), Self::Value(..)) => theirs == self,
            (Self::Error(of, _), Self::Error(other, message)) => {
                of == other && !message.starts_with("BUDGET")
            }
            (Self::Refused(_), Self::Refused(_)) => true,
            // A panic of the library, such as that of a hash of bytes, is not an answer.
            (Self::Error(_, error), _) if error.starts_with("internal error: ") => true,
            // Kubernetes folds constants when it compiles, and refuses what then fails: never what its checker refuses.
            (Self::Refused(reason), Self::Error(..)) => !reason.starts_with("ERROR: "),
            _ => false,
        }
    }

    /// The first error of a refusal, with its place.
    #[must_use]
    pub fn first_error(&self) -> Option<&str> {
        let Self::Refused(reason) = self else { return None };
        let first = reason.strip_prefix("ERROR: ")?;
        Some(first.split("\nERROR: ").next().unwrap_or(first))
    }

    /// Compiles and evaluates an expression on CREATE of `object`.
    #[must_use]
    pub fn ours(expression: &str, object: &Json) -> Self {
        let environment = environment();
        let compiled = match environment.compile(expression) {
            Ok(compiled) => compiled,
            Err(issues) => return Self::Refused(issues.to_string()),
        };
        let values = values(object);
        let mut evaluation = Evaluation::new(&environment, &values, &Budget::default());
        let of = compiled.result().to_string();
        match evaluation.evaluate(&compiled) {
            Ok(value) => Self::Value(of, show(&value)),
            Err(EvalError::Failed(message)) => Self::Error(of, message),
            Err(other) => Self::Error(of, format!("BUDGET: {other}")),
        }
    }
}

fn environment() -> Environment {
    Environment::default()
        .with("object", Type::Dyn)
        .with("oldObject", Type::Dyn)
        .with("request", Type::REQUEST)
        .with("namespaceObject", Type::NAMESPACE)
        .with_variable("anyObject", Type::Dyn)
}

/// The same request as in the judge.
fn values(object: &Json) -> BTreeMap<String, Value> {
    let request = json!({
        "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "userInfo": {},
    });
    let named = [
        ("object", Value::from_json(object)),
        ("oldObject", Value::Null),
        ("namespaceObject", Value::Null),
        ("variables.anyObject", Value::from_json(object)),
        ("request", Value::from_json(&request)),
    ];
    named.map(|(name, value)| (name.to_owned(), value)).into()
}

/// A value as text: values of different types differ.
fn show(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(",");
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => format!("{number}u"),
        Value::Float(number) if number.is_nan() => "NaN".to_owned(),
        Value::Float(number) => format!("double {:016x}", number.to_bits()),
        Value::String(text) => quote(text),
        Value::Bytes(bytes) => bytes.iter().fold("b".to_owned(), |mut shown, byte| {
            let _infallible = write!(shown, "{byte:02x}");
            shown
        }),
        Value::List(list) => format!("[{}]", joined(list.iter().map(show).collect())),
        Value::Map(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", show(&key.into()), show(value))).collect();
            entries.sort();
            format!("{{{}}}", joined(entries))
        }
        Value::Duration(span) => match span.num_nanoseconds() {
            Some(nanoseconds) => format!("duration {nanoseconds}"),
            None => "duration out of range".to_owned(),
        },
        Value::Timestamp(at) => format!("timestamp {}.{:09}", at.timestamp(), at.timestamp_subsec_nanos()),
        Value::Optional(Some(inner)) => format!("optional({})", show(inner)),
        Value::Optional(None) => "optional.none".to_owned(),
        Value::Type(name) => format!("type {name}"),
        other => format!("opaque {}", other.type_name()),
    }
}

/// A text that leaves printable ASCII as it is.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if matches!(c, ' '..='~') && !matches!(c, '"' | '\\') {
            quoted.push(c);
        } else {
            let _infallible = write!(quoted, "\\u{{{:x}}}", u32::from(c));
        }
    }
    quoted.push('"');
    quoted
}
