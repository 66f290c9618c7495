//! Values from JSON, as Kubernetes reads numbers: whole ones as integers, the others as floats.

use std::fmt;

use go_compat::json::FromJson;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::value::{Key, Value};

impl Value {
    /// Parses JSON text; returns `None` when it is not JSON, nests deeper than 512 levels, or has a number beyond a binary
    /// float. Half of a surrogate pair becomes the replacement character, as with Go's decoder.
    #[must_use]
    pub fn from_json_str(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().or_else(|| Self::from_unusual_text(text))
    }

    /// Parses what Go's decoder reads and serde_json does not: deep nesting, and half a surrogate pair.
    fn from_unusual_text(text: &str) -> Option<Self> {
        go_compat::json::decode(text).ok()
    }

    /// Converts a parsed JSON value.
    #[must_use]
    pub fn from_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => of_number(number),
            serde_json::Value::String(string) => Self::string(string.as_str()),
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(fields) => {
                Self::object(fields.iter().map(|(name, value)| (name.as_str(), Self::from_json(value))))
            }
        }
    }
}

/// Returns the number as Go decodes it: one that does not fit 64 bits with a sign becomes a float.
fn of_number(number: &serde_json::Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(number), _) => Value::Int(number),
        // Only a number of arbitrary precision can be beyond all floats.
        (None, float) => Value::Float(float.unwrap_or(f64::INFINITY)),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

impl FromJson for Value {
    type Key = Key;

    fn null() -> Self {
        Self::Null
    }

    fn bool(bool: bool) -> Self {
        Self::Bool(bool)
    }

    fn number(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn string(string: &str) -> Self {
        Self::String(string.into())
    }

    fn key(key: &str) -> Key {
        Key::from(key)
    }

    fn array(items: Vec<Self>) -> Self {
        Self::list(items)
    }

    fn object(fields: Vec<(Key, Self)>) -> Self {
        Self::Map(fields.into_iter().collect())
    }
}

/// The name of a field, read without a copy in between.
struct Name(Key);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(Name(Key::from(name)))
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        // As in Go, where a number that does not fit 64 bits with a sign becomes a float.
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::string(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::string(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::list(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some((Name(key), value)) = map.next_entry()? {
            values.push((key, value));
        }
        Ok(Value::Map(values.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        let read = Value::from_json_str("[1, 1.0, 1.5, 9223372036854775808, -9223372036854775808]");
        let shown = format!("{:?}", read.unwrap());
        assert_eq!(
            shown,
            "List([Int(1), Float(1.0), Float(1.5), Float(9.223372036854776e18), Int(-9223372036854775808)])"
        );
    }

    #[test]
    fn deep_nesting_and_half_pairs_are_read_as_rego_reads_them() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [127, 128, 512] {
            assert!(Value::from_json_str(&nested(levels)).is_some(), "{levels}");
        }
        assert!(Value::from_json_str(&nested(513)).is_none());
        assert_eq!(Value::from_json_str(r#""\ud800""#), Some(Value::string("\u{fffd}")));
        assert_eq!(Value::from_json_str(&format!("[{}, 1e400]", nested(200))), None);
        assert_eq!(Value::from_json_str("[1,"), None);
    }
}
