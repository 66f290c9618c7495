//! Fills defaults into an object, in the order the API server does it.
//!
//! A default is filled in only where its parent exists. A null where the schema has a default and is not nullable is
//! replaced; the server drops other nulls that are not nullable (`object/prune.rs`).

use serde_json::{Map, Value};

use crate::decode::decode;
use crate::node::Node;

/// Fills the defaults of `schema` into a copy of `value`. Defaults inside defaults are filled in as well.
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
    fill(&decode(schema, "", "").0, &mut value);
    value
}

/// Fills in the defaults where they are missing.
pub(super) fn fill(node: &Node<'_>, value: &mut Value) {
    match value {
        Value::Object(map) => {
            fill_properties(node, map);
            for (name, value) in map.iter_mut() {
                if let Some(node) = node.properties.get(name.as_str()).or(node.additional()) {
                    fill_null(node, value);
                    fill(node, value);
                }
            }
        }
        Value::Array(list) => {
            let Some(item) = node.item() else { return };
            for value in list {
                fill_null(item, value);
                fill(item, value);
            }
        }
        _ => {}
    }
}

/// Adds the properties that are absent and have a default.
fn fill_properties(node: &Node<'_>, map: &mut Map<String, Value>) {
    for (name, node) in &node.properties {
        if let (Some(default), false) = (node.default_value(), map.contains_key(*name)) {
            map.insert((*name).to_owned(), default.clone());
        }
    }
}

fn fill_null(node: &Node<'_>, value: &mut Value) {
    if let (Value::Null, false, Some(default)) = (&*value, node.flag("nullable"), node.default_value()) {
        *value = default.clone();
    }
}
