//! Shapes that are written by hand, in YAML: a misspelt keyword or type would state nothing, and everything would keep the contract.

use serde_json::Value;

/// JSON Schema 2020-12 and OpenAPI 3.0; besides, any `x-…`.
const KEYWORDS: [&str; 58] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "discriminator",
    "else",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Keywords whose value is a schema, a list of schemas, or a map of schemas.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAP: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// All that is wrong with a schema, each with its place.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut wrong = Vec::new();
    walk(schema, "", &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn walk(schema: &Value, at: &str, wrong: &mut Vec<String>) {
    let place = if at.is_empty() { String::new() } else { format!("{at}: ") };
    let fields = match schema {
        Value::Bool(_) => return,
        Value::Object(fields) => fields,
        other => {
            return wrong.push(format!("{place}{other} is not a schema: write for example {{type: string}}"));
        }
    };
    for (keyword, value) in fields {
        let below = format!("{at}/{keyword}");
        match keyword.as_str() {
            "type" => types(value, &below, wrong),
            word if ONE.contains(&word) => walk(value, &below, wrong),
            word if LIST.contains(&word) => {
                for (index, schema) in value.as_array().into_iter().flatten().enumerate() {
                    walk(schema, &format!("{below}/{index}"), wrong);
                }
            }
            word if MAP.contains(&word) => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    walk(schema, &format!("{below}/{name}"), wrong);
                }
            }
            word if KEYWORDS.contains(&word) || word.starts_with("x-") => {}
            word => wrong.push(format!("{place}unknown keyword {word}")),
        }
    }
}

fn types(value: &Value, at: &str, wrong: &mut Vec<String>) {
    let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let unknown = several.iter().filter(|name| !name.as_str().is_some_and(|name| TYPES.contains(&name)));
    wrong.extend(unknown.map(|name| format!("{at}: unknown type {name} (known: {})", TYPES.join(", "))));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let known = json!({"type": ["string", "null"], "x-kubernetes-int-or-string": true, "enum": ["tpye"]});
        for sound in [json!(true), json!({}), known] {
            assert_eq!(check(&sound), Ok(()), "{sound}");
        }
        let wrong = json!({
            "type": "bolean",
            "properties": {"type": {"type": "strnig"}, "a": "string"},
            "items": {"tpye": "string"},
            "anyOf": [{"type": 1}],
        });
        let known = "(known: array, boolean, integer, null, number, object, string)";
        let expected = [
            format!("/anyOf/0/type: unknown type 1 {known}"),
            "/items: unknown keyword tpye".to_owned(),
            "/properties/a: \"string\" is not a schema: write for example {type: string}".to_owned(),
            format!("/properties/type/type: unknown type \"strnig\" {known}"),
            format!("/type: unknown type \"bolean\" {known}"),
        ];
        let found = check(&wrong).unwrap_err();
        let mut found: Vec<_> = found.split("; ").collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
