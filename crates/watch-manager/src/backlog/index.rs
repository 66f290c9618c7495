//! Sequence numbers by object. The keys are numbers of our own making, so a multiplication is hash enough.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use super::KEPT;
use crate::store::ObjectId;

#[derive(Debug, Clone, Default)]
pub(super) struct Index(HashMap<u64, u64, BuildHasherDefault<Multiply>>);

/// Hashes one `u64`. Fibonacci hashing spreads consecutive numbers over all bits.
#[derive(Debug, Clone, Default)]
struct Multiply(u64);

// === impl Index ===

impl Index {
    pub(super) fn get(&self, id: ObjectId) -> Option<u64> {
        self.0.get(&id.0).copied()
    }

    /// Notes the place of an object that has none, and returns the place that it had before.
    pub(super) fn insert_new(&mut self, id: ObjectId, at: u64) -> Option<u64> {
        match self.0.entry(id.0) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                entry.insert(at);
                None
            }
        }
    }

    pub(super) fn insert(&mut self, id: ObjectId, at: u64) {
        self.0.insert(id.0, at);
    }

    pub(super) fn remove(&mut self, id: ObjectId) {
        self.0.remove(&id.0);
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = HashMap::default();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.0.reserve(additional);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = u64> {
        self.0.values().copied()
    }
}

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}
