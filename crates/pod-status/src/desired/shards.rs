//! The distribution of entries among report objects of bounded size.
//!
//! An entry stays in its shard while it fits. An entry that grows out of its shard moves to a shard with a
//! *greater* number: the writer stores greater numbers first, so it is added before it is removed.
//!
//! With 100 bytes a shard: `a` (60) opens shard 1, `b` (60) shard 2, `c` (30) goes to shard 1. When `a` grows
//! to 80, it moves to shard 3, because shard 2 has no room; shard 1 keeps `c` and takes the next small entry.

use std::collections::{BTreeMap, BTreeSet};

use crate::gatekeeper::PodStatusKind;
use crate::parent::{ParentKey, ParentRef};
use crate::shape::Shape;

/// The smallest limit that a host can set.
const SMALLEST: usize = 512;

/// The parents whose reports are stored by themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnReports {
    pub(crate) per_parent: Vec<PodStatusKind>,
    pub(crate) direct: Vec<Shape>,
}

impl OwnReports {
    fn include(&self, parent: &ParentRef) -> bool {
        self.per_parent.iter().any(|kind| kind.is_for(parent))
            || self.direct.iter().any(|shape| shape.is_for(parent))
    }
}

#[derive(Debug)]
pub(crate) struct Shards {
    /// The size beyond which a shard gets no more entries, and what the host has set.
    limit: usize,
    configured: usize,
    /// These parents have a shard each.
    own: OwnReports,
    shards: BTreeMap<u32, Shard>,
    places: BTreeMap<ParentKey, (u32, usize)>,
}

#[derive(Debug, Default)]
struct Shard {
    keys: BTreeSet<ParentKey>,
    bytes: usize,
    /// It belongs to one parent, for good.
    is_own: bool,
}

/// The result of halving a shard.
#[derive(Debug, PartialEq)]
pub(crate) enum Halved {
    /// These entries do not fit any more and are to be placed again.
    Moved(Vec<ParentKey>),
    /// The shard holds one entry, which cannot be divided.
    Alone(ParentKey),
}

impl Shard {
    fn has_room(&self, bytes: usize, limit: usize) -> bool {
        !self.is_own && (self.keys.is_empty() || self.bytes.saturating_add(bytes) <= limit)
    }
}

impl Shards {
    pub(crate) fn new(limit: usize, own: OwnReports) -> Self {
        let limit = limit.max(SMALLEST);
        Self { limit, configured: limit, own, shards: BTreeMap::new(), places: BTreeMap::new() }
    }

    /// Puts an entry of this size where it belongs. Returns the shards whose content changes.
    pub(crate) fn place(&mut self, key: &ParentKey, bytes: usize) -> Vec<u32> {
        let old = self.remove(key);
        let is_own = self.own.include(&key.reference);
        let stays = old.filter(|number| {
            is_own || self.shards.get(number).is_some_and(|shard| shard.has_room(bytes, self.limit))
        });
        let room = || if is_own { self.next() } else { self.room(bytes, old.unwrap_or_default()) };
        let number = stays.unwrap_or_else(room);
        let shard = self.shards.entry(number).or_default();
        shard.is_own = is_own;
        shard.keys.insert(key.clone());
        shard.bytes = shard.bytes.saturating_add(bytes);
        self.places.insert(key.clone(), (number, bytes));
        [Some(number), old.filter(|old| *old != number)].into_iter().flatten().collect()
    }

    /// Takes an entry out. Returns the shard that held it.
    pub(crate) fn remove(&mut self, key: &ParentKey) -> Option<u32> {
        let (number, bytes) = self.places.remove(key)?;
        if let Some(shard) = self.shards.get_mut(&number) {
            shard.keys.remove(key);
            shard.bytes = shard.bytes.saturating_sub(bytes);
        }
        Some(number)
    }

    /// Takes back what refusals have done to the limit.
    pub(crate) fn relax(&mut self) {
        self.limit = self.configured;
    }

    /// Lowers the limit to half of what this shard holds. One entry alone says nothing about the size of the others.
    pub(crate) fn halve(&mut self, number: u32) -> Halved {
        let Some(shard) = self.shards.get(&number) else {
            return Halved::Moved(Vec::new());
        };
        if let (Some(only), 1) = (shard.keys.first(), shard.keys.len()) {
            return Halved::Alone(only.clone());
        }
        let half = shard.bytes.checked_div(2).unwrap_or_default();
        self.limit = self.limit.min(half.max(1));
        Halved::Moved(shard.keys.iter().skip(shard.keys.len().div_ceil(2)).cloned().collect())
    }

    /// The entries of a shard.
    pub(crate) fn keys(&self, number: u32) -> impl Iterator<Item = &ParentKey> {
        self.shards.get(&number).into_iter().flat_map(|shard| &shard.keys)
    }

    /// The numbers of the shards with entries.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.shards.iter().filter(|(_, shard)| !shard.keys.is_empty()).map(|(number, _)| *number)
    }

    /// The first shard with room after `above`, or a new one.
    fn room(&self, bytes: usize, above: u32) -> u32 {
        let next = above.saturating_add(1);
        let mut known = self.shards.range(next..);
        let roomy = known.find(|(_, shard)| shard.has_room(bytes, self.limit)).map(|(number, _)| *number);
        roomy.unwrap_or_else(|| self.next().max(next))
    }

    /// A number that no shard has had.
    fn next(&self) -> u32 {
        self.shards.keys().next_back().copied().unwrap_or_default().saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parent::ParentRef;

    fn key(number: u8) -> ParentKey {
        ParentKey::new(ParentRef::new("g", "K", format!("p{number}")), "u")
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_shard_and_no_shard_is_larger_than_the_limit(
            steps in prop::collection::vec((0..20u8, prop::option::weighted(0.8, 1..1200usize)), 0..80)
        ) {
            let mut shards = Shards::new(1000, OwnReports::default());
            let mut model: BTreeMap<ParentKey, usize> = BTreeMap::new();
            for (number, bytes) in steps {
                let before: BTreeMap<u32, Vec<ParentKey>> =
                    shards.numbers().map(|shard| (shard, shards.keys(shard).cloned().collect())).collect();
                let touched = match bytes {
                    Some(bytes) => { model.insert(key(number), bytes); shards.place(&key(number), bytes) }
                    None => { model.remove(&key(number)); shards.remove(&key(number)).into_iter().collect() }
                };
                prop_assert!(touched.is_sorted_by(|a, b| a > b), "the greater number is stored first");
                let mut seen = BTreeSet::new();
                for shard in shards.numbers() {
                    let keys: Vec<ParentKey> = shards.keys(shard).cloned().collect();
                    let bytes: usize = keys.iter().map(|key| model[key]).sum();
                    prop_assert!(bytes <= 1000 || keys.len() == 1, "{bytes} bytes");
                    prop_assert!(touched.contains(&shard) || before[&shard] == keys, "an unnoticed change");
                    seen.extend(keys);
                }
                prop_assert_eq!(seen, model.keys().cloned().collect());
            }
        }
    }

    #[test]
    fn a_refused_shard_is_halved_until_one_entry_is_left() {
        let mut shards = Shards::new(100_000, OwnReports::default());
        for number in 0..100 {
            shards.place(&key(number), 600);
        }
        let mut rounds = 0;
        while let Halved::Moved(moved) = shards.halve(1) {
            for key in moved {
                shards.place(&key, 600);
            }
            rounds += 1;
        }
        assert_eq!(rounds, 7, "100 entries");
        assert_eq!(shards.keys(1).count(), 1);
        assert_eq!(shards.numbers().map(|number| shards.keys(number).count()).sum::<usize>(), 100);
    }
}
