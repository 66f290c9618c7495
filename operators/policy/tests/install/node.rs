//! A node: binds pending pods, starts their containers' processes from the rendered arguments and environment, reports
//! readiness from the rendered probe's port, and ends processes as a kubelet does (SIGTERM, grace period, SIGKILL). Mounted
//! Secrets are followed: see `mounts`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, interval, timeout};

use crate::helm::NAMESPACE;
use crate::mounts::Mounts;
use crate::service::Endpoints;

const NODE: &str = "node-a";
/// Lines of each log that a failed test shows.
const SHOWN: usize = 40;
const ROUND: Duration = Duration::from_millis(200);
/// Processes that any test of this binary has started: each has an address of its own.
static STARTED: AtomicU8 = AtomicU8::new(0);

/// The pods of one namespace and their processes.
pub(crate) struct Node {
    pods: Api<Pod>,
    client: Client,
    config: Config,
    endpoints: Endpoints,
    folder: PathBuf,
    running: BTreeMap<String, Process>,
}

/// The logs of all processes, shown when the test fails.
pub(crate) struct Logs(pub(crate) PathBuf);

impl Drop for Logs {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let files = std::fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "log")) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let last: Vec<_> = text.lines().rev().take(SHOWN).collect();
            let last: Vec<_> = last.into_iter().rev().collect();
            println!("{} ends with:\n{}", file.display(), last.join("\n"));
        }
    }
}

struct Process {
    child: Child,
    mounts: Mounts,
    host: String,
    kill_at: Option<Instant>,
    phase: &'static str,
    ready: Option<bool>,
}

impl Node {
    pub(crate) async fn join(client: Client, config: Config, endpoints: Endpoints, folder: PathBuf) -> Self {
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
        let node = serde_json::from_value(json!({"metadata": {"name": NODE}})).unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let pods = Api::namespaced(client.clone(), NAMESPACE);
        Self { pods, client, config, endpoints, folder, running: BTreeMap::new() }
    }

    /// Works until it is dropped, which kills the processes.
    pub(crate) async fn run(mut self) {
        let mut tick = interval(ROUND);
        loop {
            tick.tick().await;
            let listed = self.pods.list(&ListParams::default()).await.unwrap().items;
            for pod in &listed {
                self.look_after(pod).await;
            }
            self.publish(&listed);
        }
    }

    async fn look_after(&mut self, pod: &Pod) {
        let uid = pod.metadata.uid.clone().unwrap();
        if !self.running.contains_key(&uid) {
            if pod.metadata.deletion_timestamp.is_none() {
                self.start(pod, uid).await;
            }
            return;
        }
        let Some(process) = self.running.get_mut(&uid) else { return };
        if pod.metadata.deletion_timestamp.is_some() {
            if end(process, pod) {
                self.forget(pod).await;
            }
            return;
        }
        process.mounts.follow(&self.client).await;
        let exit = process.child.try_wait().unwrap();
        let ready = exit.is_none() && is_ready(&process.host).await;
        let phase = match exit {
            None => "Running",
            Some(status) if status.success() => "Succeeded",
            Some(_) => "Failed",
        };
        if process.ready == Some(ready) && process.phase == phase {
            return;
        }
        (process.ready, process.phase) = (Some(ready), phase);
        let status = status(pod, phase, ready, &process.host);
        let name = pod.metadata.name.as_deref().unwrap();
        self.pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }

    async fn start(&mut self, pod: &Pod, uid: String) {
        let name = pod.metadata.name.clone().unwrap();
        let mut mounts = Mounts::of(pod, &self.folder);
        if !mounts.follow(&self.client).await {
            return;
        }
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                             "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}});
        let bound: kube::Result<serde_json::Value> =
            self.pods.create_subresource("binding", &name, &PostParams::default(), &binding).await;
        // Deleted since it was listed: a pod without a node is gone at once.
        if matches!(&bound, Err(kube::Error::Api(status)) if status.is_not_found()) {
            return;
        }
        bound.unwrap();
        let number = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
        let host = format!("127.77.0.{number}");
        let spec = pod.spec.as_ref().unwrap();
        let container = &spec.containers[0];
        let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
        let args = mounts.in_place(container.args.clone().unwrap_or_default());
        // Pods have addresses of their own; processes on one machine are given one.
        let host_flag = args.iter().any(|arg| arg == "serve").then(|| format!("--host={host}"));
        let log = std::fs::File::create(self.folder.join(format!("{name}.log"))).unwrap();
        command.args(&args).args(host_flag).env_clear().stdin(Stdio::null()).stderr(log).kill_on_drop(true);
        let account = spec.service_account_name.as_deref().unwrap();
        command.envs(environment(pod)).env("KUBECONFIG", self.credentials(account, number).await);
        let child = command.spawn().unwrap();
        let process = Process { child, mounts, host, kill_at: None, phase: "Pending", ready: None };
        self.running.insert(uid, process);
    }

    /// A kubeconfig with a token of the pod's service account, as the kubelet mounts one.
    async fn credentials(&self, account: &str, number: u8) -> PathBuf {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), NAMESPACE);
        let request = TokenRequest { spec: Some(TokenRequestSpec::default()), ..TokenRequest::default() };
        let token = accounts.create_token_request(account, &PostParams::default(), &request).await.unwrap();
        // A file of its own: a process that starts now must not read it while it is written for the next one.
        let certificates = self.folder.join(format!("{account}-{number}.pem"));
        let encoded = self.config.root_cert.as_ref().unwrap();
        let pem: String = encoded.iter().map(|der| pem(der)).collect();
        std::fs::write(&certificates, pem).unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": self.config.cluster_url.to_string(), "certificate-authority": certificates}}],
            "users": [{"name": "c", "user": {"token": token.status.unwrap().token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let path = self.folder.join(format!("{account}-{number}.kubeconfig"));
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// The API server keeps a terminating pod until its node says that it is gone.
    async fn forget(&mut self, pod: &Pod) {
        self.running.remove(pod.metadata.uid.as_deref().unwrap());
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let _ = self.pods.delete(pod.metadata.name.as_deref().unwrap(), &now).await;
    }

    /// A terminating pod gets no new connections, as with kube-proxy.
    fn publish(&self, listed: &[Pod]) {
        let serving = listed.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let processes = serving.filter_map(|pod| self.running.get(pod.metadata.uid.as_deref()?));
        let ready = processes.filter(|process| process.ready == Some(true));
        self.endpoints.set(
            ready.map(|process| format!("{}:8443", process.host).parse::<SocketAddr>().unwrap()).collect(),
        );
    }
}

/// Asks the process to end, kills it after its grace period; true once it has ended.
fn end(process: &mut Process, pod: &Pod) -> bool {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(30).unsigned_abs();
    match process.kill_at {
        None => {
            process.kill_at = Some(Instant::now() + Duration::from_secs(grace));
            if let Some(id) = process.child.id() {
                let sent = std::process::Command::new("kill").args(["-TERM", &id.to_string()]).status();
                assert!(sent.unwrap().success());
            }
        }
        Some(at) if Instant::now() >= at => panic!("a pod did not end within its grace period"),
        Some(_) => {}
    }
    process.child.try_wait().unwrap().is_some()
}

fn environment(pod: &Pod) -> BTreeMap<&'static str, String> {
    let names: Vec<_> =
        pod.spec.as_ref().unwrap().containers[0].env.iter().flatten().map(|var| var.name.clone()).collect();
    let metadata = &pod.metadata;
    let known =
        [("POD_NAME", &metadata.name), ("POD_NAMESPACE", &metadata.namespace), ("POD_UID", &metadata.uid)];
    let wanted = known.into_iter().filter(|(name, _)| names.iter().any(|other| other == name));
    wanted.filter_map(|(name, value)| Some((name, value.clone()?))).collect()
}

fn status(pod: &Pod, phase: &str, ready: bool, host: &str) -> serde_json::Value {
    let condition =
        |kind: &str, holds: bool| json!({"type": kind, "status": if holds { "True" } else { "False" }});
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let last = host.rsplit('.').next().unwrap();
    let state = match phase {
        "Running" => json!({"running": {}}),
        "Succeeded" => json!({"terminated": {"exitCode": 0}}),
        _ => json!({"terminated": {"exitCode": 1}}),
    };
    json!({"status": {
        "phase": phase, "podIP": format!("10.244.0.{last}"), "podIPs": [{"ip": format!("10.244.0.{last}")}],
        "conditions": [condition("Initialized", true), condition("PodScheduled", true),
                       condition("ContainersReady", ready), condition("Ready", ready)],
        "containerStatuses": [{"name": container.name, "image": container.image, "imageID": "", "ready": ready,
                               "restartCount": 0, "state": state}],
    }})
}

async fn is_ready(host: &str) -> bool {
    let probe = async {
        let mut connection = TcpStream::connect(format!("{host}:9090")).await.ok()?;
        connection
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: probe\r\nconnection: close\r\n\r\n")
            .await
            .ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.ok()?;
        Some(answer.starts_with("HTTP/1.1 200"))
    };
    timeout(Duration::from_secs(5), probe).await.ok().flatten().unwrap_or(false)
}

fn pem(der: &[u8]) -> String {
    let text = k8s_openapi::ByteString(der.to_vec());
    let encoded = serde_json::to_value(&text).unwrap();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", encoded.as_str().unwrap())
}
