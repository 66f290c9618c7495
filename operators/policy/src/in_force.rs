//! The place where controllers and enforcement points meet: what is in force.
//!
//! Controllers publish, enforcement points read; neither knows the other.

use std::sync::Arc;

use constraint_framework::policyset::PolicySet;
use tokio::sync::watch;

use crate::config::ExcludedNamespaces;

/// The policies that enforcement points use, as of one moment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    /// The policies.
    pub policies: Arc<PolicySet>,
    /// The Namespaces that the Config leaves out.
    pub excluded: Arc<ExcludedNamespaces>,
    /// The reason why nothing is enforced at the moment; `None` when everything is.
    pub suspension: Option<Arc<str>>,
}

/// Publishes what is in force. One owner.
#[derive(Debug)]
pub struct PolicyPublisher(watch::Sender<InForce>);

/// Reads what is in force. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PolicyHandle(watch::Receiver<InForce>);

/// Creates a publisher and its handle, starting from the empty policy set.
pub fn policies() -> (PolicyPublisher, PolicyHandle) {
    let (sender, receiver) = watch::channel(InForce::default());
    (PolicyPublisher(sender), PolicyHandle(receiver))
}

impl PolicyPublisher {
    /// Puts this in force: every review that starts from now on is judged by it.
    pub fn publish(&self, in_force: InForce) {
        self.0.send_replace(in_force);
    }
}

impl PolicyHandle {
    /// Returns what is in force. Keep it for the whole of one review.
    pub fn current(&self) -> InForce {
        self.0.borrow().clone()
    }

    /// Waits until another policy set is put in force than when this was last called; `false` when there will be none,
    /// because the publisher is gone. Cancel-safe.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl From<Arc<PolicySet>> for InForce {
    /// These policies for all Namespaces.
    fn from(policies: Arc<PolicySet>) -> Self {
        Self { policies, ..Self::default() }
    }
}
