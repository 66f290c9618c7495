//! The places where reports are kept: shards, Gatekeeper's object for each pod and parent, and the parent itself. All
//! must do the same.

use std::time::Duration;

use control_plane::ControlPlane;
use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher};
use pod_status::{
    Aggregator, AggregatorConfig, LeaseClaim, ParentKey, ParentRef, PodError, PodIdentity, PodStatusKind,
    ReporterConfig, Shape,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::scene::{LONG, Scene, condition, enforced, ids, install};

const GROUP: &str = "constraints.gatekeeper.sh";

fn constraints() -> ApiResource {
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(GROUP, "v1beta1", "K8sRequiredLabels"),
        "k8srequiredlabels",
    )
}

fn crd(group: &str, kind: &str, plural: &str, scope: &str, schema: &Value, subresources: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Gatekeeper's definition: what it does not know is pruned.
fn pod_status_schema() -> Value {
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer", "format": "int64"}));
    let error = json!({
        "type": "object", "required": ["code", "message"],
        "properties": {"code": text, "message": text, "location": text},
    });
    let status = json!({"type": "object", "properties": {
        "id": text, "constraintUID": text, "operations": {"type": "array", "items": text},
        "enforced": {"type": "boolean"}, "observedGeneration": number,
        "errors": {"type": "array", "items": error},
    }});
    json!({"type": "object", "properties": {"status": status}})
}

pub struct Stage {
    pub scene: Scene,
    constraints: Api<DynamicObject>,
    /// The objects for single parents.
    statuses: Api<DynamicObject>,
    per_parent: Vec<PodStatusKind>,
    /// The pods apply their entries to the parents themselves.
    is_direct: bool,
    /// The names of its constraints begin with this; other tests have constraints of the same kind.
    name: String,
}

/// The entries of `byPod` have an owner each.
fn constraint_schema() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut entry = open.clone();
    entry["required"] = json!(["id"]);
    entry["properties"] = json!({"id": {"type": "string"}});
    let by_pod = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": entry,
    });
    let mut status = open.clone();
    status["properties"] = json!({"byPod": by_pod});
    json!({"type": "object", "properties": {"spec": open, "status": status}})
}

/// The names of the places.
pub const PLACES: [&str; 3] = ["sharded", "per-parent", "direct"];

impl Stage {
    /// A stage with reports in one of [`PLACES`].
    pub async fn at(plane: &ControlPlane, place: &str, name: &str) -> Self {
        let kinds = if place == "per-parent" { vec![PodStatusKind::CONSTRAINT] } else { vec![] };
        Self { is_direct: place == "direct", ..Self::new(plane, name, kinds).await }
    }

    async fn new(plane: &ControlPlane, name: &str, per_parent: Vec<PodStatusKind>) -> Self {
        let scene = Scene::new(plane, name).await;
        let schema = constraint_schema();
        let resource = constraints();
        let parent = crd(GROUP, &resource.kind, &resource.plural, "Cluster", &schema, &json!({"status": {}}));
        let kind = PodStatusKind::CONSTRAINT.api_resource();
        let status =
            crd(&kind.group, &kind.kind, &kind.plural, "Namespaced", &pod_status_schema(), &json!({}));
        install(&scene.client, &parent).await;
        install(&scene.client, &status).await;
        let constraints = Api::all_with(scene.client.clone(), &resource);
        let statuses = Api::namespaced_with(scene.client.clone(), &scene.namespace, &kind);
        Self { scene, constraints, statuses, per_parent, is_direct: false, name: name.to_owned() }
    }

    pub fn config(&self) -> ReporterConfig {
        let config = ReporterConfig::default().debounce(Duration::from_millis(20));
        let config = config.per_parent(self.per_parent.iter().copied());
        if !self.is_direct {
            return config;
        }
        // A pod does not watch its own entries: it finds a removed one when it verifies them.
        config.direct([shape(true)]).verify_every(Duration::from_secs(1))
    }

    pub fn aggregate(&self) {
        self.aggregate_after(Duration::from_millis(20));
    }

    /// With another debounce than the other tests, which have no time to lose.
    pub fn aggregate_after(&self, debounce: Duration) {
        let is_direct = self.is_direct;
        let shape = move |parent: &ParentRef| (parent.group == GROUP).then(|| shape(is_direct));
        let identity = PodIdentity::detached(&self.scene.namespace, "one", ["status"]);
        let claim = LeaseClaim::new(&identity, "pod-status-aggregator").duration(Duration::from_secs(3));
        let config = AggregatorConfig::new(&identity, shape).claim(claim).debounce(debounce);
        let config = config.per_parent(self.per_parent.iter().copied());
        let aggregator = Aggregator::new(self.scene.client.clone(), config);
        let changes = aggregator.parent_changes();
        tokio::spawn(aggregator.run(CancellationToken::new()));
        let prefix = self.name.clone();
        let constraints = watcher(self.constraints.clone(), watcher::Config::default()).default_backoff();
        tokio::spawn(constraints.applied_objects().for_each(move |object| {
            let ours = object.iter().filter(|object| object.name_any().starts_with(&prefix));
            ours.for_each(|object| {
                changes.changed(ParentKey::of(object, &self::constraints()).reference);
            });
            std::future::ready(())
        }));
    }

    pub async fn constraint(&self, name: &str, spec: Value) -> (ParentKey, i64) {
        let body = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sRequiredLabels",
            "metadata": {"name": name}, "spec": spec,
        });
        let params = PatchParams::apply("user").force();
        let object = self.constraints.patch(name, &params, &Patch::Apply(&body)).await.unwrap();
        (ParentKey::of(&object, &constraints()), object.metadata.generation.unwrap())
    }

    pub async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool + Send) -> Value {
        let is_wanted = |object: Option<&DynamicObject>| {
            wanted(object.and_then(|object| object.data.get("status")).unwrap_or(&Value::Null))
        };
        match timeout(LONG, await_condition(self.constraints.clone(), name, is_wanted)).await {
            Ok(found) => found.unwrap().unwrap().data["status"].clone(),
            Err(_) => {
                let last = self.constraints.get(name).await.unwrap();
                panic!("the status never became as wanted; it is {:#}", last.data["status"])
            }
        }
    }

    /// The objects that hold entries.
    fn entries(&self) -> &Api<DynamicObject> {
        if self.per_parent.is_empty() { &self.scene.reports } else { &self.statuses }
    }

    /// Another client deletes what the pod has reported, and the pod stores it again.
    async fn reports_come_back(&self, pod: &str, constraint: &str) {
        if self.is_direct {
            let status = self.constraints.get(constraint).await.unwrap().data["status"].clone();
            let entries = status["byPod"].as_array().unwrap();
            let rest: Vec<&Value> = entries.iter().filter(|entry| entry["id"] != pod).collect();
            let body = json!({"status": {"byPod": rest}});
            let params = PatchParams::default();
            let stored =
                self.constraints.patch_status(constraint, &params, &Patch::Merge(&body)).await.unwrap();
            assert!(!ids(&stored.data["status"]).contains(&pod));
            self.until(constraint, |status| ids(status).contains(&pod)).await;
        }
        for (object, uid) in self.delete_reports(pod).await {
            let is_back = move |object: Option<&DynamicObject>| {
                object.is_some_and(|object| object.metadata.uid.as_deref() != Some(&uid))
            };
            timeout(LONG, await_condition(self.entries().clone(), &object, is_back)).await.unwrap().unwrap();
        }
    }

    /// Takes the owners off all reports.
    async fn keep_from_the_garbage_collector(&self) {
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": null}}));
        for report in self.entries().list(&ListParams::default()).await.unwrap() {
            self.entries().patch(&report.name_any(), &PatchParams::default(), &patch).await.unwrap();
        }
    }

    /// Another client deletes the pod's objects. Returns their names and uids.
    async fn delete_reports(&self, pod: &str) -> Vec<(String, String)> {
        let all = self.entries().list(&ListParams::default()).await.unwrap();
        let mut deleted = Vec::new();
        for object in all.iter().filter(|object| object.name_any().starts_with(pod)) {
            self.entries().delete(&object.name_any(), &DeleteParams::default()).await.unwrap();
            deleted.push((object.name_any(), object.uid().unwrap()));
        }
        deleted
    }
}

/// The ids in `byPod`. Entries that the pods apply themselves are in no order.
fn pods(status: &Value) -> Vec<&str> {
    let mut pods = ids(status);
    pods.sort_unstable();
    pods
}

fn shape(is_direct: bool) -> Shape {
    let shape =
        Shape::new(constraints(), "constraintUID").enforced_by(["webhook"]).enforced_field("enforced");
    if is_direct { shape.direct() } else { shape }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_place_for_reports_serves_the_aggregator_alike() {
    let plane = ControlPlane::shared().await.unwrap();
    for name in PLACES {
        let stage = Stage::at(plane, name, name).await;
        stage.aggregate();
        let (key, generation) = stage.constraint(name, json!({"n": 1})).await;
        let other = format!("{name}-other");
        let (other_key, other_generation) = stage.constraint(&other, json!({})).await;
        let a_pod = stage.scene.pod("a", &["webhook"]).await;
        let (a, driver_a) = stage.scene.reporter_with(&a_pod, stage.config()).await;
        let (b, driver_b) =
            stage.scene.reporter_with(&stage.scene.pod("b", &["webhook"]).await, stage.config()).await;

        // What is reported is shown, for the right pod.
        a.ingested(&key, generation, Ok(()), enforced());
        a.ingested(&other_key, other_generation, Ok(()), enforced());
        b.ingested(&other_key, other_generation, Ok(()), enforced());
        b.ingested(&key, generation, Err(PodError::new("ingest_error", "no").at("line 1").into()), ());
        let status = stage.until(name, |status| condition(status, "Ingested").1 == "IngestError").await;
        let failed = status["byPod"].as_array().unwrap().iter().find(|entry| entry["id"] == "b").unwrap();
        assert_eq!(
            failed["errors"][0],
            json!({"code": "ingest_error", "message": "no", "location": "line 1"})
        );
        b.ingested(&key, generation, Ok(()), enforced());
        let status = stage.until(name, |status| condition(status, "Enforced").0 == "True").await;
        assert_eq!(pods(&status), ["a", "b"]);

        // So is the next generation.
        let (_, generation) = stage.constraint(name, json!({"n": 2})).await;
        a.ingested(&key, generation, Ok(()), enforced());
        let waits = |status: &Value| {
            status["observedGeneration"] == 2 && condition(status, "Enforced").0 == "Unknown"
        };
        stage.until(name, waits).await;
        b.ingested(&key, generation, Ok(()), enforced());
        stage.until(name, |status| condition(status, "Enforced").0 == "True").await;

        // What another client deletes comes back.
        stage.reports_come_back("b", name).await;

        // A new run replaces what the last one left, also what it does not report itself.
        driver_a.abort();
        let (a, _driver) = stage.scene.reporter_with(&a_pod.restarted(), stage.config()).await;
        a.ingested(&key, generation, Ok(()), enforced());
        stage.until(&other, |status| pods(status) == ["b"]).await;
        stage.until(name, |status| pods(status) == ["a", "b"]).await;

        // A withdrawn report disappears, and the reports of a pod that is gone.
        a.removed(&key);
        stage.until(name, |status| pods(status) == ["b"]).await;
        driver_b.abort();
        stage.scene.delete_pod("b").await;
        stage.until(name, |status| pods(status).is_empty()).await;
    }
}

/// A StatefulSet's pod is deleted by force and comes back under its name. Until the time of its fence is over, the frozen
/// predecessor is a member beside its successor, and the schema allows one entry for each id.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_and_its_successor_of_the_same_name_share_one_entry() {
    let plane = ControlPlane::shared().await.unwrap();
    let stage = Stage::at(plane, "sharded", "successor").await;
    stage.aggregate();
    let (key, generation) = stage.constraint("successor", json!({"n": 1})).await;
    let config = || stage.config().fence(LONG * 10);
    let (old, driver) =
        stage.scene.reporter_with(&stage.scene.pod("pod-0", &["webhook"]).await, config()).await;
    old.ingested(&key, generation, Ok(()), enforced());
    stage.until("successor", |status| condition(status, "Enforced").0 == "True").await;
    driver.abort();
    stage.keep_from_the_garbage_collector().await;
    stage.scene.delete_pod("pod-0").await;
    let successor = stage.scene.pod("pod-0", &["webhook"]).await;
    let (new, _driver) = stage.scene.reporter_with(&successor, config()).await;
    let (_, generation) = stage.constraint("successor", json!({"n": 2})).await;
    new.ingested(&key, generation, Ok(()), enforced());
    let has_reported = "1 of 2 pods have ingested generation 2; waiting for pod-0";
    let waits = |status: &Value| status["conditions"].to_string().contains(has_reported);
    let status = stage.until("successor", waits).await;
    assert_eq!(ids(&status), ["pod-0"]);
    assert_eq!(condition(&status, "Enforced"), ("Unknown", "WaitingForPods"), "the predecessor may serve");
    assert_eq!(status["byPod"][0]["observedGeneration"], 1, "the entry is that of the pod that is behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_can_be_migrated_pod_by_pod() {
    let plane = ControlPlane::shared().await.unwrap();
    let stage = Stage::new(plane, "half", vec![PodStatusKind::CONSTRAINT]).await;
    stage.aggregate();
    let (key, generation) = stage.constraint("half", json!({})).await;
    let (ours, _driver) =
        stage.scene.reporter_with(&stage.scene.pod("ours", &["webhook"]).await, stage.config()).await;
    ours.ingested(&key, generation, Ok(()), enforced());
    stage.until("half", |status| condition(status, "Enforced").0 == "True").await;
    // Gatekeeper's controller and its users find our report by name, labels and fields.
    let found = stage.statuses.get("ours-k8srequiredlabels-half").await.unwrap();
    assert_eq!(found.labels()["internal.gatekeeper.sh/constraint-name"], "half");
    assert_eq!(found.owner_references()[0].kind, "Pod");
    let fields = json!({
        "id": "ours", "constraintUID": key.uid, "operations": ["webhook"], "enforced": true,
        "observedGeneration": generation, "errors": [],
    });
    assert_eq!(found.data["status"], fields);

    // A pod of Gatekeeper's registers nowhere; it reports an older generation, and then this one.
    let theirs = stage.scene.pod("theirs", &["webhook"]).await;
    let (_, generation) = stage.constraint("half", json!({"n": 2})).await;
    let kind = PodStatusKind::CONSTRAINT.api_resource();
    let mut object = json!({
        "apiVersion": kind.api_version, "kind": kind.kind,
        "metadata": {
            "name": "theirs-k8srequiredlabels-half", "ownerReferences": [theirs.owner_reference()],
            "labels": found.labels(),
        },
        "status": {
            "id": "theirs", "constraintUID": key.uid, "operations": ["webhook"], "enforced": true,
            "observedGeneration": 1,
        },
    });
    object["metadata"]["labels"]["internal.gatekeeper.sh/pod"] = "theirs".into();
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let mut object = stage.statuses.create(&PostParams::default(), &object).await.unwrap();
    ours.ingested(&key, generation, Ok(()), enforced());
    let waits = |status: &Value| status["observedGeneration"] == 2 && ids(status) == ["ours", "theirs"];
    let status = stage.until("half", waits).await;
    assert_ne!(condition(&status, "Enforced").0, "True", "it serves generation 1");
    object.data["status"]["observedGeneration"] = generation.into();
    stage.statuses.replace("theirs-k8srequiredlabels-half", &PostParams::default(), &object).await.unwrap();
    stage.until("half", |status| condition(status, "Enforced").0 == "True").await;
    // It is gone when its Pod is.
    stage.scene.delete_pod("theirs").await;
    let uid = object.uid().unwrap();
    let deleted = conditions::is_deleted(&uid);
    timeout(LONG, await_condition(stage.statuses.clone(), "theirs-k8srequiredlabels-half", deleted))
        .await
        .unwrap()
        .unwrap();
    stage.until("half", |status| ids(status) == ["ours"]).await;
}
