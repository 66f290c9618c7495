//! The objects to be judged again: passes over a kind, or over a namespace of it. Gatekeeper's sweep is a pass over every kind;
//! here one is made only where a policy or a Namespace has changed, or to verify the watch.

use std::collections::BTreeSet;
use std::sync::Arc;

use constraint_framework::api::ConstraintRef;

use super::{Epoch, Ledger};
use crate::audit::place::Kind;

/// The constraints that are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::audit) enum Scope {
    /// Every constraint.
    All,
    /// These constraints and no others.
    Only(Arc<BTreeSet<ConstraintRef>>),
}

/// A list to be fetched and judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::audit) struct Pass {
    pub(in crate::audit) kind: Kind,
    /// `None` for all namespaces.
    pub(in crate::audit) namespace: Option<Box<str>>,
    pub(in crate::audit) scope: Scope,
    /// No difference is expected.
    pub(in crate::audit) verifies: bool,
    /// The objects of the list that cannot be read.
    pub(in crate::audit) unreadable: usize,
    /// The epoch in which it began.
    epoch: Epoch,
}

impl Scope {
    pub(in crate::audit) fn includes(&self, id: &ConstraintRef) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

impl Ledger {
    /// The objects of a namespace are to be judged again, because the Namespace has changed.
    pub(in crate::audit) fn outdate_namespace(&mut self, namespace: &str) {
        for (_, book) in self.kinds.iter_mut().filter(|(kind, book)| kind.namespaced && book.listed) {
            book.namespaces.insert(namespace.into());
        }
    }

    /// Returns true if the constraints are known, and every one is judged completely, as far as its kinds can be
    /// listed.
    pub(in crate::audit) fn is_settled(&self) -> bool {
        let waits = |kind: &Kind| self.kinds.get(kind).is_some_and(|book| !book.is_unavailable());
        self.epoch != Epoch::default()
            && !self.constraints.values().any(|book| book.waiting.iter().any(waits))
    }

    /// Everything is to be compared with the cluster.
    pub(in crate::audit) fn verify(&mut self) {
        self.kinds.values_mut().for_each(|book| book.verify = true);
    }

    /// Returns true if a verification is due or under way.
    pub(in crate::audit) fn is_verifying(&self) -> bool {
        self.kinds.values().any(|book| book.verify)
    }

    /// The next list to fetch, of a kind that `may_begin` accepts; at most one of each kind at a time. A kind that was
    /// never listed is listed by its watch. `refresh` includes what is stale because of the inventory.
    pub(in crate::audit) fn next_pass(
        &mut self,
        refresh: bool,
        may_begin: impl Fn(&Kind) -> bool,
    ) -> Option<Pass> {
        let epoch = self.epoch;
        let due = self.kinds.iter().filter(|(kind, book)| book.listed && !book.passing && may_begin(kind));
        let due: Vec<_> = due.map(|(kind, _)| kind.clone()).collect();
        for kind in due {
            let outdated = self.outdated(&kind, refresh);
            let Some(book) = self.kinds.get_mut(&kind) else { continue };
            let (namespace, scope, verifies) = if !outdated.is_empty() {
                (None, Scope::Only(Arc::new(outdated)), false)
            } else if let Some(namespace) = book.namespaces.pop_first() {
                (Some(namespace), Scope::All, false)
            } else if book.verify {
                book.sweep = book.sweep.wrapping_add(1);
                (None, Scope::All, true)
            } else {
                continue;
            };
            book.passing = true;
            return Some(Pass { kind, namespace, scope, verifies, unreadable: 0, epoch });
        }
        None
    }

    fn outdated(&mut self, kind: &Kind, refresh: bool) -> BTreeSet<ConstraintRef> {
        let mut outdated = BTreeSet::new();
        for book in self.constraints.values_mut() {
            // Taken off before the list begins: what changes while it is under way is stale again.
            let is_stale = refresh && book.stale.remove(kind);
            if is_stale || book.waiting.contains(kind) {
                outdated.insert(book.definition.id.clone());
            }
        }
        outdated
    }

    /// The list has been judged, or could not be fetched to its end and is due again.
    pub(in crate::audit) fn pass_ended(&mut self, pass: &Pass, complete: bool) {
        let Some(book) = self.kinds.get_mut(&pass.kind) else { return };
        book.passing = false;
        match (complete, &pass.namespace) {
            (true, None) => {
                book.verify &= !pass.verifies;
                if pass.verifies {
                    self.suspect_unseen(&pass.kind);
                }
                self.set_unreadable(&pass.kind, pass.unreadable);
                self.judged_since(&pass.kind, pass.epoch, &pass.scope);
            }
            (true, Some(_)) => {}
            (false, Some(namespace)) => drop(book.namespaces.insert(namespace.clone())),
            (false, None) if pass.verifies => {}
            (false, None) => self.stale_again(pass),
        }
    }

    /// A list of all namespaces had this number of objects that cannot be read. Unlike a kind that cannot be listed, such
    /// a kind is waited for: its other objects are judged.
    fn set_unreadable(&mut self, kind: &Kind, unreadable: usize) {
        let Some(book) = self.kinds.get_mut(kind) else { return };
        if std::mem::replace(&mut book.unreadable, unreadable) != unreadable {
            self.constraints_changed(kind);
        }
    }

    /// A pass for the inventory's sake that failed has to be made again.
    fn stale_again(&mut self, pass: &Pass) {
        for book in self.constraints.values_mut() {
            let due = pass.scope.includes(&book.definition.id) && book.definition.kinds.contains(&pass.kind);
            if due && !book.waiting.contains(&pass.kind) {
                book.stale.insert(pass.kind.clone());
            }
        }
    }

    /// All objects of a kind have been judged by these constraints, by sets of this epoch or later.
    pub(super) fn judged_since(&mut self, kind: &Kind, epoch: Epoch, scope: &Scope) {
        for book in self.constraints.values_mut() {
            if book.since <= epoch && scope.includes(&book.definition.id) && book.waiting.remove(kind) {
                book.changed = true;
            }
        }
    }
}
