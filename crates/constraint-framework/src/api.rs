//! The objects that users write, templates and constraints, the errors in them, and the statuses they read.
//!
//! The shapes are Gatekeeper's (`templates.gatekeeper.sh`, `constraints.gatekeeper.sh`), read from plain JSON
//! values so that no client library is needed. Compiling and matching happen elsewhere.

mod constraint;
mod field_error;
mod status;
mod template;

pub use constraint::{
    Constraint, ConstraintRef, ConstraintSpec, EnforcementPointName, ScopedEnforcementAction,
};
pub use field_error::{FieldError, FieldErrors};
pub(crate) use field_error::{decode, pointer_segment};
pub use status::{
    ConstraintPodStatus, ConstraintStatus, ConstraintTemplateStatus, EnforcementPointStatus, StatusError,
    StatusViolation, TemplatePodStatus,
};
pub use template::{
    Code, ConstraintTemplate, ConstraintTemplateSpec, CrdNames, CrdSpec, CrdValidation, ObjectMeta,
    Operations, RegoSource, TargetSpec, TemplateCrd,
};

/// The API group of constraint templates.
pub const TEMPLATES_GROUP: &str = "templates.gatekeeper.sh";
/// The API group of every constraint kind.
pub const CONSTRAINTS_GROUP: &str = "constraints.gatekeeper.sh";
