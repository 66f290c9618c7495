//! The manager on a real API server: what `offline` assumes of a server, seen to be so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test says no"
)]

mod failures;
mod selectors;

use std::fmt::Debug;
use std::time::Duration;

use control_plane::{Component, ControlPlane};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, Expression, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use watch_manager::{
    BackoffRange, CancellationToken, Config, EventKind, GvkStatus, Interest, Registrar, Verb, WatchManager,
    WatchReadiness,
};

/// More than any step takes on a busy machine: reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(90);

// --- Kinds come and go.

#[tokio::test]
async fn a_kind_defined_after_it_was_asked_for_is_watched() {
    let plane = ControlPlane::shared().await.unwrap();
    let gadgets = Gadgets::new(plane.client().unwrap(), "defined-later.example.com");
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(gadgets.gvk());
    assert_eq!(registrar.status(&gadgets.gvk()), Some(GvkStatus::Pending));

    gadgets.define("gadgets").await;
    gadgets.create("gadgets", "lamp").await;
    manager.rediscover(&gadgets.gvk());
    assert_eq!(next_object(&mut registrar).await, "apply lamp");
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();

    gadgets.create("gadgets", "stove").await;
    assert_eq!(next_object(&mut registrar).await, "apply stove");
    gadgets.delete("gadgets", "lamp").await;
    assert_eq!(next_object(&mut registrar).await, "delete lamp");
}

#[tokio::test]
async fn a_definition_deleted_and_made_again_with_another_plural_is_followed() {
    let plane = ControlPlane::shared().await.unwrap();
    let gadgets = Gadgets::new(plane.client().unwrap(), "made-again.example.com");
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let mut registrar = manager.registrar("r").unwrap();
    gadgets.define("gadgets").await;
    gadgets.create("gadgets", "lamp").await;
    let _ = registrar.add(gadgets.gvk());
    assert_eq!(next_object(&mut registrar).await, "apply lamp");

    gadgets.undefine("gadgets").await;
    assert_eq!(next_object(&mut registrar).await, "delete lamp");
    status(&mut registrar, |status| *status == GvkStatus::Pending).await;

    gadgets.define("gizmos").await;
    gadgets.create("gizmos", "stove").await;
    manager.rediscover(&gadgets.gvk());
    assert_eq!(next_object(&mut registrar).await, "apply stove");
    assert_eq!(manager.store(&gadgets.gvk()).unwrap().len(), 1);
}

#[tokio::test]
async fn a_definition_made_again_at_once_replaces_every_object() {
    let plane = ControlPlane::shared().await.unwrap();
    let gadgets = Gadgets::new(plane.client().unwrap(), "at-once.example.com");
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let mut registrar = manager.registrar("r").unwrap();
    gadgets.define("gadgets").await;
    gadgets.create("gadgets", "lamp").await;
    let _ = registrar.add(gadgets.gvk());
    let EventKind::Applied(old) = next_change(&mut registrar).await else { panic!("no apply") };

    gadgets.undefine("gadgets").await;
    gadgets.define("gadgets").await;
    gadgets.create("gadgets", "lamp").await;
    manager.rediscover(&gadgets.gvk());
    let EventKind::Deleted(gone) = next_change(&mut registrar).await else { panic!("no delete") };
    let EventKind::Applied(new) = next_change(&mut registrar).await else { panic!("no apply") };
    assert_eq!(gone.uid(), old.uid());
    assert_ne!(new.uid(), old.uid());
}

// --- Snapshots.

#[tokio::test]
async fn a_late_registrar_gets_pages_of_complete_objects_and_one_end() {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let namespace = plane.namespace("late").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    for number in 0..7 {
        let map =
            json!({"metadata": {"name": format!("map-{number}")}, "data": {"number": number.to_string()}});
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let mut config = Config::default();
    config.page_size = 2;
    let (manager, _driver) = manage(client, config);
    let first = manager.registrar("first").unwrap();
    let _ = first.add(gvk.clone());
    timeout(PATIENCE, first.wait_until(WatchReadiness::is_ready)).await.unwrap().unwrap();

    let mut late = manager.registrar("late").unwrap();
    let _ = late.add(gvk.clone());
    let mut numbers = Vec::new();
    loop {
        let event = timeout(PATIENCE, late.next()).await.unwrap().unwrap();
        match event.kind {
            EventKind::Applied(object) if object.namespace() == Some(&namespace) => {
                // The API server leaves the kind out of the items of a list.
                let value = object.to_value().unwrap();
                assert_eq!((&value["apiVersion"], &value["kind"]), (&json!("v1"), &json!("ConfigMap")));
                assert_eq!(value["metadata"].get("managedFields"), None);
                let map: ConfigMap = object.parse().unwrap();
                assert_eq!(object.metadata().uid, map.metadata.uid);
                numbers.extend(map.data.and_then(|mut data| data.remove("number")));
            }
            EventKind::Synced => break,
            _ => {}
        }
    }
    numbers.sort();
    assert_eq!(numbers, ["0", "1", "2", "3", "4", "5", "6"]);
}

// --- Access.

#[tokio::test]
async fn a_client_without_access_says_what_it_may_not_and_starts_when_it_may() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let mut config = Config::default();
    config.refused = BackoffRange::new(Duration::from_millis(200), Duration::from_millis(200));
    let (manager, _driver) = manage(plane.client_as("watcher", &[]).unwrap(), config);
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(GroupVersionKind::gvk("", "v1", "Secret"));
    let refused = status(&mut registrar, GvkStatus::is_stuck).await;
    let GvkStatus::Forbidden { verb: Verb::List, error, .. } = refused else { panic!("{refused:?}") };
    assert!(error.contains("\"watcher\" cannot list resource \"secrets\""), "{error}");

    allow(&admin, "watcher", "secrets", &["list"]).await;
    let refused = status(
        &mut registrar,
        |status| matches!(status, GvkStatus::Forbidden { verb, .. } if *verb == Verb::Watch),
    );
    refused.await;
    assert!(registrar.readiness().is_ready(), "the list was complete");

    allow(&admin, "watcher", "secrets", &["list", "watch"]).await;
    status(&mut registrar, GvkStatus::is_ready).await;
}

/// Two namespaces, of which a Role opens one.
#[tokio::test]
async fn a_role_of_one_namespace_suffices_for_it_and_another_namespace_takes_nothing_from_it() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let (open, closed) = ("watch-manager-open", "watch-manager-closed");
    for name in [open, closed] {
        apply::<Namespace>(&Api::all(admin.clone()), namespace(name)).await;
    }
    for object in may_watch_maps(open, "tenant") {
        let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", object["kind"].as_str().unwrap());
        apply::<DynamicObject>(
            &Api::namespaced_with(admin.clone(), open, &ApiResource::from_gvk(&gvk)),
            object,
        )
        .await;
    }
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), open);
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    apply(&maps, map("first")).await;

    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let fields = "metadata.name!=kube-root-ca.crt";
    let interest = |namespaces: &[&str]| {
        Interest::new(kind.clone()).namespaces(namespaces.iter().copied()).fields(fields)
    };
    let mut config = Config::default();
    config.refused = BackoffRange::new(Duration::from_millis(200), Duration::from_millis(200));
    let (manager, _driver) = manage(plane.client_as("tenant", &[]).unwrap(), config);
    let mut one = manager.registrar("one").unwrap();
    one.add(interest(&[open])).ready_within(PATIENCE).await.unwrap();
    assert_eq!(next_object(&mut one).await, "apply first");

    let mut both = manager.registrar("both").unwrap();
    let _ = both.add(interest(&[open, closed]));
    let refused = status(&mut both, GvkStatus::is_stuck).await;
    assert!(refused.to_string().contains("in the namespace \"watch-manager-closed\""), "{refused}");
    apply(&maps, map("second")).await;
    let said = (next_object(&mut one).await, next_object(&mut both).await);
    assert_eq!(said, ("apply second".to_owned(), "apply second".to_owned()));
    assert!(one.readiness().is_ready() && !both.readiness().is_ready());
    assert!(one.status(&kind).unwrap().is_ready());
}

/// A Role opens one namespace, another registrar wants all, and gets them later.
#[tokio::test]
async fn a_client_that_may_not_watch_all_namespaces_takes_nothing_from_those_that_want_theirs() {
    let plane = ControlPlane::shared().await.unwrap();
    let admin = plane.client().unwrap();
    let open = "watch-manager-theirs";
    apply::<Namespace>(&Api::all(admin.clone()), namespace(open)).await;
    for object in may_watch_maps(open, "neighbour") {
        let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", object["kind"].as_str().unwrap());
        let roles = Api::namespaced_with(admin.clone(), open, &ApiResource::from_gvk(&gvk));
        apply::<DynamicObject>(&roles, object).await;
    }
    let maps: Api<ConfigMap> = Api::namespaced(admin.clone(), open);
    let map = |name: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"theirs": "yes"}}})
    };
    apply(&maps, map("first")).await;

    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let labelled = || Interest::new(kind.clone()).labels(Expression::Exists("theirs".to_owned()));
    let mut config = Config::default();
    config.refused = BackoffRange::new(Duration::from_millis(200), Duration::from_millis(200));
    let (manager, _driver) = manage(plane.client_as("neighbour", &[]).unwrap(), config);
    let mut all = manager.registrar("all").unwrap();
    let _ = all.add(labelled());
    let refused = status(&mut all, GvkStatus::is_stuck).await;
    assert!(refused.to_string().contains("at the cluster scope"), "{refused}");
    let mut one = manager.registrar("one").unwrap();
    one.add(labelled().namespaces([open])).ready_within(PATIENCE).await.unwrap();
    assert_eq!(next_object(&mut one).await, "apply first");
    apply(&maps, map("second")).await;
    assert_eq!(next_object(&mut one).await, "apply second");
    assert!(one.status(&kind).unwrap().is_ready());
    assert!(all.status(&kind).unwrap().is_stuck() && !all.readiness().is_ready());

    allow(&admin, "neighbour", "configmaps", &["list", "watch"]).await;
    status(&mut all, GvkStatus::is_ready).await;
    timeout(PATIENCE, all.wait_until(WatchReadiness::is_ready)).await.unwrap().unwrap();
    apply(&maps, map("third")).await;
    assert_eq!(next_object(&mut one).await, "apply third", "nothing was said twice");
    while next_object(&mut all).await != "apply third" {}
}

// --- The server goes away.

#[tokio::test]
async fn a_restarted_api_server_is_followed_again_and_nothing_is_said_twice() {
    let mut plane = ControlPlane::start().await.unwrap();
    let namespace = plane.namespace("restart").await.unwrap();
    let create = async |client: Client, name: &str| {
        let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
        let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    };
    create(plane.client().unwrap(), "before").await;
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let (manager, _driver) = manage(plane.client().unwrap(), Config::default());
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(gvk.clone());
    status(&mut registrar, GvkStatus::is_ready).await;
    let store = manager.store(&gvk).unwrap();

    plane.kill(Component::ApiServer);
    status(&mut registrar, |status| matches!(status, GvkStatus::Stale { .. })).await;
    assert!(store.get(Some(&namespace), "before").is_some(), "a stale store stays readable");

    plane.restart(Component::ApiServer).await.unwrap();
    create(plane.client().unwrap(), "after").await;
    let mut said = Vec::new();
    while said.last().is_none_or(|name| name != "after") {
        let EventKind::Applied(object) = next_change(&mut registrar).await else { panic!("no apply") };
        // The controller manager puts its own map into the namespace whenever it gets round to it.
        if object.namespace() == Some(&namespace) && object.name() != "kube-root-ca.crt" {
            said.push(object.name().to_owned());
        }
    }
    assert_eq!(said, ["after"], "what did not change was delivered again");
}

// --- How the tests speak.

fn manage(client: Client, config: Config) -> (WatchManager, JoinHandle<()>) {
    let (manager, driver) = WatchManager::builder(client).config(config).build();
    (manager, tokio::spawn(driver.run(CancellationToken::new())))
}

/// The next event about an object.
async fn next_change(registrar: &mut Registrar) -> EventKind {
    loop {
        let event = timeout(PATIENCE, registrar.next()).await.expect("no event").expect("the stream ended");
        if matches!(event.kind, EventKind::Applied(_) | EventKind::Deleted(_)) {
            return event.kind;
        }
    }
}

async fn next_object(registrar: &mut Registrar) -> String {
    match next_change(registrar).await {
        EventKind::Applied(object) => format!("apply {}", object.name()),
        EventKind::Deleted(object) => format!("delete {}", object.name()),
        other => panic!("{other:?}"),
    }
}

/// The next status that is wanted.
async fn status(registrar: &mut Registrar, wanted: impl Fn(&GvkStatus) -> bool) -> GvkStatus {
    loop {
        let event = timeout(PATIENCE, registrar.next()).await.expect("no event").expect("the stream ended");
        if let EventKind::Status(status) = event.kind
            && wanted(&status)
        {
            return status;
        }
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A Role of one namespace, and its binding.
fn may_watch_maps(namespace: &str, user: &str) -> [Value; 2] {
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": user, "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": user, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    [role, binding]
}

async fn apply<K: Clone + DeserializeOwned + Debug>(api: &Api<K>, object: Value) {
    let patch = kube::api::Patch::Apply(&object);
    let name = object["metadata"]["name"].as_str().unwrap();
    api.patch(name, &kube::api::PatchParams::apply("test"), &patch).await.unwrap();
}

/// A user may do this with a resource.
async fn allow(admin: &Client, user: &str, resource: &str, verbs: &[&str]) {
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": user},
        "rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    for object in [role, binding] {
        let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", object["kind"].as_str().unwrap());
        apply::<DynamicObject>(&Api::all_with(admin.clone(), &ApiResource::from_gvk(&gvk)), object).await;
    }
}

/// A custom kind of the test's own group.
struct Gadgets {
    client: Client,
    group: String,
}

impl Gadgets {
    fn new(client: Client, group: impl Into<String>) -> Self {
        Self { client, group: group.into() }
    }

    fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, "v1", "Gadget")
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    fn objects(&self, plural: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&self.gvk(), plural))
    }

    async fn define(&self, plural: &str) {
        let name = format!("{plural}.{}", self.group);
        let definition = json!({"metadata": {"name": name}, "spec": {
            "group": self.group,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        }});
        let definition = serde_json::from_value(definition).unwrap();
        self.definitions().create(&PostParams::default(), &definition).await.unwrap();
        let established = await_condition(self.definitions(), &name, conditions::is_crd_established());
        timeout(PATIENCE, established).await.expect("not established").unwrap();
    }

    async fn undefine(&self, plural: &str) {
        let name = format!("{plural}.{}", self.group);
        let uid = self.definitions().get(&name).await.unwrap().uid().unwrap();
        self.definitions().delete(&name, &DeleteParams::default()).await.unwrap();
        let deleted = await_condition(self.definitions(), &name, conditions::is_deleted(&uid));
        timeout(PATIENCE, deleted).await.expect("not deleted").unwrap();
    }

    async fn create(&self, plural: &str, name: &str) {
        let object: Value = json!({"apiVersion": format!("{}/v1", self.group), "kind": "Gadget",
            "metadata": {"name": name}});
        let object = serde_json::from_value(object).unwrap();
        self.objects(plural).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn delete(&self, plural: &str, name: &str) {
        self.objects(plural).delete(name, &DeleteParams::default()).await.unwrap();
    }
}
