//! Churn on a real API server: three registrars add and remove kinds, one in the version that the server prefers; objects are created, changed and deleted, a
//! definition is made again with other versions and another scope, the API server is killed three times, etcd is
//! compacted all the time. At the end, the folded events of every registrar are a fresh list.
//!
//! `WATCH_MANAGER_CHURN_SECONDS` sets the length (default 30).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a panic is how a test says no"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use control_plane::{Component, ControlPlane, Options};
use futures::FutureExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;
use watch_manager::{EventKind, ObjectKey, Registrar, WatchEvent, WatchManager, WatchReadiness};

const GROUP: &str = "churn.example.com";
const MARKER: &str = "o-last";
/// More than any step takes on a busy machine: reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// True while gadgets are in namespaces.
static NAMESPACED: AtomicBool = AtomicBool::new(false);

/// Kind to key to uid and version.
type View = BTreeMap<String, BTreeMap<String, (String, String)>>;

fn maps() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "ConfigMap")
}

fn gadgets() -> GroupVersionKind {
    GroupVersionKind::gvk(GROUP, "v1", "Gadget")
}

/// In the version that the server prefers.
fn preferred_gadgets() -> GroupVersionKind {
    GroupVersionKind::gvk(GROUP, "", "Gadget")
}

/// The kinds that readers ask for.
fn kinds() -> [GroupVersionKind; 3] {
    [maps(), gadgets(), preferred_gadgets()]
}

/// The name of a kind in a view.
fn called(kind: &GroupVersionKind) -> String {
    format!("{} {}", kind.version, kind.kind)
}

/// A small generator: its numbers depend on the seed alone.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_is_a_fresh_list_at_the_end() {
    let seconds = std::env::var("WATCH_MANAGER_CHURN_SECONDS").map_or(30, |text| text.parse().unwrap());
    let mut plane =
        Options::default().api_server_flag("--etcd-compaction-interval=5s").start().await.unwrap();
    let client = plane.client().unwrap();
    define(&client, 0).await;
    let shutdown = CancellationToken::new();
    let (manager, driver) = WatchManager::builder(client.clone()).build();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let (stop, truth) = (CancellationToken::new(), watch::Sender::new(None));
    let mut readers = JoinSet::new();
    for seed in 0..3 {
        let registrar = manager.registrar(&format!("reader-{seed}")).unwrap();
        readers.spawn(read(registrar, Dice(seed), stop.clone(), truth.subscribe()));
    }

    churn(&mut plane, &client, Duration::from_secs(seconds)).await;
    define(&client, 0).await;
    stop.cancel();
    mark(&client).await;
    truth.send_replace(Some(list(&client).await));
    readers.join_all().await;
    shutdown.cancel();
    driver.await.unwrap();
}

/// Changes objects and definitions, and kills the API server three times.
async fn churn(plane: &mut ControlPlane, client: &Client, length: Duration) {
    let (mut dice, mut ticks, begun) = (Dice(99), interval(Duration::from_millis(20)), Instant::now());
    let mut kills = 0;
    for round in 0_u64.. {
        ticks.tick().await;
        if begun.elapsed() > length {
            return;
        }
        if kills < 3 && begun.elapsed() > length * (kills + 1) / 4 {
            kills += 1;
            plane.kill(Component::ApiServer);
            plane.restart(Component::ApiServer).await.unwrap();
        }
        if round % 200 == 150 {
            undefine(client).await;
            define(client, dice.roll(4)).await;
        }
        // Requests may fail while the definition is made again.
        let kind = if dice.roll(2) == 0 { maps() } else { gadgets() };
        let _ = change(client, &kind, &mut dice).await;
    }
}

async fn change(client: &Client, kind: &GroupVersionKind, dice: &mut Dice) -> Result<(), kube::Error> {
    let name = format!("o{}", dice.roll(6));
    let objects = objects(client, kind);
    if dice.roll(3) == 0 {
        objects.delete(&name, &DeleteParams::default()).await?;
    } else {
        let label = dice.roll(1_000).to_string();
        apply(&objects, kind, &name, &label).await?;
    }
    Ok(())
}

async fn apply(
    objects: &Api<DynamicObject>,
    kind: &GroupVersionKind,
    name: &str,
    label: &str,
) -> Result<DynamicObject, kube::Error> {
    let object = json!({"apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": {"name": name, "labels": {"round": label}}});
    objects.patch(name, &PatchParams::apply("churn").force(), &Patch::Apply(object)).await
}

/// The objects of a kind in the namespace `default`, or in none, as its definition says.
fn objects(client: &Client, kind: &GroupVersionKind) -> Api<DynamicObject> {
    let plural = if kind.kind == "Gadget" { "gadgets" } else { "configmaps" };
    let resource = ApiResource::from_gvk_with_plural(kind, plural);
    if kind.kind == "Gadget" && !NAMESPACED.load(Ordering::Relaxed) {
        return Api::all_with(client.clone(), &resource);
    }
    Api::namespaced_with(client.clone(), "default", &resource)
}

/// Creates the last object of each kind.
async fn mark(client: &Client) {
    for kind in [maps(), gadgets()] {
        let mut ticks = interval(Duration::from_millis(200));
        let mut refused = None;
        let marked = async {
            while let Err(error) = apply(&objects(client, &kind), &kind, MARKER, "last").await {
                refused = Some(error);
                ticks.tick().await;
            }
        };
        let marked = timeout(PATIENCE, marked).await;
        assert!(marked.is_ok(), "the last {} is not accepted: {refused:?}", kind.kind);
    }
}

async fn list(client: &Client) -> View {
    let mut view = View::new();
    for kind in [maps(), gadgets()] {
        let found = objects(client, &kind).list(&ListParams::default()).await.unwrap();
        let found = found.into_iter().filter(|object| object.name_any().starts_with('o'));
        let entry = |object: DynamicObject| {
            let key = ObjectKey::new(object.namespace().as_deref(), &object.name_any());
            (key.to_string(), (object.uid().unwrap(), object.resource_version().unwrap()))
        };
        view.insert(called(&kind), found.map(entry).collect());
    }
    // An object is the same in all versions.
    let gadgets = view[&called(&gadgets())].clone();
    view.insert(called(&preferred_gadgets()), gadgets);
    view
}

/// Adds and removes kinds at random until `stop`, then waits until its view is the truth, and that nothing follows.
async fn read(
    mut registrar: Registrar,
    mut dice: Dice,
    stop: CancellationToken,
    mut truth: watch::Receiver<Option<View>>,
) {
    let mut view = View::new();
    let mut ticks = interval(Duration::from_millis(150));
    while !stop.is_cancelled() {
        tokio::select! {
            event = registrar.next() => fold(&mut view, &event.unwrap()),
            _ = ticks.tick() => {
                let [maps, gadgets, preferred] = kinds();
                let kind = match dice.roll(4) {
                    0 | 1 => maps,
                    2 => gadgets,
                    _ => preferred,
                };
                if dice.roll(3) == 0 {
                    registrar.remove(&kind);
                    view.remove(&called(&kind));
                } else {
                    let _ = registrar.add(kind);
                }
            }
        }
    }
    registrar.replace(kinds());
    let truth = truth.wait_for(Option::is_some).await.unwrap().clone().unwrap();
    // A registrar that is ready stays so while a kind is listed again: what the list did not contain is deleted at its end.
    let follow = async {
        while view != truth {
            fold(&mut view, &registrar.next().await.unwrap());
        }
    };
    let followed = timeout(PATIENCE, follow).await;
    assert!(followed.is_ok(), "{view:?} is not {truth:?}");
    timeout(PATIENCE, registrar.wait_until(WatchReadiness::is_ready)).await.expect("ready").unwrap();
    while let Some(Some(event)) = registrar.next().now_or_never() {
        fold(&mut view, &event);
    }
    assert_eq!(view, truth);
}

/// Folds an event; panics if it makes no sense to a reader.
fn fold(view: &mut View, event: &WatchEvent) {
    let Some(object) = event.kind.object() else { return };
    let kind = view.entry(called(&event.gvk)).or_default();
    if !object.name().starts_with('o') {
        return;
    }
    let identity = (object.uid().to_owned(), object.resource_version().to_owned());
    let key = object.key().to_string();
    match &event.kind {
        EventKind::Deleted(_) => {
            let (uid, _) = kind.remove(&key).expect("a delete of an object that was not delivered");
            assert_eq!(uid, identity.0, "a delete of another object");
        }
        _ => {
            if let Some((uid, _)) = kind.insert(key, identity.clone()) {
                assert_eq!(uid, identity.0, "another object without a delete in between");
            }
        }
    }
}

/// Defines gadgets: in one version or in two, in namespaces or not.
async fn define(client: &Client, shape: u64) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    let (versions, namespaced) = (shape % 2, shape >= 2);
    let versions = if versions == 0 {
        vec![version("v1", true)]
    } else {
        vec![version("v1", true), version("v2", false)]
    };
    let name = format!("gadgets.{GROUP}");
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name}, "spec": {"group": GROUP, "scope": if namespaced { "Namespaced" } else { "Cluster" }, "versions": versions,
        "names": {"plural": "gadgets", "kind": "Gadget"}}});
    let mut ticks = interval(Duration::from_millis(200));
    let defined = async {
        let apply = PatchParams::apply("churn").force();
        loop {
            match definitions.patch(&name, &apply, &Patch::Apply(&definition)).await {
                Ok(definition) if definition.metadata.deletion_timestamp.is_none() => return,
                // It was changed while it is being deleted, and goes.
                Ok(_) => {}
                // The scope of a definition cannot be changed.
                Err(_) => undefine(client).await,
            }
            ticks.tick().await;
        }
    };
    timeout(PATIENCE, defined).await.expect("the definition is not accepted");
    NAMESPACED.store(namespaced, Ordering::Relaxed);
}

async fn undefine(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = format!("gadgets.{GROUP}");
    // An API server that is not there is part of the test; what is not deleted now is changed by `define`.
    let _ = definitions.delete(&name, &DeleteParams::default()).await;
}
