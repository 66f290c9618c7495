//! Sets.

use std::sync::Arc;

use super::Value;
use super::sorted::Sorted;

/// A set of values, in OPA's order. Of values that are equal and spelled differently, such as `1` and `1.0`,
/// the first one stays.
#[derive(Clone, Debug)]
pub struct Set {
    items: Sorted<()>,
}

impl Set {
    /// Returns the empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { items: Sorted::new() }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a value is an element.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.get(value).is_some()
    }

    /// Returns the element that equals a value, in the spelling that it has in the set.
    #[must_use]
    pub fn get(&self, value: &Value) -> Option<&Value> {
        self.items.entry(value).map(|(item, ())| item)
    }

    /// Returns the least element.
    #[must_use]
    pub fn first(&self) -> Option<&Value> {
        self.iter().next()
    }

    /// Adds an element; returns false if there is an equal one.
    pub fn insert(&mut self, value: Value) -> bool {
        self.items.insert(value, ()).is_none()
    }

    /// Removes an element; returns false if there is none.
    pub fn remove(&mut self, value: &Value) -> bool {
        self.items.remove(value).is_some()
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.items.iter().map(|(item, ())| item)
    }

    /// Returns the elements that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.iter().filter(|item| other.contains(item)).cloned().collect()
    }

    /// Returns the elements that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).cloned().collect()
    }

    /// Returns the elements that are in this set only.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.iter().filter(|item| !other.contains(item)).cloned().collect()
    }

    /// Returns true if all elements are in the other too.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.len() <= other.len() && self.iter().all(|item| other.contains(item))
    }

    /// Returns the set as a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Set(Arc::new(Self { items: self.items.settled() }))
    }
}

impl Default for Set {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<Value> for Set {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self { items: Sorted::of(items.into_iter().map(|item| (item, ())).collect()) }
    }
}
