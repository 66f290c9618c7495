//! One contract, two providers that keep different versions of it, as between Cluster API and its providers.
//!
//! ```text
//! cargo run -p examples --example duck_contract
//! ```
//!
//! The consumer knows no provider. Each provider labels its CustomResourceDefinition with the contract versions that it
//! keeps. Between the two versions here, a flag moved and a map became a list; the consumer has one type for both.

use std::collections::BTreeMap;
use std::error::Error;

use duck_types::contract::{Contract, ContractScope, ContractSpec, FieldSpec, FieldType};
use duck_types::{DuckType, duck_path};
use kube::core::DynamicObject;
use serde::Deserialize;
use serde_json::{Value, json};

/// The consumer's view, whatever the version.
struct Infrastructure {
    ready: bool,
    zones: Vec<String>,
}

#[derive(Deserialize, DuckType)]
#[duck(path = "/status")]
struct V1Beta1 {
    #[serde(default)]
    ready: bool,
    #[serde(default, rename = "failureDomains")]
    zones: BTreeMap<String, Value>,
}

#[derive(Deserialize, DuckType)]
#[duck(path = "/status")]
struct V1Beta2 {
    #[serde(default)]
    initialization: Initialization,
    #[serde(default, rename = "failureDomains")]
    zones: Vec<Zone>,
}

#[derive(Default, Deserialize)]
struct Initialization {
    #[serde(default)]
    provisioned: bool,
}

#[derive(Deserialize)]
struct Zone {
    name: String,
}

impl From<V1Beta1> for Infrastructure {
    fn from(found: V1Beta1) -> Self {
        Self { ready: found.ready, zones: found.zones.into_keys().collect() }
    }
}

impl From<V1Beta2> for Infrastructure {
    fn from(found: V1Beta2) -> Self {
        let zones = found.zones.into_iter().map(|zone| zone.name).collect();
        Self { ready: found.initialization.provisioned, zones }
    }
}

fn contract() -> Contract<Infrastructure> {
    Contract::new("infrastructure cluster", "cluster.x-k8s.io")
        .version::<V1Beta1>("v1beta1", [ready()])
        .version::<V1Beta2>("v1beta2", [provisioned()])
        .scope(ContractScope::Namespaced)
}

fn ready() -> FieldSpec {
    FieldSpec::read(duck_path!("/status/ready"), FieldType::Boolean)
}

fn provisioned() -> FieldSpec {
    FieldSpec::read(duck_path!("/status/initialization/provisioned"), FieldType::Boolean)
}

fn main() -> Result<(), Box<dyn Error>> {
    let contract = contract();
    let small = json!({"ready": true, "failureDomains": {"b": {}, "a": {}}});
    let large =
        json!({"initialization": {"provisioned": true}, "failureDomains": [{"name": "a"}, {"name": "c"}]});
    for (crd, status) in [
        (definition("SmallCluster", "v1", &[("v1beta1", "v1")]), small),
        (definition("LargeCluster", "v2", &[("v1beta1", "v1"), ("v1beta2", "v2")]), large),
    ] {
        // In a cluster: `contract.spec().providers(&client).await?`.
        let provider = contract.spec().discover(&crd)?;
        let object = json!({"kind": provider.resource.kind, "apiVersion": provider.resource.api_version,
                            "metadata": {"name": "one"}, "status": status});
        let object: DynamicObject = serde_json::from_value(object)?;
        let Infrastructure { ready, zones } = contract.view(&provider, &object)?;
        let (kind, version) = (&provider.resource.kind, &provider.resource.version);
        let ready = if ready { "ready" } else { "not ready" };
        println!("{kind} keeps {} in {version}: {ready}, zones {zones:?}", provider.contract_version);
    }

    println!("\nBefore LargeCluster is released:");
    let released = definition("LargeCluster", "v1", &[("v1beta2", "v1")]);
    for violation in contract.spec().check_crd(&released).violations {
        println!("- {violation}");
    }

    println!("\nFrom one version of the contract to the next, for those who provide it:");
    let version =
        |field| ContractSpec::new("infrastructure cluster", "cluster.x-k8s.io").version("v1beta1", [field]);
    for change in version(ready()).diff(&version(provisioned())) {
        println!("- {change}");
    }
    Ok(())
}

/// A definition that forgot to declare the field of the newer contract.
fn definition(kind: &str, version: &str, labels: &[(&str, &str)]) -> Value {
    let labels: BTreeMap<String, &str> = labels
        .iter()
        .map(|(contract, versions)| (format!("cluster.x-k8s.io/{contract}"), *versions))
        .collect();
    let status = json!({"type": "object", "properties": {"ready": {"type": "boolean"}}});
    json!({
        "metadata": {"name": format!("{}s.example.com", kind.to_lowercase()), "labels": labels},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{}s", kind.to_lowercase())},
            "versions": [{
                "name": version, "served": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
            }],
        },
    })
}
