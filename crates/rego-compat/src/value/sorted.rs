//! Keys in order, each with something: what objects and sets are made of.
//!
//! A list while keys come in order or are few, which is nearly always; a tree while many come in disorder.

use std::collections::{BTreeMap, btree_map};

use super::Value;

/// The keys from which one that comes out of order turns the list into a tree.
const MOST_LISTED: usize = 32;

/// Up to how many texts are tried one by one, which is faster than halving few.
const MOST_TRIED: usize = 12;

#[derive(Clone, Debug)]
pub(super) enum Sorted<V> {
    Listed(Vec<(Value, V)>),
    Tree(BTreeMap<Value, V>),
}

impl<V> Sorted<V> {
    pub(super) const fn new() -> Self {
        Self::Listed(Vec::new())
    }

    /// Takes entries in any order. Of equal keys the first stays, with what came with the last.
    pub(super) fn of(mut entries: Vec<(Value, V)>) -> Self {
        if !entries.is_sorted_by(|(a, _), (b, _)| a < b) {
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.dedup_by(|later, earlier| {
                let equal = later.0 == earlier.0;
                if equal {
                    std::mem::swap(&mut later.1, &mut earlier.1);
                }
                equal
            });
        }
        Self::Listed(entries)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Listed(entries) => entries.len(),
            Self::Tree(entries) => entries.len(),
        }
    }

    pub(super) fn entry(&self, key: &Value) -> Option<(&Value, &V)> {
        match self {
            Self::Listed(entries) => {
                if let (Value::String(text), ..=MOST_TRIED) = (key, entries.len()) {
                    // Strings of different lengths differ, without a look at their characters.
                    let named = |known: &Value| matches!(known, Value::String(known) if known == text);
                    return entries.iter().find(|(known, _)| named(known)).map(|(key, value)| (key, value));
                }
                let at = entries.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
                entries.get(at).map(|(key, value)| (key, value))
            }
            Self::Tree(entries) => entries.get_key_value(key),
        }
    }

    pub(super) fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        match self {
            Self::Listed(entries) => {
                let at = entries.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
                entries.get_mut(at).map(|(_, value)| value)
            }
            Self::Tree(entries) => entries.get_mut(key),
        }
    }

    /// Puts something under a key; what was there before comes back. A key that is there stays as it is.
    pub(super) fn insert(&mut self, key: Value, value: V) -> Option<V> {
        if let Self::Listed(entries) = self {
            if entries.last().is_none_or(|(last, _)| *last < key) {
                entries.push((key, value));
                return None;
            }
            match entries.binary_search_by(|(known, _)| known.cmp(&key)) {
                Ok(at) => {
                    return entries.get_mut(at).map(|(_, known)| std::mem::replace(known, value));
                }
                Err(at) if entries.len() < MOST_LISTED => {
                    entries.insert(at, (key, value));
                    return None;
                }
                Err(_) => *self = Self::Tree(std::mem::take(entries).into_iter().collect()),
            }
        }
        match self {
            Self::Tree(entries) => entries.insert(key, value),
            Self::Listed(_) => None,
        }
    }

    pub(super) fn remove(&mut self, key: &Value) -> Option<V> {
        match self {
            Self::Listed(entries) => {
                let at = entries.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
                Some(entries.remove(at).1)
            }
            Self::Tree(entries) => entries.remove(key),
        }
    }

    pub(super) fn iter(&self) -> Iter<'_, V> {
        match self {
            Self::Listed(entries) => Iter::Listed(entries.iter()),
            Self::Tree(entries) => Iter::Tree(entries.iter()),
        }
    }

    /// Returns the collection as a sorted list, which is smaller than a tree, and slow to insert into.
    pub(super) fn settled(self) -> Self {
        match self {
            Self::Listed(_) => self,
            Self::Tree(entries) => Self::Listed(entries.into_iter().collect()),
        }
    }
}

/// Entries in the order of their keys.
#[derive(Clone, Debug)]
pub(super) enum Iter<'a, V> {
    Listed(std::slice::Iter<'a, (Value, V)>),
    Tree(btree_map::Iter<'a, Value, V>),
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Value, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Listed(entries) => entries.next().map(|(key, value)| (key, value)),
            Self::Tree(entries) => entries.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Listed(entries) => entries.size_hint(),
            Self::Tree(entries) => entries.size_hint(),
        }
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Listed(entries) => entries.next_back().map(|(key, value)| (key, value)),
            Self::Tree(entries) => entries.next_back(),
        }
    }
}

impl<V> ExactSizeIterator for Iter<'_, V> {}
