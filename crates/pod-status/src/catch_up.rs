//! Entries that a run has stored in objects of their own, beside its registration ([`crate::AggregatorConfig::per_parent`]).
//!
//! They come by another watch than the registrations, and that may lag behind. A run stores its failures before it says that
//! it lacks something. Where both come by one watch, the failures are known when that is; here they are listed first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::keyed_requests::KeyedRequests;
use crate::registration::Registration;
use crate::report_store::{ReportStore, StoredEntry};

/// The reports that the runs had stored that wait for an acknowledgement.
pub(crate) struct CatchUp {
    cluster: Arc<Cluster>,
    /// By the uid of the registration and the incarnation.
    stored: BTreeMap<Run, Vec<StoredEntry>>,
    lists: KeyedRequests<Run, Vec<StoredEntry>>,
}

type Run = (String, String);

impl CatchUp {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self { cluster, stored: BTreeMap::new(), lists: KeyedRequests::new("list what a pod has stored") }
    }

    /// These runs are asked about: forgets all others.
    pub(crate) fn begin<'a>(&mut self, registered: impl Iterator<Item = &'a Registration>, now: Instant) {
        let wanted: BTreeSet<Run> = registered.map(key).collect();
        self.stored.retain(|run, _| wanted.contains(run));
        self.lists.begin(&wanted, now);
    }

    /// Returns true if the store has everything that the run had stored when it was first asked about. It is listed, if
    /// that is not known.
    pub(crate) fn is_done(
        &mut self,
        registration: &Registration,
        reports: &ReportStore,
        now: Instant,
    ) -> bool {
        if !self.cluster.has_single_entries() {
            return true;
        }
        let Some(stored) = self.stored.get(&key(registration)) else {
            let (cluster, run) = (self.cluster.clone(), registration.run.clone());
            let list = async move { cluster.stored_entries(&run).await };
            self.lists.send(key(registration), list, now);
            return false;
        };
        stored.iter().all(|entry| reports.has_entry(&registration.run, entry))
    }

    /// The time at which a list that failed may be sent again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.lists.retry_at()
    }

    /// Waits for an answer. Returns whether anything is known that was not before. Cancel-safe.
    pub(crate) async fn answered(&mut self) -> bool {
        let Some((run, stored)) = self.lists.next().await else { return false };
        self.stored.insert(run, stored);
        true
    }
}

fn key(registration: &Registration) -> Run {
    (registration.uid.clone(), registration.run.incarnation.clone())
}
