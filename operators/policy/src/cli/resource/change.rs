//! Target `validation.resourcechange.terraform.cloud.google.com`: a change of a Terraform plan, selected by its address.

use constraint_framework::api::FieldErrors;
use constraint_framework::review::Document;
use constraint_framework::target::{InventoryPathError, Matcher, Target};
use serde_json::Value;

use super::globs::Form;
use crate::cli::assemble::ResourceId;

/// The name of the target.
pub(super) const RESOURCE_CHANGES: &str = "validation.resourcechange.terraform.cloud.google.com";

const FORM: Form = Form {
    attribute: "address",
    included: &["addresses"],
    excluded: &["excludedAddresses"],
    separator: '.',
    is_part: |_, part| !part.is_empty(),
};

/// One entry of `resource_changes` is one review.
#[derive(Debug)]
pub(super) struct ResourceChangeTarget;

impl Target for ResourceChangeTarget {
    fn name(&self) -> &str {
        RESOURCE_CHANGES
    }

    fn match_schema(&self) -> Value {
        FORM.match_schema()
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        FORM.matcher(spec)
    }

    /// No policy of the public format refers to other resources.
    fn inventory_path(&self, _: &Document) -> Result<Vec<String>, InventoryPathError> {
        Err(InventoryPathError("place in an inventory: policies for changes do not refer to others"))
    }
}

/// True for a plan, and for a state, which is not one.
pub(super) fn is_terraform(document: &Value) -> bool {
    let has = |field: &str| document.get(field).is_some();
    (has("terraform_version") || has("resource_changes")) && !has("apiVersion")
}

/// The changes of a plan; none where it plans only values, for then Terraform leaves the list out.
pub(super) fn resources(mut plan: Value) -> Result<Vec<(ResourceId, Document)>, String> {
    match plan.get_mut("resource_changes").map(Value::take) {
        Some(Value::Array(changes)) => changes.iter().map(resource).collect(),
        Some(_) => Err("resource_changes must be a list".to_owned()),
        None if plan.get("planned_values").is_some() => Ok(Vec::new()),
        None => Err("this is not a plan: make one with `terraform plan -out tfplan` and `terraform show -json tfplan`".to_owned()),
    }
}

fn resource(change: &Value) -> Result<(ResourceId, Document), String> {
    if !change.is_object() {
        return Err(format!("a change is an object, not {change}"));
    }
    let text = |field: &str| {
        let text = change.get(field).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| format!("a change has no {field}"))
    };
    let (name, r#type) = (text("address")?, text("type")?);
    text("name")?;
    if !change.get("change").is_some_and(Value::is_object) {
        return Err(format!("{name} has no change"));
    }
    let document = Document::from_value(change).map_err(|error| format!("{name}: {error}"))?;
    Ok((ResourceId { target: RESOURCE_CHANGES, r#type, name }, document))
}
