//! Three controllers and one Machine: its owner, one that acts before it is deleted, one that annotates it.
//!
//! ```sh
//! cargo run -p examples --example one_object -- --demo
//! ```

mod cost;
mod drain;
mod machine;

use anyhow::{Result, bail};
use controller_declaration::Declaration;
use examples::{Cluster, Condition, Demo, Pattern, no_role};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResourceExt, ResourceExt};
use serde_json::json;

use crate::machine::Machine;

struct OneObject;

impl Pattern for OneObject {
    const ROLES: &'static [&'static str] = &["machine", "drain", "cost"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Machine::crd()])
    }

    fn declarations(_: &str) -> Vec<Declaration> {
        vec![machine::declaration(), drain::declaration(), cost::declaration()]
    }

    async fn control(role: String, _: Vec<String>, cluster: Cluster) -> Result<()> {
        match role.as_str() {
            "machine" => machine::run(cluster).await,
            "drain" => drain::run(cluster).await,
            "cost" => cost::run(cluster).await,
            other => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        demo.cluster().install(&[Machine::crd()]).await?;
        demo.chapter("1. One Machine, three controllers: each states its own fields by server-side apply.");
        Self::ROLES.iter().for_each(|role| demo.start(role));
        for name in ["a", "b", "c"] {
            create(demo, name).await?;
        }
        for name in ["a", "b", "c"] {
            let machine = demo.until(name, "have two finalizers and a price", is_complete).await?;
            print_managers(demo, &machine);
        }

        demo.chapter(
            "2. A controller that writes another one's field is refused, with the name of its owner.",
        );
        let cost = Cluster { role: "cost".to_owned(), ..demo.cluster().clone() };
        match cost.apply::<Machine>("c", json!({"spec": {"cores": 1}})).await {
            Err(error) => demo.cluster().say(format!("refused: {}", error.root_cause())),
            Ok(_) => bail!("`cost` must not be able to write spec.cores"),
        }

        demo.chapter("3. Two finalizers at once: the Machine is drained before its instance is released.");
        demo.delete::<Machine>("a").await?;
        demo.until_gone::<Machine>("a").await?;

        demo.chapter("4. `drain` is not running. The deletion of b waits, and its status says for whom.");
        demo.stop("drain").await;
        demo.delete::<Machine>("b").await?;
        let waits = |b: &Machine| Condition::says(&b.conditions(), "Deleted", "WaitingForFinalizers", None);
        demo.until("b", "say what it waits for", waits).await?;

        demo.chapter("5. It comes back, and finishes.");
        demo.start_as("drain again", "drain", &[]);
        demo.until_gone::<Machine>("b").await
    }
}

/// A Machine, and a job that runs on it.
async fn create(demo: &Demo, name: &str) -> Result<()> {
    let cluster = demo.cluster();
    cluster.apply::<Machine>(name, json!({"spec": {"cores": 4}})).await?;
    let job = json!({"metadata": {"labels": {drain::RUNS_ON: name}}});
    cluster.apply::<ConfigMap>(&format!("job-{name}"), job).await?;
    cluster.say(format!("Machine {name} with 4 cores, and job-{name} on it"));
    Ok(())
}

fn is_complete(machine: &Machine) -> bool {
    let finalizers = machine.finalizers();
    let has = |wanted: &str| finalizers.iter().any(|finalizer| finalizer == wanted);
    let ready = Condition::says(&machine.conditions(), "Ready", "Running", machine.metadata.generation);
    has(machine::FINALIZER)
        && has(drain::FINALIZER)
        && machine.annotations().contains_key(cost::PRICE)
        && ready
}

fn print_managers(demo: &Demo, machine: &Machine) {
    let managers = machine.managed_fields().iter().filter_map(|entry| entry.manager.as_deref());
    let managers: Vec<_> = managers.collect();
    demo.cluster().say(format!("{} has fields of {}", machine.name_any(), managers.join(", ")));
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<OneObject>().await
}
