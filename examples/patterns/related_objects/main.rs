//! Fleet → MachineSet → Machine: a rollout in two controllers that know each other only by the objects between them.
//!
//! ```sh
//! cargo run -p examples --example related_objects -- --demo
//! ```

mod fleet;
mod kinds;
mod machine;
mod machine_set;
mod rollout;

use anyhow::{Context, Result};
use controller_declaration::Declaration;
use examples::cluster::bounded;
use examples::{Cluster, Condition, Demo, Pattern, no_role, trace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy};
use kube::core::{Expression, Selector};
use kube::{CustomResourceExt, ResourceExt};
use serde_json::json;
use tracing::Instrument;

use crate::kinds::{FLEET, Fleet, GROUP, Machine, MachineSet, REVISION};

/// A MachineSet that the garbage collector deletes as soon as it knows the kind.
const ORPHAN: &str = "orphan";

struct RelatedObjects;

impl Pattern for RelatedObjects {
    const ROLES: &'static [&'static str] = &["fleet", "machineset", "machine"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Fleet::crd(), MachineSet::crd(), Machine::crd()])
    }

    fn declarations(_: &str) -> Vec<Declaration> {
        vec![fleet::declaration(), machine_set::declaration(), machine::declaration()]
    }

    async fn control(role: String, _: Vec<String>, cluster: Cluster) -> Result<()> {
        match role.as_str() {
            "fleet" => fleet::run(cluster).await,
            "machineset" => machine_set::run(cluster).await,
            "machine" => machine::run(cluster).await,
            other => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        demo.cluster().install(&Self::definitions(&demo.cluster().namespace)?).await?;
        create_orphan(demo).await?;
        demo.chapter("1. A Fleet of two.");
        Self::ROLES.iter().for_each(|role| demo.start(role));
        apply(demo, "web", "v1").await?;
        until_all_run(demo, "v1").await?;

        demo.chapter("2. A new image: a new MachineSet grows as the old one shrinks, one Machine at a time.");
        apply(demo, "web", "v2").await?;
        until_all_run(demo, "v2").await?;

        demo.chapter("3. An image that does not start: the rollout stops with one Machine still running.");
        apply(demo, "web", "broken").await?;
        until_stuck(demo).await?;

        demo.chapter("4. Back to revision 1, whose MachineSet is still there.");
        roll_back(demo, "web", "1").await?;
        until_all_run(demo, "v1").await?;
        until_history(demo, "web", &["3", "4"]).await?;

        demo.chapter(
            "5. A Machine loses its label: it is released, and replaced. It gets it back: one is too many.",
        );
        quarantine(demo, true).await?;
        until_all_run(demo, "v1").await?;
        quarantine(demo, false).await?;
        demo.until_all(labelled("web"), "be two again", |all: &[Machine]| all.len() == 2).await?;

        demo.chapter(
            "6. The Fleet is deleted and its MachineSets are not. A new Fleet of that name adopts them.",
        );
        demo.until_gone::<MachineSet>(ORPHAN).await?;
        delete(demo, "web", PropagationPolicy::Orphan).await?;
        apply(demo, "web", "v1").await?;
        let adopted =
            |sets: &[MachineSet]| sets.len() == 2 && sets.iter().all(|set| set.owner_references().len() == 1);
        demo.until_all(labelled("web"), "belong to the new Fleet", adopted).await?;
        demo.thaw().await;
        until_all_run(demo, "v1").await?;

        demo.chapter("7. Foreground deletion: the Machines, then the MachineSets, then the Fleet. Another Fleet stays.");
        apply(demo, "db", "v1").await?;
        delete(demo, "web", PropagationPolicy::Foreground).await?;
        demo.until_all(labelled("web"), "be gone", |left: &[Machine]| left.is_empty()).await?;
        demo.until_all(labelled("db"), "run", |all: &[Machine]| all_run(all, "v1")).await.map(drop)
    }
}

fn labelled(fleet: &str) -> Selector {
    Expression::Equal(FLEET.to_owned(), fleet.to_owned()).into()
}

/// Makes a MachineSet whose owner does not exist. When it is gone, the garbage collector knows the kind, which takes up to 30 seconds:
/// a Fleet that is deleted before takes along the MachineSets that it was to give up.
async fn create_orphan(demo: &Demo) -> Result<()> {
    let owner =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Fleet", "name": "nobody", "uid": "nobody"});
    let spec = json!({"replicas": 0, "selector": {"orphan": "true"}, "template": {"image": "none"}});
    let fields = json!({"metadata": {"ownerReferences": [owner]}, "spec": spec});
    demo.cluster().apply::<MachineSet>(ORPHAN, fields).await.map(drop)
}

/// Applies a Fleet of two Machines.
async fn apply(demo: &Demo, name: &str, image: &str) -> Result<()> {
    let change = trace::change(&format!("Fleet {name} with image {image}"));
    let trace = trace::trace_id(&change).unwrap_or_default();
    demo.cluster().say(format!("Fleet {name}: two Machines with image {image} (trace {trace})"));
    let spec = json!({"replicas": 2, "maxUnavailable": 1, "historyLimit": 1, "template": {"image": image}});
    demo.cluster().apply::<Fleet>(name, json!({"spec": spec})).instrument(change).await.map(drop)
}

/// Does what `kubectl rollout undo --to-revision` does: copies the template of an old revision into the Fleet.
async fn roll_back(demo: &Demo, name: &str, revision: &str) -> Result<()> {
    let sets = demo.cluster().api::<MachineSet>();
    let sets = bounded(sets.list(&ListParams::default().labels_from(&labelled(name)))).await?;
    let of_revision =
        |set: &&MachineSet| set.annotations().get(REVISION).is_some_and(|found| found == revision);
    let set = sets.items.iter().find(of_revision).context("there is no such revision")?;
    apply(demo, name, &set.spec.template.image).await
}

async fn delete(demo: &mut Demo, name: &str, policy: PropagationPolicy) -> Result<()> {
    demo.cluster().say(format!("deletes Fleet {name} ({policy:?})"));
    let parameters = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
    bounded(demo.cluster().api::<Fleet>().delete(name, &parameters)).await?;
    demo.until_gone::<Fleet>(name).await
}

/// Takes the label off a Machine of `web`, or puts it back.
async fn quarantine(demo: &Demo, away: bool) -> Result<()> {
    let machines = demo.cluster().api::<Machine>();
    let from = if away { "web" } else { "quarantine" };
    let found = bounded(machines.list(&ListParams::default().labels_from(&labelled(from)))).await?;
    let name = found.items.first().context("there is no such Machine")?.name_any();
    let to = if away { "quarantine" } else { "web" };
    demo.cluster().say(format!("labels Machine {name} {FLEET}={to}"));
    let patch = Patch::Merge(json!({"metadata": {"labels": {FLEET: to}}}));
    bounded(machines.patch(&name, &PatchParams::default(), &patch)).await.map(drop)
}

fn all_run(machines: &[Machine], image: &str) -> bool {
    machines.len() == 2 && machines.iter().all(|machine| machine.is_ready() && machine.spec.image == image)
}

/// Waits for the Fleet's word and not for the Machines alone: they run before their MachineSet says so, and the Fleet's
/// controller takes away first what it does not know to run.
async fn until_all_run(demo: &mut Demo, image: &str) -> Result<()> {
    let run = |machines: &[Machine]| all_run(machines, image);
    demo.until_all(labelled("web"), &format!("be two that run {image}"), run).await?;
    demo.until("web", "be complete", is_complete).await.map(drop)
}

fn is_complete(fleet: &Fleet) -> bool {
    let conditions = fleet.status.as_ref().map(|status| status.conditions.as_slice());
    Condition::says(conditions.unwrap_or_default(), "Complete", "Complete", fleet.metadata.generation)
}

async fn until_stuck(demo: &mut Demo) -> Result<()> {
    let stuck = |machines: &[Machine]| {
        let images = machines.iter().map(|machine| (machine.spec.image.as_str(), machine.is_ready()));
        let mut images: Vec<_> = images.collect();
        images.sort_unstable();
        images == [("broken", false), ("v2", true)]
    };
    demo.until_all(labelled("web"), "be one that runs v2 and a broken one", stuck).await.map(drop)
}

async fn until_history(demo: &mut Demo, name: &str, wanted: &[&str]) -> Result<()> {
    let kept = |sets: &[MachineSet]| {
        let mut found: Vec<_> = sets.iter().filter_map(|set| set.annotations().get(REVISION)).collect();
        found.sort_unstable();
        found == wanted
    };
    let what = format!("have the revisions {}", wanted.join(" and "));
    demo.until_all(labelled(name), &what, kept).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<RelatedObjects>().await
}
