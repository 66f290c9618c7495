//! JSON as values of a declared type: times are times, numbers are floats, and fields have the names of expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use go_compat::base64::decode_url;
use serde_json::Value as Json;

use crate::library::time_of;
use crate::types::Type;
use crate::value::{Key, Map, Value};

use super::{Parts, TypeDeclaration, escaped};

impl TypeDeclaration {
    /// Converts a JSON value to a value of this type; returns `None` when it is not one. Bytes are read as the API server
    /// reads those of a schema: in base64 with `-` and `_`.
    ///
    /// Fields that are not declared are dropped: expressions cannot see them.
    #[must_use]
    pub fn value(&self, json: &Json) -> Option<Value> {
        match (&self.parts, json) {
            (_, Json::Null) => Some(Value::Null),
            (Parts::Items(item), Json::Array(items)) => {
                items.iter().map(|json| item.value(json)).collect::<Option<Vec<_>>>().map(Value::list)
            }
            (Parts::Values(value), Json::Object(entries)) => {
                let entry =
                    |(name, json): (&String, &Json)| Some((Key::from(name.as_str()), value.value(json)?));
                entries.iter().map(entry).collect::<Option<Map>>().map(Value::Map)
            }
            (Parts::Fields(fields), Json::Object(entries)) => object(fields, entries),
            (Parts::None, json) => self.scalar(json),
            _ => None,
        }
    }

    fn scalar(&self, json: &Json) -> Option<Value> {
        match (&self.of, json) {
            (Type::Bool, Json::Bool(truth)) => Some(Value::Bool(*truth)),
            (Type::Int, Json::Number(number)) => number.as_i64().map(Value::Int),
            (Type::Double, Json::Number(number)) => number.as_f64().map(Value::Float),
            (Type::String, Json::String(text)) => Some(Value::string(text.as_str())),
            (Type::Bytes, Json::String(text)) => {
                decode_url(text.as_bytes()).map(|bytes| Value::Bytes(Arc::new(bytes)))
            }
            (Type::Duration, Json::String(text)) => time_of("duration", text),
            (Type::Timestamp, Json::String(text)) => {
                // A date alone begins at midnight.
                time_of("timestamp", text).or_else(|| time_of("timestamp", &format!("{text}T00:00:00Z")))
            }
            (Type::Dyn, Json::String(text)) => Some(Value::string(text.as_str())),
            (Type::Dyn, Json::Number(number)) => number.as_i64().map(Value::Int),
            _ => None,
        }
    }
}

fn object(
    fields: &BTreeMap<String, TypeDeclaration>,
    entries: &serde_json::Map<String, Json>,
) -> Option<Value> {
    let mut values = Vec::new();
    // A field that is null is absent, as for the API server.
    for (name, json) in entries.iter().filter(|(_, json)| !json.is_null()) {
        let declared = escaped(name).and_then(|name| fields.get(&name).map(|field| (name, field)));
        if let Some((name, field)) = declared {
            values.push((Key::from(name.as_str()), field.value(json)?));
        }
    }
    Some(Value::Map(values.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_the_declared_types_and_the_names_of_expressions() {
        let fields = [
            ("x-y", TypeDeclaration::number(), false),
            ("at", TypeDeclaration::date(), false),
            ("raw", TypeDeclaration::bytes(None), false),
            ("for", TypeDeclaration::map(TypeDeclaration::duration(), None), false),
        ];
        let declaration = TypeDeclaration::object(fields);
        let json =
            json!({"x-y": 1, "at": "2020-01-02", "for": {"a-b": "1h"}, "raw": "_w==", "unknown": true});
        let Some(Value::Map(map)) = declaration.value(&json) else { panic!("an object") };
        let shown: Vec<_> = map.iter().map(|(key, value)| format!("{key}: {value:?}")).collect();
        assert_eq!(shown.len(), 4, "{shown:?}");
        assert_eq!(map.field("x__dash__y"), Some(&Value::Float(1.0)));
        assert!(matches!(map.field("at"), Some(Value::Timestamp(_))), "{shown:?}");
        assert!(map.field("__for__").is_some(), "{shown:?}");
        assert_eq!(map.field("raw"), Some(&Value::Bytes(Arc::new(vec![255]))));
        assert_eq!(declaration.value(&json!({"raw": "/w=="})), None);
        assert_eq!(declaration.value(&json!({"x-y": "one"})), None);
    }
}
