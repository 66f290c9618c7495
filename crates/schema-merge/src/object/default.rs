//! Fills defaults into an object, in the order the API server does it.
//!
//! A default is filled in only where its parent exists. A null where the schema has a default and is not nullable is
//! replaced; the server drops other nulls that are not nullable (`object/prune.rs`).

use serde_json::{Map, Value};

use crate::merger::flag;

/// `value` with the defaults of `schema` filled in. Defaults inside defaults are filled in as well.
///
/// ```
/// use schema_merge::defaulted;
/// use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}});
/// assert_eq!(defaulted(&schema, &json!({})), json!({"a": "x"}));
/// ```
#[must_use]
pub fn defaulted(schema: &Value, value: &Value) -> Value {
    let mut value = value.clone();
    fill(schema, &mut value);
    value
}

fn fill(schema: &Value, value: &mut Value) {
    let Value::Object(schema) = schema else { return };
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            fill_properties(properties, map);
            for (name, value) in map.iter_mut() {
                let known = properties.and_then(|properties| properties.get(name));
                if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                    fill_null(schema, value);
                    fill(schema, value);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.get("items") else { return };
            for value in list {
                fill_null(items, value);
                fill(items, value);
            }
        }
        _ => {}
    }
}

/// Adds the properties that are absent and have a default.
fn fill_properties(properties: Option<&Map<String, Value>>, map: &mut Map<String, Value>) {
    for (name, schema) in properties.into_iter().flatten() {
        if let (Some(default), false) = (default_of(schema), map.contains_key(name)) {
            map.insert(name.clone(), default.clone());
        }
    }
}

fn fill_null(schema: &Value, value: &mut Value) {
    let nullable = schema.as_object().is_some_and(|schema| flag(schema, "nullable"));
    if let (Value::Null, false, Some(default)) = (&*value, nullable, default_of(schema)) {
        *value = default.clone();
    }
}

fn default_of(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}
