//! The Fleet's controller: one MachineSet per revision of the template, and how many Machines each should have.
//!
//! It never touches a Machine. The name of a MachineSet is made of its template, so that a controller that does not see yet
//! what it created a moment ago creates the same object again, which changes nothing.

use std::sync::Arc;

use anyhow::Result;
use controller_declaration::{Declaration, DeclaredAccess};
use examples::{Cluster, Condition, Watched, drive, trace};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::kinds::{
    self, FLEET, Fleet, FleetStatus, MachineSet, REVISION, TEMPLATE, Template, controller_of, set_controller,
};
use crate::rollout::{self, Share};

struct Fleets {
    cluster: Cluster,
    sets: Watched<MachineSet>,
}

pub(crate) fn declaration() -> Declaration {
    let sets = kinds::machine_sets().watches().creates().deletes().writes_annotation(REVISION);
    let sets = sets.writes_annotation(trace::ANNOTATION);
    Declaration::new(
        "fleet",
        "Keeps a MachineSet for each revision of a Fleet's template, and says how many Machines each has.",
    )
    .access(DeclaredAccess::to(kinds::GROUP, "fleets").watches().gets().writes(["/status"]))
    .access(sets.writes(["/metadata/labels", "/metadata/ownerReferences", "/spec"]))
}

pub(crate) async fn run(cluster: Cluster) -> Result<()> {
    let fleets = examples::controller::<Fleet>(&cluster, ());
    let all = fleets.store();
    let (sets, events) = examples::watched::<MachineSet>(&cluster);
    // A MachineSet concerns the Fleet that owns it, which may have to release it, and the one that may adopt it.
    let fleets = fleets.reconcile_on(examples::mapped(events, move |set: &MachineSet| {
        let concerned = |fleet: &Arc<Fleet>| owns(fleet, set) || selects(fleet, set);
        all.state().into_iter().filter(concerned).collect()
    }));
    drive(fleets, Fleets { cluster, sets }, reconcile).await
}

async fn reconcile(fleet: Arc<Fleet>, context: Arc<Fleets>) -> Result<Action> {
    let (fleet, cluster) = (fleet.as_ref(), &context.cluster);
    if fleet.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let all = context.sets.all().await?;
    for set in all.iter().filter(|set| owns(fleet, set) && !selects(fleet, set)) {
        set_controller(cluster, set.as_ref(), None, fleet.uid()).await?;
    }
    let mut sets = sets_of(fleet, &all);
    let current = sets.iter().position(|set| set.spec.template == fleet.spec.template);
    let current = current.map(|index| sets.remove(index));
    let name = current.as_ref().map_or_else(|| free_name(fleet, &all), |set| set.name_any());
    sets.sort_by_key(|set| revision(set));
    let newest = sets.last().map(|set| revision(set)).unwrap_or_default();
    let own = current.as_deref().map(revision).unwrap_or_default();
    // A rollback makes an old revision the newest one, under a new number.
    let number = if own > newest { own } else { newest.saturating_add(1) };
    let olds: Vec<Share> = sets.iter().map(|set| share(set)).collect();
    let new = current.as_deref().map(share).unwrap_or(Share { wanted: 0, ready: 0 });
    let (wanted, olds_wanted) = rollout::next(fleet.spec.replicas, fleet.spec.max_unavailable, new, &olds);
    for (set, wanted) in sets.iter().zip(&olds_wanted) {
        let (name, template) = (set.name_any(), &set.spec.template);
        scale(cluster, fleet, Some(set), (&name, template, *wanted, revision(set))).await?;
    }
    scale(cluster, fleet, current.as_deref(), (&name, &fleet.spec.template, wanted, number)).await?;
    forget(cluster, fleet, &sets).await?;
    report(cluster, fleet, new, &olds).await?;
    Ok(Action::await_change())
}

fn owns(fleet: &Fleet, set: &MachineSet) -> bool {
    fleet.uid().is_some() && controller_of(set) == fleet.uid()
}

fn selects(fleet: &Fleet, set: &MachineSet) -> bool {
    set.labels().get(FLEET) == Some(&fleet.name_any())
}

/// Those that carry the Fleet's label, and belong to it or to no controller.
fn sets_of(fleet: &Fleet, sets: &[Arc<MachineSet>]) -> Vec<Arc<MachineSet>> {
    let ours = |set: &&Arc<MachineSet>| {
        let free = controller_of(set.as_ref()).is_none();
        selects(fleet, set) && (free || owns(fleet, set)) && set.metadata.deletion_timestamp.is_none()
    };
    sets.iter().filter(ours).cloned().collect()
}

/// The name of a new MachineSet: one that was released still has the name that it would have.
fn free_name(fleet: &Fleet, sets: &[Arc<MachineSet>]) -> String {
    let (fleet, template) = (fleet.name_any(), &fleet.spec.template);
    let mut names = (0..=u32::MAX).map(|number| format!("{fleet}-{}", digest(template, number)));
    let is_free = |name: &String| !sets.iter().any(|set| set.name_any() == *name);
    names.find(is_free).unwrap_or_default()
}

/// States what a MachineSet should be: also the owner, which adopts one that has none.
async fn scale(
    cluster: &Cluster,
    fleet: &Fleet,
    before: Option<&MachineSet>,
    (name, template, wanted, revision): (&str, &Template, u32, u64),
) -> Result<()> {
    let owner = fleet.controller_owner_ref(&());
    let stays = |set: &MachineSet| {
        let owned = set.owner_references().iter().any(|found| Some(found) == owner.as_ref());
        owned && set.spec.replicas == wanted && self::revision(set) == revision
    };
    if before.is_some_and(stays) {
        return Ok(());
    }
    // The end of the name tells the MachineSets of a Fleet apart, also those of one template.
    let template_label = name.rsplit('-').next().unwrap_or_default();
    let labels = json!({FLEET: fleet.name_any(), TEMPLATE: template_label});
    let spec = json!({"replicas": wanted, "selector": labels, "template": template});
    let metadata = json!({"labels": labels, "annotations": {REVISION: revision.to_string()}, "ownerReferences": [owner]});
    let fields = json!({"metadata": metadata, "spec": spec});
    let is_stated = match before {
        Some(set) => {
            adoptable(cluster, fleet, set).await? && cluster.decide(&cluster.api(), set, fields).await?
        }
        None => cluster.apply::<MachineSet>(name, fields).await.map(|_| true)?,
    };
    if !is_stated {
        return Ok(());
    }
    cluster.say(format!("MachineSet {name} (revision {revision}, {}): {wanted} wanted", template.image));
    Ok(())
}

/// A Fleet that is deleted without its MachineSets gives them up. If its controller does not see that yet and takes one back, garbage
/// collection deletes it: its owner does not exist.
async fn adoptable(cluster: &Cluster, fleet: &Fleet, set: &MachineSet) -> Result<bool> {
    if controller_of(set).is_none() { cluster.is_live(&cluster.api(), fleet).await } else { Ok(true) }
}

/// Deletes the oldest MachineSets that are empty, beyond the limit of the history.
async fn forget(cluster: &Cluster, fleet: &Fleet, sets: &[Arc<MachineSet>]) -> Result<()> {
    let empty = |set: &&Arc<MachineSet>| set.spec.replicas == 0 && share(set).ready == 0;
    let history: Vec<_> = sets.iter().filter(empty).collect();
    let beyond = history.len().saturating_sub(fleet.spec.history_limit);
    for set in history.into_iter().take(beyond) {
        // A rollback may have made it the current one since: then its change wakes the Fleet.
        if cluster.delete(&cluster.api(), set.as_ref()).await? {
            cluster.say(format!("MachineSet {} (revision {}) is forgotten", set.name_any(), revision(set)));
        }
    }
    Ok(())
}

async fn report(cluster: &Cluster, fleet: &Fleet, new: Share, olds: &[Share]) -> Result<()> {
    let before = fleet.status.clone().unwrap_or_default();
    let ready = olds.iter().chain([&new]).map(|share| share.ready).sum::<u32>();
    let (replicas, generation) = (fleet.spec.replicas, fleet.metadata.generation);
    let message = format!("{} of {replicas} Machines run the template", new.ready);
    let done = new.ready == replicas && ready == replicas;
    let reason = if done { "Complete" } else { "RollingOut" };
    let condition = Condition::new(&before.conditions, "Complete", done, (reason, &message), generation);
    let after = FleetStatus { ready, conditions: vec![condition] };
    if after != before {
        cluster.change_status(&cluster.api(), fleet, after).await?;
    }
    Ok(())
}

fn share(set: &MachineSet) -> Share {
    Share { wanted: set.spec.replicas, ready: set.status.as_ref().map_or(0, |status| status.ready) }
}

pub(crate) fn revision(set: &MachineSet) -> u64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Eight hexadecimal digits of a template, others for each number.
fn digest(template: &Template, number: u32) -> String {
    let mut text = serde_json::to_vec(template).unwrap_or_default();
    text.extend((number > 0).then(|| number.to_be_bytes()).into_iter().flatten());
    let digest = Sha256::digest(text);
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
