//! The example `replica` in three processes on a real API server, as its users run it, with `kubectl`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// The processes, which end with this.
#[derive(Default)]
struct Replicas(Vec<Child>);

impl Drop for Replicas {
    fn drop(&mut self) {
        for replica in &mut self.0 {
            let _ = replica.kill();
            let _ = replica.wait();
        }
    }
}

/// Three pods, and a process for each. What they print goes to one file, line by line.
async fn start(plane: &ControlPlane, namespace: &str, arguments: &[&str], log: &Path) -> Replicas {
    let program = env!("CARGO_BIN_EXE_pod-status-replica");
    let pods: Api<Pod> = Api::namespaced(plane.client().unwrap(), namespace);
    let mut replicas = Replicas::default();
    for name in ["a", "b", "c"] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "none.invalid/none"}]},
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
        let output = OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("KUBECONFIG", plane.kubeconfig()).env("POD_NAME", name);
        command.env("POD_NAMESPACE", namespace).env("POD_UID", pod.metadata.uid.unwrap());
        command.stdin(Stdio::null()).stdout(output);
        replicas.0.push(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")));
    }
    let crds: Api<CustomResourceDefinition> = Api::all(plane.client().unwrap());
    let installed = await_condition(crds, "lamps.example.com", conditions::is_crd_established());
    timeout(LONG, installed).await.unwrap().unwrap();
    replicas
}

async fn kubectl(plane: &ControlPlane, arguments: &[&str]) {
    let output = plane.kubectl().args(arguments).output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sets the brightness of a lamp, and waits until all replicas enforce it.
async fn set(plane: &ControlPlane, lamp: &str, brightness: u32) -> Value {
    let body = json!({
        "apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": lamp}, "spec": {"brightness": brightness},
    });
    let manifest = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(manifest.path(), body.to_string()).unwrap();
    kubectl(plane, &["apply", "-f", manifest.path().to_str().unwrap()]).await;
    kubectl(plane, &["wait", "--for=condition=Enforced", "--timeout=120s", &format!("lamp/{lamp}")]).await;
    // A replica that starts late is shown when it has listed the lamps.
    let lamps = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Lamp"));
    let api: Api<DynamicObject> = Api::all_with(plane.client().unwrap(), &lamps);
    let is_complete = |object: Option<&DynamicObject>| {
        let entries = object.and_then(|object| object.data["status"]["byPod"].as_array());
        entries.is_some_and(|entries| entries.len() == 3)
    };
    let lamp = timeout(LONG, await_condition(api, lamp, is_complete)).await.unwrap().unwrap().unwrap();
    lamp.data["status"].clone()
}

/// One control plane each: both examples define `Lamp`s, which are not in a namespace.
#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_report_what_they_enforce() {
    let plane = ControlPlane::start().await.unwrap();
    let (namespace, folder) = (plane.namespace("replicas").await.unwrap(), tempfile::tempdir().unwrap());
    let _replicas = start(&plane, &namespace, &[], &folder.path().join("log")).await;
    let status = set(&plane, "hall", 1).await;
    let ids: Vec<&Value> = status["byPod"].as_array().unwrap().iter().map(|entry| &entry["id"]).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    set(&plane, "hall", 2).await;
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    for pod in ["a", "b", "c"] {
        assert!(log.contains(&format!("{pod} enforces hall 2\n")), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_coordinated_rollout_no_replica_enforces_before_all_have_ingested() {
    let plane = ControlPlane::start().await.unwrap();
    let (namespace, folder) = (plane.namespace("coordinated").await.unwrap(), tempfile::tempdir().unwrap());
    let _replicas = start(&plane, &namespace, &["--coordinated"], &folder.path().join("log")).await;
    // All three are there when the first generation is complete.
    set(&plane, "hall", 1).await;
    for generation in 2..=5 {
        set(&plane, "hall", generation).await;
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        let line = |text: &str, pod: &str| {
            let wanted = format!("{pod} {text} hall {generation}");
            log.lines().position(|line| line == wanted).unwrap_or_else(|| panic!("no {wanted:?} in {log}"))
        };
        let ingested = ["a", "b", "c"].map(|pod| line("ingested", pod)).into_iter().max();
        let enforced = ["a", "b", "c"].map(|pod| line("enforces", pod)).into_iter().min();
        assert!(ingested < enforced, "{log}");
    }
}
