//! Versions that expire, access that is revoked, and versions that are withdrawn, on a real API server.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use control_plane::{ControlPlane, Options};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};
use watch_manager::source::{Freshness, Listed, Page, Served, SourceError, SourceEvents, WatchTarget};
use watch_manager::{
    CancellationToken, Config, EventKind, GvkStatus, KubeSource, Source, Verb, WatchManager,
};

use super::{Duration, Gadgets, PATIENCE, allow, manage, next_change, next_object, status};

/// The real source, in which watches and further pages wait for permits. Logs the answers to both.
struct Gated {
    source: KubeSource,
    watches: Arc<Semaphore>,
    pages: Arc<Semaphore>,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Gated {
    fn new(client: Client) -> Self {
        let gate = || Arc::new(Semaphore::new(0));
        Self { source: KubeSource::new(client), watches: gate(), pages: gate(), log: Arc::default() }
    }

    fn note<T>(&self, what: [&'static str; 2], answer: &Result<T, SourceError>) {
        let expired = matches!(answer, Err(SourceError::Expired));
        self.log.lock().unwrap().push(what[usize::from(expired)]);
    }
}

impl Source for Gated {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        self.source.resolve(gvk, freshness)
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            if page.continue_token.is_none() {
                return self.source.list(target, page).await;
            }
            let _permit = self.pages.acquire().await.unwrap();
            let answer = self.source.list(target, page).await;
            self.note(["page", "page expired"], &answer);
            answer
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move {
            let _permit = self.watches.acquire().await.unwrap();
            let answer = self.source.watch(target, version, limit).await;
            self.note(["watch", "watch expired"], &answer);
            answer
        }
        .boxed()
    }
}

/// A server that compacts etcd every second, and whose watches come from etcd.
async fn compacting() -> ControlPlane {
    let options = Options::default()
        .api_server_flag("--etcd-compaction-interval=1s")
        .api_server_flag("--watch-cache=false");
    options.start().await.unwrap()
}

fn maps() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "ConfigMap")
}

async fn create(maps: &Api<ConfigMap>, name: &str) {
    let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Waits until a watch from `version` is refused as expired.
async fn expired(maps: &Api<ConfigMap>, version: &str) {
    let mut ticks = interval(Duration::from_millis(200));
    let params = WatchParams::default().timeout(1);
    let wait = async {
        loop {
            ticks.tick().await;
            let seen = match maps.watch(&params, version).await {
                Err(kube::Error::Api(status)) => status.code == 410,
                Err(_) => false,
                Ok(events) => {
                    use futures::StreamExt as _;
                    let first = events.boxed().next().await;
                    matches!(first, Some(Ok(kube::api::WatchEvent::Error(status))) if status.code == 410)
                }
            };
            if seen {
                return;
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("the version does not expire");
}

#[tokio::test]
async fn a_version_that_etcd_has_compacted_is_listed_again_and_missed_deletes_are_delivered() {
    let plane = compacting().await;
    let namespace = plane.namespace("expired").await.unwrap();
    let objects: Api<ConfigMap> = Api::namespaced(plane.client().unwrap(), &namespace);
    create(&objects, "lost").await;
    let source = Gated::new(plane.client().unwrap());
    let (watches, log) = (Arc::clone(&source.watches), Arc::clone(&source.log));
    let (manager, driver) = WatchManager::builder_with_source(source).build();
    let _driver = tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let interest = watch_manager::Interest::new(maps()).namespaces([&namespace]);
    registrar.add(interest).ready().await.unwrap();

    // The list is complete; its watch waits for the gate until its version is gone.
    let version = objects.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    objects.delete("lost", &DeleteParams::default()).await.unwrap();
    create(&objects, "found").await;
    expired(&objects, &version).await;
    watches.add_permits(100);
    let mut seen = Vec::new();
    while !(seen.contains(&"delete lost".to_owned()) && seen.contains(&"apply found".to_owned())) {
        seen.push(next_object(&mut registrar).await);
    }
    assert_eq!(seen.iter().filter(|event| *event == "delete lost").count(), 1, "{seen:?}");
    status(&mut registrar, GvkStatus::is_ready).await;
    // A server may also open the watch and send the error as its first event.
    assert!(log.lock().unwrap().len() >= 2, "the first watch was not refused");
}

#[tokio::test]
async fn pages_that_etcd_has_compacted_do_not_keep_a_list_from_completing() {
    let plane = compacting().await;
    let namespace = plane.namespace("pages").await.unwrap();
    let objects: Api<ConfigMap> = Api::namespaced(plane.client().unwrap(), &namespace);
    for name in ["a", "b", "c", "d"] {
        create(&objects, name).await;
    }
    let source = Gated::new(plane.client().unwrap());
    let (pages, log) = (Arc::clone(&source.pages), Arc::clone(&source.log));
    source.watches.add_permits(100);
    let mut config = Config::default();
    config.page_size = 1;
    config.request_timeout = PATIENCE;
    let (manager, driver) = WatchManager::builder_with_source(source).config(config).build();
    let _driver = tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let handle = registrar.add(watch_manager::Interest::new(maps()).namespaces([&namespace]));
    // The first page is delivered; the next waits for the gate until its version is gone.
    let first = next_object(&mut registrar).await;
    let version = objects.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    create(&objects, "e").await;
    expired(&objects, &version).await;
    pages.add_permits(100);
    timeout(PATIENCE, handle.ready()).await.unwrap().unwrap();
    assert!(log.lock().unwrap().contains(&"page expired"), "no page expired");
    let mut seen = vec![first];
    while handle.store().len() > seen.len() {
        seen.push(next_object(&mut registrar).await);
    }
    for name in ["a", "b", "c", "d", "e"] {
        assert!(handle.store().get(Some(&namespace), name).is_some(), "{name} is missing");
    }
}

#[tokio::test]
async fn access_that_is_revoked_and_granted_again_costs_no_object() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let namespace = plane.namespace("revoked").await.unwrap();
    let objects: Api<ConfigMap> = Api::namespaced(admin.clone(), &namespace);
    create(&objects, "kept").await;
    allow(&admin, "revoked", "configmaps", &["list", "watch"]).await;
    let mut config = Config::default();
    // Access is checked when a watch is opened.
    config.watch_timeout = Duration::from_secs(2);
    config.refused.min = Duration::from_millis(200);
    config.refused.max = Duration::from_millis(200);
    let (manager, _driver) = manage(plane.client_as("revoked", &[]).unwrap(), config);
    let mut registrar = manager.registrar("r").unwrap();
    let handle = registrar.add(maps());
    status(&mut registrar, GvkStatus::is_ready).await;

    allow(&admin, "revoked", "configmaps", &["get"]).await;
    let refused = |status: &GvkStatus| matches!(status, GvkStatus::Forbidden { verb: Verb::Watch, .. });
    status(&mut registrar, refused).await;
    assert!(handle.store().get(Some(&namespace), "kept").is_some(), "a refused kind lost its objects");
    objects.delete("kept", &DeleteParams::default()).await.unwrap();

    allow(&admin, "revoked", "configmaps", &["list", "watch"]).await;
    loop {
        match next_change(&mut registrar).await {
            EventKind::Deleted(object) if object.name() == "kept" => break,
            EventKind::Applied(object) => assert_ne!(object.name(), "kept", "delivered again"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_version_that_is_withdrawn_takes_its_objects_and_the_preferred_one_is_followed() {
    let plane = ControlPlane::shared().await.unwrap();
    let gadgets = Gadgets::new(plane.client().unwrap(), "withdrawn.example.com");
    gadgets.define("gadgets").await;
    serve(&gadgets, true).await;
    gadgets.create("gadgets", "lamp").await;
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let gvk = |version: &str| GroupVersionKind::gvk("withdrawn.example.com", version, "Gadget");
    let add = |name: &str, version: &str| {
        let registrar = manager.registrar(name).unwrap();
        let _ = registrar.add(gvk(version));
        registrar
    };
    let (mut old, mut new, mut any) = (add("old", "v1"), add("new", "v2"), add("any", ""));
    for registrar in [&mut old, &mut new] {
        assert_eq!(next_object(registrar).await, "apply lamp");
    }
    let EventKind::Applied(object) = next_change(&mut any).await else { panic!("no apply") };
    assert_eq!(object.gvk().version, "v2", "v2 is preferred");

    serve(&gadgets, false).await;
    assert_eq!(next_object(&mut new).await, "delete lamp");
    status(&mut new, |status| *status == GvkStatus::Pending).await;
    let EventKind::Applied(object) = next_change(&mut any).await else { panic!("no apply") };
    assert_eq!(object.gvk().version, "v1", "the version that is left");

    // What is created now reaches both, and the old version was told of nothing else.
    gadgets.create("gadgets", "stove").await;
    assert_eq!(next_object(&mut old).await, "apply stove");
    assert_eq!(next_object(&mut any).await, "apply stove");

    serve(&gadgets, true).await;
    let mut back = vec![next_object(&mut new).await, next_object(&mut new).await];
    back.sort();
    assert_eq!(back, ["apply lamp", "apply stove"]);
}

/// Two dozen definitions get a version that is preferred: the event of a definition, discovery and the watch that the server
/// closes come in the order in which they come.
#[tokio::test]
async fn a_preferred_version_that_is_added_is_followed_in_every_round() {
    let plane = ControlPlane::shared().await.unwrap();
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let mut registrar = manager.registrar("r").unwrap();
    let mut all = Vec::new();
    for number in 0..24 {
        let gadgets = Gadgets::new(plane.client().unwrap(), format!("preferred{number}.example.com"));
        gadgets.define("gadgets").await;
        gadgets.create("gadgets", "lamp").await;
        let _ = registrar.add(GroupVersionKind::gvk(&gadgets.group, "", "Gadget"));
        all.push(gadgets);
    }
    for version in ["v1", "v2"] {
        let mut missing: BTreeSet<_> = all.iter().map(|gadgets| gadgets.group.clone()).collect();
        while !missing.is_empty() {
            let EventKind::Applied(object) = next_change(&mut registrar).await else { panic!("a delete") };
            assert_eq!(object.name(), "lamp");
            if object.gvk().version == version {
                missing.remove(&object.gvk().group);
            }
        }
        if version == "v1" {
            for gadgets in &all {
                serve(gadgets, true).await;
            }
        }
    }
}

/// Serves version v2 of the definition, beside v1, or not.
async fn serve(gadgets: &Gadgets, second: bool) {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let versions = json!([
        {"name": "v1", "served": true, "storage": true, "schema": schema},
        {"name": "v2", "served": second, "storage": false, "schema": schema},
    ]);
    let patch = Patch::Merge(json!({"spec": {"versions": versions}}));
    let name = format!("gadgets.{}", gadgets.group);
    let patched = gadgets.definitions().patch(&name, &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.name_any(), name);
}
