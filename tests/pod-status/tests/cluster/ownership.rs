//! The owners of the fields of an open status: this is what lets two programs write one status.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use control_plane::ControlPlane;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::await_condition;
use pod_status::readiness::ErrorClass;
use pod_status::{ParentKey, PodError, PodErrors};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scene::{LONG, Scene, condition, enforced, ids, install, policies};

/// The managers that own a field of the status, by the field's name.
async fn owners(scene: &Scene, policy: &str, field: &str) -> Vec<String> {
    let policy = scene.policies.get(policy).await.unwrap();
    let owns = |entry: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0).unwrap_or(&Value::Null);
        fields["f:status"].get(format!("f:{field}")).is_some()
    };
    policy.managed_fields().iter().filter(owns).filter_map(|entry| entry.manager.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_aggregator_write_one_status_without_conflict() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "audit").await;
    let (key, generation) = scene.policy("audit", json!({})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    scene.status("audit", |status| ids(status) == ["a"]).await;

    let violations = |names: &[&str]| {
        let violations: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({
            "apiVersion": "test.webtroller.dev/v1", "kind": "Policy", "metadata": {"name": "audit"},
            "status": {"totalViolations": names.len(), "violations": violations},
        })
    };
    // Not forced: a conflict with the aggregator's fields would be an error here.
    let params = PatchParams::apply("audit");
    scene.policies.patch_status("audit", &params, &Patch::Apply(violations(&["x", "y"]))).await.unwrap();

    a.ingested(&key, generation, Ok(()), json!({"enforced": false}));
    let status = scene.status("audit", |status| condition(status, "Enforced").1 == "NotEnforcing").await;
    assert_eq!(status["violations"], json!([{"name": "x"}, {"name": "y"}]), "the aggregator left them alone");
    scene.policies.patch_status("audit", &params, &Patch::Apply(violations(&["y"]))).await.unwrap();
    let status = scene.status("audit", |status| status["totalViolations"] == 1).await;
    assert_eq!(ids(&status), ["a"], "the audit left the pods alone");
    assert_eq!(status["violations"], json!([{"name": "y"}]), "a list is replaced as a whole");

    assert_eq!(owners(&scene, "audit", "violations").await, ["audit"]);
    assert_eq!(owners(&scene, "audit", "byPod").await, ["pod-status-aggregator"]);
    assert_eq!(owners(&scene, "audit", "conditions").await, ["pod-status-aggregator"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_a_predecessor_is_taken_over() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "migrated").await;
    let (key, generation) = scene.policy("migrated", json!({})).await;
    let mut policy = scene.policies.get("migrated").await.unwrap();
    policy.data["status"] = json!({
        "byPod": [{"id": "gatekeeper-audit-0", "observedGeneration": 1}],
        "totalViolations": 7,
    });
    let params = PostParams { field_manager: Some("gatekeeper".into()), ..PostParams::default() };
    scene.policies.replace_status("migrated", &params, &policy).await.unwrap();

    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let status = scene.status("migrated", |status| ids(status) == ["a"]).await;
    assert_eq!(status["totalViolations"], 7, "other fields stay until their writer replaces them");
    assert_eq!(owners(&scene, "migrated", "byPod").await, ["pod-status-aggregator"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_status_is_repaired_when_the_host_says_that_the_parent_has_changed() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "edited").await;
    let (key, generation) = scene.policy("edited", json!({})).await;
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let (changes, _aggregator) = scene.aggregator_with_changes("one");
    scene.status("edited", |status| condition(status, "Enforced").0 == "True").await;

    let mut policy = scene.policies.get("edited").await.unwrap();
    policy.data["status"]["byPod"] = json!([{"id": "forged"}]);
    scene.policies.replace_status("edited", &PostParams::default(), &policy).await.unwrap();
    changes.changed(key.reference);
    scene.status("edited", |status| ids(status) == ["a"]).await;
}

/// The answers to writes of the status of a policy, oldest first.
fn status_writes(plane: &ControlPlane, policy: &str) -> Vec<i64> {
    let path = format!("/policies/{policy}/status");
    let log = plane.audit_log().unwrap();
    let writes =
        log.iter().filter(|event| event["requestURI"].as_str().is_some_and(|uri| uri.contains(&path)));
    writes.filter_map(|event| event["responseStatus"]["code"].as_i64()).collect()
}

/// Returns true if a request writes the status of that policy.
fn writes_status(request: &http::Request<Body>, policy: &str) -> bool {
    request.method() == "PATCH" && request.uri().path().ends_with(&format!("/policies/{policy}/status"))
}

/// A client that counts the writes of the status of a policy as they leave. The audit log would not do: the API
/// server logs a write after it has become visible.
fn counting(client: kube::Client, policy: &'static str, sent: Arc<AtomicUsize>) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let client = client.clone();
        sent.fetch_add(usize::from(writes_status(&request, policy)), Ordering::Relaxed);
        async move { client.send(request).await }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_status_is_not_sent_again() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "quiet").await;
    let (key, generation) = scene.policy("quiet", json!({})).await;
    let (other, _) = scene.policy("quiet-other", json!({})).await;
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let sent = Arc::new(AtomicUsize::new(0));
    let scene = Scene { client: counting(scene.client, "quiet", sent.clone()), ..scene };
    let (changes, _aggregator) = scene.aggregator_with_changes("one");
    scene.status("quiet", |status| condition(status, "Enforced").0 == "True").await;
    let before = sent.load(Ordering::Relaxed);
    assert_ne!(before, 0, "the status that was seen has been sent");

    for round in 0..5 {
        changes.changed(key.reference.clone());
        a.ingested(&other, generation, Ok(()), json!({"enforced": true, "round": round}));
        scene.status("quiet-other", |status| status["byPod"][0]["round"] == round).await;
    }
    assert_eq!(sent.load(Ordering::Relaxed), before);
}

/// A client that lets `audit` write the policy just before the aggregator's first write of its status.
fn overtaken(client: kube::Client, policies: Api<DynamicObject>, overtook: Arc<AtomicBool>) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, policies, overtook) = (client.clone(), policies.clone(), overtook.clone());
        async move {
            if writes_status(&request, "overtaken") && !overtook.swap(true, Ordering::Relaxed) {
                let body = json!({
                    "apiVersion": "test.webtroller.dev/v1", "kind": "Policy",
                    "metadata": {"name": "overtaken"}, "status": {"totalViolations": 3},
                });
                policies.patch_status("overtaken", &PatchParams::apply("audit"), &Patch::Apply(body)).await?;
            }
            client.send(request).await
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_about_an_outdated_parent_is_made_again() {
    let plane = ControlPlane::shared().await.unwrap();
    let scene = Scene::new(plane, "overtaken").await;
    let (key, generation) = scene.policy("overtaken", json!({})).await;
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let overtook = Arc::new(AtomicBool::new(false));
    let slow = Scene { client: overtaken(scene.client, scene.policies.clone(), overtook.clone()), ..scene };
    let _aggregator = slow.aggregator("one");
    let status = slow.status("overtaken", |status| condition(status, "Enforced").0 == "True").await;
    assert!(overtook.load(Ordering::Relaxed));
    assert_eq!(status["totalViolations"], 3, "the write that came in between stays");
    let writes = status_writes(plane, "overtaken");
    let refused = writes.iter().filter(|code| **code == 409);
    assert_eq!(refused.count(), 1, "the first decision was refused: {writes:?}");
}

/// The kind `Ticket`, whose conditions are merged by type.
async fn install_tickets(client: &kube::Client) -> ApiResource {
    let text = json!({"type": "string"});
    let condition = json!({
        "type": "object", "required": ["type"],
        "properties": {
            "type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text,
            "observedGeneration": {"type": "integer"},
        },
    });
    let conditions = json!({
        "type": "array", "items": condition,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
    });
    let status = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"conditions": conditions},
    });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "tickets.test.webtroller.dev"},
        "spec": {
            "group": "test.webtroller.dev", "scope": "Cluster",
            "names": {"kind": "Ticket", "plural": "tickets", "singular": "ticket"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
            }],
        },
    });
    install(client, &crd).await;
    ApiResource::from_gvk(&GroupVersionKind::gvk("test.webtroller.dev", "v1", "Ticket"))
}

/// An object with a condition of another manager.
async fn audited(
    scene: &Scene,
    name: &str,
    kind: &str,
    resource: &ApiResource,
) -> (Api<DynamicObject>, DynamicObject) {
    let api: Api<DynamicObject> = Api::all_with(scene.client.clone(), resource);
    let body = json!({"apiVersion": "test.webtroller.dev/v1", "kind": kind, "metadata": {"name": name}});
    let object = api.patch(name, &PatchParams::apply("user"), &Patch::Apply(&body)).await.unwrap();
    let other = json!({"type": "Audited", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({
        "apiVersion": "test.webtroller.dev/v1", "kind": kind, "metadata": {"name": name},
        "status": {"conditions": [other]},
    });
    api.patch_status(name, &PatchParams::apply("audit"), &Patch::Apply(&status)).await.unwrap();
    (api, object)
}

/// The types of the conditions.
fn types(object: Option<&DynamicObject>) -> Vec<String> {
    let conditions =
        object.and_then(|object| object.data["status"]["conditions"].as_array().cloned()).unwrap_or_default();
    conditions.iter().map(|condition| condition["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_other_managers_stay_and_cause_no_writes() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "conditions").await;
    let tickets = install_tickets(&scene.client).await;
    for (kind, resource) in [("Policy", policies()), ("Ticket", tickets)] {
        let name = format!("conditions-{}", kind.to_lowercase());
        let (api, object) = audited(&scene, &name, kind, &resource).await;
        let (a, _a) =
            scene.reporter(&scene.pod(&format!("a-{}", kind.to_lowercase()), &["webhook"]).await).await;
        let key = ParentKey::of(&object, &resource);
        a.ingested(&key, 1, Ok(()), enforced());
        timeout(LONG, a.flush()).await.unwrap().unwrap();
        let (changes, aggregating) = scene.aggregator_with_changes(kind);
        let is_complete = |object: Option<&DynamicObject>| {
            let pods = object.map(|object| ids(&object.data["status"]).len());
            types(object).contains(&"Ready".to_owned()) && pods == Some(1)
        };
        let written = timeout(LONG, await_condition(api.clone(), &name, is_complete)).await.unwrap().unwrap();
        assert!(types(written.as_ref()).contains(&"Audited".to_owned()), "{kind}");

        // The same again: the foreign condition must not look like a difference.
        let version = api.get(&name).await.unwrap().resource_version();
        let (other, generation) = scene.policy("conditions-other", json!({"kind": kind})).await;
        for round in 0..3 {
            changes.changed(key.reference.clone());
            a.ingested(&other, generation, Ok(()), json!({"enforced": true, "round": round}));
            scene
                .status("conditions-other", |status| {
                    status["byPod"]
                        .as_array()
                        .is_some_and(|pods| pods.iter().any(|pod| pod["round"] == round))
                })
                .await;
        }
        assert_eq!(api.get(&name).await.unwrap().resource_version(), version, "{kind} was written again");
        aggregating.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_parent_is_so_until_its_error_ends_and_other_managers_conditions_stay() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "stalled").await;
    let tickets = install_tickets(&scene.client).await;
    let _aggregator = scene.aggregator("one");
    for (kind, resource) in [("Policy", policies()), ("Ticket", tickets)] {
        let name = format!("stalled-{}", kind.to_lowercase());
        let (api, object) = audited(&scene, &name, kind, &resource).await;
        let pod = scene.pod(&format!("a-{}", kind.to_lowercase()), &["webhook"]).await;
        let (a, driver) = scene.reporter(&pod).await;
        let key = ParentKey::of(&object, &resource);
        let [failed, retried] = [ErrorClass::Permanent, ErrorClass::Transient]
            .map(|class| Err(PodErrors::from(PodError::new("ingest_error", "no").class(class))));
        for (outcome, expected) in [
            (failed.clone(), &["Audited", "Enforced", "Ingested", "Ready", "Stalled"][..]),
            (retried, &["Audited", "Enforced", "Ingested", "Ready", "Reconciling"]),
            (failed, &["Audited", "Enforced", "Ingested", "Ready", "Stalled"]),
            (Ok(()), &["Audited", "Enforced", "Ingested", "Ready"]),
        ] {
            a.ingested(&key, 1, outcome, enforced());
            let is_expected = |object: Option<&DynamicObject>| {
                let mut types = types(object);
                types.sort();
                types == expected
            };
            timeout(LONG, await_condition(api.clone(), &name, is_expected)).await.expect(kind).unwrap();
        }
        // The next kind has pods of its own.
        driver.abort();
        scene.delete_pod(&pod.name).await;
    }
}
