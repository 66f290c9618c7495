//! The Machine's controller, a pretend one: every image runs at once, except `broken`, which never does.

use std::sync::Arc;

use anyhow::Result;
use controller_declaration::Declaration;
use examples::{Cluster, drive};
use kube::runtime::controller::Action;
use serde_json::json;

use crate::kinds::{self, Machine};

pub(crate) fn declaration() -> Declaration {
    Declaration::new("machine", "Runs Machines.").access(kinds::machines().writes(["/status"]))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, cluster, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, cluster: Arc<Cluster>) -> Result<Action> {
    let runs = machine.spec.image != "broken";
    if machine.metadata.deletion_timestamp.is_none() && runs && !machine.is_ready() {
        cluster.change_status(&cluster.api(), machine.as_ref(), json!({"ready": true})).await?;
    }
    Ok(Action::await_change())
}
