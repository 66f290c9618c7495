//! The driver: compiles `validate` of a rule, and compares objects with its pattern.

use std::sync::Arc;

use constraint_framework::driver::{Budget, Case, CompileError, Driver, EvalError, Program};
use constraint_framework::review::{Document, Finding};
use serde_json::{Value, json};

use super::pattern::{Outcome, Pattern};

/// The name of the engine in templates.
pub(super) const ENGINE: &str = "KyvernoPattern";

/// Compiles patterns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternDriver;

#[derive(Debug)]
struct Rule {
    /// One of them has to pass.
    patterns: Vec<Pattern>,
    message: String,
    /// An update of an object that was in violation before is let through, which is Kyverno's default since 1.13.
    allows_existing: bool,
}

impl Driver for PatternDriver {
    fn engine(&self) -> &str {
        ENGINE
    }

    fn compile(&self, source: &Value) -> Result<Arc<dyn Program>, Vec<CompileError>> {
        let error = |message: &str| CompileError {
            code: "pattern_error".to_owned(),
            message: message.to_owned(),
            location: "validate".to_owned(),
        };
        let patterns = match (source.get("pattern"), source.get("anyPattern").and_then(Value::as_array)) {
            (Some(pattern), None) => vec![pattern],
            (None, Some(patterns)) => patterns.iter().collect(),
            _ => {
                return Err(vec![error(
                    "write either `pattern` or `anyPattern`; other rules are not supported here",
                )]);
            }
        };
        let (mut compiled, mut errors) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match Pattern::compile(pattern) {
                Ok(pattern) => compiled.push(pattern),
                Err(found) => errors.extend(found.iter().map(|found| error(found))),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let message = source.get("message").and_then(Value::as_str).unwrap_or("validation error");
        let allows_existing = source.get("allowExistingViolations").and_then(Value::as_bool).unwrap_or(true);
        Ok(Arc::new(Rule { patterns: compiled, message: message.to_owned(), allows_existing }))
    }
}

impl Program for Rule {
    /// A pattern is compared with an object once, so no budget is needed: the time is that of reading both.
    fn evaluate(&self, case: &Case<'_>, _: &Budget) -> Result<Vec<Finding>, EvalError> {
        let review = case.review;
        let Some(at) = review.object().map(|object| self.failure(object)).transpose()?.flatten() else {
            return Ok(Vec::new());
        };
        let before = review.old_object().map(|object| self.failure(object)).transpose()?.flatten();
        let was_wrong = before.is_some();
        if self.allows_existing && review.operation() == "UPDATE" && was_wrong {
            return Ok(Vec::new());
        }
        let message = format!("{} (at {at})", self.message);
        Ok(vec![Finding { message, details: Some(json!({"path": at})) }])
    }
}

// === impl Rule ===

impl Rule {
    /// The place where the last pattern failed, or `None` when one of them passed or is not about the object.
    fn failure(&self, object: &Document) -> Result<Option<String>, EvalError> {
        let mut last = None;
        for pattern in &self.patterns {
            match pattern.judge(Some(object.json()?), "") {
                Outcome::Pass | Outcome::Skip => return Ok(None),
                Outcome::Fail(at) => last = Some(at),
            }
        }
        Ok(last)
    }
}
