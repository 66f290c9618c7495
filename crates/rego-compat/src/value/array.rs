//! Arrays.

use std::ops::Deref;
use std::sync::Arc;

use super::Value;

/// An array of values.
#[derive(Clone, Debug, Default)]
pub struct Array(Vec<Value>);

impl Array {
    /// Returns the empty array.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns an empty array with room for `count` values.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Appends a value.
    pub fn push(&mut self, value: Value) {
        self.0.push(value);
    }

    /// Returns the array as a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Array(Arc::new(self))
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Array {
    fn from(items: Vec<Value>) -> Self {
        Self(items)
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}
