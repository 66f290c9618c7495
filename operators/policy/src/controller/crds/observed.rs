//! The parts of a CRD that are remembered: enough to decide who owns it and whether it is as asked for.

use std::collections::BTreeMap;

use constraint_framework::api::TEMPLATES_GROUP;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::api_version::group_version;
use crate::controller::kinds::CONSTRAINT_VERSION;
use crate::established::{condition, is_established};

use super::revision::{REVISION, REVISION_ANNOTATION, fingerprint};

/// A CRD as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller) struct Observed {
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) owner: Owner,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) kind: String,
    pub(super) terminating: bool,
    pub(super) established: bool,
    /// The version in which its constraints are watched: ours, or the first of those that are served, once it is established.
    pub(super) version: Option<String>,
    /// The reason why the API server does not serve it, and whether its names are another CRD's.
    pub(super) serving_error: Option<(String, bool)>,
    pub(super) fingerprint: String,
    pub(super) revision: u64,
}

/// The controller in a CRD's owner references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Template { name: String, uid: String },
    Other { kind: String, name: String },
    None,
}

impl Observed {
    pub(in crate::controller) fn of(crd: &DynamicObject) -> Self {
        let controller = crd.owner_references().iter().find(|owner| owner.controller == Some(true));
        let text = |pointer: &str| crd.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        Self {
            uid: crd.uid().unwrap_or_default(),
            resource_version: crd.resource_version().unwrap_or_default(),
            owner: controller.map_or(Owner::None, owner),
            labels: crd.labels().clone(),
            kind: text("/spec/names/kind").to_owned(),
            terminating: crd.metadata.deletion_timestamp.is_some(),
            established: is_established(crd),
            version: version(crd),
            serving_error: [("NamesAccepted", true), ("Established", false)].into_iter().find_map(
                |(name, is_conflict)| Some((condition(crd, name, "False")?.to_owned(), is_conflict)),
            ),
            fingerprint: fingerprint(crd.data.get("spec").unwrap_or(&Value::Null)),
            revision: crd
                .annotations()
                .get(REVISION_ANNOTATION)
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
        }
    }

    /// Returns true if a newer release than this one wrote the CRD.
    pub(in crate::controller) fn is_of_newer_release(&self) -> bool {
        self.revision > REVISION
    }

    /// Compares resource versions of the same object, which Kubernetes documents as numbers since 1.35; anything
    /// else counts as not newer.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        let version = |observed: &Self| observed.resource_version.parse::<u128>().ok();
        self.uid == other.uid && version(self) > version(other) && version(other).is_some()
    }
}

fn owner(reference: &OwnerReference) -> Owner {
    let (group, _) = group_version(&reference.api_version);
    if reference.kind == "ConstraintTemplate" && group == TEMPLATES_GROUP {
        return Owner::Template { name: reference.name.clone(), uid: reference.uid.clone() };
    }
    Owner::Other { kind: reference.kind.clone(), name: reference.name.clone() }
}

fn version(crd: &DynamicObject) -> Option<String> {
    let versions = crd.data.pointer("/spec/versions").and_then(Value::as_array)?;
    let served = versions.iter().filter(|entry| entry.get("served") == Some(&Value::Bool(true)));
    let mut names = served.filter_map(|entry| entry.get("name").and_then(Value::as_str));
    let first = names.clone().next();
    names.find(|name| *name == CONSTRAINT_VERSION).or(first).map(str::to_owned)
}
