//! The effect of a schema on one object: [`validate_object`].
//!
//! `object/validate.rs` and its neighbours find what is invalid, `default.rs` fills in defaults, `prune.rs` drops unknown
//! fields. Nothing here looks at whether the schema itself is sound; that is `structural.rs`.

mod default;
mod format;
mod metadata;
mod prune;
mod validate;

pub use default::defaulted;
pub(crate) use format::is_supported;
pub(crate) use metadata::{embedded as embedded_violations, resource as resource_violations};
pub(crate) use prune::prune;
pub use prune::{Pruned, pruned};
pub(crate) use validate::{Dialect, Validator, Violation, go_value};

use serde_json::Value;

use crate::decode::decode;
use crate::diagnostic::{Diagnostic, Severity};
use crate::errors::ValidationResult;
use crate::limit::SchemaLimits;
use crate::node::Node;
use crate::path::SchemaPath;

/// The API server's verdict on an object of a custom resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ObjectVerdict {
    /// The errors for which it would be refused. The paths are those of the object, as the server prints them.
    pub errors: ValidationResult,
    /// The fields the schema does not know, sorted: refused under strict field validation, dropped otherwise.
    pub unknown_fields: Vec<String>,
    /// The object as it would be stored: nulls without meaning dropped, defaults filled in, unknown fields dropped.
    pub stored: Value,
}

impl ObjectVerdict {
    /// Returns true if the server would accept the object, dropping unknown fields.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the verdict on an object that the server accepts, dropping unknown fields.
    ///
    /// # Errors
    /// All errors for which the server refuses the object.
    pub fn into_result(self) -> Result<Self, ValidationResult> {
        if self.is_valid() { Ok(self) } else { Err(self.errors) }
    }
}

/// Validates `object` as the API server does under `schema`, the `openAPIV3Schema` of its version.
///
/// Defaults are filled in before anything is checked. Validation rules are not evaluated, and of `metadata` only what
/// the schema says about it is checked. A schema that the server could not decode, and one beyond the bounds of
/// [`SchemaLimits`], refuses every object; a pattern that cannot be compiled refuses every string.
///
/// ```
/// use schema_merge::validate_object;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
///     "size": {"type": "integer", "default": 1}, "name": {"type": "string"}}}}});
/// let verdict = validate_object(&schema, &json!({"spec": {"name": 3, "colour": "red"}}));
/// assert_eq!(verdict.errors[0].to_string(), "spec.name: Invalid value: \"integer\": spec.name in body must be of type string: \"integer\"");
/// assert_eq!(verdict.unknown_fields, ["spec.colour"]);
/// assert_eq!(verdict.stored, json!({"spec": {"name": 3, "size": 1}}));
/// assert!(verdict.into_result().is_err());
/// ```
#[must_use]
pub fn validate_object(schema: &Value, object: &Value) -> ObjectVerdict {
    if let Some(detail) = SchemaLimits::default().exceeded(schema) {
        return unchecked(object, detail);
    }
    let (node, diagnostics) = decode(schema, "", "");
    judge(object, &node, &diagnostics)
}

/// Validates an object against a schema that is within its bounds, decoded with these diagnostics.
pub(crate) fn judge(object: &Value, node: &Node<'_>, diagnostics: &[Diagnostic]) -> ObjectVerdict {
    if let Some(detail) = SchemaLimits::default().exceeded(object) {
        return unchecked(object, detail);
    }
    if let Some(diagnostic) = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Decode) {
        return unchecked(object, diagnostic.detail.clone());
    }
    let unknown_fields = prune(node, &mut object.clone(), true);
    let mut stored = object.clone();
    prune::drop_nulls(node, &mut stored);
    default::fill(node, &mut stored);
    // The server validates what it is going to store: an unknown field counts towards nothing.
    prune(node, &mut stored, true);
    let mut errors: Vec<Diagnostic> = Validator::new(Dialect::Object)
        .violations(node, &stored)
        .into_iter()
        .map(|violation| violation.at_root())
        .collect();
    Diagnostic::settle(&mut errors);
    ObjectVerdict { errors: errors.into(), unknown_fields, stored }
}

/// The verdict on an object that cannot be checked: refused, for the reason in `detail`.
pub(crate) fn unchecked(object: &Value, detail: String) -> ObjectVerdict {
    let mut report = crate::structural::Report::new("");
    report.push(
        Severity::Error,
        crate::DiagnosticKind::Plain,
        "unchecked",
        &SchemaPath::root(),
        None,
        detail,
    );
    ObjectVerdict { errors: report.diagnostics.into(), unknown_fields: Vec::new(), stored: object.clone() }
}
