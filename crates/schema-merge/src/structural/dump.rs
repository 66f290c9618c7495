//! Prints values the way Go does, because the API server's messages contain them.
//!
//! Rule 16 dumps whole schemas: the internal Go struct, field by field, in the order of its declaration.

use std::collections::BTreeMap;

use go_compat::json;
use serde_json::{Map, Value, json};

use crate::keyword::{EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE};
use crate::node::{Additional, Items, Node};

/// A value as the server prints it after reading it.
pub(crate) fn go_json(value: &Value) -> String {
    json::marshal(&as_read(value))
}

/// Kubernetes reads an integer beyond 64 bits with a sign as a double.
fn as_read(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_u64() && !number.is_i64() => json!(number.as_f64()),
        Value::Array(list) => list.iter().map(as_read).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), as_read(value))).collect(),
        other => other.clone(),
    }
}

/// A decoded schema as the server dumps it.
pub(crate) fn go_schema(node: &Node<'_>) -> String {
    let mut out = Vec::new();
    let mut field = |name: &str, value: String| out.push(format!("\"{name}\":{value}"));
    let text = |keyword: &str| json_text(node.string(keyword));
    let flag = |keyword: &str| node.flag(keyword).to_string();
    let raw = |keyword: &str| node.get(keyword).map_or_else(|| "null".to_owned(), go_json);
    // Lists of scalars and the pointers of Go print alike: null or the value.
    field("ID", text("id"));
    field("Schema", text("$schema"));
    field("Ref", raw("$ref"));
    field("Description", text("description"));
    field("Type", text("type"));
    field("Nullable", flag("nullable"));
    field("Format", text("format"));
    field("Title", text("title"));
    for (name, keyword) in [("Default", "default"), ("Maximum", "maximum")] {
        field(name, raw(keyword));
    }
    field("ExclusiveMaximum", flag("exclusiveMaximum"));
    field("Minimum", raw("minimum"));
    field("ExclusiveMinimum", flag("exclusiveMinimum"));
    field("MaxLength", raw("maxLength"));
    field("MinLength", raw("minLength"));
    field("Pattern", text("pattern"));
    field("MaxItems", raw("maxItems"));
    field("MinItems", raw("minItems"));
    field("UniqueItems", flag("uniqueItems"));
    let lists = ["multipleOf", "enum", "maxProperties", "minProperties", "required"];
    for (name, keyword) in
        ["MultipleOf", "Enum", "MaxProperties", "MinProperties", "Required"].into_iter().zip(lists)
    {
        field(name, raw(keyword));
    }
    field("Items", node.items.as_ref().map_or_else(|| "null".to_owned(), go_items));
    field("AllOf", schemas(&node.all_of, node.get("allOf").is_some()));
    field("OneOf", schemas(&node.one_of, node.get("oneOf").is_some()));
    field("AnyOf", schemas(&node.any_of, node.get("anyOf").is_some()));
    field("Not", node.not.as_deref().map_or_else(|| "null".to_owned(), go_schema));
    field("Properties", properties(node));
    field("AdditionalProperties", additional(node));
    rest(node, &mut field);
    format!("{{{}}}", out.join(","))
}

fn rest(node: &Node<'_>, field: &mut impl FnMut(&str, String)) {
    let raw = |keyword: &str| node.get(keyword).map_or_else(|| "null".to_owned(), go_json);
    for (name, keyword) in [
        ("PatternProperties", "patternProperties"),
        ("Dependencies", "dependencies"),
        ("AdditionalItems", "additionalItems"),
    ] {
        field(name, raw(keyword));
    }
    field("Definitions", definitions(node));
    let docs = node.get("externalDocs").and_then(Value::as_object);
    let docs = docs
        .map(|docs| fields(docs, &[("Description", "description", json!("")), ("URL", "url", json!(""))]));
    field("ExternalDocs", docs.unwrap_or_else(|| "null".to_owned()));
    field("Example", raw("example"));
    field("XPreserveUnknownFields", raw(PRESERVE));
    field("XEmbeddedResource", node.flag(EMBEDDED).to_string());
    field("XIntOrString", node.flag(INT_OR_STRING).to_string());
    for (name, keyword) in [("XListMapKeys", LIST_MAP_KEYS), ("XListType", LIST_TYPE), ("XMapType", MAP_TYPE)]
    {
        field(name, raw(keyword));
    }
    let rules = node.get("x-kubernetes-validations").is_some();
    let list = list_of(node.rules().iter().map(go_rule));
    field("XValidations", if rules { list } else { "null".to_owned() });
}

/// A validation rule as the server dumps it.
pub(super) fn go_rule(rule: &Value) -> String {
    let empty = Map::new();
    fields(
        rule.as_object().unwrap_or(&empty),
        &[
            ("Rule", "rule", json!("")),
            ("Message", "message", json!("")),
            ("MessageExpression", "messageExpression", json!("")),
            ("Reason", "reason", Value::Null),
            ("FieldPath", "fieldPath", json!("")),
            ("OptionalOldSelf", "optionalOldSelf", Value::Null),
        ],
    )
}

/// Prints what `items` decoded to, as the server dumps it.
pub(super) fn go_items(items: &Items<'_>) -> String {
    let (one, many) = match items {
        Items::Schema(item) => (go_schema(item), "null".to_owned()),
        Items::Schemas(list) => ("null".to_owned(), schemas(list, true)),
        Items::Nothing => ("null".to_owned(), "null".to_owned()),
    };
    format!("{{\"Schema\":{one},\"JSONSchemas\":{many}}}")
}

fn schemas(list: &[Node<'_>], present: bool) -> String {
    if present { list_of(list.iter().map(go_schema)) } else { "null".to_owned() }
}

fn properties(node: &Node<'_>) -> String {
    if node.get("properties").is_some() { named(&node.properties) } else { "null".to_owned() }
}

fn definitions(node: &Node<'_>) -> String {
    node.refused
        .as_ref()
        .filter(|_| node.get("definitions").is_some())
        .map_or_else(|| "null".to_owned(), |refused| named(&refused.definitions))
}

fn named(schemas: &BTreeMap<&str, Node<'_>>) -> String {
    let entries: Vec<_> =
        schemas.iter().map(|(name, schema)| format!("{}:{}", json_text(name), go_schema(schema))).collect();
    format!("{{{}}}", entries.join(","))
}

fn additional(node: &Node<'_>) -> String {
    match &node.additional_properties {
        None => "null".to_owned(),
        Some(Additional::Bool(allows)) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        Some(Additional::Schema(schema)) => format!("{{\"Allows\":true,\"Schema\":{}}}", go_schema(schema)),
    }
}

fn fields(map: &Map<String, Value>, names: &[(&str, &str, Value)]) -> String {
    let value = |keyword: &str, absent: &Value| {
        go_json(map.get(keyword).filter(|value| !value.is_null()).unwrap_or(absent))
    };
    let entries: Vec<_> = names
        .iter()
        .map(|(name, keyword, absent)| format!("\"{name}\":{}", value(keyword, absent)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn list_of(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn json_text(text: &str) -> String {
    let mut out = String::new();
    json::quote(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_go_prints_them() {
        assert_eq!(
            go_json(&json!({"b": [1, 2.5, 1e21, 1e-7], "a": "<x>\n"})),
            r#"{"a":"\u003cx\u003e\n","b":[1,2.5,1e+21,1e-7]}"#
        );
        assert_eq!(go_json(&json!([1e300, 1e6, u64::MAX])), "[1e+300,1000000,18446744073709552000]");
    }
}
