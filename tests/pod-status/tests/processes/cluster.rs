//! The policies, the pods, and the processes that stand for them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use control_plane::{ControlPlane, Options};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::{await_condition, conditions};
use pod_status::{
    Aggregator, AggregatorConfig, Deadline, LeaseClaim, ParentRef, PodIdentity, ReportKind, Rollout, Shape,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::child::now;
use crate::hangs::Hangs;
use crate::judgement::{self, Log, Revision};
use crate::proxy::Proxy;
use crate::revisions::Recorder;

/// Longer than anything here takes on a busy machine: an unanswered request alone costs half a minute.
const LONG: Duration = Duration::from_secs(300);

/// Every write of a policy, with the object that it made.
const AUDIT: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "omitManagedFields": true,
    "rules": [
        {"level": "RequestResponse", "verbs": ["patch", "update"], "resources": [{"group": "test.webtroller.dev"}]},
        {"level": "None"}
    ]
}"#;

pub fn policies() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("test.webtroller.dev", "v1", "Policy"))
}

/// The layout of the statuses; coordinated if the environment says so.
pub fn shapes() -> impl Fn(&ParentRef) -> Option<Shape> + Send + Sync + 'static {
    let is_coordinated = std::env::var_os("POD_STATUS_COORDINATED").is_some();
    let is_strict = std::env::var_os("POD_STATUS_STRICT").is_some();
    move |parent| {
        let shape = Shape::new(policies(), "policyUID").enforced_by(["webhook"]).enforced_field("enforced");
        let rollout = Rollout::Coordinated { deadline: Deadline::Never };
        let shape = if is_coordinated { shape.rollout(rollout) } else { shape };
        let rollout = Rollout::Strict { deadline: Deadline::Never };
        let shape = if is_strict { shape.rollout(rollout) } else { shape };
        (parent.kind == "Policy").then_some(shape)
    }
}

pub async fn control_plane() -> ControlPlane {
    Options::default().audit_policy(AUDIT).start().await.unwrap()
}

/// One update of a policy.
#[derive(Clone, Debug)]
pub struct Update {
    pub sent: u64,
    pub uid: String,
    pub generation: i64,
}

pub struct Cluster {
    client: kube::Client,
    namespace: String,
    pub policies: Api<DynamicObject>,
    pods: Api<Pod>,
    folder: tempfile::TempDir,
    updates: Mutex<Vec<Update>>,
    deleted: Mutex<BTreeMap<String, u64>>,
    recorder: Recorder,
    /// Of all processes.
    pub hangs: Hangs,
}

pub struct Process {
    child: Child,
    pub id: String,
    uid: String,
    log: PathBuf,
    port: PathBuf,
    proxy: Proxy,
}

impl Process {
    /// Kills the process with SIGKILL, and waits for its end.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the process to end in order, and waits for that.
    pub fn stop(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub fn freeze(&self) {
        kill_process(Pid::from_child(&self.child), Signal::STOP).unwrap();
    }

    pub fn thaw(&self) {
        kill_process(Pid::from_child(&self.child), Signal::CONT).unwrap();
    }

    /// Cuts the process off from the API server, or connects it again.
    pub fn cut(&self, is_cut: bool) {
        self.proxy.cut(is_cut);
    }

    /// The log, as it was written.
    pub fn lines(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Returns what it did so far.
    pub fn log(&self) -> Log {
        Log::read(&self.id, &self.log)
    }

    /// The port of its webhook, once it listens.
    pub async fn port(&self) -> u16 {
        let mut ticks = interval(Duration::from_millis(20));
        let port = async {
            loop {
                ticks.tick().await;
                if let Some(port) =
                    std::fs::read_to_string(&self.port).ok().and_then(|port| port.parse().ok())
                {
                    return port;
                }
            }
        };
        timeout(LONG, port).await.unwrap()
    }

    /// Waits until the log has what is `wanted`.
    pub async fn until(&self, wanted: impl Fn(&Log) -> bool) {
        let mut ticks = interval(Duration::from_millis(50));
        let waited = async {
            while !wanted(&self.log()) {
                ticks.tick().await;
            }
        };
        timeout(LONG, waited).await.unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Cluster {
    pub async fn new(plane: &ControlPlane) -> Self {
        let client = plane.client().unwrap();
        let namespace = plane.namespace("processes").await.unwrap();
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let policy = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "policies.test.webtroller.dev"},
            "spec": {
                "group": "test.webtroller.dev", "scope": "Cluster",
                "names": {"kind": "Policy", "plural": "policies", "singular": "policy"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
                }],
            },
        });
        let kind = ReportKind::default();
        for crd in [policy, json!(kind.crd()), json!(kind.epoch_crd())] {
            let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
            let name = crd["metadata"]["name"].as_str().unwrap();
            crds.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(&crd)).await.unwrap();
            timeout(LONG, await_condition(crds, name, is_crd_established())).await.unwrap().unwrap();
        }
        let policies = Api::all_with(client.clone(), &policies());
        Self {
            recorder: Recorder::start(policies.clone()).await,
            hangs: Hangs::default(),
            policies,
            pods: Api::namespaced(client.clone(), &namespace),
            client,
            namespace,
            folder: tempfile::tempdir().unwrap(),
            updates: Mutex::default(),
            deleted: Mutex::default(),
        }
    }

    /// A pod, and a process that runs as it, with these variables. One of `faults` requests fails.
    pub async fn start(&self, id: &str, faults: u64, variables: &[&str]) -> Process {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": id},
            "spec": {
                "automountServiceAccountToken": false,
                "containers": [{"name": "c", "image": "none.invalid/none"}],
            },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pod = self.pods.create(&PostParams::default(), &pod).await.unwrap();
        self.spawn(id, &pod.uid().unwrap(), faults, variables).await
    }

    /// The container of the same pod, once more.
    pub async fn restart(&self, process: &Process, faults: u64) -> Process {
        self.spawn(&process.id, &process.uid, faults, &[]).await
    }

    async fn spawn(&self, id: &str, uid: &str, faults: u64, variables: &[&str]) -> Process {
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let file = |kind: &str| self.folder.path().join(format!("{id}-{number}.{kind}"));
        let (log, port) = (file("log"), file("port"));
        std::fs::write(&log, "").unwrap();
        let proxy = Proxy::start(self.client.clone(), file("kubeconfig"), faults, self.hangs.clone()).await;
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_process", "--nocapture"])
            .env("KUBECONFIG", &proxy.kubeconfig)
            .env("POD_NAME", id)
            .env("POD_NAMESPACE", &self.namespace)
            .env("POD_UID", uid)
            .env("POD_STATUS_CHILD_LOG", &log)
            .env("POD_STATUS_PORT", &port)
            .envs(variables.iter().map(|variable| (variable, "1")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Process { child, id: id.to_owned(), uid: uid.to_owned(), log, port, proxy }
    }

    /// Deletes the Pod object without waiting for its process.
    pub async fn delete_pod(&self, id: &str) {
        self.pods.delete(id, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    /// An aggregator in this process, whose host knows these policies and reports about none. Its Lease is its own: it
    /// waits for no other aggregator.
    pub fn second_aggregator(&self, known: &[&str]) -> tokio::task::JoinHandle<()> {
        let identity = PodIdentity::detached(&self.namespace, "second", ["status"]);
        let claim = LeaseClaim::new(&identity, "another-lease").duration(Duration::from_secs(3));
        let config =
            AggregatorConfig::new(&identity, shapes()).claim(claim).debounce(Duration::from_millis(30));
        let aggregator = Aggregator::new(self.client.clone(), config);
        let changes = aggregator.parent_changes();
        known.iter().for_each(|name| changes.changed(ParentRef::new("test.webtroller.dev", "Policy", *name)));
        tokio::spawn(aggregator.run(CancellationToken::new()))
    }

    /// Changes the spec, or creates the policy. Returns the generation.
    pub async fn update(&self, name: &str) -> i64 {
        let sent = now();
        let body = json!({
            "apiVersion": "test.webtroller.dev/v1", "kind": "Policy", "metadata": {"name": name},
            "spec": {"at": sent},
        });
        let params = PatchParams::apply("user").force();
        let policy = self.policies.patch(name, &params, &Patch::Apply(&body)).await.unwrap();
        let generation = policy.metadata.generation.unwrap();
        self.updates.lock().unwrap().push(Update { sent, uid: policy.uid().unwrap(), generation });
        generation
    }

    pub fn updates(&self) -> Vec<Update> {
        self.updates.lock().unwrap().clone()
    }

    /// Deletes the policy and creates it again. Returns the old uid and the new generation.
    pub async fn recreate(&self, name: &str) -> i64 {
        let uid = self.policies.get(name).await.unwrap().uid().unwrap();
        self.deleted.lock().unwrap().insert(uid.clone(), now());
        self.policies.delete(name, &DeleteParams::default()).await.unwrap();
        let deleted = await_condition(self.policies.clone(), name, conditions::is_deleted(&uid));
        timeout(LONG, deleted).await.unwrap().unwrap();
        self.update(name).await
    }

    /// Waits until `Enforced` is true for the generation and these pods are listed.
    pub async fn enforced(&self, name: &str, generation: i64, pods: &[&str]) {
        self.is_said(name, ("True", "EnforcedByAllPods"), generation, pods).await;
    }

    /// Waits until `Enforced` has this status and reason for the generation, and these pods are listed.
    pub async fn is_said(&self, name: &str, wanted: (&str, &str), generation: i64, pods: &[&str]) {
        let status = |object: Option<&DynamicObject>| object.and_then(|o| o.data.get("status").cloned());
        let is_wanted = |object: Option<&DynamicObject>| {
            let status = status(object).unwrap_or_default();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let says = |c: &Value| {
                c["type"] == "Enforced"
                    && (c["status"].as_str(), c["reason"].as_str()) == (Some(wanted.0), Some(wanted.1))
                    && c["observedGeneration"] == generation
            };
            let none = Vec::new();
            let ids =
                status["byPod"].as_array().unwrap_or(&none).iter().map(|pod| pod["id"].as_str().unwrap());
            conditions.iter().any(says) && ids.eq(pods.iter().copied())
        };
        let waited = timeout(LONG, await_condition(self.policies.clone(), name, is_wanted)).await;
        if !matches!(waited, Ok(Ok(_))) {
            let last = self.policies.get(name).await.unwrap();
            panic!(
                "{name} is not {wanted:?} at {generation} by {pods:?} ({waited:?}): {:#}",
                last.data["status"]
            );
        }
    }

    /// All revisions of all policies, and the lies among them.
    pub async fn judge(&self, plane: &ControlPlane, logs: &[Log]) -> (Vec<Revision>, Vec<judgement::Lie>) {
        timeout(LONG, self.recorder.catch_up(&self.policies)).await.unwrap();
        let (revisions, missing) = self.recorder.revisions(&plane.audit_log().unwrap());
        println!("{} revisions, {missing} of them without an audit event", revisions.len());
        let lies = judgement::lies(&revisions, logs, &self.deleted.lock().unwrap());
        (revisions, lies)
    }
}
