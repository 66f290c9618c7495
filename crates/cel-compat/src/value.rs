//! The values of the language. Copying one copies a pointer.
//!
//! Comparison is in `compare`, reading from JSON in `json`; operators and functions are in `operator` and `library`.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::slice;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::error::EvalError;

/// Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, between which CEL has timestamps.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Up to how many keys are tried one by one, which is faster than halving few.
const MOST_TRIED: usize = 12;

/// A value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A binary floating point number.
    Float(f64),
    /// A string of Unicode characters.
    String(Arc<str>),
    /// A string of bytes.
    Bytes(Arc<Vec<u8>>),
    /// A list; the elements may be of different types.
    List(Arc<Vec<Value>>),
    /// A map.
    Map(Map),
    /// A span of time.
    Duration(TimeDelta),
    /// A point in time.
    Timestamp(DateTime<FixedOffset>),
    /// A value, or none.
    Optional(Option<Arc<Value>>),
    /// A type: what `type(x)` yields.
    Type(&'static str),
    /// A value that only functions look into, such as a quantity.
    Opaque(OpaqueValue),
}

/// The key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Key {
    /// A bool.
    Bool(bool),
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A string; by far the most common. Its length is beside it, so a search need not follow it.
    String(Arc<str>),
}

/// A map in the order of its keys, so that what is made of it is the same in every process.
#[derive(Clone, Debug, Default)]
pub struct Map(Arc<Vec<(Key, Value)>>);

/// A value that only functions of the library look into.
#[derive(Clone)]
pub struct OpaqueValue(Arc<dyn Opaque>);

/// The operations of a type of the library.
pub(crate) trait Declared: fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The name of the type.
    const NAME: &'static str;

    /// Returns true if `==` has an error for the value on its right, although it has its type.
    fn is_incomparable(&self) -> bool {
        false
    }
}

/// [`Declared`] without its type.
trait Opaque: fmt::Debug + Send + Sync {
    fn type_name(&self) -> &'static str;
    fn is_incomparable(&self) -> bool;
    fn equals(&self, other: &dyn Any) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<T: Declared> Opaque for T {
    fn type_name(&self) -> &'static str {
        T::NAME
    }

    fn is_incomparable(&self) -> bool {
        Declared::is_incomparable(self)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

// === impl OpaqueValue ===

impl OpaqueValue {
    pub(crate) fn downcast_ref<T: Declared>(&self) -> Option<&T> {
        self.0.as_any().downcast_ref()
    }

    pub(crate) fn is_incomparable(&self) -> bool {
        self.0.is_incomparable()
    }
}

impl PartialEq for OpaqueValue {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(other.0.as_any())
    }
}

impl fmt::Debug for OpaqueValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Map ===

impl Map {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Value)> {
        self.entries().map(|(key, value)| (key, value))
    }

    pub(crate) fn entries(&self) -> slice::Iter<'_, (Key, Value)> {
        self.0.iter()
    }

    /// Returns the value at a string, as a selection of a field finds it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        if self.0.len() <= MOST_TRIED {
            // Strings of different lengths differ, without a look at their characters.
            let named = |key: &Key| matches!(key, Key::String(key) if **key == *name);
            return self.0.iter().find(|(key, _)| named(key)).map(|(_, value)| value);
        }
        self.find(|key| match key {
            Key::String(key) => (**key).cmp(name),
            _ => Ordering::Less,
        })
    }

    /// Returns the value at a key. Whole numbers find each other whatever their type.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Value> {
        let other = match key {
            Key::String(name) => return self.field(name),
            Key::Bool(_) => None,
            Key::Int(number) => u64::try_from(*number).ok().map(Key::Uint),
            Key::Uint(number) => i64::try_from(*number).ok().map(Key::Int),
        };
        self.find(|known| known.cmp(key))
            .or_else(|| other.and_then(|other| self.find(|known| known.cmp(&other))))
    }

    fn find(&self, order: impl Fn(&Key) -> Ordering) -> Option<&Value> {
        let position = self.0.binary_search_by(|(key, _)| order(key)).ok()?;
        self.0.get(position).map(|(_, value)| value)
    }
}

impl FromIterator<(Key, Value)> for Map {
    /// Of entries with the same key, the last one stays.
    fn from_iter<I: IntoIterator<Item = (Key, Value)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        // Sorting keeps the order of equal keys; `dedup_by` keeps the first, so the later value moves into it.
        entries.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(&mut later.1, &mut kept.1);
            }
            same
        });
        Self(Arc::new(entries))
    }
}

// === impl Key ===

impl TryFrom<Value> for Key {
    type Error = EvalError;

    fn try_from(value: Value) -> Result<Self, EvalError> {
        match value {
            Value::String(key) => Ok(Self::String(key)),
            Value::Int(key) => Ok(Self::Int(key)),
            Value::Uint(key) => Ok(Self::Uint(key)),
            Value::Bool(key) => Ok(Self::Bool(key)),
            other => Err(EvalError::Failed(format!("unsupported key type: {}", other.type_name()))),
        }
    }
}

impl From<&Key> for Value {
    fn from(key: &Key) -> Self {
        match key {
            Key::String(key) => Self::String(Arc::clone(key)),
            Key::Int(key) => Self::Int(*key),
            Key::Uint(key) => Self::Uint(*key),
            Key::Bool(key) => Self::Bool(*key),
        }
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self::String(key.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(key) => f.write_str(key),
            Self::Int(key) => key.fmt(f),
            Self::Uint(key) => key.fmt(f),
            Self::Bool(key) => key.fmt(f),
        }
    }
}

// === impl Value ===

impl Value {
    /// Returns a string as a value.
    pub fn string(string: impl Into<Arc<str>>) -> Self {
        Self::String(string.into())
    }

    /// Returns a list as a value.
    #[must_use]
    pub fn list(elements: Vec<Self>) -> Self {
        Self::List(Arc::new(elements))
    }

    /// Returns a map of fields as a value.
    #[must_use]
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Map(fields.into_iter().map(|(name, value)| (Key::from(name), value)).collect())
    }

    pub(crate) fn opaque(value: impl Declared) -> Self {
        Self::Opaque(OpaqueValue(Arc::new(value)))
    }

    /// A timestamp, if there is one and CEL has it.
    pub(crate) fn timestamp(time: Option<DateTime<FixedOffset>>) -> Result<Self, EvalError> {
        time.filter(|time| SECONDS.contains(&time.timestamp()))
            .map(Self::Timestamp)
            .ok_or_else(|| EvalError::failed("timestamp overflow"))
    }

    /// `optional.of(value)`, or `optional.none()`.
    pub(crate) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Arc::new))
    }

    /// The inside of an optional; `None` for what is not an optional.
    pub(crate) fn as_optional(&self) -> Option<Option<&Self>> {
        match self {
            Self::Optional(inner) => Some(inner.as_deref()),
            _ => None,
        }
    }

    /// Returns the name of the value's type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Float(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Null => "null_type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Opaque(opaque) => opaque.0.type_name(),
        }
    }

    /// Returns true if a value is the zero of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(truth) => !truth,
            Self::Int(number) => *number == 0,
            Self::Uint(number) => *number == 0,
            Self::Float(number) => *number == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Duration(span) => span.is_zero(),
            Self::Timestamp(_) | Self::Optional(_) | Self::Type(_) | Self::Opaque(_) => false,
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_keys_the_last_one_stays() {
        let entries = ["b", "a", "b", "a"].into_iter().zip(1..);
        let map: Map = entries.map(|(name, number)| (Key::from(name), Value::Int(number))).collect();
        let shown: Vec<_> = map.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
        assert_eq!(shown, ["a=Int(4)", "b=Int(3)"]);
    }

    #[test]
    fn whole_numbers_find_each_other() {
        let map: Map =
            [(Key::Uint(1), Value::Bool(true)), (Key::Int(-1), Value::Bool(false))].into_iter().collect();
        assert!(matches!(map.get(&Key::Int(1)), Some(Value::Bool(true))));
        assert!(matches!(map.get(&Key::Int(-1)), Some(Value::Bool(false))));
        assert!(map.get(&Key::Uint(u64::MAX)).is_none());
        assert!(map.field("1").is_none());
    }
}
