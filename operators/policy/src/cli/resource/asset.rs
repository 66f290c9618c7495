//! Target `validation.gcp.forsetisecurity.org`: an asset of Cloud Asset Inventory, selected by where it lies.

use constraint_framework::api::FieldErrors;
use constraint_framework::review::Document;
use constraint_framework::target::{InventoryPathError, Matcher, Target};
use serde_json::{Map, Value, json};

use super::globs::Form;
use super::legacy;
use crate::cli::assemble::ResourceId;

/// The name of the target.
pub(super) const ASSETS: &str = "validation.gcp.forsetisecurity.org";

const FORM: Form = Form {
    attribute: "ancestry_path",
    included: &["ancestries", "target"],
    excluded: &["excludedAncestries", "exclude"],
    separator: '/',
    is_part,
};

/// A kind of ancestor or a number, with stars; after `projects` also an id. Exports have `unknown` where they do not know.
fn is_part(before: Option<&str>, part: &str) -> bool {
    let is_kind = ["organizations", "folders", "projects", "unknown"].contains(&part);
    let is_number = !part.is_empty() && part.trim_end_matches('*').bytes().all(|byte| byte.is_ascii_digit());
    let is_id =
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-:.".contains(&byte));
    is_kind || is_number || (before == Some("projects") && is_id)
}

/// Content of an asset, one of these.
const CONTENTS: [&str; 7] = [
    "resource",
    "iam_policy",
    "org_policy",
    "v2_org_policies",
    "access_policy",
    "access_level",
    "service_perimeter",
];

/// One asset is one review.
#[derive(Debug)]
pub(super) struct AssetTarget;

impl Target for AssetTarget {
    fn name(&self) -> &str {
        ASSETS
    }

    fn match_schema(&self) -> Value {
        FORM.match_schema()
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        FORM.matcher(spec)
    }

    /// No policy of the public format refers to other assets.
    fn inventory_path(&self, _: &Document) -> Result<Vec<String>, InventoryPathError> {
        Err(InventoryPathError("place in an inventory: policies for assets do not refer to others"))
    }
}

/// An asset, with its ancestry as a path.
pub(super) fn resource(asset: Value) -> Result<(ResourceId, Document), String> {
    let Value::Object(mut asset) = asset else { return Err(format!("an asset is an object, not {asset}")) };
    let text = |field: &str| asset.get(field).and_then(Value::as_str).map(str::to_owned);
    let name = text("name").ok_or("an asset has no name")?;
    let r#type = text("asset_type")
        .ok_or_else(|| format!("{name} has no asset_type: export it with `gcloud asset export`"))?;
    let path =
        ancestry_path(&asset).ok_or_else(|| format!("{name} has neither ancestors nor an ancestry_path"))?;
    let contents =
        CONTENTS.iter().filter(|field| asset.get(**field).is_some_and(|content| !content.is_null()));
    if contents.count() != 1 {
        return Err(format!("{name} must have exactly one of {}", CONTENTS.join(", ")));
    }
    asset.insert("ancestry_path".to_owned(), json!(path));
    let document = Document::from_value(&Value::Object(asset)).map_err(|error| format!("{name}: {error}"))?;
    Ok((ResourceId { target: ASSETS, r#type, name }, document))
}

/// The ancestors, outermost first: `organizations/1/folders/2/projects/3`. Older exports have the path, with other words.
fn ancestry_path(asset: &Map<String, Value>) -> Option<String> {
    let ancestors =
        asset.get("ancestors").and_then(Value::as_array).filter(|ancestors| !ancestors.is_empty());
    if let Some(ancestors) = ancestors {
        return ancestors
            .iter()
            .rev()
            .map(Value::as_str)
            .collect::<Option<Vec<_>>>()
            .map(|path| path.join("/"));
    }
    let path = asset.get("ancestry_path")?.as_str().filter(|path| !path.is_empty())?;
    Some(legacy::plural(path))
}
