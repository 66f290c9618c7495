//! Three pods report what they ingested; the reports become one status that never promises too much.
//!
//! ```text
//! cargo run -p examples --example pod_status                  # the decision alone, without a cluster
//! cargo run -p examples --example pod_status -- --cluster     # the cluster of your kubeconfig; Ctrl-C ends it
//! ```
//!
//! With a cluster, this process reports about `Lamp` objects as if it were a pod and aggregates the reports.
//! It installs two definitions, `lamps.example.com` and the report kind, and leaves them there.

use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::Event;
use kube::{Client, ResourceExt};
use pod_status::{
    Aggregator, AggregatorConfig, Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError,
    PodIdentity, ReadinessTracker, ReportKind, Reported, ReporterConfig, Shape, StatusReporter, aggregate,
    readiness,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use watch_manager::WatchManager;
use watch_manager::stream::watcher_events;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().any(|argument| argument == "--cluster") {
        in_a_cluster().await
    } else {
        in_memory();
        Ok(())
    }
}

fn lamps() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Lamp"))
}

/// The layout of the status of a lamp.
fn shape() -> Shape {
    Shape::new(lamps(), "lampUID").enforced_by(["webhook"])
}

/// One moment: who has registered, and who reports which generation, with or without success.
struct Scene {
    story: &'static str,
    registered: &'static [&'static str],
    reports: &'static [(&'static str, i64, bool)],
}

const SCENES: [Scene; 7] = [
    Scene { story: "nobody is there", registered: &[], reports: &[] },
    Scene { story: "two pods, one report", registered: &["a", "b"], reports: &[("a", 2, true)] },
    Scene { story: "one is behind", registered: &["a", "b"], reports: &[("a", 2, true), ("b", 1, true)] },
    Scene { story: "both are there", registered: &["a", "b"], reports: &[("a", 2, true), ("b", 2, true)] },
    Scene { story: "c joins", registered: &["a", "b", "c"], reports: &[("a", 2, true), ("b", 2, true)] },
    Scene { story: "c cannot", registered: &["a", "c"], reports: &[("a", 2, true), ("c", 2, false)] },
    Scene { story: "c is deleted", registered: &["a"], reports: &[("a", 2, true), ("c", 2, false)] },
];

fn in_memory() {
    for scene in SCENES {
        if let Decision::Write(status) = decide(&scene) {
            println!("{:22} {}", scene.story, enforced(&Value::Object(status)));
        }
    }
}

fn decide(scene: &Scene) -> Decision {
    let key = ParentKey::new(ParentRef::new("example.com", "Lamp", "hall"), "u1");
    let members: Vec<Member> = scene.registered.iter().map(|id| member(id)).collect();
    let reported = scene.reports.iter().map(|(id, generation, ok)| {
        let error = PodError::new("ingest_error", "no such bulb");
        let errors = if *ok { vec![] } else { vec![error] };
        Reported::new(member(id), Entry::new(key.clone(), *generation).errors(errors))
    });
    let reported: Vec<Reported> = reported.collect();
    aggregate(&shape(), &Parent::new(key.clone(), 2), &members, &reported, &Time(Timestamp::now()))
}

fn member(id: &str) -> Member {
    Member::new(id, "first-run").operations(["webhook"])
}

fn enforced(status: &Value) -> String {
    let conditions = status.get("conditions").cloned().unwrap_or_default();
    let conditions: Vec<Condition> = serde_json::from_value(conditions).unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition.type_ == "Enforced");
    found.map_or_else(
        || "no condition yet".to_owned(),
        |condition| format!("Enforced={} {}: {}", condition.status, condition.reason, condition.message),
    )
}

async fn in_a_cluster() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    for crd in [definition(), json!(ReportKind::default().crd())] {
        install(&client, &crd).await?;
    }
    let identity = PodIdentity::detached("default", "example-process", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(client.clone(), identity.clone(), ReporterConfig::default());
    let driver = tokio::spawn(driver);
    let shutdown = CancellationToken::new();
    let shapes = |parent: &ParentRef| (parent.kind == "Lamp").then(shape);
    let config = AggregatorConfig::new(&identity, shapes);
    let aggregator = tokio::spawn(Aggregator::new(client.clone(), config).run(shutdown.clone()));

    // Registered before the first list, so that nobody can count the pods without this one.
    reporter.registered().await?;
    println!("Create a Lamp in example.com/v1 to see its status. Ctrl-C ends this.");
    tokio::select! {
        () = follow(client, &reporter) => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    shutdown.cancel();
    aggregator.await?;
    tokio::time::timeout(Duration::from_secs(10), reporter.shutdown()).await?;
    Ok(driver.await?)
}

/// "Ingests" every lamp, reports it, and prints the status that comes of it.
async fn follow(client: Client, reporter: &StatusReporter) {
    let tracker = ReadinessTracker::new(readiness::Policy::default());
    let source = tracker.source("lamps");
    tracker.seal();
    let kind = GroupVersionKind::gvk("example.com", "v1", "Lamp");
    let mut events = watcher_events::<DynamicObject>(WatchManager::builder(client).watch(kind)).boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => source.list_begins(),
            Ok(Event::InitApply(lamp) | Event::Apply(lamp)) => {
                let (key, generation) =
                    (ParentKey::of(&lamp, &lamps()), lamp.metadata.generation.unwrap_or(0));
                source.expect(&key, generation);
                reporter.ingested(&key, generation, Ok(()), Value::Null);
                source.observe(&key, generation);
                println!(
                    "{}: {}",
                    lamp.name_any(),
                    enforced(lamp.data.get("status").unwrap_or(&Value::Null))
                );
            }
            Ok(Event::InitDone) => {
                source.list_ends();
                println!("ready: {}", tracker.ready().borrow().is_ready());
            }
            Ok(Event::Delete(lamp)) => {
                let key = ParentKey::of(&lamp, &lamps());
                source.cancel(&key);
                reporter.removed(&key);
            }
            Err(error) => eprintln!("{error}"),
        }
    }
}

async fn install(client: &Client, crd: &Value) -> Result<(), Box<dyn Error>> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    api.patch(name, &PatchParams::apply("example"), &Patch::Apply(crd)).await?;
    await_condition(api, name, conditions::is_crd_established()).await?;
    Ok(())
}

fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {"kind": "Lamp", "plural": "lamps", "singular": "lamp"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}
