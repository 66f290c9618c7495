//! The reasons why a template, a constraint or an object does not enter the next policy set.

use crate::api::{FieldError, FieldErrors};
use crate::driver::CompileErrors;
use crate::target::{CrdErrors, InventoryPathError};

/// The reason why something was not ingested. What was in force before stays in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// The manifest is wrong; all its errors.
    #[error("{0}")]
    Invalid(FieldErrors),
    /// The template names a target that this policy set does not have.
    #[error("unknown target {name:?}: use one of {known}")]
    UnknownTarget {
        /// The name in the template.
        name: String,
        /// The targets there are.
        known: String,
    },
    /// No engine of the template is one that this policy set has a driver for.
    #[error("no code for a known engine: write one of {known}")]
    NoDriver {
        /// The engines there are.
        known: String,
    },
    /// The API server would refuse the constraint CRD; all errors, each at the field of the template to correct.
    #[error("{0}")]
    Crd(FieldErrors),
    /// The code does not compile; all errors.
    #[error("{}", join(.0))]
    Compile(CompileErrors),
    /// The constraint's kind has no template, or none that ever compiled. It is ingested when one does.
    #[error("no ConstraintTemplate in force creates the kind {kind:?}")]
    MissingTemplate {
        /// The constraint's kind.
        kind: String,
    },
    /// The compiler ended without a result: a defect of an engine.
    #[error("the template could not be compiled: its engine failed")]
    CompilerFailed,
    /// The manifest is not the JSON of a Kubernetes object.
    #[error("not a Kubernetes object: {0}")]
    Json(String),
    /// The object cannot be put in the inventory.
    #[error(transparent)]
    Object(#[from] InventoryPathError),
    /// A defect of this crate: a part of a compiled template that was accepted cannot be read again.
    #[error("internal error: {0}: report it with the template")]
    Internal(String),
}

impl IngestError {
    /// Returns the machine-readable code, which Gatekeeper writes to `status.byPod[].errors[].code`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::UnknownTarget { .. } | Self::Crd(_) | Self::Json(_) => "create_error",
            Self::NoDriver { .. }
            | Self::CompilerFailed
            | Self::Compile(_)
            | Self::MissingTemplate { .. }
            | Self::Object(_)
            | Self::Internal(_) => "ingest_error",
        }
    }
}

impl From<serde_json::Error> for IngestError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error.to_string())
    }
}

/// Converts each error to one of a field of the template.
impl From<CrdErrors> for IngestError {
    fn from(errors: CrdErrors) -> Self {
        Self::Crd(errors.iter().map(|error| FieldError::new(error.pointer(), error.to_string())).collect())
    }
}

impl From<FieldErrors> for IngestError {
    fn from(errors: FieldErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<FieldError> for IngestError {
    fn from(error: FieldError) -> Self {
        Self::Invalid(error.into())
    }
}

/// Joins the errors to one line: the error goes into logs and into conditions of a status.
fn join(errors: &CompileErrors) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
