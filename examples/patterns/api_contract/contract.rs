//! The contract: the fields that the core reads in the object of any provider, in two versions.
//!
//! A provider labels its definition `contract.example.com/<contract version>: <API versions that keep it>`, and mounts
//! [`fragment`] into its schema. The core reads both versions as one [`Infrastructure`].

use duck_types::contract::{Contract, ContractError, ContractScope, FieldSpec, FieldType, Provider};
use duck_types::{DuckType, duck_path};
use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::{Value, json};

/// The part of the label before the slash.
pub(crate) const LABEL: &str = "contract.example.com";

/// The core's view, whatever the version.
#[derive(Default)]
pub(crate) struct Infrastructure {
    pub(crate) provider_id: Option<String>,
    pub(crate) provisioned: bool,
    pub(crate) failure: Option<Failure>,
}

#[derive(Deserialize)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Initialization {
    provisioned: bool,
}

#[derive(Deserialize, DuckType)]
#[duck(paths(
    "/spec/providerID",
    "/status/initialization/provisioned",
    "/status/failureReason",
    "/status/failureMessage"
))]
#[serde(default)]
#[derive(Default)]
struct V1 {
    spec: Spec,
    status: StatusV1,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatusV1 {
    initialization: Initialization,
    failure_reason: Option<String>,
    failure_message: String,
}

#[derive(Default, Deserialize, DuckType)]
#[duck(paths("/spec/providerID", "/status/initialization/provisioned", "/status/failure"))]
#[serde(default)]
struct V2 {
    spec: Spec,
    status: StatusV2,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusV2 {
    initialization: Initialization,
    failure: Option<Failure>,
}

impl From<V1> for Infrastructure {
    fn from(V1 { spec, status }: V1) -> Self {
        let message = status.failure_message;
        let failure = status.failure_reason.map(|reason| Failure { reason, message });
        Self { provider_id: spec.provider_id, provisioned: status.initialization.provisioned, failure }
    }
}

impl From<V2> for Infrastructure {
    fn from(V2 { spec, status }: V2) -> Self {
        let provisioned = status.initialization.provisioned;
        Self { provider_id: spec.provider_id, provisioned, failure: status.failure }
    }
}

pub(crate) fn contract() -> Contract<Infrastructure> {
    let provider_id = || FieldSpec::read(duck_path!("/spec/providerID"), FieldType::String);
    let provisioned =
        || FieldSpec::read(duck_path!("/status/initialization/provisioned"), FieldType::Boolean);
    let failure_reason = FieldSpec::read(duck_path!("/status/failureReason"), FieldType::String);
    let failure_message = FieldSpec::read(duck_path!("/status/failureMessage"), FieldType::String);
    let failure = FieldSpec::read(duck_path!("/status/failure"), FieldType::Object);
    Contract::new("infrastructure of a Machine", LABEL)
        .version::<V1>("v1", [provider_id(), provisioned(), failure_reason, failure_message])
        .version::<V2>("v2", [provider_id(), provisioned(), failure])
        .scope(ContractScope::Namespaced)
}

/// Reads the object of a provider; one without any of the fields has not begun.
pub(crate) fn view(
    contract: &Contract<Infrastructure>,
    provider: &Provider,
    object: &DynamicObject,
) -> Result<Infrastructure, ContractError> {
    match contract.view(provider, object) {
        Err(ContractError::Duck { source, .. }) if source.is_missing() => Ok(Infrastructure::default()),
        read => read,
    }
}

/// The schema of the contract's fields, for providers to merge with their own.
pub(crate) fn fragment(version: &str) -> Value {
    let text = json!({"type": "string"});
    let initialization = json!({"type": "object", "properties": {"provisioned": {"type": "boolean"}}});
    let status = match version {
        "v1" => json!({"initialization": initialization, "failureReason": text, "failureMessage": text}),
        _ => json!({
            "initialization": initialization,
            "failure": {"type": "object", "required": ["reason"], "properties": {"reason": text, "message": text}},
        }),
    };
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"providerID": text}},
        "status": {"type": "object", "properties": status},
    }})
}
