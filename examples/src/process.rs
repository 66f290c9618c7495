//! The controllers of a demo, each a process of its own, started again when its failpoint ended it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc::Sender;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};

use crate::failpoint::Fault;
use crate::output::print;
use crate::{failpoint, rights};

/// Time to end with the demo.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which a frozen process is continued until it has ended.
const GO_ON: Duration = Duration::from_millis(100);

/// The interval at which a process that is to be frozen is asked whether it is.
const LOOK: Duration = Duration::from_millis(20);

/// The command that starts a role: this program, with other arguments.
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
    end: oneshot::Sender<End>,
    task: JoinHandle<()>,
}

/// The way a process is ended.
#[derive(Clone, Copy, Debug)]
enum End {
    /// As by a crash.
    Kill,
    /// As by a kubelet: it finishes what it has begun, also when it was frozen.
    Retire,
    /// As by the end of the demo: it drops what it has begun, and so ends what it has started.
    Detach,
}

// === impl Running ===

impl Running {
    /// Starts a role; `failed` is notified when it ends by itself for another reason than its failpoint.
    pub(crate) fn start(launch: Launch, fault: Option<Fault>, failed: Sender<String>) -> Self {
        Self::spawn(|asked| supervise(launch, fault, None, asked, failed))
    }

    /// Starts a process that freezes before its first write, and prepares a second, which starts when the first is frozen: had
    /// both begun at once, the second might have made the only write that there is to make.
    pub(crate) fn start_frozen(launch: Launch, failed: Sender<String>) -> [Self; 2] {
        let frozen = Arc::new(Notify::new());
        let fault = Some(Fault::FreezeBefore(1));
        let (notify, first, failures) = (Arc::clone(&frozen), launch.clone(), failed.clone());
        let first = Self::spawn(|asked| supervise(first, fault, Some(notify), asked, failures));
        let second = Self::spawn(async move |mut asked| {
            tokio::select! {
                () = frozen.notified() => supervise(launch, None, None, asked, failed).await,
                _ended = &mut asked => {}
            }
        });
        [first, second]
    }

    fn spawn<W: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce(oneshot::Receiver<End>) -> W,
    ) -> Self {
        let (end, asked) = oneshot::channel();
        Self { end, task: tokio::spawn(work(asked)) }
    }

    /// Asks the process to finish what it has begun, and waits for its end.
    pub(crate) async fn retire(self) {
        self.finish(End::Retire).await;
    }

    /// Kills the process and waits for its end.
    pub(crate) async fn stop(self) {
        self.finish(End::Kill).await;
    }

    /// Tells the process that the demo is over, and waits for its end.
    pub(crate) async fn detach(self) {
        self.finish(End::Detach).await;
    }

    async fn finish(self, how: End) {
        // It may have ended by itself.
        let _gone = self.end.send(how);
        // A panic of the task has been printed; the process died with it.
        let _ended = self.task.await;
    }
}

async fn supervise(
    launch: Launch,
    mut fault: Option<Fault>,
    frozen: Option<Arc<Notify>>,
    mut asked: oneshot::Receiver<End>,
    failed: Sender<String>,
) {
    loop {
        let mut process = match launch.spawn(fault) {
            Ok(process) => process,
            Err(error) => {
                return notify(&failed, format!("{} cannot be started: {error}", launch.role)).await;
            }
        };
        // `wait` would close it, and the process end.
        let attached = process.stdin.take();
        let stopped = notify_when_stopped(pid(&process), frozen.as_deref());
        let status = tokio::select! {
            status = process.wait() => status,
            how = &mut asked => {
                say_unless_reached(&launch.role, fault, &process);
                return end(process, attached, how.unwrap_or(End::Kill)).await;
            }
            never = stopped => match never {},
        };
        match status.map(|status| status.code()) {
            Ok(Some(failpoint::EXIT_CODE)) => {
                print(format_args!("  !! {} was killed; it starts again", launch.role));
                fault = None;
            }
            ended => return notify(&failed, format!("{} ended: {ended:?}", launch.role)).await,
        }
    }
}

/// Reports a fault when its process is to end: it was never reached, or the frozen process goes on. A write that never comes is not worth a failed
/// demo: how many there are depends on the states that a controller sees.
fn say_unless_reached(role: &str, fault: Option<Fault>, process: &Child) {
    match fault {
        Some(Fault::KillAfter(write)) => {
            print(format_args!("  !! {role} was never killed: it made fewer than {write} writes"));
        }
        Some(Fault::FreezeBefore(write)) if !is_stopped(pid(process)) => {
            print(format_args!("  !! {role} was never frozen: it made fewer than {write} writes"));
        }
        Some(Fault::FreezeBefore(_)) => print(format_args!("  !! {role}, which was frozen, goes on")),
        Some(Fault::FreezeBeforeDelete) | None => {}
    }
}

/// Tells `frozen` as soon as this process is stopped.
async fn notify_when_stopped(process: Option<Pid>, frozen: Option<&Notify>) -> Infallible {
    if let Some(frozen) = frozen {
        let mut look = interval(LOOK);
        while !is_stopped(process) {
            look.tick().await;
        }
        frozen.notify_one();
    }
    std::future::pending().await
}

fn is_stopped(process: Option<Pid>) -> bool {
    let asked = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    process.is_some_and(|id| matches!(waitid(WaitId::Pid(id), asked), Ok(Some(_))))
}

fn pid(process: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process.id()?).ok()?)
}

async fn end(mut process: Child, attached: Option<ChildStdin>, how: End) {
    match how {
        End::Kill => {}
        End::Retire => {
            let id = pid(&process);
            // It has ended by itself if it is not there.
            let send = |signal| id.map(|id| kill_process(id, signal));
            let _sent = send(Signal::TERM);
            // What it finishes may hold the very write before which it stops, so once is not enough.
            let mut again = interval(GO_ON);
            loop {
                tokio::select! {
                    _ended = process.wait() => break,
                    _ = again.tick() => drop(send(Signal::CONT)),
                }
            }
        }
        End::Detach => {
            drop(attached);
            let _ended = timeout(SHUTDOWN_TIMEOUT, process.wait()).await;
        }
    }
    // It has ended, if it is not to be killed or does not react.
    let _ended = process.kill().await;
}

async fn notify(failed: &Sender<String>, reason: String) {
    // Without a receiver the demo is over.
    let _over = failed.send(reason).await;
}

// === impl Launch ===

impl Launch {
    fn spawn(&self, fault: Option<Fault>) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--attached", "--role", &self.role, "--namespace", &self.namespace]);
        command.args(["--impersonate", &rights::username(&self.namespace, &self.role)]);
        if let Some(kubeconfig) = &self.kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        match fault {
            Some(Fault::KillAfter(write)) => {
                command.args(["--kill-after", &write.to_string()]);
            }
            Some(Fault::FreezeBefore(write)) => {
                command.args(["--freeze-before", &write.to_string()]);
            }
            Some(Fault::FreezeBeforeDelete) => {
                command.arg("--freeze-before-delete");
            }
            None => {}
        }
        command.arg("--").args(&self.options);
        // The process ends when its standard input does, and so with this one, however this one ends.
        command.stdin(Stdio::piped()).kill_on_drop(true).spawn()
    }
}
