//! The value validations of one node: equal where a contributor is strict, intersected where all allow it.
//!
//! An intersection that leaves nothing is an error here. The API server would accept it and refuse every object.
//!
//! ```text
//! minimum: 1, enum: [1, 2, 3], pattern: a      and  minimum: 2, enum: [2, 3, 4], pattern: b
//! → minimum: 2, enum: [2, 3], allOf: [{pattern: a}, {pattern: b}]
//!
//! minimum: 5  and  maximum: 3                  → an error: no value is valid
//! ```

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Number, Value, json};

use super::super::flag;
use super::agreement::{agree, as_set};
use super::{Contribution, Join, mistyped};
use crate::conflict::{ConflictSide, MergeError};
use crate::fragment::Sharing;
use crate::keyword::ANNOTATIONS;
use crate::number::{self, ByValue};
use crate::path::SchemaPath;

/// Lower and upper bounds that belong together.
const BOUNDS: [(&str, &str); 4] = [
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
];
/// Validations of which several hold at once by standing side by side under `allOf`.
const CLAUSES: [&str; 5] = ["anyOf", "oneOf", "not", "pattern", "multipleOf"];
const REST: [&str; 6] = ["allOf", "enum", "required", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"];

/// Returns true if this file joins `keyword`.
pub(super) fn owns(keyword: &str) -> bool {
    BOUNDS.iter().any(|(low, high)| *low == keyword || *high == keyword)
        || CLAUSES.contains(&keyword)
        || REST.contains(&keyword)
}

pub(super) fn join(
    join: &mut Join<'_>,
    at: &SchemaPath,
    parts: &[Contribution<'_>],
    joined: &mut Map<String, Value>,
) {
    // One strict contributor is enough: strict sharing means that no other fragment narrows what it says.
    let strict = parts.iter().any(|part| part.fragment.policy.sharing != Sharing::SharedIntersect);
    if let Some(names) = required(join, at, parts, strict) {
        joined.insert("required".to_owned(), names);
    }
    if strict {
        equal(join, at, parts, joined);
    } else {
        intersect(join, at, parts, joined);
    }
}

fn equal(join: &mut Join<'_>, at: &SchemaPath, parts: &[Contribution<'_>], joined: &mut Map<String, Value>) {
    let keywords: BTreeSet<&String> = parts.iter().flat_map(|part| part.schema.keys()).collect();
    let owned = keywords.into_iter().filter(|keyword| owns(keyword) && *keyword != "required");
    for keyword in owned.map(String::as_str) {
        if let Some(value) = agree(join, at, keyword, parts) {
            joined.insert(keyword.to_owned(), bare(&value, is_junctor(keyword)));
        }
    }
}

fn intersect(
    join: &mut Join<'_>,
    at: &SchemaPath,
    parts: &[Contribution<'_>],
    joined: &mut Map<String, Value>,
) {
    for (low, high) in BOUNDS {
        bound(parts, low, Ordering::Greater, joined);
        bound(parts, high, Ordering::Less, joined);
        // Each of minimum: 5 and maximum: 3 is fine alone; only the joined pair can cross.
        if let Some(detail) = crossed(joined, low, high) {
            unsatisfiable(join, at, parts, detail);
        }
    }
    if let Some(value) = mistyped(parts, "enum", Value::is_array) {
        joined.insert("enum".to_owned(), value);
    } else if let Some(values) = common(parts) {
        if values.is_empty() {
            unsatisfiable(join, at, parts, "the enums have no value in common".to_owned());
        }
        joined.insert("enum".to_owned(), Value::Array(values));
    }
    if parts.iter().any(|part| flag(part.schema, "uniqueItems")) {
        joined.insert("uniqueItems".to_owned(), json!(true));
    }
    for keyword in ["uniqueItems", "exclusiveMinimum", "exclusiveMaximum"] {
        joined.extend(mistyped(parts, keyword, Value::is_boolean).map(|value| (keyword.to_owned(), value)));
    }
    conjoin(parts, joined);
}

/// Names that any contributor requires. Under strict sharing no contributor that knows the property may leave it optional.
fn required(join: &mut Join<'_>, at: &SchemaPath, parts: &[Contribution<'_>], strict: bool) -> Option<Value> {
    if parts.iter().any(|part| part.schema.get("required").is_some_and(|names| !names.is_array())) {
        return agree(join, at, "required", parts);
    }
    let required_by = |part: &Contribution<'_>| -> BTreeSet<String> {
        let names = part.schema.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let parts: Vec<_> = parts.iter().map(|part| (part, required_by(part))).collect();
    let declares = |part: &&Contribution<'_>, name: &str| {
        part.schema.get("properties").and_then(Value::as_object).is_some_and(|names| names.contains_key(name))
    };
    // {properties: {a, b}, required: [a]} with {properties: {a}}: strict, `a` differs, because the second knows it and leaves
    // it optional; with {properties: {c}} instead nothing differs, and `a` stays required.
    let lists = parts.iter().filter_map(|(part, _)| part.schema.get("required").and_then(Value::as_array));
    let names = as_set(&lists.flatten().cloned().collect::<Vec<_>>());
    for name in names.iter().filter_map(Value::as_str).filter(|_| strict) {
        let by = parts.iter().find(|(_, required)| required.contains(name));
        let not = parts.iter().find(|(part, required)| declares(part, name) && !required.contains(name));
        if let (Some((by, _)), Some((not, _))) = (by, not) {
            let claim = |part: &Contribution<'_>| {
                let value = part.schema.get("required").cloned();
                Box::new(ConflictSide { origin: part.fragment.origin.clone(), value })
            };
            let (left, right) = (claim(by), claim(not));
            join.errors.push(MergeError::Conflict {
                at: at.clone(),
                keyword: "required".to_owned(),
                left,
                right,
            });
        }
    }
    (!names.is_empty()).then_some(Value::Array(names))
}

/// Keeps the tightest bound; between equal ones, the one that excludes the bound itself.
fn bound(parts: &[Contribution<'_>], keyword: &str, tighter: Ordering, joined: &mut Map<String, Value>) {
    let exclusive = match keyword {
        "minimum" => Some("exclusiveMinimum"),
        "maximum" => Some("exclusiveMaximum"),
        _ => None,
    };
    if let Some(value) = mistyped(parts, keyword, Value::is_number) {
        joined.insert(keyword.to_owned(), value);
        return;
    }
    // minimum: 1  with  minimum: 1.0, exclusiveMinimum: true  →  minimum: 1, exclusiveMinimum: true
    // minimum: 2  with  minimum: 1, exclusiveMinimum: true    →  minimum: 2: the looser bound takes its flag along
    let mut tightest: Option<(&Number, bool)> = None;
    for part in parts {
        let Some(Value::Number(limit)) = part.schema.get(keyword) else {
            continue;
        };
        let open = exclusive.is_some_and(|exclusive| flag(part.schema, exclusive));
        tightest = Some(match tightest {
            None => (limit, open),
            Some((best, best_open)) => match number::compare(limit, best) {
                order if order == tighter => (limit, open),
                // Equal bounds may be written differently; one spelling has to win whatever the order.
                Ordering::Equal => (if best.is_f64() { limit } else { best }, open || best_open),
                _ => (best, best_open),
            },
        });
    }
    let Some((limit, open)) = tightest else { return };
    joined.insert(keyword.to_owned(), Value::Number(limit.clone()));
    if let (Some(exclusive), true) = (exclusive, open) {
        joined.insert(exclusive.to_owned(), json!(true));
    }
}

fn crossed(joined: &Map<String, Value>, low: &str, high: &str) -> Option<String> {
    let (Some(Value::Number(min)), Some(Value::Number(max))) = (joined.get(low), joined.get(high)) else {
        return None;
    };
    let open = flag(joined, "exclusiveMinimum") || flag(joined, "exclusiveMaximum");
    match number::compare(min, max) {
        Ordering::Greater => Some(format!("{low} {min} is above {high} {max}")),
        Ordering::Equal if low == "minimum" && open => {
            Some(format!("{low} and {high} are both {min}, exclusively"))
        }
        _ => None,
    }
}

/// The values that all enums have, or `None` without any enum. The server ignores an empty one.
fn common(parts: &[Contribution<'_>]) -> Option<Vec<Value>> {
    let lists =
        parts.iter().filter_map(|part| part.schema.get("enum")?.as_array()).filter(|list| !list.is_empty());
    lists.map(|list| as_set(list)).reduce(|left, right| {
        let right: BTreeSet<_> = right.iter().map(ByValue).collect();
        left.into_iter().filter(|value| right.contains(&ByValue(value))).collect()
    })
}

fn unsatisfiable(join: &mut Join<'_>, at: &SchemaPath, parts: &[Contribution<'_>], detail: String) {
    // What one party says alone is that party's business, and a lint.
    let origins: BTreeSet<String> = parts.iter().map(|part| part.fragment.origin.clone()).collect();
    if parts.len() > 1 {
        join.errors.push(MergeError::Unsatisfiable {
            at: at.clone(),
            detail,
            origins: origins.into_iter().collect(),
        });
    }
}

/// Puts everything that must hold at once side by side. One clause of a kind stays a keyword of the node; several
/// go under `allOf`, sorted, with the int-or-string pattern first because the server looks for it there.
fn conjoin(parts: &[Contribution<'_>], joined: &mut Map<String, Value>) {
    let mut clauses = Vec::new();
    for part in parts {
        clauses.extend(CLAUSES.iter().filter_map(|keyword| clause(keyword, part.schema.get(*keyword)?)));
        collect(part.schema, &mut clauses);
    }
    // pattern: a, not: N  with  pattern: b, allOf: [C]   clauses: {pattern: a} {not: N} {pattern: b} C
    //   →  not: N, allOf: [{pattern: a}, {pattern: b}, C]
    // As a set, so that joining (a with b) with c, where the first outcome has an allOf already, is joining all at once.
    let clauses = as_set(&clauses);
    let mut together = Vec::new();
    let single: BTreeSet<&str> = CLAUSES
        .into_iter()
        .filter(|kind| clauses.iter().filter_map(sole).filter(|(keyword, _)| keyword == kind).count() == 1)
        .collect();
    for clause in &clauses {
        match sole(clause) {
            Some((keyword, value)) if single.contains(keyword) => {
                joined.insert(keyword.to_owned(), value.clone());
            }
            _ => together.push(clause.clone()),
        }
    }
    let pattern = json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
    together.sort_by_key(|clause| *clause != pattern);
    if !together.is_empty() {
        joined.insert("allOf".to_owned(), Value::Array(together));
    }
}

fn clause(keyword: &str, value: &Value) -> Option<Value> {
    let mut clause = Map::new();
    clause.insert(keyword.to_owned(), bare(value, is_junctor(keyword)));
    Some(Value::Object(clause))
}

/// The members of `allOf`, those of nested ones included.
fn collect(schema: &Map<String, Value>, clauses: &mut Vec<Value>) {
    match schema.get("allOf") {
        None => {}
        Some(Value::Array(members)) => {
            for member in members {
                // Only a member that is nothing but an allOf may be dissolved: {allOf: [x], not: y} is one clause.
                match sole(member) {
                    Some(("allOf", Value::Array(_))) => {
                        if let Value::Object(member) = member {
                            collect(member, clauses);
                        }
                    }
                    _ => clauses.push(bare(member, true)),
                }
            }
        }
        Some(other) => clauses.extend(clause("allOf", other)),
    }
}

/// The keyword and value of an object that has only one.
fn sole(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.iter().next().map(|(keyword, value)| (keyword.as_str(), value))
}

fn is_junctor(keyword: &str) -> bool {
    matches!(keyword, "allOf" | "anyOf" | "oneOf" | "not")
}

/// The same without descriptions and the like, which the server refuses inside junctors.
fn bare(value: &Value, inside: bool) -> Value {
    match value {
        Value::Array(list) if inside => list.iter().map(|member| bare(member, true)).collect(),
        Value::Object(schema) if inside => {
            let kept = schema.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(&keyword.as_str()));
            Value::Object(
                kept.map(|(keyword, value)| (keyword.clone(), bare_keyword(keyword, value))).collect(),
            )
        }
        other => other.clone(),
    }
}

fn bare_keyword(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        ("properties", Value::Object(properties)) => {
            Value::Object(properties.iter().map(|(name, value)| (name.clone(), bare(value, true))).collect())
        }
        ("items" | "additionalProperties", value) => bare(value, true),
        (keyword, value) => bare(value, is_junctor(keyword)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fragment, Merger, MountPath};

    #[test]
    fn every_listed_keyword_is_owned() {
        assert!(
            owns("minimum") && owns("maxProperties") && owns("oneOf") && owns("required") && !owns("type")
        );
    }

    #[test]
    fn a_keyword_of_the_wrong_type_is_refused_and_not_dropped() {
        let wrong = [
            ("minimum", json!("3")),
            ("maxItems", json!({})),
            ("enum", json!("a")),
            ("uniqueItems", json!(1)),
            ("exclusiveMaximum", json!(5)),
            ("required", json!("a")),
            ("allOf", json!(true)),
            ("pattern", json!(1)),
            ("properties", json!(["a"])),
        ];
        for (keyword, value) in wrong {
            let mount = |origin: &str, field: Value| {
                let schema = json!({"type": "object", "properties": {"x": field}});
                Fragment::new(origin, MountPath::of(["spec"]), schema).sharing(Sharing::SharedIntersect)
            };
            let mut field = json!({"type": "object"});
            field[keyword] = value;
            let merger = Merger::new().mount(mount("a", field)).mount(mount("b", json!({"type": "object"})));
            let errors = merger.build().unwrap_err();
            assert!(errors.to_string().contains(keyword), "{keyword}: {errors}");
        }
    }
}
