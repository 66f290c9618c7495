//! Addresses, replicas and pod templates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::DuckType;

/// An object that can receive events: Knative's `Addressable`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[duck(crate = "crate", paths("/status/address", "/status/addresses"))]
pub struct Addressable {
    /// The status.
    #[serde(default)]
    pub status: AddressableStatus,
}

/// The addresses in a status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressableStatus {
    /// The only address of older objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// All addresses, which count before `address`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
}

/// One address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The name, such as the scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The certificate authorities of the address, in PEM.
    #[serde(rename = "CACerts", default, skip_serializing_if = "Option::is_none")]
    pub ca_certs: Option<String>,
    /// The audience of its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
}

impl Addressable {
    /// Returns the address to use: the first of `addresses` with a URL, else `address`.
    #[must_use]
    pub fn preferred(&self) -> Option<&Address> {
        let all = self.status.addresses.iter().chain(&self.status.address);
        all.into_iter().find(|address| address.url.as_ref().is_some_and(|url| !url.is_empty()))
    }
}

/// An object with replicas at the usual place, such as `autoscaling/v1` Scale.
///
/// A CustomResourceDefinition can put them elsewhere (`subresources.scale`); the Scale of the subresource has them here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, DuckType)]
#[duck(crate = "crate", paths("/spec/replicas", "/status/replicas", "/status/selector"))]
pub struct Scale {
    /// The specification.
    #[serde(default)]
    pub spec: ScaleSpec,
    /// The status.
    #[serde(default)]
    pub status: ScaleStatus,
}

/// The wanted replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleSpec {
    /// The number; kinds decide what its absence means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
}

/// The observed replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleStatus {
    /// The number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The label selector of the pods, as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// A workload with a pod template: Knative's `PodSpecable`. Containers are addressed by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(
    crate = "crate",
    path = "/spec/template",
    list_map("/spec/containers", "name"),
    list_map("/spec/initContainers", "name")
)]
pub struct PodSpecable {
    /// The metadata of the pods.
    #[serde(default, skip_serializing_if = "is_default")]
    pub metadata: TemplateMetadata,
    /// The specification of the pods.
    #[serde(default)]
    pub spec: PodTemplateSpec,
}

/// The metadata of a pod template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateMetadata {
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The part of a pod's specification that controllers of any workload change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplateSpec {
    /// The containers.
    #[serde(default)]
    pub containers: Vec<Container>,
    /// The containers that run first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// The service account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// The labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
}

/// A container; all that is not named here stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Container {
    /// The name.
    pub name: String,
    /// The image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The environment, as JSON: a value or a reference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<serde_json::Value>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
