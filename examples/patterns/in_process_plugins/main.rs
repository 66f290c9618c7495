//! Strategies behind a trait: compiled in, or programs in a folder, some of which misbehave.
//!
//! ```sh
//! cargo run -p examples --example in_process_plugins -- --demo
//! ```

mod executable;
mod placement;
mod strategy;

use std::path::PathBuf;

use anyhow::Result;
use controller_declaration::Declaration;
use examples::{Cluster, Condition, Demo, Pattern, no_role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::json;

use crate::placement::Machine;

struct InProcessPlugins;

impl Pattern for InProcessPlugins {
    const ROLES: &'static [&'static str] = &["placement"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Machine::crd()])
    }

    fn declarations(_: &str) -> Vec<Declaration> {
        vec![placement::declaration()]
    }

    async fn control(role: String, options: Vec<String>, cluster: Cluster) -> Result<()> {
        let folder = options.first().map_or_else(plug_ins, PathBuf::from);
        match role.as_str() {
            "placement" => placement::run(cluster, folder).await,
            other => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        demo.cluster().install(&[Machine::crd()]).await?;
        demo.start("placement");
        demo.chapter("1. A strategy that is compiled in, and one that is a program.");
        placed(demo, "builtin", "cheapest", "us-1").await?;
        placed(demo, "program", "only-eu", "eu-1").await?;

        demo.chapter("2. A program is given nothing but the question: no KUBECONFIG, no other variable.");
        placed(demo, "nosy", "nosy", "eu-2").await?;

        demo.chapter("3. Programs that hang, flood, crash, lie about their protocol, or speak another one.");
        let misbehaving = ["hangs", "floods", "crashes", "lies", "too-new", "missing"];
        for name in misbehaving {
            machine(demo, name, name).await?;
        }
        for name in misbehaving {
            let named = |machine: &Machine| {
                let conditions = machine.status.clone().unwrap_or_default().conditions;
                Condition::says(&conditions, "Placed", "PlugInFailed", machine.metadata.generation)
            };
            demo.until(name, "say that its plug-in failed", named).await?;
        }

        demo.chapter("4. The controller is alive.");
        placed(demo, "after", "cheapest", "us-1").await
    }
}

/// The folder of programs beside this file.
fn plug_ins() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/patterns/in_process_plugins/plug-ins"))
}

async fn machine(demo: &Demo, name: &str, strategy: &str) -> Result<()> {
    let fields = json!({"spec": {"cores": 2, "strategy": strategy}});
    demo.cluster().apply::<Machine>(name, fields).await.map(drop)
}

async fn placed(demo: &mut Demo, name: &str, strategy: &str, zone: &str) -> Result<()> {
    machine(demo, name, strategy).await?;
    let there = |machine: &Machine| {
        machine.status.as_ref().is_some_and(|status| status.zone.as_deref() == Some(zone))
    };
    demo.until(name, &format!("be placed in {zone}"), there).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<InProcessPlugins>().await
}
