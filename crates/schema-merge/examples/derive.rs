//! A derived type becomes a fragment, and the fragment a mounted CRD.

use schema_merge::{Diagnostic, Fragment, Merger, MountPath, Style, structuralize, validate_crd};
use serde_json::{Value, json};

/// The resource as its user writes it.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only the schema of the type is of interest here")]
struct Backup {
    /// A cron expression.
    schedule: String,
    /// The number to keep.
    keep: Option<u8>,
    target: Target,
}

/// The destination of backups.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only the schema of the type is of interest here")]
#[serde(tag = "type")]
enum Target {
    Bucket { url: String },
    Volume { claim: String },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", serde_json::to_string_pretty(&crd()?)?);
    Ok(())
}

fn crd() -> Result<Value, Box<dyn std::error::Error>> {
    let schema = structuralize(&schemars::schema_for!(Backup).to_value(), Style::default())?;
    let merged =
        Merger::new().mount(Fragment::new("Backup", MountPath::of(["spec"]), schema.schema)).build()?;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "backups.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Backup", "plural": "backups"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": merged.schema()}}]},
    });
    let refused = validate_crd(&crd).into_iter().find(Diagnostic::is_error);
    refused.map_or(Ok(crd), |diagnostic| Err(diagnostic.to_string().into()))
}
