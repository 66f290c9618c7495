//! Stores what this pod has ingested: a cheap handle for the controllers, and one driver that writes.
//!
//! The wanted state is held in memory, so no report object is read back before it is written, and a slow or
//! failing API server costs the callers nothing: changes meanwhile collapse into one write per object.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::Api;
use serde_json::Value;
use tokio::sync::watch;

use crate::error::Error;
use crate::identity::PodIdentity;
use crate::ledger::Ledger;
use crate::parent::ParentKey;
use crate::report::{Member, PodError, ReportKind};
use crate::writer::{Driver, Objects};

/// How a [`StatusReporter`] writes.
#[derive(Clone, Debug)]
pub struct Config {
    /// The kind of the report objects.
    pub kind: ReportKind,
    /// Among how many objects the entries are spread: about 64 entries each is a good size. Default 8.
    pub shards: u32,
    /// A change is written when nothing has changed for this long. Default 300 ms.
    pub debounce: Duration,
    /// A change waits no longer than this, however busy it is. Default 2 s.
    pub max_delay: Duration,
    /// How often the stored objects are compared with the wanted ones. Default 5 min.
    pub verify_every: Duration,
    /// Least time between writes beyond a burst of 20. Default 200 ms.
    pub write_interval: Duration,
    /// The field manager of the writes, at most 128 characters. Default `pod-status`.
    pub field_manager: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            kind: ReportKind::default(),
            shards: 8,
            debounce: Duration::from_millis(300),
            max_delay: Duration::from_secs(2),
            verify_every: Duration::from_secs(300),
            write_interval: Duration::from_millis(200),
            field_manager: "pod-status".to_owned(),
        }
    }
}

/// The handle by which controllers say what this pod has ingested. Clones are handles of the same reporter.
#[derive(Clone, Debug)]
pub struct StatusReporter {
    ledger: Arc<Mutex<Ledger>>,
    /// Says to the driver that the ledger has changed, and whether it is to finish.
    wake: Arc<watch::Sender<Wish>>,
    progress: watch::Receiver<Progress>,
}

/// What the handles want of the driver. Every field only ever grows, so no wish can get lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Counts the changes.
    pub(crate) changes: u64,
    /// What is to be stored without delay: everything up to this version of the ledger.
    pub(crate) flush: u64,
    /// Store everything, then end.
    pub(crate) finish: bool,
}

/// How far the driver is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The registration of this run is stored.
    pub(crate) registered: bool,
    /// Everything up to this version of the ledger is stored.
    pub(crate) stored: u64,
}

impl StatusReporter {
    /// A reporter for `identity`, and its driver, which the caller runs until it ends.
    ///
    /// The driver ends after [`StatusReporter::shutdown`] or when all handles are gone, once everything is
    /// stored. Dropping it is safe at any time: the next run with the same identity replaces what it left.
    pub fn new(
        client: kube::Client,
        identity: PodIdentity,
        config: Config,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let member = Member {
            id: identity.name.clone(),
            uid: identity.uid.clone(),
            incarnation: identity.incarnation.clone(),
            operations: identity.operations.clone(),
            ttl_seconds: identity.ttl().map(|ttl| ttl.as_secs()),
            heartbeat: identity.ttl().map(|_| 0),
        };
        let ledger = Arc::new(Mutex::new(Ledger::new(member, config.shards)));
        let (wake, wishes) = watch::channel(Wish::default());
        let (report_progress, progress) = watch::channel(Progress::default());
        let api = Api::namespaced_with(client, &identity.namespace, &config.kind.api_resource());
        let objects = Objects::new(api, identity, &config);
        let driver = Driver::new(ledger.clone(), wishes, report_progress, objects, &config);
        (Self { ledger, wake: Arc::new(wake), progress }, driver.run())
    }

    /// Reports the outcome of ingesting `generation` of `parent`. Call it *after* the outcome is in force:
    /// a status must never be ahead of the facts. Neither blocks nor fails.
    ///
    /// `detail` is an object with further fields for the `byPod` entry; anything else is left out. An
    /// outcome that is already reported costs nothing; one for an older generation than reported changes
    /// nothing. At most 16 errors of 256 bytes are kept.
    pub fn ingested(
        &self,
        parent: &ParentKey,
        generation: i64,
        outcome: Result<(), Vec<PodError>>,
        detail: Value,
    ) {
        if locked(&self.ledger).ingested(parent, generation, outcome, detail) {
            self.wish(|wish| wish.changes = wish.changes.wrapping_add(1));
        }
    }

    /// Takes back what was reported about `parent`, which does not exist any more.
    pub fn removed(&self, parent: &ParentKey) {
        if locked(&self.ledger).removed(parent) {
            self.wish(|wish| wish.changes = wish.changes.wrapping_add(1));
        }
    }

    /// Waits until the registration of this run is stored. From then on the run counts as a member.
    ///
    /// Wait for this *before* the first list of the parents: a process that lists first and registers later
    /// could serve an old generation after the aggregator has counted everybody. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`]
    pub async fn registered(&self) -> Result<(), Error> {
        self.wait(|progress| progress.registered).await
    }

    /// Waits until everything reported so far is stored, without the usual delay. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`Error::DriverEnded`]
    pub async fn flush(&self) -> Result<(), Error> {
        let version = locked(&self.ledger).version();
        self.wish(|wish| wish.flush = wish.flush.max(version));
        self.wait(|progress| progress.stored >= version).await
    }

    /// Stores what is reported and ends the driver. A process outside any pod takes all its reports back;
    /// those of a pod stay as long as the pod, because others may still be sent to it.
    ///
    /// It waits as long as the API server cannot be reached; put a timeout around it. Cancel-safe.
    pub async fn shutdown(&self) {
        self.wish(|wish| wish.finish = true);
        let mut progress = self.progress.clone();
        // The driver closes the channel when it ends; progress before that is no news here.
        while progress.changed().await.is_ok() {}
    }

    fn wish(&self, change: impl FnOnce(&mut Wish)) {
        self.wake.send_modify(change);
    }

    async fn wait(&self, reached: impl FnMut(&Progress) -> bool) -> Result<(), Error> {
        let mut progress = self.progress.clone();
        progress.wait_for(reached).await.map(drop).map_err(|_| Error::DriverEnded)
    }
}

/// A panic while the ledger is locked can only be a failed allocation: the state is intact.
pub(crate) fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
