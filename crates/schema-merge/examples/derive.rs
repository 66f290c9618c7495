//! A derived type becomes a fragment, and the fragment a mounted CRD.

use schema_merge::{Fragment, Merger, MountPath, Style, check_crd, structuralize};
use serde_json::{Value, json};

/// What a user of the resource writes.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only the schema of the type is of interest here")]
struct Backup {
    /// A cron expression.
    schedule: String,
    /// How many to keep.
    keep: Option<u8>,
    target: Target,
}

/// Where backups go.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only the schema of the type is of interest here")]
#[serde(tag = "type")]
enum Target {
    Bucket { url: String },
    Volume { claim: String },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let crd = crd().map_err(|errors| errors.join("\n"))?;
    println!("{}", serde_json::to_string_pretty(&crd)?);
    Ok(())
}

fn crd() -> Result<Value, Vec<String>> {
    let texts = |errors: Vec<_>| errors.iter().map(schema_merge::Obstacle::to_string).collect::<Vec<_>>();
    let schema = structuralize(&schemars::schema_for!(Backup).to_value(), Style::default()).map_err(texts)?;
    let fragment = Fragment::new("Backup", MountPath::of(["spec"]), schema.schema);
    let merged = Merger::new()
        .mount(fragment)
        .build()
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "backups.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Backup", "plural": "backups"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": merged.schema()}}]},
    });
    let refused: Vec<String> =
        check_crd(&crd).iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect();
    if refused.is_empty() { Ok(crd) } else { Err(refused) }
}
