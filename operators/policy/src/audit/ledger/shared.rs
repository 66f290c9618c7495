//! What objects violate, kept compactly: lists that replicas share, and the objects that violate a constraint.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use super::books::Held;
use crate::audit::messages::Message;
use crate::audit::place::Place;

/// The fewest lists among which unused ones are looked for. One in tests, so that a few steps reach the other case.
const SWEEP: usize = if cfg!(test) { 1 } else { 1024 };
/// Violators of a constraint beyond which they are no longer kept by it.
const FEW: usize = if cfg!(test) { 1 } else { 1024 };

/// Lists of which equal ones are kept once. Messages have no names in them, so that replicas have equal violations.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    kept: HashSet<Arc<[T]>>,
    sweep_at: usize,
}

/// The objects that violate a constraint: their number, and while they are few, all of them. Many are found by going through
/// all objects in their order, which comes upon the first ones soon.
#[derive(Clone, Debug)]
pub(super) struct Violators {
    count: usize,
    few: Option<BTreeSet<Place>>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { kept: HashSet::new(), sweep_at: SWEEP }
    }
}

impl<T: Copy + Eq + Hash> Lists<T> {
    /// The list with these items.
    pub(super) fn keep(&mut self, list: &[T]) -> Arc<[T]> {
        if let Some(kept) = self.kept.get(list) {
            return Arc::clone(kept);
        }
        if self.kept.len() >= self.sweep_at {
            self.sweep();
        }
        let kept: Arc<[T]> = list.into();
        self.kept.insert(Arc::clone(&kept));
        kept
    }

    fn sweep(&mut self) {
        self.kept.retain(|list| Arc::strong_count(list) > 1);
        self.sweep_at = self.kept.len().saturating_mul(2).max(SWEEP);
    }
}

impl Lists<Held> {
    /// The messages of all lists in use; the others are forgotten, and refer to nothing any more.
    pub(super) fn messages(&mut self) -> BTreeSet<Message> {
        self.sweep();
        self.kept.iter().flat_map(|list| list.iter()).map(|held| held.message).collect()
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
