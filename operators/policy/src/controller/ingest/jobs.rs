//! Slow work for templates, beside the loop. Dropping a [`Job`] cancels it, which is how a superseded version ends.

use std::sync::Arc;
use std::time::Duration;

use constraint_framework::IngestError;
use constraint_framework::api::ConstraintTemplate;
use constraint_framework::policyset::{CompiledTemplate, Compiler};
use futures::FutureExt;
use futures::future::{AbortHandle, Abortable, BoxFuture};
use pod_status::ParentKey;
use tokio::sync::Semaphore;
use watch_manager::WatchedObject;

use crate::controller::crds::{Desired, Placed, place};
use crate::established::ESTABLISH;
use crate::retry::Waits;

/// The waits before a CRD that could not be written is written again.
const RETRY: Waits = Waits { first: Duration::from_millis(250), longest: Duration::from_secs(15) };
/// CRDs that are read and written at the same time.
const WRITES: usize = 16;

/// A job that came to its end, and which version of which template it was for.
pub(super) struct Done {
    pub(super) template: ParentKey,
    pub(super) version: u64,
    pub(super) result: JobResult,
}

pub(super) enum JobResult {
    Compiled(Box<Result<CompiledTemplate, IngestError>>),
    Placed(Arc<Desired>, Placed),
    /// The CRD should be served by now.
    Overdue,
}

/// A job in the loop's set. Dropping it cancels the job.
pub(super) struct Job(AbortHandle);

/// A job's future, for the loop's set.
pub(super) type Running = Abortable<BoxFuture<'static, Done>>;

/// The state that all jobs share: at most as many compile at once as there are cores.
#[derive(Clone)]
pub(super) struct Jobs {
    client: kube::Client,
    compiles: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Jobs {
    pub(super) fn new(client: kube::Client) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Self { client, compiles: Arc::new(Semaphore::new(cores)), writes: Arc::new(Semaphore::new(WRITES)) }
    }

    /// Compiles on a thread for blocking work: a template may take as long as its budget allows.
    pub(super) fn compile(
        &self,
        compiler: Compiler,
        template: ParentKey,
        version: u64,
        manifest: Arc<WatchedObject>,
    ) -> (Job, Running) {
        let permits = self.compiles.clone();
        start(async move {
            // The semaphore is never closed.
            let permit = Arc::new(permits.acquire_owned().await.ok());
            let of_thread = permit.clone();
            let work = tokio::task::spawn_blocking(move || {
                // Kept by the thread: a cancelled job does not make room for another thread.
                let _permit = of_thread;
                // Parsed here: of the templates that wait only the text is kept.
                let manifest = manifest.to_value().map_err(|error| IngestError::Json(error.to_string()))?;
                compiler.compile(&ConstraintTemplate::from_value(&manifest)?)
            });
            let compiled = work.await.unwrap_or_else(|_| Err(IngestError::CompilerFailed));
            // And until here: if the thread made room, the next job would come before it is idle, and begin another thread.
            drop(permit);
            Done { template, version, result: JobResult::Compiled(Box::new(compiled)) }
        })
    }

    /// Brings a constraint CRD into form, after a wait that grows with the attempts that failed before.
    pub(super) fn place(
        &self,
        version: u64,
        desired: Arc<Desired>,
        accepted: Option<(String, String)>,
        attempt: u32,
    ) -> (Job, Running) {
        let (client, permits) = (self.client.clone(), self.writes.clone());
        start(async move {
            RETRY.pause(attempt).await;
            let _permit = permits.acquire().await.ok();
            let placed = place(client, desired.clone(), accepted).await;
            let template = desired.template.clone();
            Done { template, version, result: JobResult::Placed(desired, placed) }
        })
    }

    /// Ends when an API server should have begun to serve the CRD.
    pub(super) fn overdue(&self, template: ParentKey, version: u64) -> (Job, Running) {
        start(async move {
            tokio::time::sleep(ESTABLISH).await;
            Done { template, version, result: JobResult::Overdue }
        })
    }
}

fn start(job: impl Future<Output = Done> + Send + 'static) -> (Job, Running) {
    let (running, handle) = futures::future::abortable(job.boxed());
    (Job(handle), running)
}
