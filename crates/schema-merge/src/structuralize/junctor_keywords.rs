//! The keywords that may stay inside a junctor: value validations, without types and descriptions.

use serde_json::{Map, Value};

/// Keywords that junctors may hold and that hold no schemas.
const PLAIN: [&str; 17] = [
    "required",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "x-kubernetes-validations",
];

/// The value validations of a node.
pub(super) fn bare(node: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (keyword, value) in node {
        let value = match (keyword.as_str(), value) {
            ("uniqueItems" | "x-kubernetes-validations", _) => continue,
            (keyword, value) if PLAIN.contains(&keyword) => value.clone(),
            ("properties", Value::Object(properties)) => {
                let bare = |(name, value): (&String, &Value)| {
                    let value = bare(value.as_object()?);
                    (!value.is_empty()).then(|| (name.clone(), Value::Object(value)))
                };
                let properties: Map<_, _> = properties.iter().filter_map(bare).collect();
                if properties.is_empty() {
                    continue;
                }
                Value::Object(properties)
            }
            ("items" | "not", Value::Object(schema)) => {
                let schema = bare(schema);
                if schema.is_empty() {
                    continue;
                }
                Value::Object(schema)
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                list.iter().filter_map(Value::as_object).map(|member| Value::Object(bare(member))).collect()
            }
            _ => continue,
        };
        kept.insert(keyword.clone(), value);
    }
    kept
}
