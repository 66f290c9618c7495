//! The kind of the core. It names no provider: `spec.infrastructureRef` may refer to any kind that keeps the contract.

use examples::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The condition that the core reports.
pub(crate) const CONDITION: &str = "InfrastructureReady";
/// The condition while the object of a former provider cannot be deleted.
pub(crate) const FORMER: &str = "FormerInfrastructureDeleted";

#[derive(Clone, Debug, PartialEq, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "contract.example.com",
    version = "v1",
    kind = "Machine",
    namespaced,
    status = "MachineStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineSpec {
    pub(crate) infrastructure_ref: Reference,
}

/// An object in the same namespace. No version: that is decided by the contract, see `contract.rs`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reference {
    pub(crate) api_group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provider_id: Option<String>,
    /// The object that is in use, or that was and is still to be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) infrastructure: Option<Reference>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}
