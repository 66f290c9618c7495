//! The controller: asks the sidecar, and waits for it whenever it is not there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::ranking::{Question, Zone};
use examples::{Cluster, Condition, drive};
use kube::runtime::controller::Action;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::socket;

const AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "sidecar.example.com", version = "v1", kind = "Machine", namespaced, status = "MachineStatus")]
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

pub(crate) fn declaration() -> Declaration {
    Declaration::new("placement", "Asks the sidecar where a Machine belongs.")
        .access(DeclaredAccess::to("sidecar.example.com", "machines").watches().writes(["/status"]))
}

struct Placement {
    cluster: Cluster,
    folder: PathBuf,
}

pub(crate) async fn run(cluster: Cluster, folder: PathBuf) -> Result<()> {
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, Placement { cluster, folder }, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, placement: Arc<Placement>) -> Result<Action> {
    let (machine, cluster) = (machine.as_ref(), &placement.cluster);
    let before = machine.status.clone().unwrap_or_default();
    if before.zone.is_some() {
        return Ok(Action::await_change());
    }
    let (zone, reason, message) = match placement.ask(machine).await {
        Ok(zones) => (zones.into_iter().next().map(|zone| zone.name), "Placed", "by the sidecar".to_owned()),
        Err(error) => (None, "WaitingForSidecar", error),
    };
    let generation = machine.metadata.generation;
    let condition =
        Condition::new(&before.conditions, "Placed", zone.is_some(), (reason, &message), generation);
    let after = MachineStatus { zone, conditions: vec![condition] };
    if after != before {
        let zone = after.zone.as_deref().unwrap_or("nowhere yet");
        if cluster.decide_status(&cluster.api(), machine, &after).await? {
            cluster.say(format!("Machine {}: {zone} ({reason}: {message})", machine.name_any()));
        }
    }
    Ok(if after.zone.is_some() { Action::await_change() } else { Action::requeue(AGAIN) })
}

// === impl Placement ===

impl Placement {
    async fn ask(&self, machine: &Machine) -> Result<Vec<Zone>, String> {
        let question = Question::new(&machine.name_any(), machine.spec.cores);
        let answer = socket::ask(&self.folder, &question).await;
        question.check(&answer.map_err(|error| error.to_string())?)
    }
}
