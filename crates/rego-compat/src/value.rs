//! The values that policies compute with: JSON, sets, and the absence of a value.
//!
//! A value is shared, never copied: cloning one counts a reference. Numbers keep the text they came in, as
//! OPA's do ([`Number`]); everything is ordered as OPA orders it. Functions of values are in `builtin`;
//! nothing here depends on modules or evaluation.

mod array;
mod json;
pub(crate) mod literal;
pub(crate) mod number;
mod object;
mod order;
mod serde;
mod set;
mod sorted;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use array::Array;
pub use number::Number;
pub use object::Object;
pub use set::Set;

/// A document, or a part of one.
#[derive(Clone, Debug)]
pub enum Value {
    /// JSON's null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number of any size and precision.
    Number(Number),
    /// A string.
    String(Arc<str>),
    /// An array.
    Array(Arc<Array>),
    /// An object, whose keys may be any values.
    Object(Arc<Object>),
    /// A set; JSON has none, and writes it as an array.
    Set(Arc<Set>),
    /// No value at all.
    Undefined,
}

/// The error of reading a value, or of taking it for another type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The text is not a JSON document.
    #[error("not JSON: {reason} at byte {at}")]
    Json {
        /// The error.
        reason: &'static str,
        /// The offset in the text.
        at: usize,
    },
    /// The value has another type.
    #[error("expected {wanted}, found {found}")]
    Type {
        /// The type asked for.
        wanted: &'static str,
        /// The type of the value.
        found: &'static str,
    },
}

impl ValueError {
    /// Returns true if the text may be JSON, and nests too deep to be read.
    pub(crate) fn is_depth(&self) -> bool {
        matches!(self, Self::Json { reason, .. } if *reason == go_compat::json::TOO_DEEP)
    }
}

impl Value {
    /// Returns the empty array.
    #[must_use]
    pub fn new_array() -> Self {
        Array::new().into_value()
    }

    /// Returns the empty object.
    #[must_use]
    pub fn new_object() -> Self {
        Object::new().into_value()
    }

    /// Returns the empty set.
    #[must_use]
    pub fn new_set() -> Self {
        Set::new().into_value()
    }

    /// Reads a JSON document as Go's decoder does: the last of several equal keys counts, half of a surrogate
    /// pair becomes the replacement character, and numbers keep their text.
    ///
    /// # Errors
    /// The text is not JSON, nests deeper than 512 levels, or has a number beyond 2^±100000.
    pub fn from_json_str(text: &str) -> Result<Self, ValueError> {
        json::read(text)
    }

    /// Writes JSON: sets as arrays, keys that are not strings as the strings of their JSON, undefined as null.
    #[must_use]
    pub fn to_json_str(&self) -> String {
        json::write(self)
    }

    /// Returns OPA's name for the type.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
            Self::Set(_) => "set",
            Self::Undefined => "undefined",
        }
    }

    const fn wrong(&self, wanted: &'static str) -> ValueError {
        ValueError::Type { wanted, found: self.type_name() }
    }

    /// Returns the boolean.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not a boolean.
    pub const fn as_bool(&self) -> Result<bool, ValueError> {
        match self {
            Self::Bool(bool) => Ok(*bool),
            _ => Err(self.wrong("boolean")),
        }
    }

    /// Returns the number.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not a number.
    pub const fn as_number(&self) -> Result<&Number, ValueError> {
        match self {
            Self::Number(number) => Ok(number),
            _ => Err(self.wrong("number")),
        }
    }

    /// Returns the string.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not a string.
    pub const fn as_string(&self) -> Result<&Arc<str>, ValueError> {
        match self {
            Self::String(text) => Ok(text),
            _ => Err(self.wrong("string")),
        }
    }

    /// Returns the array.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not an array.
    pub fn as_array(&self) -> Result<&Array, ValueError> {
        match self {
            Self::Array(items) => Ok(items),
            _ => Err(self.wrong("array")),
        }
    }

    /// Returns the object.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not an object.
    pub fn as_object(&self) -> Result<&Object, ValueError> {
        match self {
            Self::Object(pairs) => Ok(pairs),
            _ => Err(self.wrong("object")),
        }
    }

    /// Returns the set.
    ///
    /// # Errors
    /// [`ValueError::Type`] if the value is not a set.
    pub fn as_set(&self) -> Result<&Set, ValueError> {
        match self {
            Self::Set(items) => Ok(items),
            _ => Err(self.wrong("set")),
        }
    }

    /// Returns the object to change; one that is shared is copied, its parts are not.
    ///
    /// # Errors
    /// Returns [`ValueError::Type`] if the value is not an object.
    pub fn as_object_mut(&mut self) -> Result<&mut Object, ValueError> {
        match self {
            Self::Object(pairs) => Ok(Arc::make_mut(pairs)),
            _ => Err(self.wrong("object")),
        }
    }

    /// Returns the set to change; one that is shared is copied, its elements are not.
    ///
    /// # Errors
    /// Returns [`ValueError::Type`] if the value is not a set.
    pub fn as_set_mut(&mut self) -> Result<&mut Set, ValueError> {
        match self {
            Self::Set(items) => Ok(Arc::make_mut(items)),
            _ => Err(self.wrong("set")),
        }
    }
}

impl std::fmt::Display for Value {
    /// JSON, as [`Value::to_json_str`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json_str())
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::String(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

macro_rules! from_numbers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Value {
            fn from(number: $kind) -> Self {
                Self::Number(number.into())
            }
        }
    )*};
}

from_numbers!(i32, i64, i128, u32, u64, u128, usize, f64);

impl From<Vec<Self>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Array::from(items).into_value()
    }
}

impl From<BTreeSet<Self>> for Value {
    fn from(items: BTreeSet<Self>) -> Self {
        items.into_iter().collect::<Set>().into_value()
    }
}

impl From<BTreeMap<Self, Self>> for Value {
    fn from(pairs: BTreeMap<Self, Self>) -> Self {
        pairs.into_iter().collect::<Object>().into_value()
    }
}

impl From<Array> for Value {
    fn from(items: Array) -> Self {
        items.into_value()
    }
}

impl From<Object> for Value {
    fn from(pairs: Object) -> Self {
        pairs.into_value()
    }
}

impl From<Set> for Value {
    fn from(items: Set) -> Self {
        items.into_value()
    }
}

#[cfg(test)]
mod tests;
