//! The three kinds. A Fleet is to a MachineSet what a Deployment is to a ReplicaSet.

use std::collections::BTreeMap;

use controller_declaration::Access;
use examples::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const GROUP: &str = "related-objects.example.com";
/// The label by which a Fleet finds its MachineSets, and which it puts into their selectors.
pub(crate) const FLEET: &str = "related-objects.example.com/fleet";
/// The label that tells the Machines of two MachineSets of a Fleet apart.
pub(crate) const TEMPLATE: &str = "related-objects.example.com/template";
/// The annotation of a MachineSet with the number that a rollback refers to.
pub(crate) const REVISION: &str = "related-objects.example.com/revision";

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "related-objects.example.com",
    version = "v1",
    kind = "Fleet",
    namespaced,
    status = "FleetStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetSpec {
    pub(crate) replicas: u32,
    /// The number of replicas that a rollout may take away at a time.
    #[schemars(range(min = 1))]
    pub(crate) max_unavailable: u32,
    /// The number of MachineSets without Machines that are kept for a rollback.
    pub(crate) history_limit: usize,
    pub(crate) template: Template,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Template {
    pub(crate) image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct FleetStatus {
    #[serde(default)]
    pub(crate) ready: u32,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "related-objects.example.com",
    version = "v1",
    kind = "MachineSet",
    namespaced,
    status = "MachineSetStatus"
)]
pub(crate) struct MachineSetSpec {
    pub(crate) replicas: u32,
    /// Labels of its Machines: those without an owner that have them are adopted, and its own that lose one are released. Without a
    /// label it would adopt all.
    #[schemars(extend("minProperties" = 1))]
    pub(crate) selector: BTreeMap<String, String>,
    pub(crate) template: Template,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct MachineSetStatus {
    pub(crate) ready: u32,
}

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "related-objects.example.com",
    version = "v1",
    kind = "Machine",
    namespaced,
    status = "MachineStatus"
)]
pub(crate) struct MachineSpec {
    pub(crate) image: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct MachineStatus {
    pub(crate) ready: bool,
}

/// The MachineSets, for the declarations of both who act on them.
pub(crate) fn machine_sets() -> Access {
    Access::to(GROUP, "machinesets")
}

/// The Machines, likewise.
pub(crate) fn machines() -> Access {
    Access::to(GROUP, "machines").watches()
}

// === impl Machine ===

impl Machine {
    pub(crate) fn is_ready(&self) -> bool {
        self.metadata.deletion_timestamp.is_none() && self.status.as_ref().is_some_and(|status| status.ready)
    }
}
