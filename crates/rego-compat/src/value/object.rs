//! Objects.

use std::sync::Arc;

use super::Value;
use super::sorted::Sorted;

/// A map from keys to values, in OPA's order of the keys.
#[derive(Clone, Debug)]
pub struct Object {
    pairs: Sorted<Value>,
}

impl Object {
    /// Returns the empty object.
    #[must_use]
    pub const fn new() -> Self {
        Self { pairs: Sorted::new() }
    }

    /// Builds an object of pairs in any order; of those with equal keys the last counts.
    #[must_use]
    pub fn of(pairs: Vec<(Value, Value)>) -> Self {
        Self { pairs: Sorted::of(pairs) }
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns true if there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value under a key.
    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.pairs.entry(key).map(|(_, value)| value)
    }

    /// Returns the key that equals `key`, in the spelling that it has in the object: `1.0` for `1`.
    #[must_use]
    pub fn key(&self, key: &Value) -> Option<&Value> {
        self.pairs.entry(key).map(|(key, _)| key)
    }

    /// Returns true if there is a value under a key.
    #[must_use]
    pub fn contains_key(&self, key: &Value) -> bool {
        self.get(key).is_some()
    }

    /// Puts a value under a key, and returns the one that was there.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        self.pairs.insert(key, value)
    }

    /// Removes the value under a key, and returns it.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.pairs.remove(key)
    }

    /// Returns the value under a key, after putting one there if there is none.
    pub fn get_or_insert_with(&mut self, key: Value, value: impl FnOnce() -> Value) -> Option<&mut Value> {
        if !self.contains_key(&key) {
            self.pairs.insert(key.clone(), value());
        }
        self.pairs.get_mut(&key)
    }

    /// Returns the pairs in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> + ExactSizeIterator + Clone {
        self.pairs.iter()
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.pairs.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.pairs.iter().map(|(_, value)| value)
    }

    /// Returns the object as a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Object(Arc::new(Self { pairs: self.pairs.settled() }))
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<(Value, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(pairs: I) -> Self {
        Self::of(pairs.into_iter().collect())
    }
}
