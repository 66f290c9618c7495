//! The bytes that an object costs: here, in kube's `Store<DynamicObject>`, and in controller-runtime's unstructured
//! informer. All sides leave managedFields out and get the same objects from the same server over HTTP.

use anyhow::{Result, ensure};
use futures::StreamExt;
use kube::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::reflector::store::Writer;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, WatchManager};

use super::Scale;
use super::join::drain;
use crate::figures::Line;
use crate::heap;
use crate::peer::controller_runtime;
use crate::server::Server;

/// Weighs 20,000 Pods, ConfigMaps and custom resources.
///
/// # Errors
/// A side does not hold all objects.
pub async fn run(scale: Scale) -> Result<Vec<Line>> {
    let count = scale.of(20_000);
    let (mut lines, mut sums) = (Vec::new(), [0.0; 3]);
    for (kind, make) in fixtures() {
        let api = FakeApi::new();
        let resource = ApiResource::from_gvk(&kind);
        api.serve(&kind, &resource.plural);
        for number in 0..count {
            api.apply(&kind, make(number));
        }
        let size = text_size(make(count));
        let server = Server::start(&api).await?;
        let ours = ours(&server, &kind, count).await? / count as f64;
        let kube = kube(&server, resource, count).await? / count as f64;
        let theirs = controller_runtime(&server, std::slice::from_ref(&kind), 1).await?;
        ensure!(theirs.objects == count, "controller-runtime holds {} objects", theirs.objects);
        let heap = theirs.heap / count as f64;
        for (sum, figure) in sums.iter_mut().zip([ours, kube, heap]) {
            *sum += figure;
        }
        let line = |peer, goal| Line {
            what: format!("heap of a {} of {size} B of JSON", kind.kind),
            ours,
            unit: "B",
            peer: Some(peer),
            goal,
        };
        lines.push(line(("kube Store<DynamicObject>", kube), "20 %"));
        lines.push(line(("controller-runtime, heap", heap), "50 %"));
        lines.push(line(("controller-runtime, resident", theirs.rss / count as f64), ""));
    }
    let [ours, kube, theirs] = sums;
    for (name, peer, goal) in
        [("kube Store<DynamicObject>", kube, "20 %"), ("controller-runtime, heap", theirs, "50 %")]
    {
        let what = "heap of one object of each of these kinds".to_owned();
        lines.push(Line { what, ours, unit: "B", peer: Some((name, peer)), goal });
    }
    Ok(lines)
}

async fn ours(server: &Server, kind: &GroupVersionKind, count: usize) -> Result<f64> {
    let before = heap::settled().await;
    let (manager, driver) = WatchManager::builder(server.client()?).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut registrar = manager.registrar("registrar")?;
    let _ = registrar.add(kind.clone());
    drain(&mut registrar, count).await?;
    let bytes = heap::settled().await - before;
    shutdown.cancel();
    driver.await?;
    Ok(bytes)
}

async fn kube(server: &Server, resource: ApiResource, count: usize) -> Result<f64> {
    let before = heap::settled().await;
    let api: Api<DynamicObject> = Api::all_with(server.client()?, &resource);
    let writer = Writer::new(resource);
    let store = writer.as_reader();
    let events = watcher(api, watcher::Config::default())
        .default_backoff()
        .modify(|object| object.metadata.managed_fields = None)
        .reflect(writer);
    let mut events = events.boxed();
    while let Some(event) = events.next().await {
        if matches!(event?, watcher::Event::InitDone) {
            break;
        }
    }
    ensure!(store.len() == count, "kube holds {} objects", store.len());
    let bytes = heap::settled().await - before;
    drop(events);
    Ok(bytes)
}

/// The size of an object without its managedFields.
fn text_size(mut object: Value) -> usize {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object.to_string().len()
}

type Fixture = (GroupVersionKind, fn(usize) -> Value);

fn fixtures() -> [Fixture; 3] {
    let gvk = GroupVersionKind::gvk;
    [
        (gvk("", "v1", "Pod"), pod),
        (gvk("", "v1", "ConfigMap"), config_map),
        (gvk("example.com", "v1", "Gadget"), gadget),
    ]
}

fn metadata(name: &str, number: usize) -> Value {
    json!({
        "name": format!("{name}-{number}"), "namespace": format!("namespace-{}", number % 100),
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"app": name, "pod-template-hash": "6d4cf56db6", "team": format!("team-{}", number % 7)},
        "annotations": {"example.com/checksum": format!("{number:064x}")},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{name}-6d4cf56db6"),
            "uid": format!("00000000-0000-0000-0000-{number:012}"), "controller": true, "blockOwnerDeletion": true}],
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {},
            "f:app": {}, "f:pod-template-hash": {}, "f:team": {}}, "f:annotations": {".": {}}, "f:ownerReferences": {".": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"main\"}": {".": {}, "f:image": {}, "f:name": {}, "f:ports": {}}}}}}],
    })
}

fn pod(number: usize) -> Value {
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10,
        "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3});
    json!({"metadata": metadata("web", number), "spec": {
        "serviceAccountName": "default", "nodeName": format!("node-{}", number % 500), "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "priority": 0, "preemptionPolicy": "PreemptLowerPriority",
        "containers": [{"name": "main", "image": "registry.example.com/team/web:1.2.3", "imagePullPolicy": "IfNotPresent",
            "ports": [{"containerPort": 8080, "protocol": "TCP"}], "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "resources": {"limits": {"cpu": "1", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}},
            "livenessProbe": probe, "readinessProbe": probe,
            "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": true}]}],
        "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]},
        "status": {"phase": "Running", "podIP": format!("10.0.{}.{}", number / 250 % 250, number % 250), "qosClass": "Burstable",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"},
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
            "containerStatuses": [{"name": "main", "ready": true, "restartCount": 0, "image": "registry.example.com/team/web:1.2.3",
                "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}}]}})
}

fn config_map(number: usize) -> Value {
    json!({"metadata": metadata("settings", number), "data": {"config.yaml": "key: value\n".repeat(60), "number": number.to_string()}})
}

fn gadget(number: usize) -> Value {
    json!({"metadata": metadata("gadget", number), "spec": {"size": number % 10, "color": "red", "parts": [{"name": "a", "count": 1},
        {"name": "b", "count": 2}], "selector": {"matchLabels": {"app": "gadget"}}}, "status": {"observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}})
}
