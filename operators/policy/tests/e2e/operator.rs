//! A running `webtroller`, and what it says on standard error.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// Far more than any step takes on a loaded machine: a test that hangs must end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A process of the binary under test. It is killed when dropped.
pub(crate) struct Operator {
    pub(crate) child: Child,
    logs: Lines<BufReader<ChildStderr>>,
    /// `host:port` of `/v1/admit`.
    pub(crate) webhook: String,
    /// `host:port` of `/readyz`.
    pub(crate) health: String,
}

/// The binary under test.
pub(crate) fn webtroller() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    command.kill_on_drop(true).stdin(Stdio::null());
    command
}

impl Operator {
    /// Starts `serve` against the cluster of `kubeconfig`, as the pod in `identity` (name, namespace, uid).
    pub(crate) async fn start(kubeconfig: &Path, identity: [&str; 3]) -> Self {
        let mut command = webtroller();
        command
            .args(["serve", "--log", "info", "--log-format", "json", "--host", "127.0.0.1", "--port", "0"])
            .args(["--health-port", "0", "--webhook-url-host", "127.0.0.1", "--failure-policy", "fail"])
            .args(["--shutdown-delay", "1", "--webhook-operations", "CREATE,UPDATE,DELETE"])
            .env("KUBECONFIG", kubeconfig)
            .envs([("POD_NAME", identity[0]), ("POD_NAMESPACE", identity[1]), ("POD_UID", identity[2])])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let logs = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut operator = Self { child, logs, webhook: String::new(), health: String::new() };
        operator.health = operator.log("health").await["health"].as_str().unwrap().to_owned();
        operator.webhook = operator.log("serving").await["webhook"].as_str().unwrap().to_owned();
        operator
    }

    /// Starts it and waits until its webhook is registered, which is after it is ready.
    pub(crate) async fn start_ready(kubeconfig: &Path, identity: [&str; 3]) -> Self {
        let mut operator = Self::start(kubeconfig, identity).await;
        operator.log("webhook registered").await;
        operator
    }

    /// Reads the log up to the line with this message, and gives its fields.
    pub(crate) async fn log(&mut self, message: &str) -> Value {
        let search = async {
            let mut seen = Vec::new();
            while let Some(line) = self.logs.next_line().await.unwrap() {
                let parsed: Value = serde_json::from_str(&line).unwrap_or_default();
                if parsed["fields"]["message"] == message {
                    return parsed["fields"].clone();
                }
                seen.push(line);
            }
            panic!("the operator ended before it logged {message:?}:\n{}", seen.join("\n"))
        };
        timeout(PATIENCE, search).await.unwrap_or_else(|_| panic!("no {message:?} in the log"))
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub(crate) async fn stop(mut self) {
        self.terminate();
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the operator must end").unwrap();
        assert!(status.success(), "{status}");
    }

    /// SIGKILL: no time to say anything.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
