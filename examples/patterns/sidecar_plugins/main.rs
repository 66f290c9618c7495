//! A plug-in in the same pod: a sidecar behind a Unix socket in a shared folder.
//!
//! ```sh
//! cargo run -p examples --example sidecar_plugins -- --demo
//! ```

mod placement;
mod sidecar;
mod socket;

use std::path::PathBuf;

use anyhow::{Context, Result};
use controller_declaration::Declaration;
use examples::{Cluster, Condition, Demo, Pattern, no_role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::json;

use crate::placement::Machine;

struct SidecarPlugins;

impl Pattern for SidecarPlugins {
    const ROLES: &'static [&'static str] = &["placement", "sidecar"];

    fn definitions(_: &str) -> Result<Vec<CustomResourceDefinition>> {
        Ok(vec![Machine::crd()])
    }

    /// The options are the folder, and for the sidecar the user id of those who may call it.
    fn declarations(_: &str) -> Vec<Declaration> {
        vec![
            Declaration::new("sidecar", "Ranks zones. It makes no call to the API server."),
            placement::declaration(),
        ]
    }

    async fn control(role: String, options: Vec<String>, cluster: Cluster) -> Result<()> {
        let own = rustix::process::getuid().as_raw();
        // One for each user: the folder of another one would be refused.
        let folder = || std::env::temp_dir().join(format!("sidecar-plugins-{own}"));
        let folder = options.first().map_or_else(folder, PathBuf::from);
        let user = options.get(1).map_or(Ok(own), |user| user.parse());
        match role.as_str() {
            "placement" => placement::run(cluster, folder).await,
            "sidecar" => sidecar::run(cluster, &folder, user.context("a user id is a number")?).await,
            other => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let folder = folder.path().join("shared").display().to_string();
        demo.cluster().install(&[Machine::crd()]).await?;
        demo.chapter("1. The controller is first: its Machine waits for the sidecar.");
        demo.start_as("placement", "placement", &[&folder]);
        machine(demo, "early").await?;
        waits(demo, "early").await?;
        demo.start_as("sidecar", "sidecar", &[&folder]);
        placed(demo, "early").await?;

        demo.chapter("2. The sidecar crashes, and leaves its socket file behind.");
        demo.stop("sidecar").await;
        machine(demo, "meanwhile").await?;
        waits(demo, "meanwhile").await?;
        demo.start_as("sidecar again", "sidecar", &[&folder]);
        placed(demo, "meanwhile").await?;

        demo.chapter("3. The controller crashes. The sidecar does not notice.");
        demo.stop("placement").await;
        machine(demo, "later").await?;
        demo.start_as("placement again", "placement", &[&folder]);
        placed(demo, "later").await?;

        demo.chapter("4. A sidecar that may be called by another user only.");
        demo.retire("sidecar again").await;
        let other = rustix::process::getuid().as_raw().saturating_add(1).to_string();
        demo.start_as("strict", "sidecar", &[&folder, &other]);
        machine(demo, "refused").await?;
        waits(demo, "refused").await?;
        demo.retire("strict").await;
        demo.start_as("sidecar at last", "sidecar", &[&folder]);
        placed(demo, "refused").await
    }
}

async fn machine(demo: &Demo, name: &str) -> Result<()> {
    demo.cluster().apply::<Machine>(name, json!({"spec": {"cores": 2}})).await.map(drop)
}

async fn waits(demo: &mut Demo, name: &str) -> Result<()> {
    let named = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        Condition::says(&conditions, "Placed", "WaitingForSidecar", machine.metadata.generation)
    };
    demo.until(name, "wait for the sidecar", named).await.map(drop)
}

async fn placed(demo: &mut Demo, name: &str) -> Result<()> {
    let there = |machine: &Machine| {
        machine.status.as_ref().is_some_and(|status| status.zone.as_deref() == Some("us-1"))
    };
    demo.until(name, "be placed in us-1", there).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<SidecarPlugins>().await
}
