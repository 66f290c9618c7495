//! What is known about one constraint.

use std::sync::Arc;

use constraint_framework::api::ConstraintRef;

use super::Ledger;
use super::books::{ConstraintBook, Definition};
use crate::audit::place::{Kind, Place};

/// The result of the audit for one constraint.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::audit) struct Report {
    pub(in crate::audit) definition: Definition,
    /// Violations in the whole cluster.
    pub(in crate::audit) total: usize,
    /// The first violations, in the order of their places and messages.
    pub(in crate::audit) shown: Vec<(Arc<Place>, String)>,
    /// The kinds about which nothing, or nothing recent, is known.
    pub(in crate::audit) missing: Vec<Missing>,
}

/// A kind that cannot be audited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::audit) struct Missing {
    pub(in crate::audit) kind: Kind,
    pub(in crate::audit) reason: Arc<str>,
}

impl Ledger {
    /// Takes the constraints whose report may differ from the last one, and is settled.
    pub(in crate::audit) fn take_changed(&mut self) -> Vec<ConstraintRef> {
        let kinds = &self.kinds;
        let is_settled = |book: &ConstraintBook| {
            book.waiting.iter().all(|kind| kinds.get(kind).is_some_and(|kind| kind.trouble.is_some()))
        };
        let due = self.constraints.iter_mut().filter(|(_, book)| book.changed && is_settled(book));
        due.map(|(id, book)| {
            book.changed = false;
            id.clone()
        })
        .collect()
    }

    /// The report of a constraint with at most `limit` violations; `None` while it is not judged completely.
    pub(in crate::audit) fn report(&self, id: &ConstraintRef, limit: usize) -> Option<Report> {
        let book = self.constraints.get(id)?;
        let missing: Vec<_> = book.definition.kinds.iter().filter_map(|kind| self.missing(kind)).collect();
        let waits = |kind: &Kind| !missing.iter().any(|missing| missing.kind == *kind);
        if book.waiting.iter().any(waits) {
            return None;
        }
        let shown = book.violators.iter().flat_map(|place| {
            let record = self.kinds.get(&place.kind).and_then(|kind| kind.objects.get(place));
            let held = record.into_iter().flat_map(|record| record.held(book.slot));
            let mut messages: Vec<_> = held.map(|held| held.message.read(place)).collect();
            messages.sort();
            messages.into_iter().map(|message| (Arc::clone(place), message))
        });
        let shown = shown.take(limit).collect();
        Some(Report { definition: book.definition.clone(), total: book.total, shown, missing })
    }

    /// A constraint's violations and actions in audits.
    pub(in crate::audit) fn totals(&self) -> impl Iterator<Item = (&Definition, usize)> {
        self.constraints.values().map(|book| (&book.definition, book.total))
    }

    fn missing(&self, kind: &Kind) -> Option<Missing> {
        let reason = self.kinds.get(kind)?.trouble.clone()?;
        Some(Missing { kind: kind.clone(), reason })
    }
}
