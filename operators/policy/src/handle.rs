//! The place where controllers and enforcement points meet: the policy set in force.
//!
//! Controllers publish, enforcement points read; neither knows the other.

use std::sync::Arc;

use constraint_framework::policyset::PolicySet;
use tokio::sync::watch;

/// Publishes policy sets. One owner.
#[derive(Debug)]
pub struct PolicyPublisher(watch::Sender<Arc<PolicySet>>);

/// Reads the policy set in force. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PolicyHandle(watch::Receiver<Arc<PolicySet>>);

/// A publisher and its handle, starting from the empty policy set.
pub fn policies() -> (PolicyPublisher, PolicyHandle) {
    let (sender, receiver) = watch::channel(Arc::default());
    (PolicyPublisher(sender), PolicyHandle(receiver))
}

impl PolicyPublisher {
    /// Puts a policy set in force: every review that starts from now on is judged by it.
    pub fn publish(&self, policies: Arc<PolicySet>) {
        self.0.send_replace(policies);
    }
}

impl PolicyHandle {
    /// The policy set in force. Keep it for the whole of one review.
    pub fn current(&self) -> Arc<PolicySet> {
        self.0.borrow().clone()
    }

    /// Waits until another policy set is put in force than when this was last called; `false` when there will be none,
    /// because the publisher is gone. Cancel-safe.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
