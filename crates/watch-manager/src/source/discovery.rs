//! One discovery answer for all kinds of a manager: two requests by the aggregated discovery API, whatever the
//! number of kinds, and shared by all that ask within a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{ApiCapabilities, Discovery};
use kube::{Client, Error};
use tokio::time::Instant;

use super::Freshness;

/// The time for which a request and its answer are shared.
const RECENT: Duration = Duration::from_secs(1);

/// The last request, under way or answered. All who share it poll it, so it goes on when the first of them gives up, and no lock
/// is held meanwhile.
#[derive(Clone, Default)]
pub(super) struct DiscoveryCache {
    last: Arc<Mutex<Option<Sent>>>,
}

/// A request, and when it was sent.
struct Sent {
    at: Instant,
    answer: Shared<BoxFuture<'static, Answer>>,
}

/// The server's answer.
struct Found {
    discovery: Discovery,
    /// The kinds of the group versions that were asked for, by name. `Discovery` copies a whole group for each question, which
    /// takes a while for a group of many hundred kinds that are all asked for.
    kinds: Mutex<HashMap<(String, String), Arc<Kinds>>>,
}

type Kinds = HashMap<String, (ApiResource, ApiCapabilities)>;
type Answer = Result<Arc<Found>, Arc<Error>>;

// === impl DiscoveryCache ===

impl DiscoveryCache {
    /// Asks how the server serves a kind; an empty version stands for the one that it prefers.
    pub(super) async fn find(
        &self,
        client: &Client,
        gvk: &GroupVersionKind,
        freshness: Freshness,
    ) -> Result<Option<(ApiResource, ApiCapabilities)>, Arc<Error>> {
        let answer = self.request(client, freshness);
        let found = answer.await?;
        if !gvk.version.is_empty() {
            return Ok(found.kinds(gvk).get(&gvk.kind).cloned());
        }
        let group = found.discovery.get(&gvk.group);
        Ok(group.and_then(|group| group.recommended_kind(&gvk.kind)))
    }

    /// The last request if it is recent enough, or a new one.
    fn request(&self, client: &Client, freshness: Freshness) -> Shared<BoxFuture<'static, Answer>> {
        let mut last = self.lock();
        if let Some(sent) = &*last
            && freshness == Freshness::Recent
            && sent.is_recent()
        {
            return sent.answer.clone();
        }
        let client = client.clone();
        let answer = async move {
            let discovery = Discovery::new(client).run_aggregated().await;
            discovery.map(|discovery| Arc::new(Found::new(discovery))).map_err(Arc::new)
        };
        let answer = answer.boxed().shared();
        *last = Some(Sent { at: Instant::now(), answer: answer.clone() });
        answer
    }

    /// Forgets the answer: a kind was just found to be served differently.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Sent>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Found ===

impl Found {
    fn new(discovery: Discovery) -> Self {
        Self { discovery, kinds: Mutex::default() }
    }

    /// The kinds of a group version. Of two resources of one kind the first counts, as in `Discovery`.
    fn kinds(&self, gvk: &GroupVersionKind) -> Arc<Kinds> {
        let mut known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = known.entry((gvk.group.clone(), gvk.version.clone())).or_insert_with(|| {
            let group = self.discovery.get(&gvk.group);
            let resources = group.map(|group| group.versioned_resources(&gvk.version)).unwrap_or_default();
            let by_kind = resources.into_iter().rev().map(|found| (found.0.kind.clone(), found));
            Arc::new(by_kind.collect())
        });
        Arc::clone(kinds)
    }
}

// === impl Sent ===

impl Sent {
    /// Returns true if it may be shared. A request that hangs is not waited for by those who come later, and after one
    /// that failed the next asks again.
    fn is_recent(&self) -> bool {
        self.at.elapsed() < RECENT && !matches!(self.answer.peek(), Some(Err(_)))
    }
}

#[cfg(test)]
mod tests;
