//! The memory of the audit, and its decisions. Pure: it takes what was seen and judged, and answers what is violated,
//! what has to be judged again, and which statuses differ from what was last written.
//!
//! Objects are not kept. Of each there is its place and version, and its violations by constraint.
//!
//! # What counts
//!
//! Every policy set has a number, its *epoch*, and a verdict the epoch of the set that gave it. A constraint that changes
//! at epoch 5 counts no verdict of epoch 4 any more. It *waits* for its kinds: each is listed again, and what is in the
//! list is judged by this constraint alone.
//!
//! A list is older or newer than what the watch has delivered, and the two are not compared by version but by this rule:
//! **a verdict from a list counts only for the version that the watch delivered last.** Worked example: the watch
//! delivered version 7 of a Pod, the list that began after epoch 5 has
//!
//! - version 7: it counts;
//! - version 8: the watch is behind and will deliver 8, which is then judged by everything;
//! - version 6: the list is older than the watch. The list began after epoch 5, and shows at least what was delivered
//!   before it began; so 7 was delivered later, and was judged by a set of epoch 5 or later.
//!
//! The rule needs the verdicts in the order in which objects and pages arrived. The driver keeps that order.

mod missed_changes;
mod passes;
mod records;
mod report;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use constraint_framework::api::ConstraintRef;
use constraint_framework::inventory::{DependencyKey, Dependents};

use super::messages::Messages;
use super::place::{Kind, Place, Version};

use missed_changes::Suspects;
pub(super) use missed_changes::Suspicion;
pub(super) use passes::{Pass, Scope};
use records::{ConstraintBook, KindBook, Record};
pub(super) use records::{Definition, Epoch};
pub(super) use report::Report;
use report::changes;
use verdicts::{Held, Key, Slot, Verdict, Verdicts};

/// Everything that the audit knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    epoch: Epoch,
    kinds: BTreeMap<Kind, KindBook>,
    constraints: BTreeMap<ConstraintRef, ConstraintBook>,
    slots: Vec<Option<ConstraintRef>>,
    messages: Messages,
    verdicts: Verdicts,
    changes: Vec<ViolationChange>,
    /// Namespaces in which a violation has come, gone, or changed its action.
    touched: BTreeSet<Box<str>>,
    drift: u64,
    /// Objects that are not in the cluster as they are known, if the watch does not deliver them.
    suspects: Suspects,
    /// Objects whose verdicts are outdated, and those of them that are being read.
    outdated: BTreeSet<Place>,
    reading: BTreeSet<Place>,
    /// Changes of the inventory. A verdict from before that is still under way depends on keys that are not known yet.
    recent: Vec<(Epoch, ConstraintRef, BTreeSet<DependencyKey>)>,
}

/// The verdict of the policies on one object.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// The epoch of the set that judged.
    pub(super) epoch: Epoch,
    /// The constraints that were asked.
    pub(super) scope: Scope,
    /// A message for each violation.
    pub(super) violations: Vec<(ConstraintRef, String)>,
    /// The parts of the inventory that the verdicts depend on.
    pub(super) keys: Vec<(ConstraintRef, DependencyKey)>,
}

/// A violation that has come or gone since its constraint was first judged completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ViolationChange {
    pub(super) constraint: ConstraintRef,
    pub(super) place: Place,
    pub(super) message: String,
    /// It has come; otherwise it is resolved.
    pub(super) is_new: bool,
}

// === impl Ledger: kinds ===

impl Ledger {
    /// Makes these the kinds that are audited.
    pub(super) fn set_kinds(&mut self, kinds: &BTreeSet<Kind>) {
        let gone: Vec<_> = self.kinds.keys().filter(|kind| !kinds.contains(*kind)).cloned().collect();
        gone.iter().for_each(|kind| self.drop_kind(kind));
        for kind in kinds {
            self.kinds.entry(kind.clone()).or_insert_with(|| KindBook::new(self.epoch));
        }
    }

    fn drop_kind(&mut self, kind: &Kind) {
        let objects: Vec<_> =
            self.kinds.get(kind).into_iter().flat_map(|book| book.objects.keys().cloned()).collect();
        objects.iter().for_each(|place| self.deleted(place));
        self.kinds.remove(kind);
    }

    /// Every object that existed when the kind was listed has been judged.
    pub(super) fn kind_listed(&mut self, kind: &Kind) {
        let Some(book) = self.kinds.get_mut(kind) else { return };
        let since = book.asked;
        (book.listed, book.unavailable) = (true, None);
        self.judged_since(kind, since, &Scope::All);
    }

    /// The kind cannot be listed or watched, for this reason; `None` when it can again.
    pub(super) fn set_unavailable(&mut self, kind: &Kind, reason: Option<&str>) {
        let Some(book) = self.kinds.get_mut(kind) else { return };
        if book.unavailable.as_deref() != reason {
            book.unavailable = reason.map(Arc::from);
            self.constraints_changed(kind);
        }
    }

    fn constraints_changed(&mut self, kind: &Kind) {
        let concerned = self.constraints.values_mut().filter(|book| book.definition.kinds.contains(kind));
        concerned.for_each(|book| book.changed = true);
    }

    /// Number of objects.
    pub(super) fn objects(&self) -> usize {
        self.kinds.values().map(|book| book.objects.len()).sum()
    }
}

// === impl Ledger: constraints ===

impl Ledger {
    /// Makes these the constraints, from the policy set of the next epoch, whose number is returned. A constraint whose
    /// revision is the one before keeps its verdicts.
    pub(super) fn set_constraints(&mut self, definitions: Vec<Definition>) -> Epoch {
        self.epoch = self.epoch.next();
        let kept: BTreeSet<_> = definitions.iter().map(|definition| definition.id.clone()).collect();
        let gone: Vec<_> = self.constraints.keys().filter(|id| !kept.contains(*id)).cloned().collect();
        gone.iter().for_each(|id| self.drop_constraint(id));
        definitions.into_iter().for_each(|definition| self.define(definition));
        self.epoch
    }

    fn define(&mut self, definition: Definition) {
        let id = definition.id.clone();
        if !self.constraints.contains_key(&id) {
            let slot = self.free_slot(&id);
            self.constraints.insert(id, ConstraintBook::new(slot, definition, self.epoch));
            return;
        }
        let Some(book) = self.constraints.get_mut(&id).filter(|book| book.definition != definition) else {
            return;
        };
        let (slot, before) = (book.slot, book.definition.kinds.clone());
        let left: BTreeSet<_> = before.difference(&definition.kinds).cloned().collect();
        book.define(definition, self.epoch);
        for place in self.holding(&before, slot) {
            self.touched.insert(place.namespace().into());
            if left.contains(&place.kind) {
                self.replace(&place, &BTreeSet::from([slot]), &Verdict::default());
            }
        }
    }

    /// The objects of these kinds that violate a constraint.
    fn holding(&self, kinds: &BTreeSet<Kind>, slot: Slot) -> Vec<Place> {
        let books = kinds.iter().filter_map(|kind| self.kinds.get(kind));
        let holding = books.flat_map(|book| &book.objects).filter(|(_, record)| record.holds(slot));
        holding.map(|(place, _)| place.clone()).collect()
    }

    fn free_slot(&mut self, id: &ConstraintRef) -> Slot {
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        match self.slots.get_mut(free) {
            Some(slot) => *slot = Some(id.clone()),
            None => self.slots.push(Some(id.clone())),
        }
        Slot(u32::try_from(free).unwrap_or(u32::MAX))
    }

    fn drop_constraint(&mut self, id: &ConstraintRef) {
        let Some(book) = self.constraints.remove(id) else { return };
        let touched = self.holding(&book.definition.kinds, book.slot);
        self.touched.extend(touched.iter().map(|place| place.namespace().into()));
        for kind in self.kinds.values_mut() {
            kind.forget(book.slot, &mut self.verdicts);
        }
        if let Some(slot) = self.slots.get_mut(book.slot.index()) {
            *slot = None;
        }
    }

    /// Verdicts of this constraint may be outdated, because the inventory has changed with the present epoch. Objects
    /// that are few and known are read again, see [`Ledger::take_outdated`]; all others are judged with a pass.
    pub(super) fn outdate(&mut self, id: &ConstraintRef, dependents: &Dependents) {
        let Some(book) = self.constraints.get_mut(id) else { return };
        match dependents {
            Dependents::All => book.stale = book.definition.kinds.clone(),
            Dependents::Keyed(keys) => {
                let places = keys.iter().filter_map(|key| book.dependents.get(key)).flatten();
                self.outdated.extend(places.cloned());
                self.recent.push((self.epoch, id.clone(), keys.clone()));
            }
        }
    }

    /// Takes the objects to read and judge again.
    pub(super) fn take_outdated(&mut self) -> BTreeSet<Place> {
        let outdated = std::mem::take(&mut self.outdated);
        self.reading.extend(outdated.iter().cloned());
        outdated
    }

    /// The read of an object that was taken has ended, and its verdict, if it has one, was handed in before.
    pub(super) fn read_ended(&mut self, place: &Place) {
        self.reading.remove(place);
    }

    /// No verdict of an epoch before this one is under way any more.
    pub(super) fn forget_before(&mut self, oldest: Epoch) {
        self.recent.retain(|(epoch, ..)| *epoch > oldest);
    }

    /// Every verdict is outdated, such as after a change of what is exempt.
    pub(super) fn outdate_all(&mut self) -> Epoch {
        self.epoch = self.epoch.next();
        let epoch = self.epoch;
        self.constraints.values_mut().for_each(|book| book.judge_anew(epoch));
        self.epoch
    }

    /// Takes the violations that have come and gone since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<ViolationChange> {
        std::mem::take(&mut self.changes)
    }

    /// Takes the namespaces whose violations may differ from those at the last call; the empty one stands for
    /// cluster-scoped objects.
    pub(super) fn take_touched(&mut self) -> BTreeSet<Box<str>> {
        std::mem::take(&mut self.touched)
    }

    /// Verdicts and objects that a verification found to differ from what was known, since the start.
    pub(super) fn drift(&self) -> u64 {
        self.drift
    }
}

// === impl Ledger: objects ===

impl Ledger {
    /// The version of an object that was judged last.
    pub(super) fn version(&self, place: &Place) -> Option<Version> {
        self.kinds.get(&place.kind)?.objects.get(place).map(|record| record.version)
    }

    /// The watch delivered this version, and it was judged.
    pub(super) fn observed(&mut self, place: &Place, version: Version, judged: &Judged) {
        let Some(kind) = self.kinds.get_mut(&place.kind) else { return };
        match kind.objects.get_mut(place) {
            Some(record) => (record.version, record.sweep) = (version, kind.sweep),
            None => {
                let nothing = self.verdicts.keep(Verdict::default());
                kind.objects.insert(place.clone(), Record::new(version, kind.sweep, nothing));
            }
        }
        self.take_verdict(place, judged);
    }

    /// A list, or a read of one object, delivered this version, and it was judged. It counts only for the version that
    /// the watch delivered last. `verifies` says that no difference is expected.
    pub(super) fn confirmed(&mut self, place: &Place, version: Version, judged: &Judged, verifies: bool) {
        if verifies {
            self.seen(place, version);
        }
        if self.version(place) != Some(version) {
            return;
        }
        let expected = self.outdated.contains(place) || self.reading.contains(place);
        let changed = self.take_verdict(place, judged);
        if verifies && !expected {
            self.drift = self.drift.saturating_add(u64::try_from(changed).unwrap_or(u64::MAX));
        }
    }

    /// The watch delivered that the object is gone.
    pub(super) fn deleted(&mut self, place: &Place) {
        let slots: BTreeSet<_> = self.constraints.values().map(|book| book.slot).collect();
        self.replace(place, &slots, &Verdict::default());
        if let Some(kind) = self.kinds.get_mut(&place.kind) {
            kind.objects.remove(place);
        }
    }

    /// Returns the number of constraints that were settled and whose verdict differs from the one before.
    fn take_verdict(&mut self, place: &Place, judged: &Judged) -> usize {
        let Some(shared) = self.shared(place) else { return 0 };
        self.sweep_messages();
        let asked = |book: &&ConstraintBook| {
            book.since <= judged.epoch
                && book.definition.kinds.contains(&place.kind)
                && judged.scope.includes(&book.definition.id)
        };
        let slots: BTreeSet<_> = self.constraints.values().filter(asked).map(|book| book.slot).collect();
        let mut verdict = Verdict::default();
        for (id, message) in &judged.violations {
            if let Some(book) = self.constraints.get(id).filter(|book| slots.contains(&book.slot)) {
                let message = self.messages.keep(message, place);
                verdict.held.push(Held { slot: book.slot, message });
            }
        }
        verdict.held.sort();
        for (id, key) in &judged.keys {
            let missed = |(epoch, of, keys): &(Epoch, ConstraintRef, BTreeSet<DependencyKey>)| {
                *epoch > judged.epoch && of == id && keys.contains(key)
            };
            if self.recent.iter().any(missed) {
                self.outdated.insert(shared.clone());
            }
            if let Some(book) = self.constraints.get(id).filter(|book| slots.contains(&book.slot)) {
                verdict.keys.push((book.slot, *key));
            }
        }
        verdict.keys.sort();
        self.replace(place, &slots, &verdict)
    }

    fn shared(&self, place: &Place) -> Option<Place> {
        self.kinds.get(&place.kind)?.objects.get_key_value(place).map(|(shared, _)| shared.clone())
    }

    /// The verdict of an object depends on `after`, where it depended on `before`.
    fn replace_keys(&mut self, place: &Place, before: &[Key], after: &[Key]) {
        if before == after {
            return;
        }
        for (slot, key) in before {
            if let Some(book) = self.book(*slot) {
                book.forget_key(*key, place);
            }
        }
        for (slot, key) in after {
            if let Some(book) = self.book(*slot) {
                book.dependents.entry(*key).or_default().insert(place.clone());
            }
        }
    }

    fn book(&mut self, slot: Slot) -> Option<&mut ConstraintBook> {
        let id = self.slots.get(slot.index())?.as_ref()?;
        self.constraints.get_mut(id)
    }

    /// Puts `new` in the place of what these constraints say of an object. Returns the number of settled constraints for
    /// which that is a difference.
    fn replace(&mut self, place: &Place, slots: &BTreeSet<Slot>, new: &Verdict) -> usize {
        let Some(shared) = self.shared(place) else { return 0 };
        let record = self.kinds.get_mut(&place.kind).and_then(|kind| kind.objects.get_mut(place));
        let Some(record) = record else { return 0 };
        let before = record.replace(slots, new, &mut self.verdicts);
        self.replace_keys(&shared, &before.keys, &new.keys);
        let (before, held) = (before.held, &new.held);
        if before == *held {
            return 0;
        }
        self.touched.insert(place.namespace().into());
        let concerned: BTreeSet<_> = before.iter().chain(held).map(|held| held.slot).collect();
        let mut differing = 0_usize;
        for slot in concerned {
            let of = |all: &[Held]| all.iter().filter(|held| held.slot == slot).copied().collect::<Vec<_>>();
            let (before, after) = (of(&before), of(held));
            let id = self.slots.get(slot.index()).and_then(Option::as_ref);
            let Some(book) = id.and_then(|id| self.constraints.get_mut(id)).filter(|_| before != after)
            else {
                continue;
            };
            book.counts(&shared, before.len(), after.len());
            if book.waiting.is_empty() {
                differing = differing.saturating_add(usize::from(book.stale.is_empty()));
                self.changes.extend(changes(&self.messages, &book.definition.id, &shared, &before, &after));
            }
        }
        differing
    }
}
