//! Annotates Machines with their price. It needs no finalizer: an annotation goes with its object.

use std::sync::Arc;

use anyhow::Result;
use controller_declaration::Declaration;
use examples::{Cluster, drive};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use serde_json::json;

use crate::machine::{Machine, machines};

pub(crate) const PRICE: &str = "one-object.example.com/cents-per-hour";

pub(crate) fn declaration() -> Declaration {
    Declaration::new("cost", "Annotates Machines with their price.")
        .access(machines().writes_annotation(PRICE))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let machines = examples::controller::<Machine>(&cluster, ());
    drive(machines, cluster, reconcile).await
}

async fn reconcile(machine: Arc<Machine>, cluster: Arc<Cluster>) -> Result<Action> {
    let price = u64::from(machine.spec.cores).saturating_mul(3).to_string();
    let is_priced = machine.annotations().get(PRICE) == Some(&price);
    if machine.metadata.deletion_timestamp.is_none() && !is_priced {
        let annotations = json!({"metadata": {"annotations": {PRICE: price}}});
        cluster.change(&cluster.api(), machine.as_ref(), annotations).await?;
        cluster.say(format!("{} costs {price} cents per hour", machine.name_any()));
    }
    Ok(Action::await_change())
}
