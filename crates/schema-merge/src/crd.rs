//! Checks a whole CustomResourceDefinition: [`validate_crd`].
//!
//! `crd/naming.rs` looks at the names and the group, `crd/version.rs` at the list of versions; the schemas of the versions
//! go through `structural.rs`. Webhook conversion and updates of an existing CRD are not looked at.

mod naming;
mod version;

use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::errors::ValidationResult;
use crate::limit::SchemaLimits;
use crate::number;
use crate::path::SchemaPath;
use crate::structural::{Report, StructuralOptions, check_structural, go_json, go_quoted};

/// Validates a CRD as the API server does when it is created, and adds lints about its schemas.
///
/// Paths and prefixes are the server's: when all versions have the same schema, it speaks of
/// `spec.validation.openAPIV3Schema`, otherwise of `spec.versions[i].schema.openAPIV3Schema`.
/// [`Diagnostic::pointer`] points into the CRD.
///
/// ```
/// use schema_merge::validate_crd;
/// use serde_json::json;
/// let diagnostics = validate_crd(&json!({
///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
///     "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [
///         {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "string"}}}]}
/// }));
/// assert_eq!(
///     diagnostics[0].to_string(),
///     "spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
/// );
/// assert_eq!(diagnostics[0].pointer(), "/spec/versions/0/schema/openAPIV3Schema/type");
/// ```
#[must_use]
pub fn validate_crd(crd: &Value) -> ValidationResult {
    let mut report = Report::new("");
    if let Some(detail) = SchemaLimits::default().exceeded(crd) {
        report.push(Severity::Error, DiagnosticKind::Plain, "too-large", &SchemaPath::root(), None, detail);
        return report.diagnostics.into();
    }
    let empty = Map::new();
    let spec = crd.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let mut diagnostics = schemas(spec, &mut report);
    if diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Decode) {
        naming::check(crd, spec, &mut report);
        version::check(spec, &mut report);
        diagnostics.append(&mut report.diagnostics);
    }
    Diagnostic::settle(&mut diagnostics);
    diagnostics.into()
}

/// Checks the schema of each version, or the one schema that all versions share.
fn schemas(spec: &Map<String, Value>, report: &mut Report) -> Vec<Diagnostic> {
    let versions = version::list(spec);
    let schemas: Vec<Option<&Value>> = versions.iter().map(schema_of).collect();
    for (index, _) in schemas.iter().enumerate().filter(|(_, schema)| schema.is_none()) {
        let path = SchemaPath::root()
            .child("spec")
            .child("versions")
            .index(index)
            .child("schema")
            .child("openAPIV3Schema");
        report.push(Severity::Error, DiagnosticKind::Required, "schema-required", &path, None, String::new());
    }
    let mut checked = Vec::new();
    let shared = version::same_schema(versions);
    for (index, schema) in schemas.iter().enumerate().take(if shared { 1 } else { usize::MAX }) {
        let Some(schema) = schema else { continue };
        let own = format!("spec.versions[{index}].schema.openAPIV3Schema");
        let prefix = if shared { "spec.validation.openAPIV3Schema".to_owned() } else { own.clone() };
        let status = versions
            .iter()
            .enumerate()
            .any(|(other, version)| (shared || other == index) && has_status(version));
        let options = StructuralOptions::default()
            .status_subresource(status)
            .prefixes(prefix, own)
            .base(format!("/spec/versions/{index}/schema/openAPIV3Schema"));
        checked.extend(check_structural(schema, &options));
    }
    if shared {
        checked.extend(unknown_in_others(&schemas));
    }
    checked
}

/// Unknown fields are reported for each version, whether the schemas are the same or not.
fn unknown_in_others(schemas: &[Option<&Value>]) -> Vec<Diagnostic> {
    let mut unknown = Vec::new();
    for (index, schema) in schemas.iter().enumerate().skip(1) {
        let Some(schema) = schema else { continue };
        let own = format!("spec.versions[{index}].schema.openAPIV3Schema");
        let (_, diagnostics) =
            crate::decode::decode(schema, &own, &format!("/spec/versions/{index}/schema/openAPIV3Schema"));
        unknown.extend(
            diagnostics.into_iter().filter(|diagnostic| diagnostic.severity == Severity::UnknownField),
        );
    }
    unknown
}

fn schema_of(version: &Value) -> Option<&Value> {
    version.get("schema")?.get("openAPIV3Schema").filter(|schema| !schema.is_null())
}

fn has_status(version: &Value) -> bool {
    version
        .get("subresources")
        .and_then(|subresources| subresources.get("status"))
        .is_some_and(|status| !status.is_null())
}

/// A text of a map; empty when absent.
fn text<'a>(map: &'a Map<String, Value>, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A path from the root of the CRD.
fn at(steps: &[&'static str]) -> SchemaPath {
    steps.iter().fold(SchemaPath::root(), |path, step| path.child(*step))
}
