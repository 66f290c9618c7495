//! The MachineSet's controller: keeps as many Machines as are wanted, adopts those that match and releases those that do not.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use controller_declaration::Declaration;
use examples::{Cluster, Watched, drive, trace};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::kinds::{self, Machine, MachineSet, MachineSetStatus, controller_of, set_controller};

struct Sets {
    cluster: Cluster,
    machines: Watched<Machine>,
}

pub(crate) fn declaration() -> Declaration {
    let machines = kinds::machines().creates().deletes().writes_annotation(trace::ANNOTATION);
    Declaration::new(
        "machineset",
        "Keeps as many Machines as a MachineSet wants; adopts and releases them by its selector.",
    )
    .access(kinds::machine_sets().watches().gets().writes(["/status"]))
    .access(machines.writes(["/metadata/labels", "/metadata/ownerReferences", "/spec"]))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let sets = examples::controller::<MachineSet>(&cluster, ());
    let all = sets.store();
    let (machines, events) = examples::watched::<Machine>(&cluster);
    // A Machine concerns the set that owns it and the sets that select it.
    let sets = sets.reconcile_on(examples::mapped(events, move |machine: &Machine| {
        let concerned = |set: &Arc<MachineSet>| owns(set, machine) || selects(set, machine);
        all.state().into_iter().filter(concerned).collect()
    }));
    drive(sets, Sets { cluster, machines }, reconcile).await
}

fn owns(set: &MachineSet, machine: &Machine) -> bool {
    machine.owner_references().iter().any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref())
}

fn selects(set: &MachineSet, machine: &Machine) -> bool {
    set.spec.selector.iter().all(|(label, wanted)| machine.labels().get(label) == Some(wanted))
}

async fn reconcile(set: Arc<MachineSet>, context: Arc<Sets>) -> Result<Action> {
    let (set, cluster) = (set.as_ref(), &context.cluster);
    if set.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let all = context.machines.all().await?;
    let mut ours = Vec::new();
    for machine in all.iter().filter(|machine| machine.metadata.deletion_timestamp.is_none()) {
        match (owns(set, machine), selects(set, machine)) {
            (true, true) => ours.push(Arc::clone(machine)),
            (false, true) if controller_of(machine.as_ref()).is_none() => {
                // As for the Fleet: one that is deleted gives its Machines up.
                if !cluster.is_live(&cluster.api(), set).await? {
                    return Ok(Action::await_change());
                }
                set_controller(cluster, machine.as_ref(), set.controller_owner_ref(&()), None).await?;
                ours.push(Arc::clone(machine));
            }
            (true, false) => set_controller(cluster, machine.as_ref(), None, set.uid()).await?,
            (false, _) => {}
        }
    }
    // Those that do not run go first.
    ours.sort_by_key(|machine| (!machine.is_ready(), machine.name_any()));
    let wanted = usize::try_from(set.spec.replicas)?;
    for machine in ours.iter().skip(wanted) {
        // If it has changed since, its change wakes the set, and another may be the one that does not run.
        if cluster.delete(&cluster.api(), machine.as_ref()).await? {
            cluster.say(format!("Machine {} is deleted", machine.name_any()));
        }
    }
    let names: BTreeSet<String> = all.iter().map(|machine| machine.name_any()).collect();
    let free = (0..).map(|number: u32| format!("{}-{number}", set.name_any()));
    let free = free.filter(|name| !names.contains(name));
    for name in free.take(wanted.saturating_sub(ours.len())) {
        create(cluster, set, &name).await?;
    }
    let ready = ours.iter().take(wanted).filter(|machine| machine.is_ready()).count();
    let status = MachineSetStatus { ready: u32::try_from(ready)? };
    if set.status.as_ref() != Some(&status) {
        cluster.change_status(&cluster.api(), set, status).await?;
    }
    Ok(Action::await_change())
}

/// The name is the lowest that is free, so that a controller which does not see its last creation yet repeats it.
async fn create(cluster: &Cluster, set: &MachineSet, name: &str) -> Result<()> {
    let metadata = json!({"labels": set.spec.selector, "ownerReferences": [set.controller_owner_ref(&())]});
    let fields = json!({"metadata": metadata, "spec": {"image": set.spec.template.image}});
    cluster.apply::<Machine>(name, fields).await?;
    cluster.say(format!("Machine {name} is created"));
    Ok(())
}
