//! The annotation by which a template says which kinds its policy refers to.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

const ANNOTATION: &str = "metadata.gatekeeper.sh/requires-sync-data";

/// Group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub(super) struct Gvk {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// Kinds of which one must be synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement(BTreeSet<Gvk>);

/// Any combination of a group, a version and a kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Clause {
    groups: Vec<String>,
    versions: Vec<String>,
    kinds: Vec<String>,
}

impl Requirement {
    pub(super) fn is_met(&self, has: &impl Fn(&Gvk) -> bool) -> bool {
        self.0.iter().any(has)
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, gvk) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(" or ")?;
            }
            write!(f, "{}/{}:{}", gvk.group, gvk.version, gvk.kind)?;
        }
        Ok(())
    }
}

/// The requirements of a template; none without the annotation.
///
/// # Errors
/// The annotation is not what Gatekeeper reads.
pub(super) fn of(template: &Value) -> Result<Vec<Requirement>, String> {
    let annotations = template.pointer("/metadata/annotations");
    let Some(text) = annotations.and_then(|all| all.get(ANNOTATION)).and_then(Value::as_str) else {
        return Ok(Vec::new());
    };
    // Gatekeeper's library has the JSON in quotes, on lines of its own.
    let text = text.trim_matches(['\n', '"']);
    let compact: Vec<Vec<Clause>> =
        serde_json::from_str(text).map_err(|error| format!("annotation {ANNOTATION}: {error}"))?;
    Ok(compact.iter().map(|clauses| Requirement(clauses.iter().flat_map(Clause::kinds).collect())).collect())
}

impl Clause {
    fn kinds(&self) -> BTreeSet<Gvk> {
        let mut found = BTreeSet::new();
        for group in &self.groups {
            for version in &self.versions {
                let gvk = |kind: &String| Gvk {
                    group: group.clone(),
                    version: version.clone(),
                    kind: kind.clone(),
                };
                found.extend(self.kinds.iter().map(gvk));
            }
        }
        found
    }
}
