//! Changes of parents that the host announces to its aggregator, which may be idle.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::parent::ParentRef;

/// By this the host tells the aggregator that a parent has changed, so that a status somebody has edited is
/// repaired, and a parent that no pod has reported yet gets one.
#[derive(Clone, Debug, Default)]
pub struct ParentChanges {
    inner: Arc<Inbox>,
}

#[derive(Debug, Default)]
struct Inbox {
    /// Nothing while another pod aggregates: a set that nobody empties must not grow.
    parents: Mutex<Option<BTreeSet<ParentRef>>>,
    arrived: Notify,
}

impl ParentChanges {
    /// Looks at the parent again. Costs nothing while another pod aggregates.
    pub fn changed(&self, parent: ParentRef) {
        let mut parents = self.inner.parents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parents) = parents.as_mut() {
            parents.insert(parent);
            self.inner.arrived.notify_one();
        }
    }

    /// The changes since the last call.
    pub(crate) fn take(&self) -> BTreeSet<ParentRef> {
        let mut parents = self.inner.parents.lock().unwrap_or_else(PoisonError::into_inner);
        parents.replace(BTreeSet::new()).unwrap_or_default()
    }

    /// Waits for a change. Cancel-safe: a change that nobody waited for ends the next wait.
    pub(crate) async fn arrived(&self) {
        self.inner.arrived.notified().await;
    }

    /// Accepts changes until the returned guard is dropped.
    pub(crate) fn open(&self) -> OpenInbox<'_> {
        self.take();
        OpenInbox(self)
    }
}

/// Closes the inbox however the term ends.
pub(crate) struct OpenInbox<'a>(&'a ParentChanges);

impl<'a> OpenInbox<'a> {
    pub(crate) fn changes(&self) -> &'a ParentChanges {
        self.0
    }
}

impl Drop for OpenInbox<'_> {
    fn drop(&mut self) {
        *self.0.inner.parents.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_aggregator_collects_nothing() {
        let changes = ParentChanges::default();
        let parent = ParentRef { group: String::new(), kind: "K".into(), namespace: None, name: "p".into() };
        changes.changed(parent.clone());
        let open = changes.open();
        assert!(changes.take().is_empty(), "what came before the term is read anyway");
        changes.changed(parent.clone());
        changes.changed(parent.clone());
        assert_eq!(changes.take().len(), 1);
        changes.changed(parent.clone());
        drop(open);
        changes.changed(parent);
        assert!(changes.inner.parents.lock().unwrap().is_none());
    }
}
