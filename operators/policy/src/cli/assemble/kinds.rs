//! Gatekeeper's own kinds among the inputs: those that have no effect here, and names that are none of them.
//!
//! `kind: AssignMetdata` or `kind: ConstraintTemplates` is an object like any other to `gator test`. It is judged here, too,
//! with a warning: a policy that does nothing would pass everything.

use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use constraint_framework::expansion::EXPANSION_GROUP;
use serde_json::Value;

use super::{Topic, Warning, text};
use crate::api_version::group;
use crate::cli::manifest::Manifest;
use crate::cli::mutator;

const PROVIDERS_GROUP: &str = "externaldata.gatekeeper.sh";

/// Gatekeeper's groups, and all kinds of each. The kinds of constraints are those of the templates.
const GROUPS: [(&str, &[&str]); 7] = [
    (TEMPLATES_GROUP, &["ConstraintTemplate"]),
    (EXPANSION_GROUP, &["ExpansionTemplate"]),
    (mutator::GROUP, &["Assign", "AssignMetadata", "ModifySet", "AssignImage"]),
    (PROVIDERS_GROUP, &["Provider"]),
    ("config.gatekeeper.sh", &["Config"]),
    ("syncset.gatekeeper.sh", &["SyncSet"]),
    ("test.gatekeeper.sh", &["Suite"]),
];

/// Returns true if an object of that group is part of the policies, and not one that they are about.
pub(super) fn is_of_gatekeeper(group: &str) -> bool {
    group == CONSTRAINTS_GROUP || GROUPS.iter().any(|(known, _)| *known == group)
}

/// Warnings of objects that their author probably takes for policies.
pub(super) fn warnings<'a>(manifests: &'a [Manifest]) -> impl Iterator<Item = Warning> + 'a {
    manifests.iter().filter_map(warning)
}

fn warning(manifest: &Manifest) -> Option<Warning> {
    let (group, kind) = (group(&manifest.object), text(&manifest.object, "/kind"));
    let (_, kinds) = GROUPS.iter().find(|(known, _)| *known == group)?;
    if group == PROVIDERS_GROUP && kinds.contains(&kind) {
        let text = "this Provider is not asked: templates that call external_data are refused";
        return Some(Warning::new(Topic::Provider, manifest, text));
    }
    if kinds.contains(&kind) || is_list(&manifest.object) {
        return None;
    }
    let text =
        format!("{group} has no kind {kind}, only {}: it is judged as any other object", kinds.join(", "));
    Some(Warning::new(Topic::Kind, manifest, text))
}

/// Lists are their items, each a manifest of its own; an empty one is nothing.
fn is_list(object: &Value) -> bool {
    object.get("items").is_some_and(Value::is_array)
}
