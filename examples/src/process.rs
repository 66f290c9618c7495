//! The controllers of a demo, each a process of its own, started again when its failpoint ended it.

use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{failpoint, rights};

/// How a role is started: this program, with other arguments.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) role: String,
    pub(crate) namespace: String,
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Further arguments of the role.
    pub(crate) options: Vec<String>,
}

/// A role that runs.
#[derive(Debug)]
pub(crate) struct Running {
    stop: CancellationToken,
    retire: CancellationToken,
    task: JoinHandle<()>,
}

// === impl Running ===

impl Running {
    /// Starts a role; `failed` is told when it ends by itself for another reason than its failpoint.
    pub(crate) fn start(launch: Launch, kill_after: Option<u64>, failed: Sender<String>) -> Self {
        let (stop, retire) = (CancellationToken::new(), CancellationToken::new());
        let tokens = (stop.clone(), retire.clone());
        let task = tokio::spawn(supervise(launch, kill_after, tokens, failed));
        Self { stop, retire, task }
    }

    /// Asks the process to finish what it has begun, and waits for its end.
    pub(crate) async fn retire(self) {
        self.retire.cancel();
        let _ended = self.task.await;
    }

    /// Kills the process and waits for its end.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A panic of the task has been printed; the process died with it.
        let _ended = self.task.await;
    }
}

async fn supervise(
    launch: Launch,
    mut kill_after: Option<u64>,
    (stop, retire): (CancellationToken, CancellationToken),
    failed: Sender<String>,
) {
    loop {
        let mut process = match launch.spawn(kill_after.take()) {
            Ok(process) => process,
            Err(error) => {
                return notify(&failed, format!("{} cannot be started: {error}", launch.role)).await;
            }
        };
        // `wait` would close it, and the process end.
        let mut attached = process.stdin.take();
        let status = tokio::select! {
            status = process.wait() => status,
            () = stop.cancelled() => {
                let _killed = process.kill().await;
                return;
            }
            () = retire.cancelled() => {
                let id = process.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
                // It has ended by itself if it is not there.
                let _sent = id.map(|id| kill_process(id, Signal::TERM));
                // A runtime does not end while one of its threads reads.
                drop(attached.take());
                let _ended = process.wait().await;
                return;
            }
        };
        match status.map(|status| status.code()) {
            Ok(Some(failpoint::EXIT_CODE)) => println!("  !! {} was killed; it starts again", launch.role),
            ended => return notify(&failed, format!("{} ended: {ended:?}", launch.role)).await,
        }
    }
}

async fn notify(failed: &Sender<String>, reason: String) {
    // Without a receiver the demo is over.
    let _over = failed.send(reason).await;
}

// === impl Launch ===

impl Launch {
    fn spawn(&self, kill_after: Option<u64>) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--attached", "--role", &self.role, "--namespace", &self.namespace]);
        command.args(["--impersonate", &rights::username(&self.namespace, &self.role)]);
        if let Some(kubeconfig) = &self.kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        if let Some(write) = kill_after {
            command.args(["--kill-after", &write.to_string()]);
        }
        command.arg("--").args(&self.options);
        // The process ends when its standard input does, and so with this one, however this one ends.
        command.stdin(Stdio::piped()).kill_on_drop(true).spawn()
    }
}
