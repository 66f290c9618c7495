//! Three parties describe one resource and get in each other's way: a report that says whom to talk to about what.
//!
//! The platform holds `spec.match`, an author adds parameters, and an add-on wants to help with both. After the report,
//! the add-on moves to a place of its own.

use schema_merge::{Fragment, MergeError, Merger, MountPath, Sharing};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let matching = json!({"type": "object", "properties": {"namespaces": {"type": "string"}}});
    let limit = json!({"type": "object", "properties": {"limit": {"type": "integer", "maximum": 5}}});
    let meddling = merger().mount(Fragment::new("add-on", MountPath::of(["spec", "match"]), matching)).mount(
        Fragment::new("add-on", MountPath::of(["spec", "parameters"]), limit)
            .sharing(Sharing::SharedIntersect),
    );
    if let Err(errors) = meddling.build() {
        println!("{} conflicts:", errors.len());
        errors.iter().for_each(report);
    }

    let own = json!({"type": "object", "properties": {"namespaces": {"type": "string"}}});
    let settled = merger().mount(Fragment::new("add-on", MountPath::of(["spec", "extra"]), own));
    let merged = settled.build()?;
    println!("\nafter moving:\n{}", serde_json::to_string_pretty(merged.schema())?);
    let refused = "spec.validation.openAPIV3Schema.properties[spec].properties[extra].type";
    println!("\n{refused} belongs to {}", merged.blame(refused).join(" and "));
    Ok(())
}

/// Creates the merger that the platform and the author agree on.
fn merger() -> Merger {
    let kinds =
        json!({"type": "object", "properties": {"kinds": {"type": "array", "items": {"type": "string"}}}});
    let limit =
        json!({"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1, "default": 3}}});
    Merger::new()
        .seal(MountPath::of(["spec"]), ["match", "parameters", "extra"])
        .mount(Fragment::new("platform", MountPath::of(["spec", "match"]), kinds))
        .mount(
            Fragment::new("author", MountPath::of(["spec", "parameters"]), limit)
                .sharing(Sharing::SharedIntersect),
        )
}

/// One conflict: where, what, and who has to agree.
fn report(error: &MergeError) {
    println!("  {}", error.path().instance());
    println!("    {error}");
    println!("    talk to: {}", error.origins().join(", "));
}
