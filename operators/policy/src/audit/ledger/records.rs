//! The records that are kept of a kind, an object and a constraint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use constraint_framework::api::ConstraintRef;
use constraint_framework::inventory::DependencyKey;

use super::verdicts::{Held, Slot, Verdict, Verdicts, Violators};
use crate::audit::place::{Kind, Place, Version};

/// The number of a policy set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::audit) struct Epoch(u64);

/// A constraint as it is in force.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::audit) struct Definition {
    pub(in crate::audit) id: ConstraintRef,
    pub(in crate::audit) uid: String,
    pub(in crate::audit) generation: i64,
    /// Different for everything that judges differently.
    pub(in crate::audit) revision: u64,
    /// `deny`, `warn`, `dryrun` or `scoped`.
    pub(in crate::audit) action: &'static str,
    /// The actions in audits.
    pub(in crate::audit) actions: Vec<&'static str>,
    /// The audited kinds that it can match.
    pub(in crate::audit) kinds: BTreeSet<Kind>,
    /// A change of the inventory can concern all objects.
    pub(in crate::audit) reads_whole_kinds: bool,
}

#[derive(Clone, Debug)]
pub(super) struct KindBook {
    pub(super) objects: BTreeMap<Place, Record>,
    /// The epoch at which the kind was asked for.
    pub(super) asked: Epoch,
    /// The first list is judged.
    pub(super) listed: bool,
    /// A pass is under way.
    pub(super) passing: bool,
    /// Namespaces whose objects are to be judged again.
    pub(super) namespaces: BTreeSet<Box<str>>,
    /// A verification is due.
    pub(super) verify: bool,
    /// The number of the last verification that began.
    pub(super) sweep: u32,
    /// The reason why the kind cannot be listed or watched.
    pub(super) unavailable: Option<Arc<str>>,
    /// Objects in the last complete list of all namespaces that cannot be read.
    pub(super) unreadable: usize,
}

/// The parts of an object that are kept.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) version: Version,
    /// The last verification since whose beginning the object was seen.
    pub(super) sweep: u32,
    verdict: Arc<Verdict>,
}

#[derive(Clone, Debug)]
pub(super) struct ConstraintBook {
    pub(super) slot: Slot,
    pub(super) definition: Definition,
    /// Verdicts of earlier epochs do not count.
    pub(super) since: Epoch,
    /// The kinds that are not judged completely since then.
    pub(super) waiting: BTreeSet<Kind>,
    /// The kinds to be judged again because the inventory has changed.
    pub(super) stale: BTreeSet<Kind>,
    pub(super) violators: Violators,
    pub(super) total: usize,
    pub(super) dependents: BTreeMap<DependencyKey, BTreeSet<Place>>,
    /// Its status may differ from what was reported last.
    pub(super) changed: bool,
}

impl Epoch {
    pub(in crate::audit) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl KindBook {
    pub(super) fn new(asked: Epoch) -> Self {
        Self {
            objects: BTreeMap::new(),
            asked,
            listed: false,
            passing: false,
            namespaces: BTreeSet::new(),
            verify: false,
            sweep: 0,
            unavailable: None,
            unreadable: 0,
        }
    }

    /// Returns true if the kind cannot be listed or watched, so that nothing waits for it.
    pub(super) fn is_unavailable(&self) -> bool {
        self.unavailable.is_some()
    }

    /// Forgets a constraint.
    pub(super) fn forget(&mut self, slot: Slot, verdicts: &mut Verdicts) {
        self.objects.values_mut().for_each(|record| record.forget(slot, verdicts));
    }
}

impl Record {
    pub(super) fn new(version: Version, sweep: u32, verdict: Arc<Verdict>) -> Self {
        Self { version, sweep, verdict }
    }

    /// All violations.
    pub(super) fn all_held(&self) -> &[Held] {
        &self.verdict.held
    }

    pub(super) fn held(&self, slot: Slot) -> impl Iterator<Item = &Held> {
        self.verdict.held.iter().filter(move |held| held.slot == slot)
    }

    pub(super) fn holds(&self, slot: Slot) -> bool {
        self.held(slot).next().is_some()
    }

    /// Puts `new` in the place of the verdict of these constraints, and returns that.
    pub(super) fn replace(
        &mut self,
        slots: &BTreeSet<Slot>,
        new: &Verdict,
        verdicts: &mut Verdicts,
    ) -> Verdict {
        let (before, others) = self.verdict.split(|slot| slots.contains(&slot));
        if before != *new {
            self.verdict = verdicts.keep(others.with(new));
        }
        before
    }

    fn forget(&mut self, slot: Slot, verdicts: &mut Verdicts) {
        let (forgotten, others) = self.verdict.split(|of| of == slot);
        if !forgotten.is_empty() {
            self.verdict = verdicts.keep(others);
        }
    }
}

impl ConstraintBook {
    pub(super) fn new(slot: Slot, definition: Definition, epoch: Epoch) -> Self {
        Self {
            slot,
            since: epoch,
            waiting: definition.kinds.clone(),
            stale: BTreeSet::new(),
            violators: Violators::new(),
            total: 0,
            dependents: BTreeMap::new(),
            changed: true,
            definition,
        }
    }

    /// Takes a definition. Only another revision makes the verdicts outdated; a kind that has come is waited for.
    pub(super) fn define(&mut self, definition: Definition, epoch: Epoch) {
        if self.definition == definition {
            return;
        }
        let before = std::mem::replace(&mut self.definition, definition);
        self.changed = true;
        if before.revision != self.definition.revision || before.uid != self.definition.uid {
            return self.judge_anew(epoch);
        }
        let kinds = &self.definition.kinds;
        self.waiting.extend(kinds.difference(&before.kinds).cloned());
        self.waiting.retain(|kind| kinds.contains(kind));
        self.stale.retain(|kind| kinds.contains(kind));
    }

    pub(super) fn judge_anew(&mut self, epoch: Epoch) {
        self.since = epoch;
        self.waiting = self.definition.kinds.clone();
        self.stale.clear();
        self.changed = true;
    }

    /// An object has another number of violations than before, or others.
    pub(super) fn counts(&mut self, place: &Place, before: usize, after: usize) {
        self.total = self.total.saturating_sub(before).saturating_add(after);
        match (before, after) {
            (0, 0) => {}
            (0, _) => self.violators.come(place),
            (_, 0) => self.violators.go(place),
            _ => {}
        }
        self.changed = true;
    }

    pub(super) fn forget_key(&mut self, key: DependencyKey, place: &Place) {
        if let Some(places) = self.dependents.get_mut(&key) {
            places.remove(place);
            if places.is_empty() {
                self.dependents.remove(&key);
            }
        }
    }
}
