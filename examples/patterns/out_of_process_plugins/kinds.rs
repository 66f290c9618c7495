//! A Machine that needs a zone, and the Extension that registers a plug-in which has a say in it.

use std::collections::BTreeMap;
use std::time::Duration;

use examples::Condition;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const GROUP: &str = "plugins.example.com";

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "plugins.example.com", version = "v1", kind = "Machine", namespaced, status = "MachineStatus")]
pub(crate) struct MachineSpec {
    pub(crate) cores: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct MachineStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone: Option<String>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

/// Two parties write the spec: the plug-in says where it is, the administrator what depends on it.
#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "plugins.example.com",
    version = "v1",
    kind = "Extension",
    namespaced,
    status = "ExtensionStatus"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtensionSpec {
    /// An HTTPS address, such as `https://127.0.0.1:8443`.
    #[serde(default)]
    pub(crate) endpoint: Option<String>,
    /// PEM certificates, in base64, of the authorities that may have signed the plug-in's certificate.
    #[serde(default)]
    pub(crate) ca_bundle: Option<String>,
    #[serde(default)]
    pub(crate) failure_policy: FailurePolicy,
    /// For each attempt; there are up to three.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 30))]
    pub(crate) timeout_seconds: u64,
    /// Labels of the Machines that are asked about; empty for all.
    #[serde(default)]
    pub(crate) selector: BTreeMap<String, String>,
}

fn ten() -> u64 {
    10
}

/// The action of a Machine without an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(crate) enum FailurePolicy {
    /// It waits.
    #[default]
    Fail,
    /// It goes on as if the plug-in were not there.
    Ignore,
}

/// The aggregator writes it, with more than is read here.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ExtensionStatus {
    /// True from the first discovery call on that the plug-in has answered.
    #[serde(default)]
    pub(crate) discovered: bool,
    /// The status as each process of the controller knows it.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub(crate) by_pod: Vec<Instance>,
    /// `Ready`: every process of the controller calls the plug-in of this generation.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

/// A process of the controller.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct Instance {
    /// The name of its pod.
    pub(crate) id: String,
    /// The generation of the Extension that it has read.
    #[serde(default)]
    pub(crate) observed_generation: i64,
    /// The reason why it does not call the plug-in of this generation.
    #[serde(default)]
    pub(crate) errors: Vec<EndpointError>,
    #[serde(flatten)]
    pub(crate) known: Known,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct EndpointError {
    /// `NoEndpoint` or `DiscoveryFailed`.
    pub(crate) code: String,
    /// A sentence that tells the user what to do.
    pub(crate) message: String,
}

/// The plug-in that one process calls, and the state of its calls.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Known {
    /// The endpoint that is called: the one of the spec, once it has answered the discovery call.
    #[serde(default)]
    pub(crate) endpoint: String,
    /// The hook version that both sides speak.
    #[serde(default)]
    pub(crate) version: String,
    /// `Closed`, `Open` or `HalfOpen`.
    #[serde(default)]
    pub(crate) circuit: String,
    /// True while calls wait for one of the places.
    #[serde(default)]
    pub(crate) saturated: bool,
}

// === impl Extension ===

impl Extension {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.spec.timeout_seconds)
    }

    pub(crate) fn selects(&self, machine: &Machine) -> bool {
        self.spec.selector.iter().all(|(key, value)| machine.labels().get(key) == Some(value))
    }
}
