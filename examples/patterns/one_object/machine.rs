//! The owner of Machines: makes an instance for each, and releases it when every other finalizer is gone.

use std::sync::Arc;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::cluster::{bounded, is_not_found, named_after};
use examples::{Cluster, Condition, drive};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::DeleteParams;
use kube::runtime::controller::Action;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) const FINALIZER: &str = "one-object.example.com/instance";

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "one-object.example.com",
    version = "v1",
    kind = "Machine",
    namespaced,
    status = "MachineStatus"
)]
pub(crate) struct MachineSpec {
    pub(crate) cores: u32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(crate) struct MachineStatus {
    /// A map by type, so that several controllers can own one condition each.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    conditions: Vec<Condition>,
}

// === impl Machine ===

impl Machine {
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.status.clone().unwrap_or_default().conditions
    }
}

/// The Machines, for the declarations of all who act on them.
pub(crate) fn machines() -> DeclaredAccess {
    DeclaredAccess::to("one-object.example.com", "machines").watches()
}

pub(crate) fn declaration() -> Declaration {
    Declaration::new(
        "machine",
        "Makes an instance for each Machine, and releases it when every other finalizer is gone.",
    )
    .access(
        machines()
            .gets()
            .adds_finalizer(FINALIZER)
            .awaits_finalizer("*")
            .writes(["/status/conditions/Ready", "/status/conditions/Deleted"]),
    )
    .access(
        DeclaredAccess::to("", "configmaps").named("instance-*").creates().writes(["/data/cores"]).deletes(),
    )
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, cluster, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, cluster: Arc<Cluster>) -> Result<Action> {
    let machine = machine.as_ref();
    let instance = named_after("instance", machine);
    if machine.metadata.deletion_timestamp.is_some() {
        return delete(machine, &cluster, &instance).await;
    }
    if !machine.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
        // Before there is an instance: without it, a deletion in between would leave the instance behind.
        let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}});
        cluster.change(&cluster.api(), machine, finalizers).await?;
    }
    let cores = machine.spec.cores.to_string();
    let before = machine.conditions();
    let ready = Condition::new(&before, "Ready", true, ("Running", &instance), machine.metadata.generation);
    if !before.contains(&ready) {
        cluster.apply::<ConfigMap>(&instance, json!({"data": {"cores": cores}})).await?;
        if !cluster.is_live(&cluster.api(), machine).await? {
            // Another process has released it while this one was frozen, and the Machine has gone.
            release(&cluster, &instance).await?;
            return Ok(Action::await_change());
        }
        cluster.say(format!("{instance} runs"));
        report(machine, &cluster, ready).await?;
    }
    Ok(Action::await_change())
}

/// Acts last. What other controllers attached to the deletion comes first, and is named while it lasts.
async fn delete(machine: &Machine, cluster: &Cluster, instance: &str) -> Result<Action> {
    let (own, others): (Vec<&String>, Vec<&String>) =
        machine.finalizers().iter().partition(|finalizer| *finalizer == FINALIZER);
    if own.is_empty() {
        return Ok(Action::await_change());
    }
    if !others.is_empty() {
        let waits = others.into_iter().map(|finalizer| explain(finalizer, machine.managed_fields()));
        let message = waits.collect::<Vec<_>>().join("; ");
        let reason = ("WaitingForFinalizers", message.as_str());
        let waiting = Condition::new(&machine.conditions(), "Deleted", false, reason, None);
        if !machine.conditions().contains(&waiting) {
            cluster.say(format!("{} waits for {message}", machine.name_any()));
            report(machine, cluster, waiting).await?;
        }
        return Ok(Action::await_change());
    }
    release(cluster, instance).await?;
    // Stating nothing gives up everything that this manager owned: the finalizer with it.
    cluster.change(&cluster.api(), machine, json!({})).await?;
    Ok(Action::await_change())
}

async fn release(cluster: &Cluster, instance: &str) -> Result<()> {
    match bounded(cluster.api::<ConfigMap>().delete(instance, &DeleteParams::default())).await {
        Err(error) if !is_not_found(&error) => return Err(error),
        _ => cluster.say(format!("{instance} is released")),
    }
    Ok(())
}

/// Says who attached a finalizer, from the record that the API server keeps of every field.
fn explain(finalizer: &str, managed: &[ManagedFieldsEntry]) -> String {
    let pointer = format!("/f:metadata/f:finalizers/v:\"{}\"", finalizer.replace('/', "~1"));
    let owns = |entry: &&ManagedFieldsEntry| {
        entry.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer(&pointer).is_some())
    };
    let manager = managed.iter().find(owns).and_then(|entry| entry.manager.as_deref());
    match manager {
        Some(manager) => format!("{finalizer}, which `{manager}` has set and must remove: is it running?"),
        None => format!("{finalizer}, which no manager owns any more: remove it with `kubectl edit`"),
    }
}

async fn report(machine: &Machine, cluster: &Cluster, condition: Condition) -> Result<()> {
    let status = json!({"conditions": [condition]});
    cluster.change_status(&cluster.api::<Machine>(), machine, status).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finalizer_is_explained_by_the_manager_that_owns_it() {
        let entry = json!({"manager": "drain", "operation": "Apply",
            "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"x.example.com/drain\"": {}}}}});
        let managed = [serde_json::from_value(entry).unwrap()];
        assert!(explain("x.example.com/drain", &managed).contains("`drain`"));
        assert!(explain("x.example.com/other", &managed).contains("no manager"));
    }
}
