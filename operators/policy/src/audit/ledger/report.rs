//! The report about one constraint.

use std::sync::Arc;

use constraint_framework::api::ConstraintRef;

use super::records::{ConstraintBook, Definition, KindBook, Record};
use super::verdicts::Held;
use super::{Ledger, ViolationChange};
use crate::audit::messages::Messages;
use crate::audit::place::{Kind, Place};
use crate::audit::reports::ReportedViolation;

/// The result of the audit for one constraint.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::audit) struct Report {
    pub(in crate::audit) definition: Definition,
    /// Violations in the whole cluster.
    pub(in crate::audit) total: usize,
    /// The first violations, in the order of their places and messages.
    pub(in crate::audit) shown: Vec<(Place, String)>,
    /// The kinds about which nothing, or nothing recent, or not everything is known.
    pub(in crate::audit) missing: Vec<Missing>,
}

/// A kind that cannot be audited, or not completely.
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
            book.waiting.iter().all(|kind| kinds.get(kind).is_some_and(KindBook::is_unavailable))
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
        let waits = |kind: &Kind| !self.kinds.get(kind).is_some_and(KindBook::is_unavailable);
        if book.waiting.iter().any(waits) {
            return None;
        }
        let missing = book.definition.kinds.iter().filter_map(|kind| self.missing(kind)).collect();
        let shown = self.violators(book).flat_map(|(place, record)| {
            let held = record.held(book.slot);
            let mut messages: Vec<_> = held.map(|held| self.messages.read(held.message, place)).collect();
            messages.sort();
            messages.into_iter().map(|message| (place.clone(), message))
        });
        let shown = shown.take(limit).collect();
        Some(Report { definition: book.definition.clone(), total: book.total, shown, missing })
    }

    /// A constraint's violations and actions in audits.
    pub(in crate::audit) fn totals(&self) -> impl Iterator<Item = (&Definition, usize)> {
        self.constraints.values().map(|book| (&book.definition, book.total))
    }

    /// The objects that violate a constraint, in their order.
    fn violators<'a>(
        &'a self,
        book: &'a ConstraintBook,
    ) -> impl Iterator<Item = (&'a Place, &'a Record)> + 'a {
        let few = book.violators.few();
        let known = few.into_iter().flatten().filter_map(|place| {
            let record = self.kinds.get(&place.kind)?.objects.get(place)?;
            Some((place, record))
        });
        let kinds = book.definition.kinds.iter().filter(move |_| few.is_none());
        let all = kinds.filter_map(|kind| self.kinds.get(kind)).flat_map(|kind| &kind.objects);
        known.chain(all.filter(|(_, record)| record.holds(book.slot)))
    }

    /// All violations by objects of a namespace; by cluster-scoped objects, if it is empty.
    pub(in crate::audit) fn violations(&self, namespace: &str) -> Vec<ReportedViolation> {
        let first = |kind: &Kind| Place::of(kind, namespace, "");
        let objects = self.kinds.iter().flat_map(|(kind, book)| {
            let objects = book.objects.range(first(kind)..);
            objects.take_while(|(place, _)| *place.namespace() == *namespace)
        });
        objects.flat_map(|(place, record)| self.violations_at(place, record)).collect()
    }

    fn violations_at(&self, place: &Place, record: &Record) -> Vec<ReportedViolation> {
        let violation = |held: &Held| {
            let id = self.slots.get(held.slot.index())?.as_ref()?;
            let definition = &self.constraints.get(id)?.definition;
            Some(violation(definition, place, self.messages.read(held.message, place)))
        };
        record.all_held().iter().filter_map(violation).collect()
    }

    /// Forgets messages that nothing refers to, once they may be many.
    pub(super) fn sweep_messages(&mut self) {
        if self.messages.are_many() {
            self.messages.retain(&self.verdicts.messages());
        }
    }

    fn missing(&self, kind: &Kind) -> Option<Missing> {
        let book = self.kinds.get(kind)?;
        let unreadable = || match book.unreadable {
            0 => None,
            count => Some(Arc::from(format!("list: {count} objects cannot be read"))),
        };
        Some(Missing { kind: kind.clone(), reason: book.unavailable.clone().or_else(unreadable)? })
    }
}

fn violation(definition: &Definition, place: &Place, message: String) -> ReportedViolation {
    ReportedViolation {
        group: place.kind.group.clone(),
        version: place.kind.version.clone(),
        kind: place.kind.kind.clone(),
        namespace: place.namespace().to_owned(),
        name: place.name().to_owned(),
        constraint_kind: definition.id.kind.clone(),
        constraint_name: definition.id.name.clone(),
        action: definition.action.to_owned(),
        message,
    }
}

/// Returns what has come and what has gone, each as often as it has.
pub(super) fn changes(
    messages: &Messages,
    id: &ConstraintRef,
    place: &Place,
    before: &[Held],
    after: &[Held],
) -> Vec<ViolationChange> {
    let missing = |from: &[Held], other: &[Held], is_new| {
        let mut left = other.to_vec();
        let mut found = Vec::new();
        for held in from {
            match left.iter().position(|other| other == held) {
                Some(position) => drop(left.swap_remove(position)),
                None => found.push(ViolationChange {
                    constraint: id.clone(),
                    place: place.clone(),
                    message: messages.read(held.message, place),
                    is_new,
                }),
            }
        }
        found
    };
    let mut all = missing(before, after, false);
    all.extend(missing(after, before, true));
    all
}
