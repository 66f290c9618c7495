//! One discovery answer for all kinds of a manager: two requests by the aggregated discovery API, whatever the
//! number of kinds, and shared by all that ask within a second.

use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{ApiCapabilities, Discovery};
use kube::{Client, Error};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The time for which an answer is shared.
const RECENT: Duration = Duration::from_secs(1);

/// The last answer. The lock is held across the request on purpose: those that wait for it share the answer.
#[derive(Clone, Default)]
pub(super) struct DiscoveryCache {
    last: Arc<Mutex<Option<Answer>>>,
}

/// An answer and when it was requested.
type Answer = (Instant, Arc<Discovery>);

// === impl DiscoveryCache ===

impl DiscoveryCache {
    /// How the server serves a kind; an empty version stands for the one that it prefers.
    pub(super) async fn find(
        &self,
        client: &Client,
        gvk: &GroupVersionKind,
    ) -> Result<Option<(ApiResource, ApiCapabilities)>, Error> {
        let discovery = self.recent(client).await?;
        if !gvk.version.is_empty() {
            return Ok(discovery.resolve_gvk(gvk));
        }
        let group = discovery.get(&gvk.group);
        Ok(group.and_then(|group| group.recommended_kind(&gvk.kind)))
    }

    async fn recent(&self, client: &Client) -> Result<Arc<Discovery>, Error> {
        let mut last = self.last.lock().await;
        if let Some((at, discovery)) = &*last
            && at.elapsed() < RECENT
        {
            return Ok(Arc::clone(discovery));
        }
        let at = Instant::now();
        let discovery = Arc::new(Discovery::new(client.clone()).run_aggregated().await?);
        *last = Some((at, Arc::clone(&discovery)));
        Ok(discovery)
    }

    /// Forgets the answer: a kind was just found to be served differently.
    pub(super) async fn forget(&self) {
        *self.last.lock().await = None;
    }
}
