//! A control plane with a Pod for the operator to be, and `kubectl` on it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use control_plane::ControlPlane;
use tokio::io::AsyncWriteExt;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use crate::operator::{Operator, PATIENCE};
use crate::rights;

pub(crate) const NAMESPACE: &str = "gatekeeper-system";
const POD: &str = "webtroller-0";

pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) pod_uid: String,
    folder: tempfile::TempDir,
    /// Leads to the API server as the operator's own account, with the rights that it is shipped with.
    pub(crate) shipped: PathBuf,
}

/// Between two questions that start a program each: it must not take the processor from what is waited for.
pub(crate) fn pauses() -> Interval {
    let mut ticks = interval(Duration::from_millis(250));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Drop for Cluster {
    /// Every test ends with this: nothing was done that no controller declares.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let undeclared = rights::undeclared(&self.plane);
            assert!(undeclared.is_empty(), "not declared: {}", undeclared.join(", "));
        }
    }
}

/// The answer of `kubectl`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) success: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::around(ControlPlane::start().await.unwrap()).await
    }

    async fn around(plane: ControlPlane) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = Self { plane, pod_uid: String::new(), folder, shipped: PathBuf::new() };
        cluster.must(&["create", "namespace", NAMESPACE]).await;
        cluster.must(&["wait", "--for=create", "-n", NAMESPACE, "serviceaccount/default"]).await;
        cluster.pod_uid = cluster.pod(POD).await;
        cluster.shipped = rights::shipped(&cluster, cluster.folder.path()).await;
        cluster
    }

    /// Creates a Pod for an operator to be, and returns its uid.
    pub(crate) async fn pod(&self, name: &str) -> String {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {NAMESPACE}}}, \
             spec: {{automountServiceAccountToken: false, containers: [{{name: a, image: example.com/a}}]}}}}"
        );
        self.apply(&pod).await;
        self.get(&["pod", name, "-n", NAMESPACE], "{.metadata.uid}").await
    }

    /// The operator as this cluster's pod, ready and registered.
    pub(crate) async fn operator(&self) -> Operator {
        Operator::start_ready(&self.shipped, [POD, NAMESPACE, &self.pod_uid]).await
    }

    /// As [`Cluster::operator`], before it is ready.
    pub(crate) async fn starting_operator(&self) -> Operator {
        Operator::start(&self.shipped, [POD, NAMESPACE, &self.pod_uid]).await
    }

    pub(crate) async fn kubectl(&self, args: &[&str]) -> Answer {
        answer(self.plane.kubectl().args(args).stdin(Stdio::null()).output().await.unwrap())
    }

    /// As [`Cluster::kubectl`], and it must succeed.
    pub(crate) async fn must(&self, args: &[&str]) -> String {
        let answer = self.kubectl(args).await;
        assert!(answer.success, "kubectl {}: {}", args.join(" "), answer.stderr);
        answer.stdout
    }

    pub(crate) async fn get(&self, what: &[&str], jsonpath: &str) -> String {
        let format = format!("jsonpath={jsonpath}");
        self.must(&[&["get"], what, &["-o", &format]].concat()).await
    }

    /// Reads an object until the part at `jsonpath` is as `expected`; it may be absent meanwhile.
    pub(crate) async fn until(&self, what: &[&str], jsonpath: &str, expected: &str) {
        let format = format!("jsonpath={jsonpath}");
        let reading = async {
            let mut ticks = pauses();
            while self.kubectl(&[&["get"], what, &["-o", &format]].concat()).await.stdout != expected {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("{what:?} never had {expected}"));
    }

    /// `kubectl apply` of a text; it must succeed.
    pub(crate) async fn apply(&self, manifest: &str) {
        let answer = self.feed(&["apply", "-f", "-"], manifest).await;
        assert!(answer.success, "{manifest}: {}", answer.stderr);
    }

    /// `kubectl` with a text on its standard input.
    pub(crate) async fn feed(&self, args: &[&str], input: &str) -> Answer {
        let mut command = self.plane.kubectl();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        answer(child.wait_with_output().await.unwrap())
    }

    pub(crate) async fn apply_file(&self, path: &Path) {
        self.must(&["apply", "-f", path.to_str().unwrap()]).await;
    }

    /// Puts the quickstart policy in force, waiting for the template before its constraint.
    pub(crate) async fn quickstart(&self) {
        self.apply_file(&workspace("examples/quickstart/template.yaml")).await;
        self.enforced("constrainttemplate/k8sreplicalimits").await;
        self.apply_file(&workspace("examples/quickstart/constraint.yaml")).await;
        self.enforced("k8sreplicalimits/three-to-ten-replicas").await;
    }

    /// Waits until every pod enforces the object's present generation: the operator's own promise.
    pub(crate) async fn enforced(&self, object: &str) {
        self.must(&["wait", "--for=condition=Enforced", "--timeout=120s", object]).await;
    }
}

fn answer(output: Output) -> Answer {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Answer { success: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A path in the workspace.
pub(crate) fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap()
}
