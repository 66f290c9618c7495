//! Values through serde. A format that hands numbers over as binary numbers has dropped their text already;
//! [`Value::from_json_str`] and [`Value::to_json_str`] keep it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Array, Number, Object, Value, json};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null | Self::Undefined => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => serialize_number(number, serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items.iter()),
            Self::Set(items) => serializer.collect_seq(items.iter()),
            Self::Object(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs.iter() {
                    match key {
                        Self::String(text) => map.serialize_entry(&**text, value)?,
                        key => map.serialize_entry(&json::write(key), value)?,
                    }
                }
                map.end()
            }
        }
    }
}

fn serialize_number<S: Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    if !number.is_spelled_as_float() {
        if let Some(small) = number.as_i64() {
            return serializer.serialize_i64(small);
        }
        if let Some(small) = number.as_u64() {
            return serializer.serialize_u64(small);
        }
    }
    let beyond = || serde::ser::Error::custom(format!("{} is beyond a binary float", number.text()));
    serializer.serialize_f64(number.as_f64().ok_or_else(beyond)?)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i128<E>(self, number: i128) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u128<E>(self, number: u128) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Array::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(items.into_value())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = access.next_entry()? {
            pairs.push(pair);
        }
        Ok(Object::of(pairs).into_value())
    }
}

impl From<serde_json::Value> for Value {
    /// Numbers are spelled as serde_json writes them.
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(bool) => Self::Bool(bool),
            serde_json::Value::Number(number) => {
                number.as_i64().map_or_else(|| Self::Number(Number::spelled(&number.to_string())), Self::from)
            }
            serde_json::Value::String(text) => text.into(),
            serde_json::Value::Array(items) => items.into_iter().map(Self::from).collect::<Array>().into(),
            serde_json::Value::Object(pairs) => {
                let pairs = pairs.into_iter().map(|(key, value)| (key.into(), value.into()));
                pairs.collect::<Object>().into()
            }
        }
    }
}
