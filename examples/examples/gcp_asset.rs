//! Judges Google Cloud assets by ConstraintTemplates, as Cloud Asset Inventory exports them.
//!
//! ```text
//! cargo run -p examples --example gcp_asset                           # the assets in examples/gcp
//! gcloud asset list --project PROJECT --content-type resource --format json > assets.json
//! cargo run -p examples --example gcp_asset -- assets.json            # yours
//! ```
//!
//! Constraints apply to asset types, and to what lies below organizations, folders and projects. That is the target
//! below; everything else is the framework's.

use std::error::Error;
use std::sync::Arc;

use constraint_framework::api::{Constraint, FieldError, FieldErrors};
use constraint_framework::driver::{Budget, Driver, RegoDriver};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review};
use constraint_framework::target::{InventoryPathError, MatchError, Matcher, Route, Target};
use serde::Deserialize;
use serde_json::{Value, json};

const ASSETS: &str = include_str!("../gcp/assets.json");

/// One asset is one review.
#[derive(Debug)]
struct AssetTarget;

/// `spec.match` of a constraint. A list left out matches all; an excluded ancestor wins over an included one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Scope {
    asset_types: Vec<String>,
    ancestors: Vec<String>,
    excluded_ancestors: Vec<String>,
}

impl Target for AssetTarget {
    fn name(&self) -> &str {
        "asset.gcp.example"
    }

    fn match_schema(&self) -> Value {
        let words = json!({"type": "array", "items": {"type": "string"}});
        let ancestors = json!({
            "type": "array", "items": {"type": "string", "pattern": "^(organizations|folders|projects)/[^/]+$"}
        });
        json!({
            "type": "object",
            "properties": {"assetTypes": words, "ancestors": ancestors, "excludedAncestors": ancestors},
        })
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        let scope = spec.map(Scope::deserialize).transpose();
        let scope =
            scope.map_err(|error| FieldErrors::from(FieldError::new("/spec/match", error.to_string())))?;
        Ok(Box::new(scope.unwrap_or_default()))
    }

    /// Policies can refer to other assets as `data.inventory[type][name]`.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError> {
        let text = |field| object.json().get(field).and_then(Value::as_str).ok_or(InventoryPathError(field));
        Ok(vec![text("asset_type")?.to_owned(), text("name")?.to_owned()])
    }
}

impl Matcher for Scope {
    /// Assets have types, and no groups and kinds.
    fn route(&self) -> Route {
        Route::everywhere()
    }

    fn matches(&self, review: &Review) -> Result<bool, MatchError> {
        let asset = review.object.as_ref().ok_or(MatchError::NoObject)?.json();
        let lies_below = |listed: &[String]| {
            let mut ancestors = asset["ancestors"].as_array().into_iter().flatten().filter_map(Value::as_str);
            ancestors.any(|ancestor| listed.iter().any(|listed| listed == ancestor))
        };
        let has_type = self.asset_types.is_empty()
            || self.asset_types.iter().any(|listed| asset["asset_type"] == listed.as_str());
        let included = self.ancestors.is_empty() || lies_below(&self.ancestors);
        Ok(has_type && included && !lies_below(&self.excluded_ancestors))
    }
}

impl AssetTarget {
    /// Policies see the asset as `input.review.object`.
    fn review(&self, asset: Document) -> Review {
        let mut review = Review::default();
        review.target = self.name().to_owned();
        review.object = Some(asset);
        review
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let assets: Value = match std::env::args().nth(1) {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        None => serde_json::from_str(ASSETS)?,
    };
    // One asset, or a list of them.
    let assets = match assets {
        Value::Array(assets) => assets,
        asset => vec![asset],
    };
    let policies = policies()?;
    for asset in &assets {
        let asset = Document::from_value(asset)?;
        let name = asset.json()["name"].as_str().unwrap_or_default().to_owned();
        let verdict =
            policies.review(&AssetTarget.review(asset), EnforcementPoint::AUDIT, &Budget::default());
        match verdict.is_denied() {
            true => println!("VIOLATES  {name}: {}", verdict.denial()),
            false => println!("COMPLIES  {name}"),
        }
    }
    Ok(())
}

fn policies() -> Result<Arc<PolicySet>, Box<dyn Error>> {
    let compiler =
        Compiler::new([Arc::new(AssetTarget) as Arc<dyn Target>], [Arc::new(RegoDriver) as Arc<dyn Driver>]);
    let mut builder = PolicySetBuilder::new(compiler);
    builder.put_template(&template())?;
    builder.put_constraint(Constraint::from_value(&constraint())?)?;
    Ok(builder.build())
}

fn template() -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": "gcpassetlocation"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "GCPAssetLocation"}, "validation": {"openAPIV3Schema": {
                "type": "object", "properties": {"prefixes": {"type": "array", "items": {"type": "string"}}},
            }}}},
            "targets": [{"target": AssetTarget.name(), "rego": r#"
                package location
                violation[{"msg": msg, "details": {"location": location}}] {
                    location := lower(input.review.object.resource.data.location)
                    allowed := [prefix | prefix := input.parameters.prefixes[_]; startswith(location, prefix)]
                    count(allowed) == 0
                    msg := sprintf("lies in %v; allowed: %v", [location, concat(", ", input.parameters.prefixes)])
                }"#}],
        },
    })
}

fn constraint() -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "GCPAssetLocation",
        "metadata": {"name": "buckets-stay-in-europe"},
        "spec": {
            "match": {
                "assetTypes": ["storage.googleapis.com/Bucket"],
                "ancestors": ["organizations/77"],
                "excludedAncestors": ["folders/sandbox"],
            },
            "parameters": {"prefixes": ["europe-", "eu"]},
        },
    })
}
