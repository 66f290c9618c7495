//! Moves the jobs off a Machine that is being deleted. It attaches itself to Machines by a finalizer, and does nothing else
//! while they live; the owner of Machines does not know it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::cluster::bounded;
use examples::{Cluster, Condition, drive};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::ListParams;
use kube::runtime::controller::Action;
use serde_json::json;

use crate::machine::{Machine, machines};

const AGAIN: Duration = Duration::from_secs(1);
pub(crate) const FINALIZER: &str = "one-object.example.com/drain";
/// The label of a job (here a ConfigMap) that names its Machine.
pub(crate) const RUNS_ON: &str = "one-object.example.com/runs-on";

pub(crate) fn declaration() -> Declaration {
    Declaration::new("drain", "Moves the jobs off a Machine that is being deleted.")
        .access(machines().adds_finalizer(FINALIZER).writes(["/status/conditions/Drained"]))
        .access(DeclaredAccess::to("", "configmaps").named("job-*").lists().deletes())
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, cluster, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, cluster: Arc<Cluster>) -> Result<Action> {
    let (machine, api) = (machine.as_ref(), cluster.api::<Machine>());
    let attached = machine.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    match (attached, machine.metadata.deletion_timestamp.is_some()) {
        (false, false) => {
            cluster.change(&api, machine, json!({"metadata": {"finalizers": [FINALIZER]}})).await?;
        }
        (true, true) => {
            if !evict(machine, &cluster).await? {
                return Ok(Action::requeue(AGAIN));
            }
            let reason = ("Evicted", "no job runs here any more");
            let drained = Condition::new(&machine.conditions(), "Drained", true, reason, None);
            cluster.change_status(&api, machine, json!({"conditions": [drained]})).await?;
            cluster.change(&api, machine, json!({})).await?;
        }
        (true, false) | (false, true) => {}
    }
    Ok(Action::await_change())
}

/// False if a job has changed meanwhile: it may run elsewhere by now.
async fn evict(machine: &Machine, cluster: &Cluster) -> Result<bool> {
    let (jobs, mut all_gone) = (cluster.api::<ConfigMap>(), true);
    let here = ListParams::default().labels(&format!("{RUNS_ON}={}", machine.name_any()));
    for job in bounded(jobs.list(&here)).await? {
        cluster.say(format!("{} leaves {}", job.name_any(), machine.name_any()));
        all_gone &= cluster.delete(&jobs, &job).await?;
    }
    Ok(all_gone)
}
