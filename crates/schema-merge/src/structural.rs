//! Validates a schema as the API server does: [`check_structural`].
//!
//! One file per family of rules: `structural/invariant.rs` (types, metadata), `junctor.rs` (value validations),
//! `completeness.rs`, `openapi.rs` (keywords), `extension.rs` (x-kubernetes-*), `rule.rs` (validation rules), `root.rs`
//! (the status subresource), `defaults.rs`, and `lint.rs` for what the server accepts in silence. Decoding comes first,
//! in `decode.rs`. Rules and texts follow apiextensions-apiserver 0.36.

mod completeness;
mod defaults;
mod dump;
mod extension;
mod field_path;
mod invariant;
mod junctor;
mod lint;
mod openapi;
mod report;
mod root;
mod rule;
mod rule_cost;
mod scope;
mod unsupported;

pub(crate) use dump::{go_json, go_schema};
pub(crate) use field_path::field_type;
#[cfg(feature = "cel")]
pub(crate) use field_path::normalized;
pub(crate) use go_compat::strconv::quote as go_quoted;
pub(crate) use report::Report;

use serde_json::Value;

use crate::decode::decode;
use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::errors::ValidationResult;
use crate::limit::SchemaLimits;
use crate::node::Node;
use crate::path::SchemaPath;

/// The prefix of the server's paths when all versions of a CRD have the same schema.
const SAME_SCHEMA: &str = "spec.validation.openAPIV3Schema";
/// The prefix of unknown fields, which the server prints as they were written.
const FIRST_VERSION: &str = "spec.versions[0].schema.openAPIV3Schema";

/// The options of [`check_structural`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StructuralOptions {
    /// True if the status subresource is enabled, which forbids many keywords at the root.
    pub status_subresource: bool,
    /// The text that the server puts before the path of an error.
    pub prefix: String,
    /// The text that the server puts before the path of an unknown field.
    pub version_prefix: String,
    /// A JSON pointer to the schema, which diagnostics put before their own.
    pub base: String,
    /// True to report what the server accepts in silence.
    pub lints: bool,
    /// The bounds on depth and size of the schema.
    pub limits: SchemaLimits,
}

impl Default for StructuralOptions {
    fn default() -> Self {
        Self {
            status_subresource: false,
            prefix: SAME_SCHEMA.to_owned(),
            version_prefix: FIRST_VERSION.to_owned(),
            base: String::new(),
            lints: true,
            limits: SchemaLimits::default(),
        }
    }
}

impl StructuralOptions {
    /// Sets whether the status subresource is enabled.
    #[must_use]
    pub fn status_subresource(mut self, enabled: bool) -> Self {
        self.status_subresource = enabled;
        self
    }

    /// Sets the prefixes of errors and of unknown fields.
    #[must_use]
    pub fn prefixes(mut self, prefix: impl Into<String>, version_prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self.version_prefix = version_prefix.into();
        self
    }

    /// Sets the JSON pointer at which the schema stands in a larger document.
    #[must_use]
    pub fn base(mut self, pointer: impl Into<String>) -> Self {
        self.base = pointer.into();
        self
    }

    /// Leaves lints out.
    #[must_use]
    pub fn errors_only(mut self) -> Self {
        self.lints = false;
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn limits(mut self, limits: SchemaLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// Validates a schema as the API server does, in its own words, and adds lints about what the server accepts in silence.
///
/// `schema` is a version's `schema.openAPIV3Schema`. Diagnostics are sorted by severity and text; the server's own order
/// varies from call to call. As on the server, a schema that cannot be decoded is not looked at any further, and
/// validation rules are looked at only when everything else is in order.
///
/// ```
/// use schema_merge::{StructuralOptions, check_structural};
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"spec": {"type": "array"}}});
/// let diagnostics = check_structural(&schema, &StructuralOptions::default());
/// assert_eq!(
///     diagnostics[0].to_string(),
///     "spec.validation.openAPIV3Schema.properties[spec].items: Required value: must be specified",
/// );
/// ```
#[must_use]
pub fn check_structural(schema: &Value, options: &StructuralOptions) -> ValidationResult {
    examine(schema, options, options.lints).into()
}

/// Checks a schema like [`check_structural`], without the walk that looks for lints; what decoding noticed on the way is there.
pub(crate) fn check_refusals(schema: &Value, options: &StructuralOptions) -> Vec<Diagnostic> {
    examine(schema, options, false)
}

/// Returns true if [`check_refusals`] has anything to say about a schema that decoded without a diagnostic.
pub(crate) fn is_refused(node: &Node<'_>, options: &StructuralOptions) -> bool {
    let mut report = Report::based(&options.prefix, &options.base);
    refusals(node, options, &mut report);
    !report.diagnostics.is_empty()
}

fn examine(schema: &Value, options: &StructuralOptions, with_lints: bool) -> Vec<Diagnostic> {
    let mut report = Report::based(&options.prefix, &options.base);
    if let Some(detail) = options.limits.exceeded(schema) {
        report.push(Severity::Error, DiagnosticKind::Plain, "too-large", &SchemaPath::root(), None, detail);
        return report.diagnostics;
    }
    let (node, mut diagnostics) = decode(schema, &options.version_prefix, &options.base);
    if diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Decode) {
        refusals(&node, options, &mut report);
        if with_lints {
            lint::check(&node, &mut report);
        }
    }
    diagnostics.append(&mut report.diagnostics);
    if !options.lints {
        diagnostics.retain(|diagnostic| diagnostic.severity != Severity::Lint);
    }
    Diagnostic::settle(&mut diagnostics);
    diagnostics
}

/// The server's own order of checks matters: some run only when others found nothing.
fn refusals(node: &Node<'_>, options: &StructuralOptions, report: &mut Report) {
    root::check(node, options.status_subresource, report);
    let unsupported = unsupported::first(node);
    let mut sound = false;
    if unsupported.is_none() {
        let mut structural = report.fresh();
        invariant::check(node, &mut structural);
        completeness::check(node, &mut structural);
        if structural.diagnostics.is_empty() {
            defaults::check(node, &mut structural);
        }
        sound = structural.errors() == 0;
        report.diagnostics.append(&mut structural.diagnostics);
    }
    openapi::check(node, sound, report);
    if let (0, Some(detail)) = (report.errors(), unsupported) {
        report.push(
            Severity::Error,
            DiagnosticKind::Invalid,
            "unsupported",
            &SchemaPath::root(),
            Some("\"\"".to_owned()),
            detail.to_owned(),
        );
    }
}
