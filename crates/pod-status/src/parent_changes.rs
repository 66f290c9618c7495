//! The parents that the host knows, and which of them have changed while this process aggregates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::parent::{ParentKind, ParentRef};

/// A handle that notifies the aggregator of a parent that exists or changed, so that a parent that no pod has reported gets a
/// status and an edited status is repaired.
///
/// The parents are remembered while another process aggregates: a new term decides about all of them, also
/// about those whose reporters have all vanished. [`ParentChanges::removed`] forgets one.
#[derive(Clone, Debug, Default)]
pub struct ParentChanges {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parents: Mutex<Parents>,
    arrived: Notify,
    terms: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Parents {
    known: BTreeSet<ParentRef>,
    listed: BTreeSet<ParentKind>,
    /// Every parent that existed when this process started is in `known`, or was.
    all_announced: bool,
    /// Nothing while another process aggregates.
    changed: Option<Changed>,
}

/// The parents that have changed, each with the resource version that it has now, if that is known.
pub(crate) type Changed = BTreeMap<ParentRef, Option<String>>;

impl ParentChanges {
    /// Notifies of a parent that was created or changed. It is read, and decided about.
    pub fn changed(&self, parent: ParentRef) {
        self.note(parent, None);
    }

    /// Notifies, as [`ParentChanges::changed`], of a change that made this resource version of the parent. The aggregator ignores the
    /// version that it has written or read last: most changes that a watch of parents delivers are its own writes.
    pub fn changed_to(&self, parent: ParentRef, resource_version: impl Into<String>) {
        self.note(parent, Some(resource_version.into()));
    }

    fn note(&self, parent: ParentRef, version: Option<String>) {
        let mut parents = self.parents();
        self.look_at(&mut parents, &parent, version);
        parents.known.insert(parent);
    }

    /// Notifies of a parent that was deleted. A parent that the aggregator does not find is forgotten too.
    pub fn removed(&self, parent: &ParentRef) {
        let mut parents = self.parents();
        parents.known.remove(parent);
        // No report may name it, so nothing else makes the aggregator notice.
        self.look_at(&mut parents, parent, None);
    }

    /// Notifies that all parents of a kind that exist have been announced, because the first list of the kind is
    /// complete. A [`crate::HighWaterMark`] can be complete from then on. To be called in every process.
    pub fn listed(&self, kind: ParentKind) {
        self.parents().listed.insert(kind);
        self.inner.arrived.notify_one();
    }

    /// Notifies that every parent of every kind that exists has been announced: also those that no pod can ingest at present,
    /// because what they need is broken. Their conditions may be from before.
    ///
    /// Until this is called, nothing is acknowledged to a pod that has given up something: it serves without a parent of
    /// which this process may not know yet that its status calls it enforced. To be called in every process.
    pub fn all_announced(&self) {
        self.parents().all_announced = true;
        self.inner.arrived.notify_one();
    }

    /// Notifies that a kind is not watched any more: its parents are removed, and it does not count as listed.
    pub fn kind_removed(&self, kind: &ParentKind) {
        let mut parents = self.parents();
        parents.listed.remove(kind);
        let gone: Vec<_> = parents.known.iter().filter(|parent| kind == &(*parent).into()).cloned().collect();
        for parent in gone {
            parents.known.remove(&parent);
            self.look_at(&mut parents, &parent, None);
        }
        self.inner.arrived.notify_one();
    }

    fn look_at(&self, parents: &mut Parents, parent: &ParentRef, version: Option<String>) {
        let Some(changed) = &mut parents.changed else { return };
        match changed.get_mut(parent) {
            // A change without a version counts, whatever follows.
            Some(None) => {}
            Some(known) => *known = version,
            None => {
                changed.insert(parent.clone(), version);
            }
        }
        self.inner.arrived.notify_one();
    }

    /// Returns the number of terms in which this process has aggregated; it grows when a term begins. A host that
    /// does not call [`ParentChanges::changed`] for every parent announces its parents again then.
    pub fn terms(&self) -> watch::Receiver<u64> {
        self.inner.terms.subscribe()
    }

    /// The changes since the last call, and the kinds that are listed.
    pub(crate) fn take(&self) -> (Changed, BTreeSet<ParentKind>) {
        let mut parents = self.parents();
        (parents.changed.as_mut().map(std::mem::take).unwrap_or_default(), parents.listed.clone())
    }

    /// Returns true if the host has announced every parent.
    pub(crate) fn are_all_announced(&self) -> bool {
        self.parents().all_announced
    }

    /// Forgets a parent that does not exist.
    pub(crate) fn forget(&self, parent: &ParentRef) {
        let mut parents = self.parents();
        // A change since it was looked for may be its creation.
        if !parents.changed.as_ref().is_some_and(|changed| changed.contains_key(parent)) {
            parents.known.remove(parent);
        }
    }

    /// Every parent that is known.
    pub(crate) fn known(&self) -> BTreeSet<ParentRef> {
        self.parents().known.clone()
    }

    /// Waits for a change. Cancel-safe: a change that happens between two waits ends the next one.
    pub(crate) async fn arrived(&self) {
        self.inner.arrived.notified().await;
    }

    /// Begins a term: every known parent counts as changed. The guard ends it.
    pub(crate) fn begin_term(&self) -> TermGuard<'_> {
        let mut parents = self.parents();
        parents.changed = Some(parents.known.iter().map(|parent| (parent.clone(), None)).collect());
        drop(parents);
        self.inner.arrived.notify_one();
        self.inner.terms.send_modify(|terms| *terms = terms.saturating_add(1));
        TermGuard(self)
    }

    /// A panic while the set is locked can only be a failed allocation: the state is intact.
    fn parents(&self) -> MutexGuard<'_, Parents> {
        self.inner.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the term when it is dropped.
pub(crate) struct TermGuard<'a>(&'a ParentChanges);

impl<'a> TermGuard<'a> {
    pub(crate) fn changes(&self) -> &'a ParentChanges {
        self.0
    }
}

impl Drop for TermGuard<'_> {
    fn drop(&mut self) {
        self.0.parents().changed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(name: &str) -> ParentRef {
        ParentRef::new("", "K", name)
    }

    fn changed<const N: usize>(names: [&str; N]) -> Changed {
        names.map(|name| (parent(name), None)).into()
    }

    #[test]
    fn a_change_has_its_latest_version_and_none_if_one_has_none() {
        let changes = ParentChanges::default();
        let _term = changes.begin_term();
        let takes = |version: Option<&str>| {
            assert_eq!(changes.take().0, [(parent("p"), version.map(str::to_owned))].into());
        };
        changes.changed_to(parent("p"), "1");
        changes.changed_to(parent("p"), "2");
        takes(Some("2"));
        changes.changed(parent("p"));
        changes.changed_to(parent("p"), "3");
        takes(None);
        changes.changed_to(parent("p"), "4");
        changes.removed(&parent("p"));
        takes(None);
    }

    #[test]
    fn a_term_begins_with_every_parent_that_was_announced_before_it() {
        let changes = ParentChanges::default();
        changes.changed(parent("p"));
        changes.changed(parent("q"));
        changes.removed(&parent("q"));
        assert!(changes.take().0.is_empty(), "no term");
        let mut terms = changes.terms();
        let open = changes.begin_term();
        assert_eq!(*terms.borrow_and_update(), 1);
        assert_eq!(changes.take().0, changed(["p"]));
        changes.changed(parent("p"));
        changes.changed(parent("p"));
        assert_eq!(changes.take().0.len(), 1);
        drop(open);
        changes.changed(parent("r"));
        assert!(changes.parents().changed.is_none());
        let _open = changes.begin_term();
        assert_eq!(changes.take().0, changed(["p", "r"]));
        assert_eq!(*terms.borrow_and_update(), 2);
    }

    #[test]
    fn a_kind_that_is_removed_takes_its_parents_with_it() {
        let changes = ParentChanges::default();
        let _term = changes.begin_term();
        for name in ["p", "q"] {
            changes.changed(parent(name));
        }
        changes.listed(ParentKind::new("", "K"));
        changes.listed(ParentKind::new("other", "K"));
        assert_eq!(changes.take().1.len(), 2);
        changes.removed(&parent("p"));
        assert_eq!(changes.take().0, changed(["p"]), "it may be in no report: it is looked for");
        changes.kind_removed(&ParentKind::new("", "K"));
        assert_eq!(changes.take(), (changed(["q"]), [ParentKind::new("other", "K")].into()));
        assert!(changes.known().is_empty());
    }
}
