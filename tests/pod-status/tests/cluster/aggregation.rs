//! From reports to statuses, while pods come, go, restart and lose their memory.

use control_plane::{Component, ControlPlane};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use pod_status::PodError;
use serde_json::json;
use tokio::time::timeout;

use crate::scene::{LONG, Scene, condition, enforced, ids};

#[tokio::test(flavor = "multi_thread")]
async fn enforced_is_claimed_when_every_registered_pod_has_reported_the_generation() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "by-pod").await;
    let (key, generation) = scene.policy("by-pod", json!({"n": 1})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    let (b, _b) = scene.reporter(&scene.pod("b", &["audit"]).await).await;

    a.ingested(&key, generation, Ok(()), enforced());
    let status = scene.status("by-pod", |status| ids(status) == ["a"]).await;
    assert_eq!(condition(&status, "Enforced"), ("Unknown", "WaitingForPods"));
    assert_eq!(status["created"], true);

    b.ingested(&key, generation, Ok(()), json!({}));
    let status = scene.status("by-pod", |status| ids(status) == ["a", "b"]).await;
    assert_eq!(condition(&status, "Enforced"), ("True", "EnforcedByAllPods"));
    assert_eq!(condition(&status, "Ready").0, "True");
    let entry = json!({
        "id": "a", "policyUID": key.uid, "observedGeneration": 1, "operations": ["webhook"], "enforced": true,
    });
    assert_eq!(status["byPod"][0], entry);

    let (key, generation) = scene.policy("by-pod", json!({"n": 2})).await;
    let error = PodError::new("ingest_error", "no");
    a.ingested(&key, generation, Ok(()), enforced());
    b.ingested(&key, generation, Err(error.into()), json!({}));
    let broken = |status: &_| condition(status, "Ingested") == ("False", "IngestError");
    let status = scene.status("by-pod", broken).await;
    assert_eq!(status["observedGeneration"], 2);
    assert_eq!(status["byPod"][1]["errors"], json!([{"code": "ingest_error", "message": "no"}]));

    b.ingested(&key, generation, Ok(()), json!({}));
    scene.status("by-pod", |status| condition(status, "Enforced").0 == "True").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_joins_is_waited_for_from_the_next_generation_on() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "joins").await;
    let (key, generation) = scene.policy("joins", json!({"n": 1})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    scene.status("joins", |status| condition(status, "Enforced").0 == "True").await;

    let (b, _b) = scene.reporter(&scene.pod("b", &["webhook"]).await).await;
    let joined = |status: &_| condition(status, "Ingested") == ("Unknown", "WaitingForPods");
    let status = scene.status("joins", joined).await;
    assert_eq!(condition(&status, "Enforced").0, "True", "it does not serve yet");

    let (key, generation) = scene.policy("joins", json!({"n": 2})).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let status = scene.status("joins", |status| status["observedGeneration"] == 2).await;
    assert_eq!(condition(&status, "Enforced"), ("Unknown", "WaitingForPods"));
    b.ingested(&key, generation, Ok(()), enforced());
    scene.status("joins", |status| condition(status, "Enforced").0 == "True").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_pod_disappears_without_the_garbage_collector() {
    let mut plane = ControlPlane::start().await.unwrap();
    let scene = Scene::new(&plane, "killed").await;
    plane.stop(Component::ControllerManager).await.unwrap();
    let (key, generation) = scene.policy("killed", json!({})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    let (b, driver_b) = scene.reporter(&scene.pod("b", &["webhook"]).await).await;
    for reporter in [&a, &b] {
        reporter.ingested(&key, generation, Ok(()), enforced());
    }
    scene.status("killed", |status| ids(status) == ["a", "b"]).await;
    let left: Vec<String> =
        scene.reports.list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
    assert_eq!(left.len(), 4, "a registration and a shard for each: {left:?}");

    driver_b.abort();
    scene.delete_pod("b").await;
    let status = scene.status("killed", |status| ids(status) == ["a"]).await;
    assert_eq!(condition(&status, "Enforced").0, "True", "the survivor enforces it");
    for name in left.iter().filter(|name| name.starts_with("b-")) {
        let report = scene.reports.get_opt(name).await.unwrap();
        let Some(uid) = report.and_then(|report| report.uid()) else {
            continue;
        };
        timeout(LONG, await_condition(scene.reports.clone(), name, conditions::is_deleted(&uid)))
            .await
            .unwrap()
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_pod_does_not_count_although_its_object_stays() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "evicted").await;
    let (key, generation) = scene.policy("evicted", json!({})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    let (_b, driver_b) = scene.reporter(&scene.pod("b", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    scene.status("evicted", |status| condition(status, "Enforced") == ("Unknown", "WaitingForPods")).await;

    driver_b.abort();
    let failed = Patch::Merge(json!({"status": {"phase": "Failed", "reason": "Evicted"}}));
    scene.pods.patch_status("b", &PatchParams::default(), &failed).await.unwrap();
    scene.status("evicted", |status| condition(status, "Enforced").0 == "True").await;
    assert!(scene.pods.get_opt("b").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_container_is_counted_once_and_afresh() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "restarted").await;
    let (key, generation) = scene.policy("restarted", json!({})).await;
    let _aggregator = scene.aggregator("one");
    let identity = scene.pod("a", &["webhook"]).await;
    let (a, driver) = scene.reporter(&identity).await;
    a.ingested(&key, generation, Ok(()), enforced());
    scene.status("restarted", |status| condition(status, "Enforced").0 == "True").await;

    driver.abort();
    let again = identity.clone().restarted();
    let (a, _driver) = scene.reporter(&again).await;
    // What the first run had ingested says nothing about the second one.
    let status = scene.status("restarted", |status| ids(status).is_empty()).await;
    assert_eq!(condition(&status, "Enforced"), ("Unknown", "WaitingForPods"));
    a.ingested(&key, generation, Ok(()), enforced());
    let status = scene.status("restarted", |status| condition(status, "Enforced").0 == "True").await;
    assert_eq!(ids(&status), ["a"]);
    timeout(LONG, a.flush()).await.unwrap().unwrap();
    let reports = scene.reports.list(&ListParams::default()).await.unwrap();
    assert_eq!(reports.items.len(), 2, "a registration and a shard");
    assert!(reports.iter().all(|report| report.data["pod"]["incarnation"] == again.incarnation.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_parent_starts_with_an_empty_status() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "recreated").await;
    let (old, generation) = scene.policy("recreated", json!({})).await;
    let _aggregator = scene.aggregator("one");
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    let (b, _b) = scene.reporter(&scene.pod("b", &["webhook"]).await).await;
    for reporter in [&a, &b] {
        reporter.ingested(&old, generation, Ok(()), enforced());
    }
    scene.status("recreated", |status| ids(status) == ["a", "b"]).await;

    scene.policies.delete("recreated", &DeleteParams::default()).await.unwrap();
    let (new, generation) = scene.policy("recreated", json!({})).await;
    assert_ne!(old.uid, new.uid);
    // The delete and the create were one event for `a`; `b` has not noticed anything.
    a.ingested(&new, generation, Ok(()), enforced());
    let status = scene.status("recreated", |status| ids(status) == ["a"]).await;
    assert_eq!(status["byPod"][0]["policyUID"], new.uid);
    assert_eq!(condition(&status, "Enforced"), ("Unknown", "WaitingForPods"));
    b.removed(&old);
    b.ingested(&new, generation, Ok(()), enforced());
    b.removed(&old);
    scene.status("recreated", |status| condition(status, "Enforced").0 == "True").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_aggregators_works_and_the_other_takes_over() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "takeover").await;
    let (key, generation) = scene.policy("takeover", json!({})).await;
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    let (_first, killed) = scene.aggregator("first");
    a.ingested(&key, generation, Ok(()), enforced());
    scene.status("takeover", |status| condition(status, "Enforced").0 == "True").await;
    let _second = scene.aggregator("second");

    killed.abort();
    let (b, _b) = scene.reporter(&scene.pod("b", &["webhook"]).await).await;
    b.ingested(&key, generation, Ok(()), enforced());
    let status = scene.status("takeover", |status| ids(status) == ["a", "b"]).await;
    assert_eq!(condition(&status, "Enforced").0, "True");
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
        kube::Api::namespaced(scene.client.clone(), &scene.namespace);
    let spec = leases.get("pod-status-aggregator").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("second"));
    assert_eq!(spec.lease_transitions, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregator_that_leaves_gives_the_lease_back() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "leaves").await;
    let (key, generation) = scene.policy("leaves", json!({})).await;
    let (a, _a) = scene.reporter(&scene.pod("a", &["webhook"]).await).await;
    a.ingested(&key, generation, Ok(()), enforced());
    let (shutdown, task) = scene.aggregator("first");
    scene.status("leaves", |status| condition(status, "Enforced").0 == "True").await;
    shutdown.cancel();
    timeout(LONG, task).await.unwrap().unwrap();
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
        kube::Api::namespaced(scene.client.clone(), &scene.namespace);
    let spec = leases.get("pod-status-aggregator").await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity, None);
}
