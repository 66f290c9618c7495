//! The run that has written the configuration, and whether it is still there.

use std::sync::Arc;

use pod_status::{Follow, LiveRuns, PodIdentity, ReportKind};

use super::live::Live;

/// This run of the operator, and the others in its namespace.
#[derive(Debug)]
pub struct Runs {
    /// `namespace/`
    namespace: String,
    own: String,
    live: LiveRuns,
}

impl Runs {
    /// Creates the run of `identity` among those of its namespace, which are followed as [`LiveRuns::new`] does.
    pub fn new(client: kube::Client, host: Option<Arc<dyn Follow>>, identity: &PodIdentity) -> Self {
        let live = LiveRuns::new(client, host, &ReportKind::default(), &identity.namespace);
        let namespace = format!("{}/", identity.namespace);
        Self { own: format!("{namespace}{}", identity.holder()), namespace, live }
    }

    /// The name of this run.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    /// Waits until another run may have ended. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        self.live.changed().await;
    }

    /// Returns true if the run that has written the configuration is known to have ended. One of another namespace, or of a
    /// release that did not leave its name, is not known.
    pub(super) fn has_ended(&self, live: &Live) -> bool {
        let holder = live.run.as_ref().filter(|run| **run != self.own);
        let holder = holder.and_then(|run| run.strip_prefix(&self.namespace));
        holder.is_some_and(|holder| !self.live.is_live(holder))
    }
}
