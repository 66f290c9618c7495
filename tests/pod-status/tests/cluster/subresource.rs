//! A kind whose definition is another program's and lacks the subresource `status`, such as Gatekeeper's of SyncSets.

use control_plane::ControlPlane;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use pod_status::{ParentKey, ReporterConfig};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::scene::{LONG, Scene, bares, condition, enforced, install};

fn definition(subresources: &Value) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "bares.test.webtroller.dev"},
        "spec": {
            "group": "test.webtroller.dev",
            "scope": "Cluster",
            "names": {"kind": "Bare", "plural": "bares", "singular": "bare"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_no_subresource_takes_is_written_when_the_definition_has_it() {
    let scene = Scene::new(ControlPlane::shared().await.unwrap(), "bare").await;
    install(&scene.client, &definition(&json!({}))).await;
    let api: Api<DynamicObject> = Api::all_with(scene.client.clone(), &bares());
    let body = json!({"apiVersion": "test.webtroller.dev/v1", "kind": "Bare", "metadata": {"name": "b"}, "spec": {}});
    let bare = api.patch("b", &PatchParams::apply("user"), &Patch::Apply(&body)).await.unwrap();
    let key = ParentKey::of(&bare, &bares());

    let aggregator = scene.idle_aggregator("one");
    aggregator.parent_changes().changed(key.reference.clone());
    let mut marks = aggregator.high_water_marks();
    let _aggregator = tokio::spawn(aggregator.run(CancellationToken::new()));
    let pod = scene.pod("a", &["webhook"]).await;
    let (reporter, _driver) = scene.reporter_with(&pod, ReporterConfig::default()).await;
    reporter.ingested(&key, 1, Ok(()), enforced());
    let unwritable = marks.wait_for(|marks| marks.of("test.webtroller.dev", "Bare").unwritable == 1);
    let mark = timeout(LONG, unwritable).await.unwrap().unwrap().of("test.webtroller.dev", "Bare");
    let message = mark.oldest.unwrap().message;
    assert!(message.contains("Bare is served without the subresource status"), "{message}");

    install(&scene.client, &definition(&json!({"status": {}}))).await;
    let is_enforced = |object: Option<&DynamicObject>| {
        condition(object.and_then(|object| object.data.get("status")).unwrap_or(&Value::Null), "Enforced").0
            == "True"
    };
    timeout(LONG, await_condition(api, "b", is_enforced)).await.unwrap().unwrap();
    let written = marks.wait_for(|marks| marks.of("test.webtroller.dev", "Bare").unwritable == 0);
    timeout(LONG, written).await.unwrap().unwrap();
}
