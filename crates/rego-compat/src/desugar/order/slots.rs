//! Sets of slots, as bits.
//!
//! Ordering a body computes such sets for each statement in each round. Nearly every rule has at most 64 variables, so that
//! its sets are one word, without memory of their own: slot 3 is bit 3 of `low`, and slot 70 is bit 6 of `high[0]`.

use crate::ir::Slot;

/// A set of variables of one rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotSet {
    low: u64,
    /// The slots from 64 on, as far as the largest that was ever inserted: words behind it are zero, and two equal sets may
    /// have different lengths.
    high: Vec<u64>,
}

fn place(slot: Slot) -> (usize, u64) {
    let word = usize::try_from(slot / 64).unwrap_or(usize::MAX);
    (word, 1u64.checked_shl(slot % 64).unwrap_or(0))
}

impl SlotSet {
    fn word(&self, index: usize) -> u64 {
        match index.checked_sub(1) {
            None => self.low,
            Some(index) => self.high.get(index).copied().unwrap_or(0),
        }
    }

    pub(crate) fn insert(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        match word.checked_sub(1) {
            None => self.low |= bit,
            Some(index) => {
                if self.high.len() <= index {
                    self.high.resize(index.saturating_add(1), 0);
                }
                if let Some(word) = self.high.get_mut(index) {
                    *word |= bit;
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        match word.checked_sub(1) {
            None => self.low &= !bit,
            Some(index) => {
                if let Some(word) = self.high.get_mut(index) {
                    *word &= !bit;
                }
            }
        }
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        self.word(word) & bit != 0
    }

    pub(crate) fn union(&mut self, other: &Self) {
        self.low |= other.low;
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        for (mine, theirs) in self.high.iter_mut().zip(&other.high) {
            *mine |= theirs;
        }
    }

    pub(crate) fn intersect(&mut self, other: &Self) {
        self.low &= other.low;
        for (index, mine) in self.high.iter_mut().enumerate() {
            *mine &= other.high.get(index).copied().unwrap_or(0);
        }
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        self.low &= !other.low;
        for (mine, theirs) in self.high.iter_mut().zip(&other.high) {
            *mine &= !theirs;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.low == 0 && self.high.iter().all(|word| *word == 0)
    }

    pub(crate) fn is_subset(&self, other: &Self) -> bool {
        let words = self.high.len().saturating_add(1);
        (0..words).all(|index| self.word(index) & !other.word(index) == 0)
    }

    pub(crate) fn len(&self) -> u32 {
        self.high.iter().fold(self.low.count_ones(), |sum, word| sum.saturating_add(word.count_ones()))
    }

    /// Returns the slots in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let words = (0..).zip(std::iter::once(&self.low).chain(&self.high));
        words.filter(|(_, word)| **word != 0).flat_map(|(index, word)| {
            let first: Slot = Slot::saturating_mul(index, 64);
            let mut left = *word;
            // `left & (left - 1)` clears the lowest bit: of 0b0110 come 1 and then 2.
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left.wrapping_sub(1);
                Some(first.saturating_add(bit))
            })
        })
    }
}

impl PartialEq for SlotSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(slots: &BTreeSet<Slot>) -> SlotSet {
        let mut set = SlotSet::default();
        slots.iter().for_each(|slot| set.insert(*slot));
        set
    }

    proptest! {
        #[test]
        fn behaves_as_a_set(a in prop::collection::btree_set(0u32..200, 0..20), b in prop::collection::btree_set(0u32..200, 0..20)) {
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(x.iter().collect::<BTreeSet<_>>(), a.clone());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x == y, a == b);
            prop_assert_eq!(x.len() as usize, a.len());
            let mut union = x.clone();
            union.union(&y);
            prop_assert_eq!(union.iter().collect::<BTreeSet<_>>(), a.union(&b).copied().collect::<BTreeSet<_>>());
            let mut both = x.clone();
            both.intersect(&y);
            prop_assert_eq!(both.iter().collect::<BTreeSet<_>>(), a.intersection(&b).copied().collect::<BTreeSet<_>>());
            let mut fewer = x.clone();
            b.iter().for_each(|slot| fewer.remove(*slot));
            prop_assert_eq!(fewer.iter().collect::<BTreeSet<_>>(), a.difference(&b).copied().collect::<BTreeSet<_>>());
            let mut rest = x;
            rest.subtract(&y);
            prop_assert_eq!(rest.is_empty(), a.is_subset(&b));
        }
    }
}
