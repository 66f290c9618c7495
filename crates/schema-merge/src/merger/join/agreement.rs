//! The keywords on which all descriptions of a node must agree: type, format, default, extensions.
//!
//! A description that says what the node is (it *shapes* the node) also says something by leaving a keyword out. One
//! that shapes nothing, such as `{}`, speaks only about the keywords it has. That makes the join associative.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::super::flag;
use super::{Contribution, Join};
use crate::conflict::{ConflictSide, MergeError};
use crate::keyword::{ANNOTATIONS, INT_OR_STRING, LIST_MAP_KEYS, PRESERVE, RULES};
use crate::number;
use crate::path::SchemaPath;

/// Returns true if the description says what the node is.
pub(super) fn shapes(schema: &Map<String, Value>) -> bool {
    schema.contains_key("type") || flag(schema, PRESERVE) || flag(schema, INT_OR_STRING)
}

/// Joins every keyword that is neither a value validation nor a place of further schemas.
pub(super) fn join(
    join: &mut Join<'_>,
    at: &SchemaPath,
    parts: &[Contribution<'_>],
    is_validation: fn(&str) -> bool,
) -> Map<String, Value> {
    let keywords: BTreeSet<&str> =
        parts.iter().flat_map(|part| part.schema.keys()).map(String::as_str).collect();
    let mut joined = Map::new();
    for keyword in keywords {
        let value = match keyword {
            "properties" | "items" | "additionalProperties" => continue,
            _ if is_validation(keyword) => continue,
            RULES => rules(join, at, parts),
            _ if ANNOTATIONS.contains(&keyword) => annotation(keyword, parts),
            _ => agree(join, at, keyword, parts),
        };
        if let Some(value) = value {
            joined.insert(keyword.to_owned(), value);
        }
    }
    joined
}

/// The value on which all descriptions agree; reports each value that differs from the first.
pub(super) fn agree(
    join: &mut Join<'_>,
    at: &SchemaPath,
    keyword: &str,
    parts: &[Contribution<'_>],
) -> Option<Value> {
    // format: date  with  {type: string}          differ: the second shapes the node and has no format
    // format: date  with  {description: "when"}   agree: the second shapes nothing
    let speaking = parts.iter().filter(|part| part.schema.contains_key(keyword) || shapes(part.schema));
    let claims: Vec<(&str, Option<Value>)> = speaking
        .map(|part| {
            (part.fragment.origin.as_str(), part.schema.get(keyword).and_then(|value| normal(keyword, value)))
        })
        .collect();
    let (first_origin, first) = claims.first()?;
    // Of a, b, b, c the conflicts are a with b and a with c: one for each value, not for each pair.
    let mut differing: Vec<&Option<Value>> = Vec::new();
    for (origin, value) in &claims {
        if equal(first, value) || differing.iter().any(|other| equal(other, value)) {
            continue;
        }
        differing.push(value);
        join.errors.push(MergeError::Conflict {
            at: at.clone(),
            keyword: keyword.to_owned(),
            left: Box::new(ConflictSide { origin: (*first_origin).to_owned(), value: first.clone() }),
            right: Box::new(ConflictSide { origin: (*origin).to_owned(), value: value.clone() }),
        });
    }
    // With errors the outcome is thrown away, so that any of the values will do.
    first.clone()
}

fn equal(left: &Option<Value>, right: &Option<Value>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => number::same(left, right),
        _ => false,
    }
}

/// One spelling for what means the same: a flag that is off is absent, a set has no order.
fn normal(keyword: &str, value: &Value) -> Option<Value> {
    match (keyword, value) {
        (PRESERVE, _) => Some(value.clone()),
        (_, Value::Bool(false)) if keyword != "default" && keyword != "additionalProperties" => None,
        ("default", Value::Null) => None,
        (LIST_MAP_KEYS | "enum" | "required", Value::Array(list)) => Some(Value::Array(as_set(list))),
        _ => Some(value.clone()),
    }
}

/// The values sorted and without repetitions.
pub(super) fn as_set(list: &[Value]) -> Vec<Value> {
    let mut list = list.to_vec();
    list.sort_by(number::order);
    list.dedup_by(|right, left| number::same(left, right));
    list
}

/// Descriptions and the like never conflict: the highest precedence wins, then the smallest origin.
fn annotation(keyword: &str, parts: &[Contribution<'_>]) -> Option<Value> {
    let said = parts.iter().filter_map(|part| Some((part.fragment, part.schema.get(keyword)?)));
    let best = said.min_by(|(left, left_value), (right, right_value)| {
        (Reverse(left.policy.precedence), &left.origin)
            .cmp(&(Reverse(right.policy.precedence), &right.origin))
            .then_with(|| number::order(left_value, right_value))
    });
    best.map(|(_, value)| value.clone())
}

/// The union of all rules. The API server keys the list by `rule`, so one rule cannot have two messages.
fn rules(join: &mut Join<'_>, at: &SchemaPath, parts: &[Contribution<'_>]) -> Option<Value> {
    let mut by_rule: BTreeMap<String, (&str, &Value)> = BTreeMap::new();
    for part in parts {
        let Some(value) = part.schema.get(RULES) else {
            continue;
        };
        let Value::Array(list) = value else {
            return agree(join, at, RULES, parts);
        };
        for entry in list {
            // [{rule: "self > 1", message: m}] with the same rule and another message is a conflict; with another rule, both.
            let rule =
                entry.get("rule").and_then(Value::as_str).map_or_else(|| entry.to_string(), str::to_owned);
            let (origin, known) = *by_rule.entry(rule).or_insert((&part.fragment.origin, entry));
            if !number::same(known, entry) {
                join.errors.push(MergeError::Conflict {
                    at: at.clone(),
                    keyword: RULES.to_owned(),
                    left: Box::new(ConflictSide { origin: origin.to_owned(), value: Some(known.clone()) }),
                    right: Box::new(ConflictSide {
                        origin: part.fragment.origin.clone(),
                        value: Some(entry.clone()),
                    }),
                });
            }
        }
    }
    Some(by_rule.into_values().map(|(_, entry)| entry.clone()).collect())
}
