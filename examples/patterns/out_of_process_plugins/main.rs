//! Plug-ins in processes of their own, registered at run time, called over mutual TLS.
//!
//! ```sh
//! cargo run -p examples --example out_of_process_plugins -- --demo
//! ```

mod aggregator;
mod breaker;
mod certificates;
mod endpoint;
mod kinds;
mod placement;
mod plug_in;
mod reports;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use controller_declaration::Declaration;
use examples::{Cluster, Condition, Demo, Pattern, no_role};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kube::core::Selector;
use pod_status::ReportKind;
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::kinds::{Extension, Instance, Machine};

struct OutOfProcessPlugins;

impl Pattern for OutOfProcessPlugins {
    const ROLES: &'static [&'static str] = &["placement", "aggregator"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Extension::crd(), Machine::crd(), ReportKind::default().crd()])
    }

    fn declarations(_: &str) -> Vec<Declaration> {
        vec![placement::declaration(), aggregator::declaration(), plug_in::declaration()]
    }

    async fn control(role: String, options: Vec<String>, cluster: Cluster) -> Result<()> {
        match (role.as_str(), options.as_slice()) {
            ("placement", _) => placement::run(cluster).await,
            ("aggregator", _) => aggregator::run(cluster).await,
            ("plug-in", [name, versions @ ..]) => plug_in::run(cluster, name, versions).await,
            (other, _) => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        demo.cluster().install(&Self::definitions(&demo.cluster().namespace)?).await?;
        demo.chapter("1. Two plug-ins register at run time. Nobody but the controller can call them.");
        demo.start("aggregator");
        demo.start("placement");
        start(demo, "cheapest-v1", "cheapest", &["v1"]).await?;
        start(demo, "only-eu", "only-eu", &["v1", "v2"]).await?;
        let known = demo.until("only-eu", "be known", |_: &Extension| true).await?;
        match Endpoint::discover(&known, &certificates::stranger()?, Arc::default()).await {
            Err(_) => demo.cluster().say("a caller with a certificate of another authority is refused"),
            Ok(_) => bail!("the plug-in must not answer a stranger"),
        }
        machine(demo, "a", "load").await?;
        until_placed(demo, "a", "eu-1").await?;

        demo.chapter("2. Under load: one plug-in is upgraded, one removed, one added. No Machine fails.");
        let before = demo.until("cheapest", "be known", |_: &Extension| true).await?.spec.endpoint;
        machines(demo, "b").await?;
        demo.start_as("cheapest-v2", "plug-in", &["cheapest", "v1", "v2"]);
        let moved =
            move |it: &Instance| Some(&it.known.endpoint) != before.as_ref() && it.known.version == "v2";
        until(demo, "cheapest", "be upgraded to v2", moved).await?;
        machines(demo, "c").await?;
        demo.retire("cheapest-v1").await;
        demo.delete::<Extension>("only-eu").await?;
        demo.until_gone::<Extension>("only-eu").await?;
        machines(demo, "d").await?;
        demo.retire("only-eu").await;
        start(demo, "keep", "keep", &["v2"]).await?;
        let placed = |all: &[Machine]| all.iter().all(|machine| placed(machine).is_some());
        demo.until_all(Selector::default(), "all be placed", placed).await?;
        machine(demo, "e", "load").await?;
        until_placed(demo, "e", "us-1").await?;

        back_pressure(demo).await?;
        a_plug_in_dies(demo).await?;
        // The process that was frozen may have been registered, and another takes its place now.
        demo.thaw().await;
        let discovered = |all: &[Extension]| all.iter().all(is_discovered);
        demo.until_all(Selector::default(), "all be discovered", discovered).await.map(drop)
    }
}

async fn back_pressure(demo: &mut Demo) -> Result<()> {
    demo.chapter("3. Back pressure: a plug-in takes its time. Two calls are under way, the others wait, the status says so.");
    policy(demo, "gate", json!({"selector": {"group": "slow"}})).await?;
    start(demo, "gate", "gate", &["v2"]).await?;
    let slow = ["s1", "s2", "s3", "s4"];
    for name in slow {
        machine(demo, name, "slow").await?;
    }
    until(demo, "gate", "be saturated", |it| it.known.saturated).await?;
    demo.cluster().apply::<ConfigMap>(plug_in::GATE, json!({})).await?;
    for name in slow {
        until_placed(demo, name, "us-1").await?;
    }
    demo.delete::<Extension>("gate").await?;
    demo.until_gone::<Extension>("gate").await
}

async fn a_plug_in_dies(demo: &mut Demo) -> Result<()> {
    demo.chapter("4. A plug-in dies. With `Ignore` Machines go on without it; with `Fail` they wait, and its circuit opens.");
    change_policy(demo, "keep", "Ignore").await?;
    demo.stop("keep").await;
    machine(demo, "f", "load").await?;
    until_placed(demo, "f", "us-1").await?;
    change_policy(demo, "keep", "Fail").await?;
    machine(demo, "g", "load").await?;
    // A controller that started meanwhile has never reached the plug-in, and says that instead.
    let is_unknown = |it: &Instance| it.errors.iter().any(|error| error.code == "DiscoveryFailed");
    let is_avoided = |it: &Instance| it.known.circuit == "Open" || is_unknown(it);
    until(demo, "keep", "have an open circuit", is_avoided).await?;
    let waits = |g: &Machine| reason(g, "ExtensionFailed");
    demo.until("g", "wait for the plug-in", waits).await?;
    start(demo, "keep again", "keep", &["v2"]).await?;
    until_placed(demo, "g", "us-1").await
}

/// Starts a plug-in and waits until the controller calls this one.
async fn start(demo: &mut Demo, process: &str, name: &str, versions: &[&str]) -> Result<()> {
    let known = demo.cluster().api::<Extension>().get_opt(name).await?;
    if known.is_none() {
        policy(demo, name, json!({})).await?;
    }
    let before = known.and_then(|known| known.spec.endpoint);
    demo.start_as(process, "plug-in", &[&[name], versions].concat());
    let has_moved = |extension: &Extension| {
        extension.spec.endpoint.is_some() && extension.spec.endpoint != before && is_discovered(extension)
    };
    demo.until(name, "be discovered", has_moved).await.map(drop)
}

/// A process of the controller calls the plug-in where it says it is. Not `Ready`, which waits for all: in some runs one is frozen.
fn is_discovered(extension: &Extension) -> bool {
    let calls = |it: &Instance| Some(&it.known.endpoint) == extension.spec.endpoint.as_ref();
    instances(extension).iter().any(calls)
}

fn instances(extension: &Extension) -> &[Instance] {
    extension.status.as_ref().map(|status| status.by_pod.as_slice()).unwrap_or_default()
}

/// Writes what the administrator states about an Extension; its address is stated by the plug-in itself.
async fn policy(demo: &Demo, name: &str, spec: Value) -> Result<()> {
    demo.cluster().say(format!("Extension {name}: {spec}"));
    demo.cluster().apply::<Extension>(name, json!({"spec": spec})).await.map(drop)
}

/// Waits until the controller has seen it: a Machine that it judges before goes by the former one.
async fn change_policy(demo: &mut Demo, name: &str, failure: &str) -> Result<()> {
    policy(demo, name, json!({"failurePolicy": failure})).await?;
    let is_seen = |extension: &Extension| {
        let seen = |it: &Instance| Some(it.observed_generation) == extension.metadata.generation;
        instances(extension).iter().any(seen)
    };
    demo.until(name, "be seen with its policy", is_seen).await.map(drop)
}

async fn machine(demo: &Demo, name: &str, group: &str) -> Result<()> {
    let fields = json!({"metadata": {"labels": {"group": group}}, "spec": {"cores": 2}});
    demo.cluster().apply::<Machine>(name, fields).await.map(drop)
}

async fn machines(demo: &Demo, prefix: &str) -> Result<()> {
    for number in 1..=4 {
        machine(demo, &format!("{prefix}{number}"), "load").await?;
    }
    Ok(())
}

fn placed(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.zone.as_deref()
}

fn reason(machine: &Machine, reason: &str) -> bool {
    let conditions = machine.status.clone().unwrap_or_default().conditions;
    Condition::says(&conditions, "Placed", reason, machine.metadata.generation)
}

async fn until_placed(demo: &mut Demo, name: &str, zone: &str) -> Result<()> {
    let there = |machine: &Machine| placed(machine) == Some(zone);
    demo.until(name, &format!("be placed in {zone}"), there).await.map(drop)
}

/// Waits until one of the processes of the controller says so.
async fn until(demo: &mut Demo, name: &str, what: &str, is: impl Fn(&Instance) -> bool) -> Result<()> {
    let holds = |extension: &Extension| instances(extension).iter().any(&is);
    demo.until(name, what, holds).await.map(drop).with_context(|| format!("Extension {name}"))
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<OutOfProcessPlugins>().await
}
