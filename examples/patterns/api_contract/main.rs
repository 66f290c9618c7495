//! A core controller that works with any infrastructure: providers keep a contract, in processes of their own.
//!
//! ```sh
//! cargo run -p examples --example api_contract -- --demo
//! ```

mod claim;
mod contract;
mod core;
mod machine;
mod provider;

use anyhow::Result;
use controller_declaration::Declaration;
use examples::{Cluster, Condition, Demo, Pattern, no_role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{CustomResourceExt, ResourceExt};
use serde_json::json;

use crate::machine::{CONDITION, Machine, Reference};
use crate::provider::{BIG, Cloud, Release, SMALL};

struct ApiContract;

impl Pattern for ApiContract {
    const ROLES: &'static [&'static str] = &["core", "small", "big"];

    fn definitions(namespace: &str) -> Result<Vec<CustomResourceDefinition>> {
        let of = |cloud: Cloud| cloud.definition(namespace, Release::V1);
        Ok(vec![Machine::crd(), of(SMALL)?, of(BIG)?])
    }

    fn declarations(namespace: &str) -> Vec<Declaration> {
        vec![core::declaration(namespace), SMALL.declaration(namespace), BIG.declaration(namespace)]
    }

    async fn control(role: String, options: Vec<String>, cluster: Cluster) -> Result<()> {
        let release = if options.iter().any(|option| option == "v2") { Release::V2 } else { Release::V1 };
        match role.as_str() {
            "core" => core::run(cluster).await,
            "small" => provider::run(cluster, SMALL, release).await,
            "big" => provider::run(cluster, BIG, release).await,
            other => Err(no_role::<Self>(other)),
        }
    }

    async fn run_demo(demo: &mut Demo) -> Result<()> {
        demo.chapter("1. A Machine refers to a kind that nobody has installed.");
        demo.cluster().install(&[Machine::crd()]).await?;
        demo.start("core");
        machine(demo, "web", SMALL).await?;
        until(demo, "web", "KindNotFound").await?;

        demo.chapter("2. The provider arrives, with its kind: nothing is restarted.");
        install(demo, SMALL, Release::V1).await?;
        demo.start("small");
        infrastructure(demo, "web", SMALL, 2).await?;
        until(demo, "web", "Provisioned").await?;

        demo.chapter("3. A second provider, in a process of its own. The core is not restarted.");
        install(demo, BIG, Release::V1).await?;
        demo.start("big");
        machine(demo, "db", BIG).await?;
        infrastructure(demo, "db", BIG, 64).await?;
        until(demo, "db", "Provisioned").await?;

        demo.chapter("4. A provider says that it keeps the contract, and its schema does not.");
        install(demo, provider::BROKEN, Release::V1).await?;
        machine(demo, "lab", provider::BROKEN).await?;
        until(demo, "lab", "ContractBroken").await?;

        demo.chapter("5. A failure, as contract v1 reports it.");
        machine(demo, "huge", SMALL).await?;
        infrastructure(demo, "huge", SMALL, 9000).await?;
        until(demo, "huge", "TooLarge").await?;

        demo.chapter(
            "6. Contract v2 moves the failure fields. `small` is upgraded, `big` is not; both are read.",
        );
        demo.stop("small").await;
        install(demo, SMALL, Release::V2).await?;
        demo.start_as("small-v2", "small", &["v2"]);
        machine(demo, "vast", SMALL).await?;
        infrastructure(demo, "vast", SMALL, 9001).await?;
        until(demo, "vast", "TooLarge").await?;
        until(demo, "web", "Provisioned").await?;
        until(demo, "db", "Provisioned").await?;

        swap_provider(demo).await?;
        // A core that was frozen says what it knew then, until it sees what has changed: the one that runs corrects it.
        demo.thaw().await;
        let ends =
            [("db", "Provisioned"), ("huge", "TooLarge"), ("lab", "ContractBroken"), ("vast", "TooLarge")];
        for (name, reason) in ends {
            until(demo, name, reason).await?;
        }
        until(demo, "web", "Provisioned").await
    }
}

async fn swap_provider(demo: &mut Demo) -> Result<()> {
    demo.chapter("7. The running Machine `web` moves from one provider to the other.");
    infrastructure(demo, "web", BIG, 2).await?;
    machine(demo, "web", BIG).await?;
    let moved = demo
        .until("web", "run on `big`, with nothing left behind", |web: &Machine| {
            let status = web.status.clone().unwrap_or_default();
            status.infrastructure.as_ref() == Some(&web.spec.infrastructure_ref)
        })
        .await?;
    let provider_id = moved.status.and_then(|status| status.provider_id).unwrap_or_default();
    demo.cluster().say(format!("web runs as {provider_id}"));
    let cluster = demo.cluster();
    let kind = SMALL.resource(&cluster.namespace, Release::V2);
    let web = cluster.interest::<DynamicObject>(&kind).fields("metadata.name=web");
    demo.until_in(web, "be gone", |left: &[DynamicObject]| left.is_empty()).await.map(drop)
}

/// Applies a Machine that refers to the object of the same name of a provider.
async fn machine(demo: &Demo, name: &str, cloud: Cloud) -> Result<()> {
    let kind = cloud.resource(&demo.cluster().namespace, Release::V1);
    let reference = Reference { api_group: kind.group, kind: kind.kind, name: name.to_owned() };
    demo.cluster().say(format!("Machine {name} refers to {} {name}", reference.kind));
    let fields = json!({"spec": {"infrastructureRef": reference}});
    demo.cluster().apply::<Machine>(name, fields).await.map(drop)
}

/// Applies the object of a provider.
async fn infrastructure(demo: &Demo, name: &str, cloud: Cloud, cores: i64) -> Result<()> {
    let cluster = demo.cluster();
    let kind = cloud.resource(&cluster.namespace, Release::V1);
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &kind);
    let object = Patch::Apply(json!({"apiVersion": kind.api_version, "kind": kind.kind,
                        "metadata": {"name": name}, "spec": {"cores": cores}}));
    let user = PatchParams::apply("user");
    let applied = examples::cluster::bounded(api.patch(name, &user, &object)).await?;
    cluster.say(format!("{} {} has {cores} cores", kind.kind, applied.name_any()));
    Ok(())
}

/// Installs the definition of a provider.
async fn install(demo: &Demo, cloud: Cloud, release: Release) -> Result<()> {
    let definition = cloud.definition(&demo.cluster().namespace, release)?;
    demo.cluster().say(format!("installs {}", definition.name_any()));
    demo.cluster().install(&[definition]).await
}

/// Waits until the core says so about the Machine as it is now.
async fn until(demo: &mut Demo, name: &str, reason: &str) -> Result<()> {
    let says = |machine: &Machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        Condition::says(&conditions, CONDITION, reason, machine.metadata.generation)
    };
    demo.until(name, &format!("have the reason {reason}"), says).await.map(drop)
}

#[tokio::main]
async fn main() -> Result<()> {
    examples::run::<ApiContract>().await
}
