//! Requirements that have no force because the mount they stand in may be left out.

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::merged::Merged;
use crate::path::SchemaPath;
use crate::structural::Report;

/// One lint for each mount whose schema requires something although the mount, or a parent of it, is optional.
pub(super) fn check(merged: &Merged) -> Vec<Diagnostic> {
    let mut report = Report::new("spec.validation.openAPIV3Schema");
    for fragment in merged.fragments() {
        let requires =
            fragment.schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
        if let (true, Some(optional)) = (requires, optional(merged.schema(), fragment.at.names())) {
            let detail = format!(
                "{} may be left out, and what {} requires below it with it; require the mount or give it a default",
                optional.instance(),
                fragment.origin
            );
            report.lint(&optional, "vacuous-required", detail);
        }
    }
    report.diagnostics
}

/// The first property on the way that need not be there.
fn optional(schema: &Value, names: &[String]) -> Option<SchemaPath> {
    let mut node = schema;
    let mut path = SchemaPath::root();
    for name in names {
        let required = node.get("required").and_then(Value::as_array);
        let needed = required.is_some_and(|required| required.iter().any(|other| other == name));
        node = node.get("properties")?.get(name)?;
        path.push_property(name);
        if !needed && node.get("default").is_none() {
            return Some(path);
        }
    }
    None
}
