//! The evaluation of a policy in CEL on one case: conditions first, then every validation, each with its message.

use cel_compat::{Environment, EvalError as CelError, Evaluation, Expression, Value};

use crate::driver::{Budget, Case, CompileError, CompiledPolicy, EvalError};
use crate::review::RawViolation;

use super::source::FailurePolicy;
use super::subject::Subject;

/// The longest message that an expression may make, in bytes; a longer one is replaced, as in Kubernetes.
const LONGEST_MESSAGE: usize = 5 * 1024;

#[derive(Debug)]
pub(super) struct CelProgram {
    pub(super) failure_policy: FailurePolicy,
    pub(super) environment: Environment,
    pub(super) conditions: Vec<Condition>,
    pub(super) validations: Vec<Validation>,
    pub(super) warnings: Vec<CompileError>,
}

/// An expression that yields a bool, and how it was written.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) text: String,
    pub(super) expression: Expression,
}

#[derive(Debug)]
pub(super) struct Validation {
    pub(super) condition: Condition,
    pub(super) message: String,
    pub(super) message_expression: Option<Expression>,
}

/// A validation that does not hold.
enum Failure<'a> {
    Violated(&'a Validation),
    Error(String),
}

impl CompiledPolicy for CelProgram {
    fn evaluate(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        match self.decide(case, budget) {
            Ok(violations) => Ok(violations),
            // An object is not admitted for nesting deep, whatever the failure policy.
            Err(CelError::Unreadable(_)) => Err(EvalError::Unreadable),
            // The policy was compiled wrongly, which its author's `Ignore` does not cover.
            Err(broken @ CelError::Internal(_)) => Err(broken.into()),
            // `Ignore`: an object is admitted when the policy cannot decide.
            Err(_) if self.failure_policy == FailurePolicy::Ignore => Ok(Vec::new()),
            Err(CelError::Failed(message)) => Ok(vec![violation(message)]),
            Err(error) => Err(error.into()),
        }
    }

    fn warnings(&self) -> &[CompileError] {
        &self.warnings
    }
}

impl CelProgram {
    fn decide(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, CelError> {
        let bare = Subject::without_namespace(*case);
        let full = Subject::with_namespace(*case);
        let mut evaluation = Evaluation::new(&self.environment, &bare, budget);
        if !self.conditions_hold(&mut evaluation)? {
            return Ok(Vec::new());
        }
        let mut evaluation = evaluation.rebind(&full);
        let mut failures = Vec::new();
        for validation in &self.validations {
            match evaluation.evaluate(&validation.condition.expression) {
                Ok(Value::Bool(true)) => {}
                Ok(_) => failures.push(Failure::Violated(validation)),
                Err(CelError::Failed(_)) if self.failure_policy == FailurePolicy::Ignore => {}
                Err(CelError::Failed(error)) => {
                    failures.push(Failure::Error(failed(&validation.condition, &error)))
                }
                Err(error) => return Err(error),
            }
        }
        // All messages come after all validations.
        let raw = |failure| match failure {
            Failure::Error(error) => Ok(violation(error)),
            Failure::Violated(validation) => message(&mut evaluation, validation).map(violation),
        };
        failures.into_iter().map(raw).collect()
    }

    /// Returns true if all conditions hold. One that does not wins over others that fail.
    fn conditions_hold(&self, evaluation: &mut Evaluation<'_>) -> Result<bool, CelError> {
        let mut errors = Vec::new();
        for condition in &self.conditions {
            match evaluation.evaluate(&condition.expression) {
                Ok(Value::Bool(false)) => return Ok(false),
                Ok(_) => {}
                Err(CelError::Failed(error)) => errors.push(failed(condition, &error)),
                Err(error) => return Err(error),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            [error] => Err(CelError::Failed(error.clone())),
            _ => Err(CelError::Failed(format!("[{}]", errors.join(", ")))),
        }
    }
}

fn violation(message: String) -> RawViolation {
    RawViolation { message, details: None }
}

/// Returns an error in the API server's words.
fn failed(condition: &Condition, error: &str) -> String {
    format!("expression '{}' resulted in error: {error}", condition.text)
}

/// Returns the message of a violation: that of `messageExpression`, else `message`, else the expression.
fn message(evaluation: &mut Evaluation<'_>, validation: &Validation) -> Result<String, CelError> {
    if let Some(expression) = &validation.message_expression {
        match evaluation.evaluate(expression) {
            Ok(Value::String(computed)) => {
                let computed = computed.trim();
                if !computed.is_empty() && computed.len() <= LONGEST_MESSAGE && !computed.contains('\n') {
                    return Ok(computed.to_owned());
                }
            }
            Ok(_) | Err(CelError::Failed(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(match validation.message.trim() {
        "" => format!("failed expression: {}", validation.condition.text.trim()),
        message => message.to_owned(),
    })
}
