//! The audit: an enforcement point that judges what is in the cluster already, when it changes, and says so in the
//! statuses of constraints. One process at a time does it, under a Lease.
//!
//! `ledger` is its memory and takes its decisions, without I/O; `auditor` is the loop around it. Objects are not kept:
//! `source` gives the watch manager their identities, and `buffer` has them until they are judged.

mod auditor;
mod buffer;
mod events;
mod judge;
mod kinds;
mod ledger;
mod messages;
mod once;
mod place;
mod reports;
mod source;
mod status;
mod violation_log;

use std::sync::Arc;
use std::time::Duration;

use pod_status::{LeaseClaim, PodIdentity, lead};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use watch_manager::{Config, WatchManager};

use crate::enforce::Namespaces;
use crate::events::Recorder;
use crate::in_force::PolicyHandle;

use auditor::{Auditor, Watches};
use buffer::ObjectBuffer;
use source::IdentitySource;

pub use once::{OnceArgs, OnceFormat, audit_once};
pub use reports::ReportFormat;

/// The Lease of the process that audits.
const LEASE: &str = "webtroller-audit";
const FIELD_MANAGER: &str = "webtroller-audit";
/// Objects that wait to be judged, in bytes.
const HOLD: usize = 2 * 1024 * 1024;
/// Lists of the first pass that are fetched at the same time.
const LISTS: usize = 2;

/// The options of an audit.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// Time between two comparisons of everything known with the cluster; `None` for none.
    pub interval: Option<Duration>,
    /// Violations in the status of a constraint.
    pub violations_limit: usize,
    /// Objects per page of a list; `None` for all at once.
    pub chunk_size: Option<u32>,
    /// The kinds in which all violations are reported; `None` for no reports.
    pub reports: Option<ReportFormat>,
    /// Batches of objects judged at the same time.
    pub threads: usize,
}

/// The services that the audit works with.
pub struct AuditContext {
    /// Lists, and writes statuses.
    pub client: kube::Client,
    /// The watches of the process, for policies and Namespaces.
    pub manager: WatchManager,
    /// The policies in force.
    pub policies: PolicyHandle,
    /// The Namespaces of objects.
    pub namespaces: Arc<dyn Namespaces>,
    /// The process.
    pub identity: PodIdentity,
    /// Takes violations that come or go.
    pub events: Recorder,
    /// The options of the audit.
    pub options: AuditOptions,
}

/// The audit of a process.
pub struct Audit {
    context: AuditContext,
    ready: watch::Receiver<bool>,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("options", &self.context.options).finish_non_exhaustive()
    }
}

impl Audit {
    /// Creates an audit that begins when `ready` is true.
    pub fn new(context: AuditContext, ready: watch::Receiver<bool>) -> Self {
        Self { context, ready }
    }

    /// Audits whenever this process holds the Lease, from the time at which the process is ready until `shutdown`.
    ///
    /// # Guarantees
    /// Cancel-safe: dropping it leaves the cluster as it is, and the Lease to expire.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let is_ready = shutdown.run_until_cancelled(self.ready.wait_for(|ready| *ready)).await;
        if is_ready.is_none_or(|ready| ready.is_err()) {
            return;
        }
        let claim = LeaseClaim::new(&self.context.identity, LEASE);
        lead(self.context.client.clone(), claim, shutdown, || self.term()).await;
    }

    /// One term: everything is judged once, and then what changes.
    async fn term(&self) {
        tracing::info!(process = "audit", event_type = "audit_started", "auditing");
        let hold = ObjectBuffer::new(HOLD);
        let source = IdentitySource::new(self.context.client.clone(), hold.clone());
        let mut config = Config::default();
        config.identities_only = true;
        config.page_size = self.context.options.chunk_size.unwrap_or(0);
        config.max_concurrent_starts = LISTS;
        let (manager, driver) = WatchManager::builder_with_source(source.clone()).config(config).build();
        source.serves(&manager);
        let objects = source.objects();
        let registrar = manager.registrar("audit");
        let auditor =
            registrar.and_then(|registrar| Auditor::new(&self.context, Watches { registrar, hold, objects }));
        match auditor {
            Ok(auditor) => tokio::select! {
                () = auditor.run() => tracing::debug!("the audit has ended"),
                () = driver.run(CancellationToken::new()) => tracing::debug!("the watches of the audit have ended"),
            },
            Err(error) => tracing::error!(%error, "the audit cannot begin"),
        }
    }
}
