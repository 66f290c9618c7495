//! A provider: makes instances in its cloud for objects of its kind. It knows the contract and nothing of the core.
//!
//! The clouds are pretend ones: an instance is a ConfigMap, so that a test can count what was left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use duck_types::DuckType;
use examples::cluster::{bounded, is_not_found, named_after};
use examples::{Cluster, drive};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use kube::runtime::controller::Action;
use schema_merge::{Fragment, Merger, MountPath, Sharing};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::contract;

/// A provider, by what distinguishes it from the other.
#[derive(Clone, Copy)]
pub(crate) struct Cloud {
    name: &'static str,
    kind: &'static str,
    most_cores: i64,
    keeps_contract: bool,
}

pub(crate) const SMALL: Cloud =
    Cloud { name: "small", kind: "SmallMachine", most_cores: 8, keeps_contract: true };
pub(crate) const BIG: Cloud =
    Cloud { name: "big", kind: "BigMachine", most_cores: 1024, keeps_contract: true };
/// Its label claims the contract, and its schema lacks `status.initialization`.
pub(crate) const BROKEN: Cloud =
    Cloud { name: "broken", kind: "BrokenMachine", most_cores: 0, keeps_contract: false };

/// A release of a provider: which version of the contract it keeps. The newer one serves both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    V1,
    V2,
}

/// The request of an object of either kind, and the instance that it has.
#[derive(Deserialize, DuckType)]
#[duck(paths("/spec/cores", "/spec/providerID"))]
struct Asked {
    spec: AskedSpec,
}

#[derive(Deserialize)]
struct AskedSpec {
    cores: i64,
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
}

struct Provider {
    cluster: Cluster,
    cloud: Cloud,
    release: Release,
    api: Api<DynamicObject>,
}

// === impl Cloud ===

impl Cloud {
    /// The kind. Its group holds the namespace, so that several demos can share a cluster: kinds are cluster-wide.
    pub(crate) fn resource(self, namespace: &str, release: Release) -> ApiResource {
        let version = if release == Release::V1 { "v1" } else { "v2" };
        let group = format!("{}.{namespace}.example.com", self.name);
        ApiResource::from_gvk(&GroupVersionKind::gvk(&group, version, self.kind))
    }

    /// The objects of the kind, for the declarations of all who act on them.
    pub(crate) fn objects(self, namespace: &str) -> DeclaredAccess {
        let kind = self.resource(namespace, Release::V1);
        DeclaredAccess::to(kind.group, kind.plural)
    }

    fn finalizer(self) -> String {
        format!("{}.example.com/instance", self.name)
    }

    /// Returns what the provider does, in every release.
    pub(crate) fn declaration(self, namespace: &str) -> Declaration {
        let summary =
            format!("Makes an instance for each {}, and keeps the contract in its fields.", self.kind);
        let objects = self.objects(namespace).watches().gets().adds_finalizer(&self.finalizer());
        Declaration::new(self.name, summary).access(objects.writes(["/spec/providerID", "/status"])).access(
            DeclaredAccess::to("", "configmaps")
                .named(format!("{}-*", self.name))
                .creates()
                .writes(["/data/cores"])
                .deletes(),
        )
    }

    /// The definition, in which two parties describe the object: the contract, and the provider with its `cores`.
    pub(crate) fn definition(self, namespace: &str, release: Release) -> Result<CustomResourceDefinition> {
        let kind = self.resource(namespace, release);
        // The API server keeps an object in one version and copies fields between versions by name, so every version has
        // to declare the fields of all of them: a status written in v2 and stored in v1 would lose what v1 lacks.
        let names: &[&str] = if release == Release::V1 { &["v1"] } else { &["v1", "v2"] };
        let schema = self.schema(names)?;
        let version = |name: &&str| {
            json!({"name": name, "served": true, "storage": *name == "v1", "subresources": {"status": {}},
                   "schema": {"openAPIV3Schema": schema}})
        };
        let versions: Vec<_> = names.iter().map(version).collect();
        let label = |name: &&str| (format!("{}/{name}", contract::LABEL), (*name).to_owned());
        let labels: BTreeMap<_, _> = names.iter().map(label).collect();
        let definition = json!({
            "metadata": {"name": format!("{}.{}", kind.plural, kind.group), "labels": labels},
            "spec": {
                "group": kind.group, "scope": "Namespaced", "versions": versions,
                "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.to_lowercase()},
            },
        });
        Ok(serde_json::from_value(definition)?)
    }

    fn schema(self, contract_versions: &[&str]) -> Result<Value> {
        let own = json!({"type": "object", "properties": {"cores": {"type": "integer"}}});
        let own = Fragment::new(self.name, MountPath::of(["spec"]), own).sharing(Sharing::SharedStrict);
        let mut merger = Merger::new().grant("status", "contract").mount(own);
        for version in contract_versions {
            let mut fields = contract::fragment(version);
            if let Some(status) =
                fields.pointer_mut("/properties/status/properties").and_then(Value::as_object_mut)
                && !self.keeps_contract
            {
                status.remove("initialization");
            }
            let fields = Fragment::new("contract", MountPath::root(), fields);
            merger = merger.mount(fields.sharing(Sharing::SharedStrict));
        }
        Ok(merger.build()?.into_schema())
    }
}

pub(crate) async fn run(cluster: Cluster, cloud: Cloud, release: Release) -> Result<()> {
    let kind = cloud.resource(&cluster.namespace, release);
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind);
    let controller = examples::controller(&cluster, kind);
    drive(controller, Provider { cluster, cloud, release, api }, reconcile).await
}

async fn reconcile(object: Arc<DynamicObject>, provider: Arc<Provider>) -> Result<Action> {
    let Provider { cluster, cloud, api, .. } = provider.as_ref();
    let object = object.as_ref();
    let (name, instance) = (object.name_any(), named_after(cloud.name, object));
    let finalizer = cloud.finalizer();
    if object.metadata.deletion_timestamp.is_some() {
        if object.finalizers().contains(&finalizer) {
            provider.release_instance(&instance).await?;
            // Stating nothing gives up everything that this manager owned: the finalizer with it.
            cluster.change(api, object, json!({})).await?;
        }
        return Ok(Action::await_change());
    }
    let Asked { spec: AskedSpec { cores, provider_id } } = duck_types::view(&object.data)?;
    if cores > cloud.most_cores {
        let message =
            format!("{cores} cores: the largest instance of {} has {}", cloud.name, cloud.most_cores);
        provider.report(object, provider.failure("TooLarge", &message)).await?;
        return Ok(Action::await_change());
    }
    let id = format!("{}://{instance}", cloud.name);
    if provider_id.as_ref() != Some(&id) {
        // The finalizer first: an instance without one would be left behind if the object were deleted now.
        let finalizers = json!({"metadata": {"finalizers": [finalizer]}});
        // Only of what was read: a provider that does not see its last write yet would take the id away for a moment.
        if !cluster.decide(api, object, finalizers).await? {
            return Ok(Action::await_change());
        }
        cluster.apply::<ConfigMap>(&instance, json!({"data": {"cores": cores.to_string()}})).await?;
        if !cluster.is_live(api, object).await? {
            // Another process has released it while this one was frozen, and the object has gone.
            provider.release_instance(&instance).await?;
            return Ok(Action::await_change());
        }
        let with_id = json!({"metadata": {"finalizers": [finalizer]}, "spec": {"providerID": id}});
        cluster.change(api, object, with_id).await?;
        cluster.say(format!("{name} runs as {id}"));
    }
    provider.report(object, json!({"initialization": {"provisioned": true}})).await?;
    Ok(Action::await_change())
}

// === impl Provider ===

impl Provider {
    /// A failure in the shape of the contract version that this release keeps.
    fn failure(&self, reason: &str, message: &str) -> Value {
        match self.release {
            Release::V1 => json!({"failureReason": reason, "failureMessage": message}),
            Release::V2 => json!({"failure": {"reason": reason, "message": message}}),
        }
    }

    async fn report(&self, object: &DynamicObject, status: Value) -> Result<()> {
        if object.data.get("status") == Some(&status) {
            return Ok(());
        }
        self.cluster.change_status(&self.api, object, status).await.map(drop)
    }

    async fn release_instance(&self, instance: &str) -> Result<()> {
        self.cluster.say(format!("{instance} is released"));
        let released = self.cluster.api::<ConfigMap>();
        match bounded(released.delete(instance, &DeleteParams::default())).await {
            Err(error) if !is_not_found(&error) => Err(error),
            _ => Ok(()),
        }
    }
}
