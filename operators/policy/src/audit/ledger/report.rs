//! The report about one constraint.

use std::sync::Arc;

use constraint_framework::api::ConstraintRef;

use super::Ledger;
use super::books::{ConstraintBook, Definition};
use crate::audit::place::{Kind, Place};
use crate::audit::reports::Finding;

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
            let mut messages: Vec<_> = self.messages_of(book, place).collect();
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

    /// All violations by objects of a namespace; by cluster-scoped objects, if it is empty.
    pub(in crate::audit) fn findings(&self, namespace: &str) -> Vec<Finding> {
        self.constraints.values().flat_map(|book| self.findings_of(book, namespace)).collect()
    }

    fn findings_of(&self, book: &ConstraintBook, namespace: &str) -> Vec<Finding> {
        let first = |kind: &Kind| Place { kind: kind.clone(), namespace: namespace.into(), name: "".into() };
        let places = book.definition.kinds.iter().flat_map(|kind| {
            let here = move |place: &&Arc<Place>| place.kind == *kind && *place.namespace == *namespace;
            book.violators.range(first(kind)..).take_while(here)
        });
        places.flat_map(|place| self.findings_at(book, place)).collect()
    }

    fn findings_at(&self, book: &ConstraintBook, place: &Place) -> Vec<Finding> {
        self.messages_of(book, place).map(|message| finding(&book.definition, place, message)).collect()
    }

    /// Returns what an object violates of a constraint.
    fn messages_of<'a>(
        &'a self,
        book: &'a ConstraintBook,
        place: &'a Place,
    ) -> impl Iterator<Item = String> + 'a {
        let record = self.kinds.get(&place.kind).and_then(|kind| kind.objects.get(place));
        let held = record.into_iter().flat_map(|record| record.held(book.slot));
        held.map(|held| held.message.read(place))
    }

    fn missing(&self, kind: &Kind) -> Option<Missing> {
        let reason = self.kinds.get(kind)?.trouble.clone()?;
        Some(Missing { kind: kind.clone(), reason })
    }
}

fn finding(definition: &Definition, place: &Place, message: String) -> Finding {
    Finding {
        group: place.kind.group.clone(),
        version: place.kind.version.clone(),
        kind: place.kind.kind.clone(),
        namespace: place.namespace.to_string(),
        name: place.name.to_string(),
        constraint_kind: definition.id.kind.clone(),
        constraint_name: definition.id.name.clone(),
        action: definition.action.to_owned(),
        message,
    }
}
