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

/// The actions of Terraform on a resource; two of them replace or forget it.
const ACTIONS: [&str; 6] = ["no-op", "create", "read", "update", "delete", "forget"];

/// The changes of a plan; none where it plans only values, for then Terraform leaves the list out.
///
/// A plan that is incomplete, or of a format that may mean something else, is an error: a verdict does not show what was left out of it.
pub(super) fn resources(mut plan: Value) -> Result<Vec<(ResourceId, Document)>, String> {
    let changes = plan.get_mut("resource_changes").map(Value::take);
    if changes.is_none() && plan.get("planned_values").is_none() {
        return Err("this is not a plan: make one with `terraform plan -out tfplan` and `terraform show -json tfplan`".to_owned());
    }
    check_format(plan.get("format_version"))?;
    if plan.get("errored") == Some(&Value::Bool(true)) {
        return Err("the plan is incomplete, Terraform has reported errors: plan again".to_owned());
    }
    let deferred = plan.get("deferred_changes").and_then(Value::as_array).map_or(0, Vec::len);
    if deferred > 0 {
        return Err(format!(
            "the plan is incomplete, Terraform has put off {deferred} changes (deferred_changes)"
        ));
    }
    match changes {
        Some(Value::Array(changes)) => changes.iter().map(resource).collect(),
        Some(_) => Err("resource_changes must be a list".to_owned()),
        None if has_resources(&plan) => Err("the plan has planned_values and no resource_changes".to_owned()),
        None => Ok(Vec::new()),
    }
}

/// Terraform counts the first number up when the meaning changes; 0 is of Terraform before 1.1.
fn check_format(version: Option<&Value>) -> Result<(), String> {
    let Some(version) = version else {
        return Err("the plan has no format_version: make it with `terraform show -json`".to_owned());
    };
    let major = version.as_str().and_then(|text| text.split_once('.')).map(|(major, _)| major);
    match major {
        Some("0" | "1") => Ok(()),
        _ => Err(format!("the plan has format_version {version}: 0.x and 1.x are understood")),
    }
}

fn has_resources(plan: &Value) -> bool {
    let has = |part: &str| {
        let part = plan.pointer(&format!("/planned_values/root_module/{part}"));
        part.and_then(Value::as_array).is_some_and(|part| !part.is_empty())
    };
    has("resources") || has("child_modules")
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
    let Some(planned) = change.get("change").filter(|planned| planned.is_object()) else {
        return Err(format!("{name} has no change"));
    };
    // Policies select by them: one that is missing or unknown would pass in silence.
    let actions = planned.get("actions").and_then(Value::as_array).filter(|actions| !actions.is_empty());
    let actions = actions.ok_or_else(|| format!("{name} has no change.actions"))?;
    if let Some(unknown) = actions.iter().find(|it| !it.as_str().is_some_and(|it| ACTIONS.contains(&it))) {
        let known = ACTIONS.join(", ");
        return Err(format!("{name} has the action {unknown} in change.actions: {known} are understood"));
    }
    let document = Document::from_value(change).map_err(|error| format!("{name}: {error}"))?;
    Ok((ResourceId { target: RESOURCE_CHANGES, r#type, name }, document))
}
