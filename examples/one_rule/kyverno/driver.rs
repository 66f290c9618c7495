//! The driver: compiles `validate` of a rule, and compares objects with its pattern.

use std::sync::Arc;

use constraint_framework::driver::{
    Budget, Case, CompileError, CompileErrors, CompiledPolicy, Driver, EvalError,
};
use constraint_framework::review::{Document, RawViolation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::operand::has_variable;
use super::pattern::{Outcome, Pattern};

/// The name of the engine in templates.
pub(super) const ENGINE: &str = "KyvernoPattern";

/// Compiles patterns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternDriver;

/// The action that refuses, of the two that there are.
pub(super) const ENFORCE: &str = "Enforce";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Validate {
    pattern: Option<Value>,
    any_pattern: Option<Vec<Value>>,
    message: Option<String>,
    failure_action: String,
    #[serde(default = "yes")]
    allow_existing_violations: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug)]
struct Rule {
    /// One of them has to pass.
    patterns: Vec<Pattern>,
    message: String,
    /// An update of an object that was in violation before is let through where it would be refused, which is Kyverno's default
    /// since 1.13.
    allows_existing: bool,
}

impl Driver for PatternDriver {
    fn engine(&self) -> &str {
        ENGINE
    }

    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        let error = |message: String| CompileError {
            code: "pattern_error".to_owned(),
            message,
            location: "validate".to_owned(),
        };
        let validate = Validate::deserialize(source).map_err(|wrong| vec![error(wrong.to_string())])?;
        let patterns = match (validate.pattern, validate.any_pattern) {
            (Some(pattern), None) => vec![pattern],
            (None, Some(patterns)) if !patterns.is_empty() => patterns,
            _ => return Err(vec![error("write either `pattern` or `anyPattern`".to_owned())].into()),
        };
        let (mut compiled, mut errors) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match Pattern::compile(&pattern) {
                Ok(pattern) => compiled.push(pattern),
                Err(found) => errors.extend(found.into_iter().map(error)),
            }
        }
        let message = validate.message.unwrap_or_else(|| "validation error".to_owned());
        if has_variable(&message) {
            errors.push(error("message: variables are not supported here".to_owned()));
        }
        if !errors.is_empty() {
            return Err(errors.into());
        }
        let allows_existing = validate.allow_existing_violations && validate.failure_action == ENFORCE;
        Ok(Arc::new(Rule { patterns: compiled, message, allows_existing }))
    }
}

impl CompiledPolicy for Rule {
    /// A pattern is compared with an object once, so no budget is needed: the time is that of reading both.
    fn evaluate(&self, case: &Case<'_>, _: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        let review = case.review;
        // The object of a DELETE is the one that goes; Kyverno compares what would be.
        if review.operation() == "DELETE" {
            return Ok(Vec::new());
        }
        let Some(at) = review.object().map(|object| self.failure(object)).transpose()?.flatten() else {
            return Ok(Vec::new());
        };
        let before = review.old_object().map(|object| self.failure(object)).transpose()?.flatten();
        let was_wrong = before.is_some();
        if self.allows_existing && review.operation() == "UPDATE" && was_wrong {
            return Ok(Vec::new());
        }
        let message = format!("{} (at {at})", self.message);
        Ok(vec![RawViolation { message, details: Some(json!({"path": at})) }])
    }
}

// === impl Rule ===

impl Rule {
    /// The place where the last pattern failed, or `None` when one of them passed or none is about the object.
    fn failure(&self, object: &Document) -> Result<Option<String>, EvalError> {
        let mut last = None;
        for pattern in &self.patterns {
            match pattern.judge(Some(object.json()?), "") {
                Outcome::Pass => return Ok(None),
                Outcome::Skip(_) => {}
                Outcome::Fail(at) => last = Some(at),
            }
        }
        Ok(last)
    }
}
