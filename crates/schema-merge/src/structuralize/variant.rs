//! Variants of an object, told apart by what they require and by discriminators.
//!
//! A structural object has one set of properties. The properties of all variants are declared together, and what tells
//! the variants apart goes under `oneOf` or `anyOf`: their `required`, and the values of an enum they have in common.

use serde_json::{Map, Value, json};

use super::bare::bare;
use crate::keyword::ANNOTATIONS;
use crate::merger::text;

/// Makes `other` part of `node`. On failure gives the name of what both describe differently.
pub(super) fn absorb(node: &mut Map<String, Value>, other: Map<String, Value>) -> Result<(), String> {
    for (keyword, value) in other {
        match (node.get_mut(&keyword), value) {
            (None, value) => drop(node.insert(keyword, value)),
            (Some(Value::Object(ours)), Value::Object(theirs)) if keyword == "properties" => {
                for (name, schema) in theirs {
                    match ours.get(&name) {
                        None => drop(ours.insert(name, schema)),
                        Some(known) if same_shape(known, &schema) => {}
                        Some(_) => return Err(name),
                    }
                }
            }
            (Some(Value::Array(ours)), Value::Array(theirs))
                if keyword == "required" || keyword == "allOf" =>
            {
                let new: Vec<_> = theirs.into_iter().filter(|name| !ours.contains(name)).collect();
                ours.extend(new);
            }
            (Some(_), _)
                if ANNOTATIONS.contains(&keyword.as_str())
                    || keyword == "default"
                    || keyword == "nullable" => {}
            (Some(known), value) if *known == value => {}
            (Some(_), value) => {
                // Two junctors of a kind can still hold side by side.
                let clause = json!({ keyword.clone(): value });
                if !matches!(keyword.as_str(), "oneOf" | "anyOf" | "not") {
                    return Err(keyword);
                }
                match node.entry("allOf").or_insert_with(|| json!([])) {
                    Value::Array(list) => list.push(clause),
                    _ => return Err(keyword),
                }
            }
        }
    }
    Ok(())
}

/// Declares the properties of all variants in `node` and keeps under `keyword` what tells them apart. Gives what got lost;
/// on failure, the name of a property that two variants describe differently.
pub(super) fn hoist(
    keyword: &str,
    variants: Vec<Map<String, Value>>,
    node: &mut Map<String, Value>,
) -> Result<Vec<String>, String> {
    let mut losses = Vec::new();
    let mut declared: Map<String, Value> = Map::new();
    for variant in &variants {
        for (name, schema) in variant.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match declared.get_mut(name) {
                None => drop(declared.insert(name.clone(), schema.clone())),
                Some(known) if same_shape(known, schema) => {}
                Some(known) => join_enums(known, schema).ok_or_else(|| name.clone())?,
            }
        }
        if ANNOTATIONS.iter().any(|annotation| variant.contains_key(*annotation)) {
            losses.push("the descriptions of the variants are dropped".to_owned());
        }
        if variant.contains_key("additionalProperties") {
            return Err("additionalProperties".to_owned());
        }
    }
    let clauses: Vec<Value> =
        variants.iter().map(|variant| Value::Object(clause(variant, &declared))).collect();
    let mut shape = Map::new();
    shape.insert("type".to_owned(), json!("object"));
    if variants.iter().any(|variant| variant.contains_key(crate::keyword::PRESERVE)) {
        shape.insert(crate::keyword::PRESERVE.to_owned(), json!(true));
    }
    if !declared.is_empty() {
        shape.insert("properties".to_owned(), Value::Object(declared));
    }
    if clauses.iter().any(|clause| *clause == json!({})) {
        losses.push(format!("one variant of {keyword} requires nothing, so that the others say nothing"));
    } else {
        shape.insert(keyword.to_owned(), Value::Array(clauses));
    }
    absorb(node, shape)?;
    Ok(losses)
}

/// What a variant requires beyond the declarations it shares with the others.
fn clause(variant: &Map<String, Value>, declared: &Map<String, Value>) -> Map<String, Value> {
    let mut clause = bare(variant);
    let own = variant.get("properties").and_then(Value::as_object);
    let narrower = |(name, schema): (&String, &Value)| {
        let values = schema.get("enum")?;
        let shared = declared.get(name)?.get("enum")?;
        (shared != values).then(|| (name.clone(), json!({ "enum": values })))
    };
    let narrower: Map<String, Value> = own.into_iter().flatten().filter_map(narrower).collect();
    clause.remove("properties");
    if !narrower.is_empty() {
        clause.insert("properties".to_owned(), Value::Object(narrower));
    }
    clause
}

/// Lets a string that has an enum in both schemas take the values of both.
fn join_enums(known: &mut Value, other: &Value) -> Option<()> {
    let without = |schema: &Value| {
        let mut schema = without_annotations(schema);
        schema.as_object_mut().map(|schema| schema.remove("enum"));
        schema
    };
    if without(known) != without(other) || text(known.as_object()?, "type") != Some("string") {
        return None;
    }
    let values = other.get("enum")?.as_array()?.clone();
    match known.get_mut("enum")? {
        Value::Array(list) => {
            let new: Vec<_> = values.into_iter().filter(|value| !list.contains(value)).collect();
            list.extend(new);
            Some(())
        }
        _ => None,
    }
}

/// Whether two schemas differ in descriptions at most.
fn same_shape(left: &Value, right: &Value) -> bool {
    without_annotations(left) == without_annotations(right)
}

fn without_annotations(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut kept = Map::new();
    for (keyword, value) in map.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(&keyword.as_str())) {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.iter().map(|(name, schema)| (name.clone(), without_annotations(schema))).collect()
            }
            ("items" | "additionalProperties", schema) => without_annotations(schema),
            (_, value) => value.clone(),
        };
        kept.insert(keyword.clone(), value);
    }
    Value::Object(kept)
}
