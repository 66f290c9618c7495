//! The three kinds. A Fleet is to a MachineSet what a Deployment is to a ReplicaSet.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anyhow::Result;
use controller_declaration::DeclaredAccess;
use examples::cluster::bounded;
use examples::{Cluster, Condition};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams};
use kube::{CustomResource, KubeSchema, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) const GROUP: &str = "related-objects.example.com";
/// The label by which a Fleet finds its MachineSets, and which it puts into their selectors.
pub(crate) const FLEET: &str = "related-objects.example.com/fleet";
/// The label that tells the Machines of two MachineSets of a Fleet apart.
pub(crate) const TEMPLATE: &str = "related-objects.example.com/template";
/// The annotation of a MachineSet with the number that a rollback refers to.
pub(crate) const REVISION: &str = "related-objects.example.com/revision";

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, KubeSchema)]
#[kube(
    group = "related-objects.example.com",
    version = "v1",
    kind = "Fleet",
    namespaced,
    status = "FleetStatus",
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("the name is at most 63 characters long: the MachineSets carry it as a label")
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
    #[schemars(extend("minProperties" = 1, "maxProperties" = 16))]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "cannot be changed: its Machines would be left behind"}]))]
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
pub(crate) fn machine_sets() -> DeclaredAccess {
    DeclaredAccess::to(GROUP, "machinesets")
}

/// The Machines, likewise.
pub(crate) fn machines() -> DeclaredAccess {
    DeclaredAccess::to(GROUP, "machines").watches()
}

/// The uid of the controller of an object; other owners may be there too.
pub(crate) fn controller_of(object: &impl ResourceExt) -> Option<String> {
    let is_controller = |owner: &&OwnerReference| owner.controller == Some(true);
    object.owner_references().iter().find(is_controller).map(|owner| owner.uid.clone())
}

/// Makes `owner` the controller of an object, or takes `released` out of its owners. The resource version makes it a decision about the
/// object as it was read: of two that want to adopt it, one fails.
pub(crate) async fn set_controller<K>(
    cluster: &Cluster,
    object: &K,
    owner: Option<OwnerReference>,
    released: Option<String>,
) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let stay =
        object.owner_references().iter().filter(|found| Some(&found.uid) != released.as_ref()).cloned();
    let owners: Vec<_> = stay.chain(owner).collect();
    let version = object.resource_version();
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owners, "resourceVersion": version}}));
    let parameters = PatchParams { field_manager: Some(cluster.role.clone()), ..PatchParams::default() };
    bounded(cluster.api::<K>().patch(&object.name_any(), &parameters, &patch)).await?;
    let (kind, name) = (K::kind(&()), object.name_any());
    cluster.say(format!("{kind} {name} is {}", if released.is_some() { "released" } else { "adopted" }));
    Ok(())
}

// === impl Machine ===

impl Machine {
    pub(crate) fn is_ready(&self) -> bool {
        self.metadata.deletion_timestamp.is_none() && self.status.as_ref().is_some_and(|status| status.ready)
    }
}
