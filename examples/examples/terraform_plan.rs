//! Judges a Terraform plan by ConstraintTemplates: what would be created, changed or destroyed, before it is.
//!
//! ```text
//! cargo run -p examples --example terraform_plan                      # the plan in examples/terraform
//! terraform show -json tfplan > plan.json
//! cargo run -p examples --example terraform_plan -- plan.json         # yours
//! ```
//!
//! What a plan is, and what a constraint can match in it, is the target below. Templates, constraints, enforcement
//! actions and Rego are the framework's, and the same as for Kubernetes.

use std::error::Error;
use std::sync::Arc;

use constraint_framework::api::{Constraint, FieldError, FieldErrors};
use constraint_framework::driver::{Budget, Driver, RegoDriver};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review};
use constraint_framework::target::{InventoryPathError, MatchError, Matcher, Route, Target};
use serde::Deserialize;
use serde_json::{Value, json};

const PLAN: &str = include_str!("../terraform/plan.json");

/// One entry of `resource_changes` is one review.
#[derive(Debug)]
struct TerraformTarget;

/// `spec.match` of a constraint: resource types, and what is about to be done to them. A list left out matches all.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Selection {
    types: Vec<String>,
    actions: Vec<String>,
}

impl Target for TerraformTarget {
    fn name(&self) -> &str {
        "plan.terraform.example"
    }

    fn match_schema(&self) -> Value {
        let words = json!({"type": "array", "items": {"type": "string"}});
        json!({"type": "object", "properties": {"types": words, "actions": words}})
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        let selection: Selection = match spec {
            None => Selection::default(),
            Some(spec) => Selection::deserialize(spec)
                .map_err(|error| FieldErrors::from(FieldError::new("/spec/match", error.to_string())))?,
        };
        const ACTIONS: [&str; 5] = ["no-op", "create", "read", "update", "delete"];
        let wrong =
            selection.actions.iter().enumerate().filter(|(_, action)| !ACTIONS.contains(&action.as_str()));
        let errors = wrong.map(|(position, action)| {
            let rule = format!("must be one of {}, not {action:?}", ACTIONS.join(", "));
            FieldError::new(format!("/spec/match/actions/{position}"), rule)
        });
        FieldErrors::check(errors.collect())?;
        Ok(Box::new(selection))
    }

    /// Resources can refer to others of the plan as `data.inventory[type][address]`.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError> {
        let text = |field| object.json().get(field).and_then(Value::as_str).ok_or(InventoryPathError(field));
        Ok(vec![text("type")?.to_owned(), text("address")?.to_owned()])
    }
}

impl Matcher for Selection {
    /// Terraform knows no groups and kinds.
    fn route(&self) -> Route {
        Route::everywhere()
    }

    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        let change = review.object.as_ref().ok_or(MatchError::NoObject)?.json();
        let actions = change.pointer("/change/actions").and_then(Value::as_array).into_iter().flatten();
        let has_type =
            self.types.is_empty() || self.types.iter().any(|listed| change["type"] == listed.as_str());
        let has_action = self.actions.is_empty()
            || actions
                .filter_map(Value::as_str)
                .any(|action| self.actions.iter().any(|listed| listed == action));
        Ok(has_type && has_action)
    }
}

impl TerraformTarget {
    /// Policies see the change as `input.review.object`.
    fn review(&self, change: Document) -> Review {
        let mut review = Review::default();
        review.target = self.name().to_owned();
        review.object = Some(change);
        review
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan: Value = match std::env::args().nth(1) {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => serde_json::from_str(PLAN)?,
    };
    let changes = plan.get("resource_changes").and_then(Value::as_array).ok_or(
        "this is no plan: make one with `terraform plan -out tfplan` and `terraform show -json tfplan`",
    )?;
    let changes = changes.iter().map(Document::from_value).collect::<Result<Vec<_>, _>>()?;
    let policies = policies(&changes)?;
    for change in changes {
        let address = change.json()["address"].as_str().unwrap_or_default().to_owned();
        let verdict =
            policies.review(&TerraformTarget.review(change), EnforcementPoint::GATOR, &Budget::default());
        match (verdict.is_denied(), verdict.warnings().as_slice()) {
            (true, _) => println!("DENIED   {address}: {}", verdict.denial()),
            (false, []) => println!("FINE     {address}"),
            (false, warnings) => println!("WARNING  {address}: {}", warnings.join("; ")),
        }
    }
    Ok(())
}

fn policies(changes: &[Document]) -> Result<Arc<PolicySet>, Box<dyn Error>> {
    let compiler = Compiler::new(
        [Arc::new(TerraformTarget) as Arc<dyn Target>],
        [Arc::new(RegoDriver) as Arc<dyn Driver>],
    );
    let mut builder = PolicySetBuilder::new(compiler);
    builder.put_template(&tags_template())?;
    builder.put_template(&replacement_template())?;
    for constraint in constraints() {
        builder.put_constraint(Constraint::from_value(&constraint)?)?;
    }
    for change in changes {
        builder.put_object(&TerraformTarget, change.clone())?;
    }
    Ok(builder.build())
}

fn template(kind: &str, parameters: Value, rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": parameters}}},
            "targets": [{"target": TerraformTarget.name(), "rego": rego}],
        },
    })
}

fn tags_template() -> Value {
    let parameters = json!({
        "type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}
    });
    let rego = r#"
        package tags
        violation[{"msg": msg}] {
            tag := input.parameters.tags[_]
            not has_tag(input.review.object.change.after, tag)
            msg := sprintf("tag %v is missing", [tag])
        }
        has_tag(values, tag) { values.tags[tag] }"#;
    template("TerraformTags", parameters, rego)
}

fn replacement_template() -> Value {
    let rego = r#"
        package replacement
        violation[{"msg": msg}] {
            actions := {action | action := input.review.object.change.actions[_]}
            actions == {"create", "delete"}
            msg := sprintf("%v would be destroyed and created anew", [input.review.object.type])
        }"#;
    template("TerraformReplacement", json!({"type": "object"}), rego)
}

fn constraints() -> [Value; 2] {
    let constraint = |kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec,
        })
    };
    [
        constraint(
            "TerraformTags",
            "buckets-have-owners",
            json!({
                "match": {"types": ["aws_s3_bucket"], "actions": ["create", "update"]},
                "parameters": {"tags": ["owner"]},
            }),
        ),
        constraint(
            "TerraformReplacement",
            "no-silent-replacement",
            json!({"match": {"types": ["aws_db_instance"]}, "enforcementAction": "warn"}),
        ),
    ]
}
