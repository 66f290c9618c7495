//! The controller: asks the strategy that a Machine names. A plug-in that misbehaves costs its own Machines their place, and
//! nothing else; the condition names it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use controller_declaration::{Declaration, DeclaredAccess};
use examples::ranking::{Question, Zone};
use examples::{Cluster, Condition, drive};
use kube::runtime::controller::Action;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::strategy::Registry;

const AGAIN: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "strategies.example.com",
    version = "v1",
    kind = "Machine",
    namespaced,
    status = "MachineStatus"
)]
pub(crate) struct MachineSpec {
    pub(crate) cores: u32,
    /// The name of a strategy.
    pub(crate) strategy: String,
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
    Declaration::new("placement", "Asks the strategy that a Machine names.")
        .access(DeclaredAccess::to("strategies.example.com", "machines").watches().writes(["/status"]))
}

struct Placement {
    cluster: Cluster,
    strategies: Registry,
}

pub(crate) async fn run(cluster: Cluster, folder: PathBuf) -> Result<()> {
    let strategies = Registry::load(&folder).await.with_context(|| format!("read {}", folder.display()))?;
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, Placement { cluster, strategies }, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, placement: Arc<Placement>) -> Result<Action> {
    let machine = machine.as_ref();
    let before = machine.status.clone().unwrap_or_default();
    if before.zone.is_some() {
        return Ok(Action::await_change());
    }
    let strategy = &machine.spec.strategy;
    let (zone, reason, message) = match placement.ask(machine).await {
        Ok(zones) => (zones.into_iter().next().map(|zone| zone.name), "Placed", format!("by {strategy}")),
        Err(error) => (None, "PlugInFailed", format!("{strategy} {error}")),
    };
    let generation = machine.metadata.generation;
    let condition =
        Condition::new(&before.conditions, "Placed", zone.is_some(), (reason, &message), generation);
    let after = MachineStatus { zone, conditions: vec![condition] };
    if after != before {
        let cluster = &placement.cluster;
        let zone = after.zone.as_deref().unwrap_or("nowhere");
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
        let answer = self.strategies.get(&machine.spec.strategy)?.rank(&question).await?;
        question.check(&answer)
    }
}
