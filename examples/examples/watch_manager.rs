//! Two consumers share watches of kinds that come and go.
//!
//! ```text
//! cargo run -p examples --example watch_manager                  # a server in memory; ends by itself
//! cargo run -p examples --example watch_manager -- --cluster     # the cluster of your kubeconfig; Ctrl-C ends it
//! ```
//!
//! `audit` wants namespaces. `policies` wants namespaces and gadgets, a kind that is not defined yet.
//! One watch of namespaces serves both; the watch of gadgets begins when gadgets are defined.

use std::error::Error;

use kube::Client;
use serde_json::json;
use watch_manager::testing::FakeApi;
use watch_manager::{
    CancellationToken, EventKind, GroupVersionKind, GvkStatus, Registrar, WatchEvent, WatchManager,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "--cluster") {
        in_a_cluster().await
    } else {
        in_memory().await
    }
}

fn namespaces() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "Namespace")
}

fn gadgets() -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", "v1", "Gadget")
}

async fn in_a_cluster() -> Result<(), Box<dyn Error>> {
    let (manager, driver) = WatchManager::builder(Client::try_default().await?).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut policies = manager.registrar("policies")?;
    policies.replace([namespaces(), gadgets()]);
    println!("Define a kind Gadget in example.com/v1 to see it start. Ctrl-C ends this.");
    loop {
        tokio::select! {
            event = policies.next() => match event {
                Some(event) => tell("policies", &event),
                None => break,
            },
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                break;
            }
        }
    }
    shutdown.cancel();
    Ok(driver.await?)
}

async fn in_memory() -> Result<(), Box<dyn Error>> {
    let api = FakeApi::new();
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
    let driver = tokio::spawn(driver.run(CancellationToken::new()));
    api.serve(&namespaces(), "namespaces");
    for name in ["default", "kube-system"] {
        api.apply(&namespaces(), json!({"metadata": {"name": name}}));
    }

    println!("# audit asks for namespaces");
    let mut audit = manager.registrar("audit")?;
    let _ = audit.add(namespaces());
    until(&mut audit, "audit", is_synced).await;

    println!("# policies asks for namespaces, and for a kind that does not exist yet");
    let mut policies = manager.registrar("policies")?;
    policies.replace([namespaces(), gadgets()]);
    until(&mut policies, "policies", is_synced).await;
    for (gvk, status) in policies.readiness().waiting() {
        println!("not ready: {} is {status}", gvk.kind);
    }

    println!("# the kind is defined");
    api.serve(&gadgets(), "gadgets");
    api.apply(&gadgets(), json!({"metadata": {"name": "lamp"}}));
    manager.rediscover(&gadgets());
    until(&mut policies, "policies", |event| *event.gvk == gadgets() && is_ready(event)).await;
    println!("ready: {}", policies.readiness().is_ready());

    println!("# one watch each, however many ask");
    println!("{} watches for {} kinds", api.open_watches(), manager.watched().len());

    println!("# the definition is deleted, and its objects with it");
    api.unserve(&gadgets());
    until(&mut policies, "policies", |event| matches!(event.kind, EventKind::Deleted(_))).await;

    println!("# all leave");
    drop((audit, policies, manager));
    driver.await?;
    println!("{} watches", api.open_watches());
    Ok(())
}

fn is_synced(event: &WatchEvent) -> bool {
    event.kind == EventKind::Synced
}

fn is_ready(event: &WatchEvent) -> bool {
    event.kind == EventKind::Status(GvkStatus::Ready)
}

/// Tells the events up to the one that is wanted.
async fn until(registrar: &mut Registrar, who: &str, wanted: impl Fn(&WatchEvent) -> bool) {
    while let Some(event) = registrar.next().await {
        tell(who, &event);
        if wanted(&event) {
            return;
        }
    }
}

fn tell(who: &str, event: &WatchEvent) {
    let kind = &event.gvk.kind;
    match &event.kind {
        EventKind::Applied(object) => println!("{who}: {kind} {} is there", object.key()),
        EventKind::Deleted(object) => println!("{who}: {kind} {} is gone", object.key()),
        EventKind::Synced => println!("{who}: that was every {kind}"),
        EventKind::Status(status) => println!("{who}: {kind} is {status}"),
        _ => {}
    }
}
