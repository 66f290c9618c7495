//! A running `webtroller`, and what it says on standard error.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

/// Far more than any step takes on a loaded machine: a test that hangs must end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Lines of the log that a failed test shows.
const SHOWN: usize = 60;

/// A figure of `/proc/PID/status` in KiB: `VmRSS` is the resident memory, `VmHWM` the most that it has been.
pub(crate) fn kibibytes(process: u32, figure: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mut figures = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = figures.find(|(name, _)| *name == figure).expect("such a figure");
    value.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A process of the binary under test. It is killed when dropped, and in a test that fails it shows how it ended.
pub(crate) struct Operator {
    pub(crate) child: Child,
    last: Arc<Mutex<VecDeque<String>>>,
    /// Read to the end all the time: a process whose pipe is full hangs.
    logs: UnboundedReceiver<String>,
    /// `host:port` of `/v1/admit`.
    pub(crate) webhook: String,
    /// `host:port` of `/readyz`.
    pub(crate) health: String,
    /// The address that answers `/metrics` alone.
    pub(crate) prometheus: String,
}

/// The binary under test.
pub(crate) fn webtroller() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_webtroller"));
    command.kill_on_drop(true).stdin(Stdio::null());
    command
}

impl Operator {
    /// Starts `serve` against the cluster of `kubeconfig`, as the pod in `identity` (name, namespace, uid).
    pub(crate) async fn start(kubeconfig: impl AsRef<Path>, identity: [&str; 3]) -> Self {
        Self::start_with(kubeconfig, identity, &[]).await
    }

    /// As [`Operator::start`], with more arguments.
    pub(crate) async fn start_with(kubeconfig: impl AsRef<Path>, identity: [&str; 3], more: &[&str]) -> Self {
        let mut operator = Self::launch_with(kubeconfig, identity, "127.0.0.1", more).await;
        operator.webhook = operator.log("serving").await["webhook"].as_str().unwrap().to_owned();
        operator
    }

    /// Starts `serve`, registered by URL at `host`, up to the moment when its health port answers.
    pub(crate) async fn launch(kubeconfig: impl AsRef<Path>, identity: [&str; 3], host: &str) -> Self {
        Self::launch_with(kubeconfig, identity, host, &[]).await
    }

    pub(crate) async fn launch_with(
        kubeconfig: impl AsRef<Path>,
        identity: [&str; 3],
        host: &str,
        more: &[&str],
    ) -> Self {
        Self::launch_in(&[], kubeconfig, identity, host, more).await
    }

    /// As [`Operator::launch`], with more arguments and this environment.
    pub(crate) async fn launch_in(
        environment: &[(&str, String)],
        kubeconfig: impl AsRef<Path>,
        identity: [&str; 3],
        host: &str,
        more: &[&str],
    ) -> Self {
        let mut command = webtroller();
        command
            .args(["serve", "--log", "info", "--log-format", "json", "--host", "127.0.0.1", "--port", "0"])
            .args([
                "--health-port",
                "0",
                "--prometheus-port",
                "0",
                "--webhook-url-host",
                host,
                "--failure-policy",
                "fail",
            ])
            .args(["--shutdown-delay", "1", "--webhook-operations", "CREATE,UPDATE,DELETE"])
            .args(more)
            .envs(environment.iter().cloned())
            .env("KUBECONFIG", kubeconfig.as_ref())
            .envs([("POD_NAME", identity[0]), ("POD_NAMESPACE", identity[1]), ("POD_UID", identity[2])])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let last = Arc::default();
        let logs = lines(child.stderr.take().unwrap(), Arc::clone(&last));
        let mut operator = Self {
            child,
            last,
            logs,
            webhook: String::new(),
            health: String::new(),
            prometheus: String::new(),
        };
        let ports = operator.log("health").await;
        operator.health = ports["health"].as_str().unwrap().to_owned();
        operator.prometheus = ports["metrics"].as_str().unwrap().to_owned();
        operator
    }

    /// Starts it and waits until its webhook is registered, which is after it is ready.
    pub(crate) async fn start_ready(kubeconfig: impl AsRef<Path>, identity: [&str; 3]) -> Self {
        let mut operator = Self::start(kubeconfig, identity).await;
        operator.log("webhook registered").await;
        operator
    }

    /// Reads the log up to the line with this message, and gives its fields.
    pub(crate) async fn log(&mut self, message: &str) -> Value {
        self.line(message).await["fields"].take()
    }

    /// As [`Operator::log`], with everything that is in the line.
    pub(crate) async fn line(&mut self, message: &str) -> Value {
        let search = async {
            let mut seen = Vec::new();
            while let Some(line) = self.logs.recv().await {
                let parsed: Value = serde_json::from_str(&line).unwrap_or_default();
                let is_whole = parsed.is_null() || parsed.to_string().len() == line.len();
                assert!(is_whole, "a key occurs twice: {line}");
                if parsed["fields"]["message"] == message {
                    return parsed;
                }
                seen.push(line);
            }
            panic!("the operator ended before it logged {message:?}:\n{}", seen.join("\n"))
        };
        timeout(PATIENCE, search).await.unwrap_or_else(|_| panic!("no {message:?} in the log"))
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends a signal, such as `-STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// The status code and the body of `/readyz`.
    pub(crate) async fn readyz(&self) -> (u16, String) {
        readyz(&self.health).await.expect("the health port must answer")
    }

    /// The body of `/metrics`.
    pub(crate) async fn metrics(&self) -> String {
        get(&self.health, "/metrics").await.expect("the health port must answer").1
    }

    /// The status page.
    pub(crate) async fn page(&self) -> String {
        let (status, page) = get(&self.health, "/").await.expect("the health port must answer");
        assert_eq!(status, 200, "{page}");
        page
    }

    /// Asks `/metrics` until its answer is as `accept` wants it.
    pub(crate) async fn until_metrics(&self, accept: impl Fn(&str) -> bool) {
        let asking = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            while !accept(&self.metrics().await) {
                ticks.tick().await;
            }
        };
        timeout(PATIENCE, asking).await.expect("the metrics must be as expected");
    }

    /// Asks `/readyz` until its answer is as `accept` wants it.
    pub(crate) async fn until_readyz(&self, accept: impl Fn(u16, &str) -> bool) -> String {
        let mut last = (0, String::new());
        let asking = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(100));
            while !accept(last.0, &last.1) {
                ticks.tick().await;
                last = readyz(&self.health).await.unwrap_or_default();
            }
        };
        if timeout(PATIENCE, asking).await.is_err() {
            let process = self.child.id().map(|id| std::fs::read_to_string(format!("/proc/{id}/stat")));
            panic!("readyz must answer as expected, not {last:?}; the process is {process:?}");
        }
        last.1
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub(crate) async fn stop(mut self) {
        self.terminate();
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the operator must end").unwrap();
        assert!(status.success(), "{status}");
    }

    /// As [`Operator::stop`], and returns all that it has logged, of which there must not be more than is kept.
    pub(crate) async fn stop_and_read(self) -> Vec<String> {
        let last = Arc::clone(&self.last);
        self.stop().await;
        let lines: Vec<_> = last.lock().unwrap().iter().cloned().collect();
        assert!(lines.len() < SHOWN, "{} lines", lines.len());
        lines
    }

    /// SIGKILL: no time to say anything.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (ended, last) =
                (self.child.try_wait(), self.last.lock().map(|mut last| std::mem::take(&mut *last)));
            let last = Vec::from(last.unwrap_or_default()).join("\n");
            println!("the operator at {} ({ended:?}) logged last:\n{last}", self.webhook);
        }
    }
}

/// The status code and the body of `/readyz` at `address`; `None` when it does not answer.
pub(crate) async fn readyz(address: &str) -> Option<(u16, String)> {
    get(address, "/readyz").await
}

async fn get(address: &str, path: &str) -> Option<(u16, String)> {
    let answer = ask(address, "GET", path).await?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// The answer to a request without a body, as it is on the wire.
pub(crate) async fn ask(address: &str, method: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

fn lines(stderr: ChildStderr, last: Arc<Mutex<VecDeque<String>>>) -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            keep(&mut last.lock().unwrap(), line.clone());
            // The receiver is gone: the pipe is still to be emptied.
            let _ = sender.send(line);
        }
    });
    receiver
}

fn keep(last: &mut VecDeque<String>, line: String) {
    if last.len() == SHOWN {
        last.pop_front();
    }
    last.push_back(line);
}
