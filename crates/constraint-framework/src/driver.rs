//! The interface of policy languages: a driver compiles source code into policies.
//!
//! A driver knows reviews, violations and budgets; it knows no constraint kinds, no match blocks and no enforcement
//! points. Referential data comes with each case, as an immutable snapshot.

mod cel;
mod explain;
mod print;
mod rego;
#[cfg(feature = "regorus")]
mod regorus;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::inventory::{DependencyKey, Inventory, Reads, UnreadableObjectError};
use crate::review::{Json, RawViolation, Review, UnreadableError};

pub use cel::{CelDriver, ValidatingPolicyDriver};
pub use explain::{BodyKind, BodyTrace, ExpressionOutcome, ExpressionTrace};
pub use print::PrintListener;
pub use rego::{PrintingRegoDriver, RegoDriver};
pub use rego_compat::{Budget, Limit};
#[cfg(feature = "regorus")]
pub use regorus::RegorusDriver;

/// A policy language: compiles source code into a [`CompiledPolicy`].
pub trait Driver: fmt::Debug + Send + Sync {
    /// Returns the name that templates use in `code[].engine`.
    fn engine(&self) -> &str;

    /// Compiles one source, for up to seconds: call it on a blocking thread and hold no lock.
    ///
    /// # Errors
    /// Everything that is wrong with the source, with places in it.
    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors>;

    /// Returns the same driver with a listener for what policies print; `None` if its policies cannot print.
    fn with_print_listener(&self, _listener: &Arc<dyn PrintListener>) -> Option<Arc<dyn Driver>> {
        None
    }

    /// Evaluates a source on one case, expression by expression, for authors: it takes many times as long as
    /// [`CompiledPolicy::evaluate`]. Empty from a driver that has no traces.
    ///
    /// # Errors
    /// As [`Driver::compile`].
    fn explain(
        &self,
        _source: &Value,
        _case: &Case<'_>,
        _budget: &Budget,
    ) -> Result<Vec<BodyTrace>, CompileErrors> {
        Ok(Vec::new())
    }
}

/// The compiled code of one template, shared by all its constraints and all threads.
pub trait CompiledPolicy: fmt::Debug + Send + Sync {
    /// Evaluates the policy on one review with one constraint's parameters.
    ///
    /// # Errors
    /// The policy itself fails: a conflict, a message that is not a string, an object that cannot be read, an exhausted budget.
    fn evaluate(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError>;

    /// Returns the paths that the policy reads in the inventory, for which indexes are kept; `None` if it reads none.
    fn reads(&self) -> Option<&Reads> {
        None
    }

    /// Returns the keys of the values with which the answer on a case compares objects of the inventory, to be compared
    /// with [`Dependents::Keyed`](crate::inventory::Dependents).
    fn dependency_keys(&self, _case: &Case<'_>) -> Vec<DependencyKey> {
        Vec::new()
    }

    /// Returns the errors in the source that did not prevent its compilation; each message says what is done instead.
    fn warnings(&self) -> &[CompileError] {
        &[]
    }
}

/// The input of one evaluation of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The review to decide.
    pub review: &'a Review,
    /// The constraint's parameters; JSON `null` when it has none.
    pub parameters: &'a Json,
    /// The objects that the policy may read below `data.inventory`.
    pub inventory: &'a Inventory,
}

/// An error in the source code of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct CompileError {
    /// The machine-readable code, such as `rego_parse_error`.
    pub code: String,
    /// The error and how to fix it.
    pub message: String,
    /// File, line and column from 1, such as `template:3:1`, as far as they are known.
    pub location: String,
}

/// Everything that is wrong with a source, in an order that is the same each time.
pub type CompileErrors = schema_merge::Errors<CompileError>;

impl EvalError {
    /// Wraps the error of an embedder's engine: an error, or a string.
    pub fn foreign(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Foreign(error.into())
    }
}

impl From<UnreadableError> for EvalError {
    fn from(UnreadableError: UnreadableError) -> Self {
        Self::Unreadable
    }
}

/// The reason why a policy has no answer on a case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A policy in Rego failed, as by a conflict between rules, or used up its budget.
    #[error(transparent)]
    Rego(#[from] rego_compat::EvalError),
    /// A policy in CEL used up its budget; other errors of the language are violations.
    #[error(transparent)]
    Cel(#[from] cel_compat::EvalError),
    /// The policy's answer is not a set of objects with a `msg`.
    #[error("the policy answered something other than a set of objects with a string `msg`: {0}")]
    Shape(String),
    /// The object or the parameters are nested too deep, or have a number out of bounds.
    #[error("the object cannot be read: it is nested too deep, or has a number out of bounds")]
    Unreadable,
    /// The policy reads an object of the inventory that is nested too deep or has a number out of bounds.
    #[error(transparent)]
    UnreadableInventory(#[from] UnreadableObjectError),
    /// regorus failed: a conflict between rules, the time, or something that it lacks. The text is its own.
    #[cfg(feature = "regorus")]
    #[error("regorus: {0}")]
    Regorus(String),
    /// The engine of an embedder failed; the error is its own, see [`EvalError::foreign`].
    #[error(transparent)]
    Foreign(Box<dyn std::error::Error + Send + Sync>),
    /// The engine panicked: a defect of the engine, whose message is on standard error.
    #[error("the policy's engine failed: report it with the template and the object")]
    EngineFailed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_an_error_with_a_line_for_each_of_its_errors() {
        let error = |line: u8| CompileError {
            code: "rego_parse_error".to_owned(),
            message: "no".to_owned(),
            location: format!("template:{line}:1"),
        };
        let errors = CompileErrors::from(vec![error(1), error(2)]);
        assert_eq!(errors.to_string(), "template:1:1: no\ntemplate:2:1: no");
        assert!((&errors).into_iter().eq(&[error(1), error(2)]));
        let errors: Box<dyn std::error::Error> = errors.into();
        assert!(errors.source().is_none());
    }
}
