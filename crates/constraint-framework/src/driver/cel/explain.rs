//! A policy in CEL, expression by expression: conditions first, then each validation.

use cel_compat::{EvalError as CelError, Evaluation, Key, Value};

use crate::driver::explain::{BodyKind, BodyTrace, ExpressionOutcome, ExpressionTrace, shown};
use crate::driver::{Budget, Case};

use super::program::{CelProgram, Condition};
use super::subject::Subject;

/// The names whose values are shown.
const ROOTS: [&str; 6] = ["object", "oldObject", "request", "namespaceObject", "params", "variables"];

impl CelProgram {
    /// Evaluates each condition and each validation. A validation that is false is a violation.
    pub(super) fn traces(&self, case: &Case<'_>, budget: &Budget) -> Vec<BodyTrace> {
        let bare = Subject::without_namespace(*case);
        let full = Subject::with_namespace(*case);
        let mut evaluation = Evaluation::new(&self.environment, &bare, budget);
        let mut traces = Vec::new();
        let mut excluded = false;
        for (position, condition) in self.conditions.iter().enumerate() {
            let place = format!("source/matchConditions/{position}");
            let step = self.step(&mut evaluation, &place, condition);
            excluded = excluded || step.outcome == ExpressionOutcome::Failed;
            let held = step.outcome == ExpressionOutcome::Held;
            traces.push(BodyTrace {
                kind: BodyKind::Condition,
                place,
                name: "condition".to_owned(),
                held,
                steps: vec![step],
            });
        }
        let mut evaluation = evaluation.rebind(&full);
        for (position, validation) in self.validations.iter().enumerate() {
            let place = format!("source/validations/{position}");
            let mut step = self.step(&mut evaluation, &place, &validation.condition);
            if excluded {
                step.outcome = ExpressionOutcome::NotReached;
            }
            let held = step.outcome == ExpressionOutcome::Failed;
            let (kind, name) = (BodyKind::Check, "validation".to_owned());
            traces.push(BodyTrace { kind, place, name, held, steps: vec![step] });
        }
        traces
    }

    fn step(&self, evaluation: &mut Evaluation<'_>, place: &str, condition: &Condition) -> ExpressionTrace {
        let outcome = match evaluation.evaluate(&condition.expression) {
            Ok(Value::Bool(true)) => ExpressionOutcome::Held,
            Ok(_) => ExpressionOutcome::Failed,
            Err(CelError::Failed(message)) => ExpressionOutcome::Error(message),
            Err(error) => ExpressionOutcome::Error(error.to_string()),
        };
        let value = |reference: String| {
            let compiled = self.environment.compile(&reference).ok()?;
            let value = match evaluation.evaluate(&compiled) {
                Ok(value) => written(&value),
                Err(error) => error.to_string(),
            };
            Some((reference, shown(&value)))
        };
        let is_shown = |reference: &String| ROOTS.contains(&reference.split('.').next().unwrap_or_default());
        // It is compiled already.
        let references = cel_compat::references(&condition.text).unwrap_or_default();
        let values = references.into_iter().filter(is_shown).filter_map(value).collect();
        ExpressionTrace { place: place.to_owned(), text: condition.text.clone(), outcome, values }
    }
}

/// Returns a value as JSON would have it, as far as JSON has it.
fn written(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::List(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Map(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{}: {}", key(name), written(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => format!("{}({other:?})", other.type_name()),
    }
}

fn key(key: &Key) -> String {
    match key {
        Key::Bool(key) => key.to_string(),
        Key::Int(key) => key.to_string(),
        Key::Uint(key) => key.to_string(),
        Key::String(text) => quoted(text),
        _ => "?".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
