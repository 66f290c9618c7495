//! Violations of objects, kept compactly: verdicts that replicas share, and the objects that violate a constraint.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use constraint_framework::inventory::DependencyKey;

use crate::audit::messages::Message;
use crate::audit::place::Place;

/// The fewest verdicts among which unused ones are looked for. One in tests, so that a few steps reach the other case.
const SWEEP: usize = if cfg!(test) { 1 } else { 1024 };
/// Violators of a constraint beyond which they are no longer kept by it.
const FEW: usize = if cfg!(test) { 1 } else { 128 };

/// A small number for a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) u32);

/// A violation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) slot: Slot,
    pub(super) message: Message,
}

/// The violations of one object. Messages have no names in them, so that replicas have equal verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Verdict {
    /// The violations, sorted.
    pub(super) held: Vec<Held>,
    /// The parts of the inventory that it depends on. Sorted.
    pub(super) keys: Vec<Key>,
}

/// A part of the inventory that the verdict of a constraint depends on.
pub(super) type Key = (Slot, DependencyKey);

/// The verdicts of all objects, equal ones once.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdicts {
    kept: HashSet<Arc<Verdict>>,
    sweep_at: usize,
}

/// The objects that violate a constraint: their number, and while they are few, all of them. Many are found by going through
/// all objects in their order, which comes upon the first ones soon.
#[derive(Clone, Debug)]
pub(super) struct Violators {
    count: usize,
    few: Option<BTreeSet<Place>>,
}

impl Slot {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Verdict {
    /// The parts by constraints that `belongs` accepts, and the others.
    pub(super) fn split(&self, belongs: impl Fn(Slot) -> bool) -> (Self, Self) {
        let (held, other_held) = self.held.iter().copied().partition(|held| belongs(held.slot));
        let (keys, other_keys) = self.keys.iter().copied().partition(|(slot, _)| belongs(*slot));
        (Self { held, keys }, Self { held: other_held, keys: other_keys })
    }

    /// Both in one.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.held.extend(&other.held);
        self.held.sort();
        self.keys.extend(&other.keys);
        self.keys.sort();
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.keys.is_empty()
    }
}

impl Verdicts {
    /// The one that equals `verdict`.
    pub(super) fn keep(&mut self, verdict: Verdict) -> Arc<Verdict> {
        if let Some(kept) = self.kept.get(&verdict) {
            return Arc::clone(kept);
        }
        if self.kept.len() >= self.sweep_at.max(SWEEP) {
            self.sweep();
        }
        let kept = Arc::new(verdict);
        self.kept.insert(Arc::clone(&kept));
        kept
    }

    fn sweep(&mut self) {
        self.kept.retain(|verdict| Arc::strong_count(verdict) > 1);
        self.sweep_at = self.kept.len().saturating_mul(2);
    }

    /// The messages of all verdicts in use; the others are forgotten, and refer to nothing any more.
    pub(super) fn messages(&mut self) -> BTreeSet<Message> {
        self.sweep();
        self.kept.iter().flat_map(|verdict| &verdict.held).map(|held| held.message).collect()
    }
}

impl Violators {
    pub(super) fn new() -> Self {
        Self { count: 0, few: Some(BTreeSet::new()) }
    }

    /// All of them; `None` if they are many.
    pub(super) fn few(&self) -> Option<&BTreeSet<Place>> {
        self.few.as_ref()
    }

    /// An object violates the constraint that did not before.
    pub(super) fn come(&mut self, place: &Place) {
        self.count = self.count.saturating_add(1);
        if let Some(few) = &mut self.few {
            few.insert(place.clone());
        }
        self.few.take_if(|few| few.len() > FEW);
    }

    /// An object does not violate the constraint any more.
    pub(super) fn go(&mut self, place: &Place) {
        self.count = self.count.saturating_sub(1);
        match &mut self.few {
            Some(few) => drop(few.remove(place)),
            None if self.count == 0 => self.few = Some(BTreeSet::new()),
            None => {}
        }
    }
}
