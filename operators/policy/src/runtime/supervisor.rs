//! Tasks that the process cannot do without. One that ends before the process was asked to, or panics, ends the
//! process: the kubelet starts it again, and nothing keeps running by half.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use tokio_util::task::TaskTracker;

use super::shutdown::Shutdown;

/// Starts tasks and watches over them. Clones share the tasks.
#[derive(Clone, Debug)]
pub(super) struct Supervisor {
    shutdown: Shutdown,
    /// Tasks that answer requests: the process waits for them to finish.
    serving: TaskTracker,
    /// Tasks that talk to the API server, which may be gone: the process waits for them only for a moment.
    background: TaskTracker,
    failed: Arc<OnceLock<&'static str>>,
}

impl Supervisor {
    pub(super) fn new(shutdown: Shutdown) -> Self {
        Self { shutdown, serving: TaskTracker::new(), background: TaskTracker::new(), failed: Arc::default() }
    }

    /// Starts a task that answers requests.
    pub(super) fn serve(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.serving.spawn(self.clone().watch(name, task));
    }

    /// Starts a task that talks to the API server.
    pub(super) fn background(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.background.spawn(self.clone().watch(name, task));
    }

    /// The name of the task that ended before its time, if one did.
    pub(super) fn failed(&self) -> Option<&'static str> {
        self.failed.get().copied()
    }

    /// Waits until all requests are answered.
    pub(super) async fn answered(&self) {
        self.serving.close();
        self.serving.wait().await;
    }

    /// Waits until all requests are answered, then `moment` for the other tasks.
    pub(super) async fn finish(&self, moment: Duration) {
        self.background.close();
        self.answered().await;
        if tokio::time::timeout(moment, self.background.wait()).await.is_err() {
            tracing::warn!("tasks that talk to the API server did not end in time and are dropped");
        }
    }

    async fn watch(self, name: &'static str, task: impl Future<Output = ()> + Send) {
        let panicked = AssertUnwindSafe(task).catch_unwind().await.is_err();
        if self.shutdown.asked.is_cancelled() {
            return;
        }
        tracing::error!(task = name, panicked, "a task ended before its time; the process ends");
        // Only the first is the cause.
        let _ = self.failed.set(name);
        self.shutdown.asked.cancel();
        self.shutdown.drain.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_or_ends_early_ends_the_process() {
        for panics in [true, false] {
            let supervisor = Supervisor::new(Shutdown::default());
            supervisor.background("reporter", async move { assert!(!panics, "a defect") });
            supervisor.shutdown.drain.cancelled().await;
            assert_eq!(supervisor.failed(), Some("reporter"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_ends_when_asked_to_is_no_failure_and_one_that_hangs_is_dropped() {
        let supervisor = Supervisor::new(Shutdown::default());
        let asked = supervisor.shutdown.asked.clone();
        supervisor.serve("webhook", async move { asked.cancelled().await });
        supervisor.background("reporter", std::future::pending());
        supervisor.shutdown.asked.cancel();
        supervisor.finish(Duration::from_secs(2)).await;
        assert_eq!(supervisor.failed(), None);
    }
}
