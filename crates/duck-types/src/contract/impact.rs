//! The effect of a change of a contract on one provider.
//!
//! The definition is checked by the old contract and by the new one; what only the new one finds, the change broke.
//!
//! ```text
//! old: read /status/ready: boolean                    Box declares boolean   kept
//! new: read /status/ready: boolean, enum [true]       Box declares boolean   broken for reading
//! new: write /spec/paused: boolean                    Box does not declare   broken for writing
//! ```

use serde::Serialize;
use serde_json::Value;

use super::ContractSpec;
use super::discovery::labelled_versions;
use super::report::{ContractViolation, Unverified};

/// The effect of a change of a contract on one provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContractImpact {
    /// The places where the definition kept the old contract and breaks the new one.
    pub broken: Vec<ContractViolation>,
    /// The places where it breaks both, perhaps for another reason.
    pub still_broken: Vec<ContractViolation>,
    /// The places where it broke the old contract and keeps the new one.
    pub repaired: Vec<ContractViolation>,
    /// The places that could be verified for the old contract, and cannot for the new one.
    pub unverified: Vec<Unverified>,
    /// The contract versions that its labels claim and that only the old contract has.
    pub removed: Vec<String>,
    /// The contract versions that its labels claim and that the new contract has.
    pub kept: Vec<String>,
}

impl ContractImpact {
    /// Returns true if its labels claim a version of either contract. Other definitions are not affected by the change.
    #[must_use]
    pub fn is_provider(&self) -> bool {
        !self.kept.is_empty() || !self.removed.is_empty()
    }

    /// Returns true if consumers of the new contract cannot use the provider, though those of the old one could: a field breaks, or
    /// all contract versions that it keeps are gone.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        !self.broken.is_empty() || (self.kept.is_empty() && !self.removed.is_empty())
    }
}

impl ContractSpec {
    /// Returns the effect of the change from this contract to `new` on one provider, a CustomResourceDefinition (v1, as JSON).
    ///
    /// [`diff`](Self::diff) assumes a provider that does no more than the old contract asks for; a definition may do
    /// more, less, or keep a version that did not change.
    #[must_use]
    pub fn impact(&self, new: &Self, crd: &Value) -> ContractImpact {
        impact(self, new, crd)
    }
}

fn impact(old: &ContractSpec, new: &ContractSpec, crd: &Value) -> ContractImpact {
    let (before, after) = (old.check_crd(crd), new.check_crd(crd));
    let claimed = |contract: &ContractSpec| {
        let labelled = labelled_versions(contract, crd).into_iter().map(|(name, _)| name.to_owned());
        let is_known = |name: &String| contract.versions.iter().any(|version| version.name == *name);
        labelled.filter(is_known).collect::<Vec<_>>()
    };
    let kept = claimed(new);
    let removed = claimed(old).into_iter().filter(|version| !kept.contains(version)).collect();
    // A field that could not be used before is not broken by the change, whatever is wrong with it now.
    let is_in = |all: &[ContractViolation], violation: &ContractViolation| {
        all.iter().any(|other| other.at == violation.at && other.field_use == violation.field_use)
    };
    let (still_broken, broken): (Vec<_>, Vec<_>) =
        after.violations.into_iter().partition(|violation| is_in(&before.violations, violation));
    let is_repaired =
        |violation: &ContractViolation| !is_in(&broken, violation) && !is_in(&still_broken, violation);
    let repaired = before.violations.into_iter().filter(is_repaired).collect();
    let is_new = |unverified: &Unverified| !before.unverified.contains(unverified);
    let unverified = after.unverified.into_iter().filter(is_new).collect();
    ContractImpact { broken, still_broken, repaired, unverified, removed, kept }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{FieldSpec, FieldType, FieldUse};
    use super::*;
    use crate::DuckPath;

    fn path(path: &str) -> DuckPath {
        path.parse().unwrap()
    }

    fn contract(version: &str, fields: Vec<FieldSpec>) -> ContractSpec {
        ContractSpec::new("machine", "machines.example.com").version(version, fields)
    }

    fn crd(label: &str) -> Value {
        json!({
            "metadata": {"name": "boxes.example.com", "labels": {(format!("machines.example.com/{label}")): "v1"}},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"id": {"type": "string"}}},
                        "status": {"type": "object", "properties": {"ready": {"type": "string"}}}}}}}],
            },
        })
    }

    #[test]
    fn fields_break_for_reading_and_for_writing() {
        let id = || FieldSpec::read(path("/spec/id"), FieldType::String);
        let ready = FieldSpec::read(path("/status/ready"), FieldType::Boolean);
        let old = contract("v1", vec![id(), ready.clone()]);
        let paused = FieldSpec::write(path("/spec/paused"), FieldType::Boolean);
        let number = FieldSpec::read(path("/spec/id"), FieldType::Integer);
        let found = old.impact(&contract("v1", vec![number, ready, paused]), &crd("v1"));
        let places = |violations: &[ContractViolation]| {
            violations.iter().map(|found| (found.at.clone(), found.field_use)).collect::<Vec<_>>()
        };
        let (read, write) = (Some(FieldUse::Read), Some(FieldUse::Write));
        assert_eq!(
            places(&found.broken),
            [("/spec/id".to_owned(), read), ("/spec/paused".to_owned(), write)]
        );
        assert_eq!(places(&found.still_broken), [("/status/ready".to_owned(), read)]);
        assert!(found.is_breaking());
        let better = old.impact(&contract("v1", vec![id()]), &crd("v1"));
        assert_eq!(places(&better.repaired), [("/status/ready".to_owned(), read)]);
        assert!(!better.is_breaking());
    }

    /// The change asks for something else where the definition had the wrong type anyway.
    #[test]
    fn a_field_that_was_broken_before_is_not_broken_by_the_change() {
        let ready = |kind| FieldSpec::read(path("/status/ready"), kind);
        let old = contract("v1", vec![ready(FieldType::Boolean)]);
        let found = old.impact(&contract("v1", vec![ready(FieldType::Integer)]), &crd("v1"));
        assert_eq!((found.broken.len(), found.still_broken.len(), found.is_breaking()), (0, 1, false));
        assert!(found.is_provider() && !old.impact(&old, &crd("v7")).is_provider());
    }

    #[test]
    fn a_contract_version_that_goes_breaks_those_who_keep_no_other() {
        let old = contract("v1", vec![]).version("v2", []);
        let new = contract("v2", vec![]);
        let found = old.impact(&new, &crd("v1"));
        assert_eq!((found.removed.as_slice(), found.is_breaking()), (&["v1".to_owned()][..], true));
        let mut both = crd("v1");
        both["metadata"]["labels"]["machines.example.com/v2"] = json!("v1");
        let found = old.impact(&new, &both);
        assert_eq!((found.kept.as_slice(), found.is_breaking()), (&["v2".to_owned()][..], false));
        assert!(!old.impact(&new, &crd("v2")).is_breaking());
    }
}
