//! Validates a value against a schema, error by error as kube-openapi does it inside the API server.
//!
//! A schema runs a fixed chain of checks, one file each: `kind` (type), `junctor`, `string`, `numeric`, `array`, `map`; the
//! enum is here. Each check counts what matched, because `anyOf` and `oneOf` report the member
//! that came closest.

mod array;
mod junctor;
mod kind;
mod map;
mod numeric;
mod string;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use go_compat::regexp::{self, Regex};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::keyword::INT_OR_STRING;
use crate::node::Node;
use crate::path::{SchemaPath, Step};
use crate::structural::{go_json, go_quoted};

/// The two ways in which the server builds a validator from a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// For objects: formats that are not supported are dropped, int-or-string is a type.
    Object,
    /// For defaults: formats stay as they are, int-or-string without a type accepts anything.
    Default,
}

pub(crate) struct Validator {
    pub(super) dialect: Dialect,
    patterns: BTreeMap<String, Result<Regex, regexp::Error>>,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// The path in kube-openapi's form: `spec.a[0]`, `.a` below a root, empty for the root.
    name: String,
    kind: DiagnosticKind,
    value: Option<String>,
    detail: String,
    /// The message by which kube-openapi finds repetitions.
    message: Arc<str>,
}

/// The outcome of checking one value.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) violations: Vec<Violation>,
    /// The messages of the violations.
    pub(super) messages: BTreeSet<Arc<str>>,
    /// The number of checks that passed.
    pub(super) matches: usize,
}

impl Validator {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, patterns: BTreeMap::new() }
    }

    pub(crate) fn violations(&mut self, node: &Node<'_>, value: &Value) -> Vec<Violation> {
        self.validate(node, value, "").violations
    }

    pub(super) fn validate(&mut self, node: &Node<'_>, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(kind::check(self, node, value, path));
            outcome.merge(enumeration(node, value, path));
            return outcome;
        }
        if !self.types(node).is_empty() || !self.format(node).is_empty() {
            outcome.passed(kind::check(self, node, value, path));
        }
        let junctors = junctor::check(self, node, value, path);
        outcome.passed(junctors);
        match value {
            Value::String(text) => {
                outcome.passed(string::check(self, node, text, path));
                if let Some(format) = string::format(self, node, text, path) {
                    outcome.passed(format);
                }
            }
            Value::Number(number) => outcome.passed(numeric::check(self, node, number, path)),
            Value::Array(list) => outcome.passed(array::check(self, node, list, path)),
            _ => {}
        }
        outcome.passed(enumeration(node, value, path));
        if let Value::Object(object) = value {
            outcome.passed(map::check(self, node, object, path));
        }
        outcome.count();
        outcome
    }

    /// The types a schema asks for; empty for any.
    fn types<'a>(&self, node: &Node<'a>) -> Vec<&'a str> {
        if self.dialect == Dialect::Object && node.flag(INT_OR_STRING) {
            return vec!["integer", "string"];
        }
        Some(node.kind()).filter(|kind| !kind.is_empty()).into_iter().collect()
    }

    /// The format that is looked at; empty for none.
    pub(super) fn format<'a>(&self, node: &Node<'a>) -> &'a str {
        let format = node.string("format");
        if self.dialect == Dialect::Object && !super::format::is_supported(node.kind(), format) {
            ""
        } else {
            format
        }
    }

    pub(super) fn pattern(&mut self, pattern: &str) -> &Result<Regex, regexp::Error> {
        let compile = || regexp::compile(pattern).map(|pattern| Regex::clone(&pattern.regex));
        self.patterns.entry(pattern.to_owned()).or_insert_with(compile)
    }
}

/// Go converts before it compares: a fraction to an integer, an integer to the character of that number.
fn enumeration(node: &Node<'_>, value: &Value, path: &str) -> Outcome {
    let allowed = node.list("enum");
    if allowed.is_empty() || allowed.iter().any(|allowed| converts(value, allowed)) {
        return Outcome::default();
    }
    let texts: Vec<_> = allowed
        .iter()
        .map(|allowed| go_quoted(&allowed.as_str().map_or_else(|| go_json(allowed), str::to_owned)))
        .collect();
    let detail = format!("supported values: {}", texts.join(", "));
    let value = go_value(value);
    let message = format!("{path} in body should be one of {texts:?}");
    Outcome::of(Violation {
        name: path.to_owned(),
        kind: DiagnosticKind::Unsupported,
        value: Some(value),
        detail,
        message: message.into(),
    })
}

fn converts(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (_, Value::Null) | (Value::Null, _) => false,
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            (None, Some(allowed)) => value.as_f64().is_some_and(|value| value.trunc() as i64 == allowed),
            _ => value.as_f64() == allowed.as_f64(),
        },
        (Value::Number(value), Value::String(allowed)) => {
            let code = value.as_i64().and_then(|value| u32::try_from(value).ok());
            code.and_then(char::from_u32).is_some_and(|c| c.to_string() == *allowed)
        }
        (value, allowed) => value == allowed,
    }
}

/// A value as an error prints it.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => go_quoted(text),
        Value::Number(number) => numeric::go_number(number),
        other => go_json(other),
    }
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn of(violation: Violation) -> Self {
        let mut outcome = Self::default();
        outcome.add(violation);
        outcome
    }

    pub(super) fn count(&mut self) {
        self.matches = self.matches.saturating_add(1);
    }

    /// Takes over what another check found, without repetitions.
    pub(super) fn merge(&mut self, other: Self) {
        self.matches = self.matches.saturating_add(other.matches);
        if self.violations.is_empty() {
            (self.violations, self.messages) = (other.violations, other.messages);
            return;
        }
        for violation in other.violations {
            self.add(violation);
        }
    }

    /// Takes over what one link of the chain found; that it ran counts.
    fn passed(&mut self, other: Self) {
        self.merge(other);
        self.count();
    }

    pub(super) fn add(&mut self, violation: Violation) {
        if self.messages.insert(Arc::clone(&violation.message)) {
            self.violations.push(violation);
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

// === impl Violation ===

impl Violation {
    /// A violation that prints the value and what is wrong with it.
    pub(super) fn invalid(path: &str, value: String, complaint: &str) -> Self {
        Self::worded(path, value, format!("{path} in body {complaint}"))
    }

    /// A violation that prints the value, in these words.
    pub(super) fn worded(path: &str, value: String, message: String) -> Self {
        Self {
            name: path.to_owned(),
            kind: DiagnosticKind::Invalid,
            value: Some(value),
            detail: message.clone(),
            message: message.into(),
        }
    }

    /// A violation that kube-openapi attributes to the whole value.
    pub(super) fn whole(message: String) -> Self {
        let value = Some("\"\"".to_owned());
        Self {
            name: String::new(),
            kind: DiagnosticKind::Invalid,
            value,
            detail: message.clone(),
            message: message.into(),
        }
    }

    pub(super) fn required(path: &str) -> Self {
        let message = format!("{path} in body is required");
        Self {
            name: path.to_owned(),
            kind: DiagnosticKind::Required,
            value: None,
            detail: String::new(),
            message: message.into(),
        }
    }

    pub(super) fn too_long(path: &str, max: i64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = if max < 0 {
            "value is too long".to_owned()
        } else {
            format!("may not be more than {max} {unit}")
        };
        let message = format!("{path} in body should be at most {max} chars long");
        Self {
            name: path.to_owned(),
            kind: DiagnosticKind::TooLong,
            value: None,
            detail,
            message: message.into(),
        }
    }

    pub(super) fn too_many(path: &str, actual: usize, max: i64, what: &str) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail =
            if max < 0 { "has too many items".to_owned() } else { format!("must have at most {max} {unit}") };
        let message = format!("{path} in body should have at most {max} {what}");
        Self {
            name: path.to_owned(),
            kind: DiagnosticKind::TooMany,
            value: Some(actual.to_string()),
            detail,
            message: message.into(),
        }
    }

    /// A violation that is not kube-openapi's, at a place below the value.
    pub(super) fn plain(name: &str, kind: DiagnosticKind, value: Option<String>, detail: String) -> Self {
        let message = format!("{name} {detail}");
        Self { name: name.to_owned(), kind, value, detail, message: message.into() }
    }

    /// The diagnostic for a whole object.
    pub(crate) fn at_root(self) -> Diagnostic {
        let name = self.name.trim_start_matches('.').to_owned();
        // Go prints a path of nothing like this.
        let name = if name.is_empty() { "<nil>".to_owned() } else { name };
        let empty: Arc<str> = Arc::from("");
        self.diagnostic(SchemaPath::from_steps(vec![Step::Child(name.into())]), &empty, &empty)
    }

    /// The diagnostic for a default that stands at `at`.
    pub(crate) fn below(self, at: &SchemaPath, prefix: &Arc<str>, base: &Arc<str>) -> Diagnostic {
        let mut path = at.clone();
        if !self.name.is_empty() && self.name != "." {
            let name = self.name.strip_prefix('.').unwrap_or(&self.name).to_owned();
            path.push_child(name);
        }
        self.diagnostic(path, prefix, base)
    }

    fn diagnostic(self, path: SchemaPath, prefix: &Arc<str>, base: &Arc<str>) -> Diagnostic {
        let Self { kind, value, detail, .. } = self;
        let (prefix, base) = (Arc::clone(prefix), Arc::clone(base));
        Diagnostic { severity: Severity::Error, kind, rule: "value", path, value, detail, prefix, base }
    }
}
