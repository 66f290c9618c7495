//! The interface of policy languages: a driver compiles source code into programs.
//!
//! A driver knows reviews, violations and budgets; it knows no constraint kinds, no match blocks and no enforcement
//! points. Referential data reaches a program with each case, as an immutable snapshot.

mod cel;
mod explain;
mod print;
mod rego;
#[cfg(feature = "regorus")]
mod regorus;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::error_list::error_list;
use crate::inventory::{DependencyKey, Inventory, Reads, UnreadableObjectError};
use crate::review::{Json, RawViolation, Review, UnreadableError};

pub use cel::{CelDriver, ValidatingPolicyDriver};
pub use explain::{BodyKind, BodyTrace, ExpressionOutcome, ExpressionTrace};
pub use print::PrintListener;
pub use rego::{PrintingRegoDriver, RegoDriver};
pub use rego_compat::{Budget, Limit};
#[cfg(feature = "regorus")]
pub use regorus::RegorusDriver;

/// A policy language.
pub trait Driver: fmt::Debug + Send + Sync {
    /// The name that templates use in `code[].engine`.
    fn engine(&self) -> &str;

    /// Compiles one source. Takes as long as the source deserves; hold no lock.
    ///
    /// # Errors
    /// Everything that is wrong with the source, with places in it.
    fn compile(&self, source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors>;

    /// Returns the same driver with a listener for what policies print; `None` from a driver whose policies print nothing.
    fn with_print_listener(&self, _listener: &Arc<dyn PrintListener>) -> Option<Arc<dyn Driver>> {
        None
    }

    /// Reports how a source comes to its answer about one case, expression by expression; for authors, and slow. Nothing
    /// from a driver that cannot tell.
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

/// Compiled code of one template, shared by all its constraints and all threads.
pub trait CompiledPolicy: fmt::Debug + Send + Sync {
    /// Judges one review with one constraint's parameters.
    ///
    /// # Errors
    /// When the policy itself fails: a conflict, a message that is not text, an exhausted budget.
    fn evaluate(&self, case: &Case<'_>, budget: &Budget) -> Result<Vec<RawViolation>, EvalError>;

    /// Returns what the program reads of the inventory, for which indexes are kept; `None` for a program that reads
    /// none of it.
    fn reads(&self) -> Option<&Reads> {
        None
    }

    /// Returns what its answer about a case depends on in the inventory, where it compares objects there with its
    /// input: see [`crate::inventory::Dependents`].
    fn dependency_keys(&self, _case: &Case<'_>) -> Vec<DependencyKey> {
        Vec::new()
    }

    /// Returns what is wrong with the source and did not keep it from being compiled; each says what is done instead.
    fn warnings(&self) -> &[CompileError] {
        &[]
    }
}

/// The input of one evaluation of a program.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The thing judged.
    pub review: &'a Review,
    /// The constraint's parameters; JSON `null` when it has none.
    pub parameters: &'a Json,
    /// The objects that may be referred to.
    pub inventory: &'a Inventory,
}

/// One thing wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub struct CompileError {
    /// A short word for programs, such as `rego_parse_error`.
    pub code: String,
    /// The error and how to fix it.
    pub message: String,
    /// File, line and column, as far as they are known.
    pub location: String,
}

error_list! {
    /// Everything that is wrong with a source, in an order that is the same each time.
    #[derive(Eq)]
    CompileErrors of CompileError
}

impl EvalError {
    /// The error of an embedder's engine: an error, or a text.
    pub fn foreign(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Foreign(error.into())
    }
}

impl From<UnreadableError> for EvalError {
    fn from(UnreadableError: UnreadableError) -> Self {
        Self::Unreadable
    }
}

/// The reason why a program could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The engine gave up: a conflict between rules, or the budget.
    #[error(transparent)]
    Rego(#[from] rego_compat::EvalError),
    /// A policy in CEL used up its budget; other errors of the language are violations.
    #[error(transparent)]
    Cel(#[from] cel_compat::EvalError),
    /// The policy's answer is not a set of objects with a `msg`.
    #[error("the policy answered something other than a set of objects with a text `msg`: {0}")]
    Shape(String),
    /// An object or the parameters are nested so deep, or hold a number so large, that what the policy saw was not
    /// them.
    #[error("the object cannot be read: it is nested too deep, or has a number out of bounds")]
    Unreadable,
    /// The policy reads an object of the inventory that is nested too deep or holds a number too large.
    #[error(transparent)]
    UnreadableInventory(#[from] UnreadableObjectError),
    /// regorus could not answer: a conflict between rules, the time, or something that it lacks. The text is its own.
    #[cfg(feature = "regorus")]
    #[error("regorus: {0}")]
    Regorus(String),
    /// The engine of an embedder could not answer; the error is its own, see [`EvalError::foreign`].
    #[error(transparent)]
    Foreign(Box<dyn std::error::Error + Send + Sync>),
    /// The engine panicked: a defect of the engine, which says more on standard error.
    #[error("the policy's engine failed: report it with the template and the object")]
    EngineFailed,
}
