//! Variants of an object, told apart by what they require and by discriminators.
//!
//! A structural object has one set of properties. The properties of all variants are declared together, and what tells
//! the variants apart goes under `oneOf` or `anyOf`: their `required`, and the values of an enum they have in common.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::junctor_keywords::bare;
use crate::keyword::ANNOTATIONS;
use crate::merger::text;
use crate::number;

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
    let mut joined = BTreeSet::new();
    for variant in &variants {
        for (name, schema) in variant.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match declared.get_mut(name) {
                None => drop(declared.insert(name.clone(), schema.clone())),
                Some(known) if same_shape(known, schema) => {}
                Some(known) => {
                    join_enums(known, schema).ok_or_else(|| name.clone())?;
                    joined.insert(name.clone());
                }
            }
        }
        if ANNOTATIONS.iter().any(|annotation| variant.contains_key(*annotation)) {
            losses.push("the descriptions of the variants are dropped".to_owned());
        }
        if variant.contains_key("additionalProperties") {
            return Err("additionalProperties".to_owned());
        }
    }
    for name in joined {
        if let Some(Value::Array(values)) = declared.get_mut(&name).and_then(|schema| schema.get_mut("enum"))
        {
            *values = number::unique(values);
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

/// Returns what a variant requires beyond the declarations it shares with the others.
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

/// Lets a string that has an enum in both schemas take the values of both; repetitions are left to the caller.
fn join_enums(known: &mut Value, other: &Value) -> Option<()> {
    if !same_but(known, other, "enum") || text(known.as_object()?, "type") != Some("string") {
        return None;
    }
    let values = other.get("enum")?.as_array()?;
    match known.get_mut("enum")? {
        Value::Array(list) => {
            list.extend(values.iter().cloned());
            Some(())
        }
        _ => None,
    }
}

/// Returns true if two schemas differ in descriptions at most.
fn same_shape(left: &Value, right: &Value) -> bool {
    same_but(left, right, "")
}

/// Returns true if two schemas differ in descriptions and in this keyword of the outermost schema at most.
fn same_but(left: &Value, right: &Value, ignored: &str) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else {
        return left == right;
    };
    let counts = |keyword: &&String| *keyword != ignored && !ANNOTATIONS.contains(&keyword.as_str());
    left.keys().filter(counts).count() == right.keys().filter(counts).count()
        && left.iter().filter(|(keyword, _)| counts(keyword)).all(|(keyword, left)| {
            right.get(keyword).is_some_and(|right| match (keyword.as_str(), left, right) {
                ("properties", Value::Object(left), Value::Object(right)) => {
                    left.len() == right.len()
                        && left
                            .iter()
                            .all(|(name, left)| right.get(name).is_some_and(|right| same_shape(left, right)))
                }
                ("items" | "additionalProperties", left, right) => same_shape(left, right),
                (_, left, right) => left == right,
            })
        })
}
