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
use kube::runtime::WatchStreamExt;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt};
use pod_status::{
    Aggregator, AggregatorConfig, Config, Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError,
    PodIdentity, ReadinessTracker, ReportKind, Reported, Shape, StatusReporter, aggregate, readiness,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

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

/// How the status of a lamp looks.
fn shape(parent: &ParentRef) -> Option<Shape> {
    (parent.kind == "Lamp").then(|| Shape {
        resource: lamps(),
        uid_field: "lampUID".into(),
        latch: None,
        enforcing: ["webhook".into()].into(),
        enforced_field: None,
    })
}

fn in_memory() {
    let reference = ParentRef {
        group: "example.com".into(),
        kind: "Lamp".into(),
        namespace: None,
        name: "hall".into(),
    };
    let parent = Parent {
        key: ParentKey {
            reference,
            uid: "u1".into(),
        },
        generation: 2,
    };
    let pod = |id: &str| Member {
        id: id.into(),
        operations: ["webhook".into()].into(),
        ..Member::default()
    };
    let says = |id: &str, generation: i64, errors: Vec<PodError>| Reported {
        member: pod(id),
        entry: Entry {
            parent: parent.key.clone(),
            generation,
            errors,
            detail: Value::Null,
        },
    };
    let broken = PodError {
        message: "no such bulb".into(),
        ..PodError::default()
    };
    let (a, b, c) = (pod("a"), pod("b"), pod("c"));
    for (story, members, reported) in [
        ("nobody is there", vec![], vec![]),
        (
            "two pods registered, one reported",
            vec![&a, &b],
            vec![says("a", 2, vec![])],
        ),
        (
            "the other is a generation behind",
            vec![&a, &b],
            vec![says("a", 2, vec![]), says("b", 1, vec![])],
        ),
        (
            "both are there",
            vec![&a, &b],
            vec![says("a", 2, vec![]), says("b", 2, vec![])],
        ),
        (
            "a third registers",
            vec![&a, &b, &c],
            vec![says("a", 2, vec![]), says("b", 2, vec![])],
        ),
        (
            "it cannot ingest",
            vec![&a, &c],
            vec![says("a", 2, vec![]), says("c", 2, vec![broken])],
        ),
        (
            "it is deleted",
            vec![&a],
            vec![says("a", 2, vec![]), says("c", 2, vec![])],
        ),
    ] {
        let members: Vec<Member> = members.into_iter().cloned().collect();
        let now = Time(Timestamp::now());
        let Some(shape) = shape(&parent.key.reference) else {
            return;
        };
        let decision = aggregate(&shape, &parent, &members, &reported, &Value::Null, &now);
        if let Decision::Write(status) = decision {
            println!("{story:36} {}", enforced(&Value::Object(status)));
        }
    }
}

fn enforced(status: &Value) -> String {
    let conditions = status.get("conditions").cloned().unwrap_or_default();
    let conditions: Vec<Condition> = serde_json::from_value(conditions).unwrap_or_default();
    let found = conditions
        .into_iter()
        .find(|condition| condition.type_ == "Enforced");
    found.map_or_else(
        || "no condition yet".to_owned(),
        |condition| {
            format!(
                "Enforced={} {}: {}",
                condition.status, condition.reason, condition.message
            )
        },
    )
}

async fn in_a_cluster() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    for crd in [definition(), ReportKind::default().crd()] {
        install(&client, &crd).await?;
    }
    let identity = PodIdentity::detached("default", "example-process", ["webhook"]);
    let (reporter, driver) = StatusReporter::new(client.clone(), identity.clone(), Config::default());
    let driver = tokio::spawn(driver);
    let shutdown = CancellationToken::new();
    let holder = format!("{}_{}", identity.name, identity.incarnation);
    let config = AggregatorConfig::new(identity.namespace.clone(), holder, shape);
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
    let api: Api<DynamicObject> = Api::all_with(client, &lamps());
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => source.list_begins(),
            Ok(Event::InitApply(lamp) | Event::Apply(lamp)) => {
                let (key, generation) = (
                    ParentKey::of(&lamp, &lamps()),
                    lamp.metadata.generation.unwrap_or(0),
                );
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
    let name = crd
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    api.patch(name, &PatchParams::apply("example"), &Patch::Apply(crd))
        .await?;
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
