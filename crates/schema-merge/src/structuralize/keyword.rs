//! The keywords of one node, apart from unions.

use std::cmp::Ordering;

use go_compat::regexp;
use serde_json::{Map, Value, json};

use super::{StructuralizeErrorKind, Walk, anything, is_null};
use crate::keyword::{self, INT_OR_STRING, LIST_TYPE, PRESERVE};
use crate::merger::{flag, text};
use crate::number;
use crate::path::SchemaPath;

/// Keywords of JSON Schema that say nothing a CRD could say, and change nothing by going.
const SILENT: [&str; 12] = [
    "$schema",
    "$id",
    "id",
    "$defs",
    "definitions",
    "$comment",
    "$anchor",
    "deprecated",
    "readOnly",
    "writeOnly",
    "x-kubernetes-struct-type",
    "contentMediaType",
];

impl<'s> Walk<'s> {
    pub(super) fn keywords(
        &mut self,
        map: &'s Map<String, Value>,
        at: &mut SchemaPath,
    ) -> Map<String, Value> {
        let mut node = Map::new();
        for (name, value) in map {
            match name.as_str() {
                // Not translated one by one: `reference`, `unions` and `map_of` read these from `map`, and `bounds` the pairs.
                "$ref"
                | "anyOf"
                | "oneOf"
                | "allOf"
                | "not"
                | "additionalProperties"
                | "patternProperties" => {}
                "exclusiveMinimum" | "exclusiveMaximum" | "minimum" | "maximum" => {}
                name if SILENT.contains(&name) => {}
                "type" => self.kind(value, &mut node, at),
                "const" => drop(node.insert("enum".to_owned(), json!([value]))),
                "default" | "example" if value.is_null() => {}
                "examples" => {
                    let first = value.get(0).filter(|first| !first.is_null());
                    if let (Some(first), false) = (first, map.contains_key("example")) {
                        node.insert("example".to_owned(), first.clone());
                    }
                }
                "properties" => self.properties(value, &mut node, at),
                "items" => self.items(value, &mut node, at),
                "prefixItems" => self.error(at, StructuralizeErrorKind::Tuple),
                "uniqueItems" => {}
                "unevaluatedProperties" => {
                    if *value == json!(false) {
                        self.lose(at, "unknown fields are dropped instead of refused");
                    }
                }
                "pattern" => self.pattern(value, &mut node, at),
                known if keyword::holds(known).is_some() => drop(node.insert(name.clone(), value.clone())),
                other => self.lose(at, format!("{other} is not a keyword of CRD schemas and is dropped")),
            }
        }
        for (bound, exclusive, tighter) in [
            ("minimum", "exclusiveMinimum", Ordering::Greater),
            ("maximum", "exclusiveMaximum", Ordering::Less),
        ] {
            bounds(map, bound, exclusive, tighter, &mut node);
        }
        self.map_of(map, &mut node, at);
        self.unique(map, &mut node, at);
        node
    }

    /// `[T, null]` is a nullable T; integer and string together have an extension of their own.
    fn kind(&mut self, value: &Value, node: &mut Map<String, Value>, at: &SchemaPath) {
        let Value::Array(types) = value else {
            if *value == json!("null") {
                self.error(at, StructuralizeErrorKind::Empty("null"));
            }
            node.insert("type".to_owned(), value.clone());
            return;
        };
        let kinds: Vec<&str> =
            types.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
        if types.contains(&json!("null")) {
            node.insert("nullable".to_owned(), json!(true));
        }
        match *kinds.as_slice() {
            [] => self.error(at, StructuralizeErrorKind::Empty("null")),
            [kind] => drop(node.insert("type".to_owned(), json!(kind))),
            ["integer", "string"] | ["string", "integer"] => {
                drop(node.insert(INT_OR_STRING.to_owned(), json!(true)))
            }
            // Each integer is a number.
            ["integer", "number"] | ["number", "integer"] => {
                drop(node.insert("type".to_owned(), json!("number")))
            }
            _ => self.error(at, StructuralizeErrorKind::Union(kinds.join(" and "))),
        }
    }

    fn properties(&mut self, value: &'s Value, node: &mut Map<String, Value>, at: &mut SchemaPath) {
        let Value::Object(properties) = value else { return };
        let mut done = Map::new();
        for (name, property) in properties {
            let property = at.within(|at| at.push_property(name), |at| self.node(property, at));
            done.insert(name.clone(), Value::Object(property));
        }
        node.insert("properties".to_owned(), Value::Object(done));
    }

    fn items(&mut self, value: &'s Value, node: &mut Map<String, Value>, at: &mut SchemaPath) {
        if value.is_array() {
            return self.error(at, StructuralizeErrorKind::Tuple);
        }
        let item = at.within(|at| at.push_child("items"), |at| self.node(value, at));
        node.insert("items".to_owned(), Value::Object(item));
    }

    fn pattern(&mut self, value: &Value, node: &mut Map<String, Value>, at: &SchemaPath) {
        if let Some(Err(error)) = value.as_str().map(regexp::check) {
            self.error(at, StructuralizeErrorKind::Pattern(error.to_string()));
        }
        node.insert("pattern".to_owned(), value.clone());
    }

    /// A map, closed or open, with or without declared properties. A structural schema has `properties` or
    /// `additionalProperties`, not both:
    ///
    /// ```text
    /// {"properties": {"a": …}, "additionalProperties": true}        x-kubernetes-preserve-unknown-fields beside `properties`
    /// {"additionalProperties": true}                                each value preserves what is in it: `true` would prune that
    /// {"additionalProperties": false}                               nothing: fields that are not declared are dropped anyway
    /// {"patternProperties": {"^x-": {"type": "string"}}}            a map of strings, whose keys are not checked
    /// ```
    fn map_of(&mut self, map: &'s Map<String, Value>, node: &mut Map<String, Value>, at: &mut SchemaPath) {
        let declared = node
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| !properties.is_empty());
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        let values = match (
            map.get("additionalProperties"),
            patterns.map(|patterns| patterns.values().collect::<Vec<_>>()),
        ) {
            (None | Some(Value::Bool(false)), Some(patterns)) if patterns.len() == 1 => {
                self.lose(at, "the keys of the map are not checked any more");
                patterns.first().copied()
            }
            (values, Some(patterns)) if !patterns.is_empty() => {
                self.lose(at, "patternProperties is dropped");
                values
            }
            (values, _) => values,
        };
        match values {
            None => {}
            Some(Value::Bool(false)) => self.lose(at, "unknown fields are dropped instead of refused"),
            Some(Value::Bool(true)) if declared => drop(node.insert(PRESERVE.to_owned(), json!(true))),
            Some(Value::Bool(true)) => {
                drop(node.insert("additionalProperties".to_owned(), Value::Object(anything())))
            }
            Some(_) if declared => self.error(at, StructuralizeErrorKind::PropertiesAndMap),
            Some(values) => {
                let values =
                    at.within(|at| at.push_child("additionalProperties"), |at| self.node(values, at));
                node.insert("additionalProperties".to_owned(), Value::Object(values));
            }
        }
    }

    fn unique(&mut self, map: &Map<String, Value>, node: &mut Map<String, Value>, at: &SchemaPath) {
        if !flag(map, "uniqueItems") {
            return;
        }
        let item = node.get("items").and_then(|item| item.get("type")).and_then(Value::as_str);
        let scalar = matches!(item, Some("string" | "integer" | "number" | "boolean"));
        // The server refuses sets of values that may be null.
        let nullable = node.get("items").and_then(|item| item.get("nullable")).is_some();
        if self.style.unique_items_as_set && scalar && !nullable && !node.contains_key(LIST_TYPE) {
            node.insert(LIST_TYPE.to_owned(), json!("set"));
        } else {
            self.lose(
                at,
                "uniqueItems is dropped: the server compares all items with each other only in sets",
            );
        }
    }

    /// Adds what is left to say about a node once everything in it is done.
    pub(super) fn settle(&mut self, node: &mut Map<String, Value>, at: &SchemaPath) {
        self.without_null(node, at);
        if node.contains_key("type") || flag(node, INT_OR_STRING) || flag(node, PRESERVE) {
            return;
        }
        if let Some(kind) = inferred(node) {
            node.insert("type".to_owned(), json!(kind));
        } else if node.keys().all(|keyword| says_nothing(keyword)) {
            node.extend(anything());
        } else {
            self.error(at, StructuralizeErrorKind::Union("values of any type".to_owned()));
        }
    }

    /// The server never accepts null where there is an enum, so null in it only misleads.
    pub(super) fn without_null(&mut self, node: &mut Map<String, Value>, at: &SchemaPath) {
        let Some(Value::Array(values)) = node.get_mut("enum") else {
            return;
        };
        let before = values.len();
        values.retain(|value| !value.is_null());
        if values.is_empty() && before > 0 {
            node.remove("enum");
            self.error(at, StructuralizeErrorKind::Empty("null"));
        } else if values.len() < before {
            node.insert("nullable".to_owned(), json!(true));
            self.lose(at, "null is refused: the server never accepts it where there is an enum");
        }
    }
}

fn says_nothing(keyword: &str) -> bool {
    keyword::ANNOTATIONS.contains(&keyword) || matches!(keyword, "default" | "nullable")
}

/// The type that the other keywords leave, if it is only one: an object of `{"required": ["a"]}`, a string of `{"enum": ["a", "b"]}`,
/// none of `{"enum": ["a", 1]}`.
fn inferred(node: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| node.contains_key(*keyword));
    if has(&["properties", "additionalProperties", "required", "minProperties", "maxProperties"]) {
        return Some("object");
    }
    if has(&["items", "minItems", "maxItems"]) {
        return Some("array");
    }
    let values = node.get("enum").and_then(Value::as_array)?;
    let kind = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some("integer"),
        Value::Number(_) => Some("number"),
        _ => None,
    };
    let first = values.first().and_then(kind)?;
    values.iter().all(|value| kind(value) == Some(first)).then_some(first)
}

/// Draft 4, whose form CRDs have, knows a bound and a flag, later drafts two bounds; the tighter one is kept, the exclusive one if equal.
///
/// ```text
/// {"minimum": 1, "exclusiveMinimum": 3}        {"minimum": 3, "exclusiveMinimum": true}
/// {"minimum": 5, "exclusiveMinimum": 3}        {"minimum": 5}
/// {"minimum": 3, "exclusiveMinimum": 3}        {"minimum": 3, "exclusiveMinimum": true}
/// ```
fn bounds(
    map: &Map<String, Value>,
    bound: &str,
    exclusive: &str,
    tighter: Ordering,
    node: &mut Map<String, Value>,
) {
    let closed = map.get(bound).and_then(Value::as_number);
    let open = map.get(exclusive);
    match (closed, open) {
        (closed, Some(Value::Number(open))) => {
            let keep = closed.filter(|closed| number::compare(closed, open) == tighter);
            node.insert(bound.to_owned(), Value::Number(keep.unwrap_or(open).clone()));
            if keep.is_none() {
                node.insert(exclusive.to_owned(), json!(true));
            }
        }
        _ => {
            for keyword in [bound, exclusive] {
                if let Some(value) = map.get(keyword) {
                    node.insert(keyword.to_owned(), value.clone());
                }
            }
        }
    }
}

/// The type of a node, in the words of an error.
pub(super) fn kind_of(node: &Map<String, Value>) -> &str {
    if flag(node, INT_OR_STRING) {
        return "integer or string";
    }
    text(node, "type").unwrap_or("anything")
}

/// Returns whether any of the schemas is only null, and the ones that are not.
pub(super) fn split_null(members: &[Value]) -> (bool, Vec<(usize, &Value)>) {
    let rest: Vec<_> = members.iter().enumerate().filter(|(_, member)| !is_null(member)).collect();
    (rest.len() < members.len(), rest)
}
