//! Runs a demo in a namespace of its own on the API server that all tests share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use control_plane::{ControlPlane, Options};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

/// Demos at a time: each is several processes.
static PLACES: Semaphore = Semaphore::const_new(4);

/// Bodies of writes are logged, so that the fields that a controller writes are compared with those it declares.
const WRITES_WITH_BODIES: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]},
        {"level": "Request", "verbs": ["create", "update", "patch"]},
        {"level": "Metadata"}
    ]
}"#;

/// The control plane that all tests share.
pub(crate) async fn plane() -> &'static ControlPlane {
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    SHARED
        .get_or_init(async || Options::default().audit_policy(WRITES_WITH_BODIES).start().await.unwrap())
        .await
}

/// A demo that has ended well.
pub(crate) struct DemoRun {
    pattern: String,
    pub(crate) output: String,
    pub(crate) errors: String,
    client: Client,
    pub(crate) namespace: String,
}

/// Cargo builds the examples of a package beside its tests, before it runs those.
pub(crate) fn program(pattern: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples").join(pattern)
}

/// A new namespace.
pub(crate) async fn namespace() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("demo-{}", NEXT.fetch_add(1, Ordering::SeqCst));
    let api: Api<Namespace> = Api::all(plane().await.client().unwrap());
    let mut object = Namespace::default();
    object.metadata.name = Some(name.clone());
    api.create(&PostParams::default(), &object).await.unwrap();
    name
}

/// A role of a pattern in a process of its own, as in a cluster; it ends when this is dropped.
pub(crate) async fn start(pattern: &str, role: &[&str], namespace: &str) -> Child {
    command(pattern, role, namespace).await.spawn().unwrap()
}

/// Builds the command that [`start`] starts.
pub(crate) async fn command(pattern: &str, role: &[&str], namespace: &str) -> Command {
    let mut command = Command::new(program(pattern));
    command.args(["--namespace", namespace, "--role"]).args(role);
    command.env("KUBECONFIG", plane().await.kubeconfig()).kill_on_drop(true);
    command
}

/// Installs the definitions of a pattern.
pub(crate) async fn install(pattern: &str, namespace: &str) {
    let mut command = Command::new(program(pattern));
    let printed = command.args(["--definitions", "--namespace", namespace]).output().await.unwrap();
    let definitions = String::from_utf8(printed.stdout).unwrap();
    kubectl(namespace, &["apply", "--server-side", "--force-conflicts", "-f", "-"], &definitions).await;
    kubectl(namespace, &["wait", "--for=condition=Established", "--timeout=60s", "-f", "-"], &definitions)
        .await;
}

/// Runs kubectl, and returns what it prints.
pub(crate) async fn kubectl(namespace: &str, arguments: &[&str], input: &str) -> String {
    let mut command = plane().await.kubectl();
    command.args(["--namespace", namespace]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the demo of a pattern on the shared API server.
pub(crate) async fn run_demo(pattern: &str, arguments: &[&str]) -> DemoRun {
    let _place = PLACES.acquire().await.unwrap();
    let plane = plane().await;
    let (client, namespace) = (plane.client().unwrap(), namespace().await);
    let mut command = Command::new(program(pattern));
    command.args(["--demo", "--here", "--namespace", &namespace]).args(arguments);
    command.env("KUBECONFIG", plane.kubeconfig()).env("RUST_BACKTRACE", "0").kill_on_drop(true);
    let output = timeout(Duration::from_secs(600), command.output()).await.expect("it must end").unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{pattern} {arguments:?}:\n{printed}\n{errors}");
    DemoRun { pattern: pattern.to_owned(), output: printed, errors, client, namespace }
}

/// Runs a demo as [`run_demo`] does, with two processes of each of these roles.
pub(crate) async fn run_demo_doubled(pattern: &str, roles: &[&str]) -> DemoRun {
    let arguments: Vec<_> = roles.iter().flat_map(|role| ["--twice", role]).collect();
    run_demo(pattern, &arguments).await
}

/// Kills `role` after its first write, in another run after its second, and so on until a run ends before; each time the
/// next start of the role has to reach what `check` asserts. There are at least as many places as the table of all patterns
/// says, which counts what a controller has to write whatever states in between it sees.
pub(crate) async fn kill_at_every_write(pattern: &str, role: &str, check: impl AsyncFn(&DemoRun)) {
    let killed = fail_at_every_write(pattern, role, ("--kill", "was killed"), check).await;
    println!("{pattern}: {role} was killed at each of its {killed} writes");
    let least = places(pattern, role);
    assert!(killed >= least, "{pattern}: {role} was killed at {killed} writes, {least} are documented");
}

/// Freezes one of two processes of `role` right before its first write, and lets it go on when the other has done its part; in
/// another run before its second, and so on until a run ends before. What it does late must leave what `check` asserts.
pub(crate) async fn freeze_at_every_write(pattern: &str, role: &str, check: impl AsyncFn(&DemoRun)) {
    let frozen = fail_at_every_write(pattern, role, ("--freeze", "frozen before"), check).await;
    println!("{pattern}: {role} was frozen before each of its {frozen} writes");
    assert!(frozen > 0, "{pattern}: {role} was never frozen");
}

/// Returns at how many writes the fault came; the demo prints its message then.
async fn fail_at_every_write(
    pattern: &str,
    role: &str,
    (fault, message): (&str, &str),
    check: impl AsyncFn(&DemoRun),
) -> u32 {
    let runs = futures::stream::iter(1_u32..);
    let runs = runs.map(async |write| run_demo(pattern, &[fault, &format!("{role}:{write}")]).await);
    let mut runs = std::pin::pin!(runs.buffered(4));
    let mut failed = 0;
    while let Some(run) = runs.next().await {
        check(&run).await;
        run.delete_definitions().await;
        if !run.output.contains(message) {
            break;
        }
        failed += 1;
    }
    failed
}

/// The number of a role in the last column of the table in `docs/patterns/README.md`: ``` `machine` 14, `drain` 9 ```.
fn places(pattern: &str, role: &str) -> u32 {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let page = folders.map(|folder| folder.join("docs/patterns/README.md")).find(|page| page.exists());
    let page = std::fs::read_to_string(page.expect("the page in the repository")).unwrap();
    let row = page.lines().find(|line| line.contains(&format!("]({}.md)", pattern.replace('_', "-"))));
    let row = row.unwrap_or_else(|| panic!("{pattern} is not in the table"));
    let number = row
        .split_once(&format!("`{role}` "))
        .and_then(|(_, rest)| rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{pattern}: the table has no number for `{role}`"))
}

// === impl DemoRun ===

impl DemoRun {
    /// Deletes the definitions that this demo shares with no other: an API server with hundreds of them is slow.
    async fn delete_definitions(&self) {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let own = format!(".{}.", self.namespace);
        for definition in definitions.list_metadata(&ListParams::default()).await.unwrap() {
            let name = definition.name_any();
            if name.contains(&own) {
                definitions.delete(&name, &DeleteParams::default()).await.unwrap();
            }
        }
    }

    /// Compares what the controllers did, according to the API server's audit log, with what they declare. `spared` is what
    /// they declare and had no reason to do in this demo; every line of it has to be found.
    pub(crate) async fn check_declarations(&self, spared: &[&str]) {
        let of_this_demo = |event: &Value| {
            let user = event["impersonatedUser"]["username"].as_str().unwrap_or_default();
            user.starts_with(&format!("system:serviceaccount:{}:", self.namespace))
        };
        let log = plane().await.audit_log().unwrap().into_iter().filter(of_this_demo);
        let lines: Vec<_> = log.map(|event| format!("{event}\n")).collect();
        assert!(!lines.is_empty(), "{} made no call", self.pattern);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        std::fs::write(&path, lines.concat()).unwrap();
        let mut command = Command::new(program(&self.pattern));
        command.args(["--namespace", &self.namespace, "--check-audit"]).arg(path);
        let output = command.output().await.unwrap();
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(found.lines().collect::<Vec<_>>(), spared, "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.success(), spared.is_empty());
    }

    /// The objects of a kind in the namespace, by name.
    pub(crate) async fn objects(&self, group: &str, version: &str, kind: &str) -> BTreeMap<String, Value> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let all = api.list(&ListParams::default()).await.unwrap();
        all.into_iter().map(|object| (object.name_any(), serde_json::to_value(object).unwrap())).collect()
    }

    /// The names of the ConfigMaps that the demo left in the namespace.
    pub(crate) async fn config_maps(&self) -> Vec<String> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let all = api.list(&ListParams::default()).await.unwrap();
        let names = all.into_iter().map(|map| map.name_any());
        names.filter(|name| name != "kube-root-ca.crt").collect()
    }

    /// The reason of a condition of an object.
    #[track_caller]
    pub(crate) fn reason(object: &Value, r#type: &str) -> String {
        let conditions = object["status"]["conditions"].as_array().expect("conditions");
        let found = conditions.iter().find(|condition| condition["type"] == r#type).expect("the condition");
        found["reason"].as_str().expect("a reason").to_owned()
    }
}
