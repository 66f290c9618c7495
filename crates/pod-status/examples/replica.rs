//! One replica of a toy webtroller: it "enforces" every `Lamp`, reports that, and takes its turn as the aggregator.
//!
//! ```text
//! cargo run -p pod-status --example replica                     # each replica enforces what it has ingested
//! cargo run -p pod-status --example replica -- --coordinated    # all enforce a generation once all have ingested it
//! ```
//!
//! Run it in the pods of a Deployment with three replicas, with `POD_NAME`, `POD_NAMESPACE` and `POD_UID` from the
//! downward API; then `kubectl wait --for=condition=Enforced lamp/hall` waits for all of them. It installs two
//! definitions, `lamps.example.com` and the report kind, and leaves them there.
//!
//! It follows the lamps with kube's `watcher`, because pod-status and watch-manager do not depend on each other, not even
//! for an example: either can be taken alone (`cargo test -p tidy` refuses the dependency). watch-manager's
//! `Builder::watch` with `stream::watcher_events` yields the same events without the defects that its `docs/upstream` lists;
//! the programs of the package `examples` use it.
//!
//! What it reads and writes is declared in the package `examples`, which runs it with those rights and no others, for the same reason
//! (`cargo run -p examples --example pod_status` is this program).

use std::collections::BTreeMap;
use std::error::Error;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, ResourceExt};
use pod_status::{
    Activation, Aggregator, AggregatorConfig, Deadline, ParentChanges, ParentKey, ParentRef, PodIdentity,
    ReportKind, ReporterConfig, Rollout, Shape, StatusReporter,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let is_coordinated = std::env::args().any(|argument| argument == "--coordinated");
    let client = Client::try_default().await?;
    for crd in [definition(), json!(ReportKind::default().crd())] {
        install(&client, &crd).await?;
    }
    let identity = PodIdentity::from_downward_api(["webhook"])?;
    let (reporter, driver) = StatusReporter::new(client.clone(), identity.clone(), ReporterConfig::default());
    let driver = tokio::spawn(driver.run(CancellationToken::new()));
    let shapes = move |parent: &ParentRef| (parent.kind == "Lamp").then(|| shape(is_coordinated));
    let aggregator = Aggregator::new(client.clone(), AggregatorConfig::new(&identity, shapes));
    let changes = aggregator.parent_changes();
    let aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    // Registered before the first list, so that the aggregator cannot count the pods without this one.
    reporter.registered().await?;
    let slots = BTreeMap::new();
    let replica = Replica { name: identity.name, reporter, changes, is_coordinated, slots };
    tokio::select! {
        () = replica.follow(client) => Ok(()),
        ended = driver => Ok(ended?),
        ended = aggregator => Ok(ended?),
    }
}

fn lamps() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Lamp"))
}

fn shape(is_coordinated: bool) -> Shape {
    let shape = Shape::new(lamps(), "lampUID").enforced_by(["webhook"]);
    if is_coordinated { shape.rollout(Rollout::Coordinated { deadline: Deadline::Never }) } else { shape }
}

struct Replica {
    name: String,
    reporter: StatusReporter,
    changes: ParentChanges,
    is_coordinated: bool,
    slots: BTreeMap<ParentKey, Activation>,
}

impl Replica {
    async fn follow(mut self, client: Client) {
        let api: Api<DynamicObject> = Api::all_with(client, &lamps());
        let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {}
                Ok(Event::InitDone) => self.changes.all_announced(),
                Ok(Event::InitApply(lamp)) => self.applied(&lamp, true),
                Ok(Event::Apply(lamp)) => self.applied(&lamp, false),
                Ok(Event::Delete(lamp)) => {
                    let key = ParentKey::of(&lamp, &lamps());
                    self.slots.remove(&key);
                    self.changes.removed(&key.reference);
                    self.reporter.removed(&key);
                }
                Err(error) => eprintln!("{}: {error}", self.name),
            }
        }
    }

    fn applied(&mut self, lamp: &DynamicObject, is_listed: bool) {
        let (key, generation) = (ParentKey::of(lamp, &lamps()), lamp.metadata.generation.unwrap_or_default());
        self.changes.changed(key.reference.clone());
        let activated = if self.is_coordinated { activation(lamp, &key) } else { Some(generation) };
        let slots = self.slots.entry(key.clone()).or_default();
        if is_listed && *slots == Activation::default() {
            slots.listed(activated);
        }
        let is_new = slots.ingested() < Some(generation);
        let mut switched = None;
        if is_new {
            println!("{} ingested {} {generation}", self.name, lamp.name_any());
            switched = slots.staged(generation);
        }
        if let Some(activated) = activated {
            switched = slots.activated(activated).or(switched);
        }
        if let Some(generation) = switched {
            println!("{} enforces {} {generation}", self.name, lamp.name_any());
        }
        // Reported last: now it is true.
        if is_new {
            self.reporter.ingested(&key, generation, Ok(()), ());
        }
        if let Some(generation) = slots.enforcing().filter(|_| self.is_coordinated) {
            self.reporter.enforcing(&key, generation);
        }
    }
}

/// The generation that the aggregator has activated for this very object.
fn activation(lamp: &DynamicObject, key: &ParentKey) -> Option<i64> {
    let activation = lamp.data.get("status")?.get("activation")?;
    let is_its = activation.get("uid").and_then(Value::as_str) == Some(&key.uid);
    activation.get("generation").and_then(Value::as_i64).filter(|_| is_its)
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
