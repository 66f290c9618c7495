//! Walks all fragments at once and joins what they say about the same node.
//!
//! The keywords of one node are `join/agreement.rs` (what must be equal) and `join/intersection.rs` (value validations).
//! The walk is over a set of contributions, not pairwise, so nothing depends on an order.
//!
//! Three fragments, the first two shared with intersection:
//!
//! ```text
//! backup at /spec           type: object, properties: {keep: {type: integer, minimum: 1}}
//! quota  at /spec           type: object, properties: {keep: {type: integer, maximum: 9}}
//! labels at /spec/labels    type: object, additionalProperties: {type: string}
//!
//! node            described here    mounted below              joined
//! /               no fragment       all three, by "spec"       type: object
//! /spec           backup, quota     labels, by "labels"        type: object
//! /spec/keep      backup, quota     nothing                    type: integer, minimum: 1, maximum: 9
//! /spec/labels    labels (mount)    nothing                    its schema as it stands
//! ```
//!
//! If backup or quota were strict, `/spec/keep` would be two conflicts: of `minimum` and of `maximum`.

mod agreement;
mod intersection;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Terms, flag, json_type, text};
use crate::conflict::MergeError;
use crate::fragment::{Fragment, MountDefault, RequiredPropagation, Sharing};
use crate::keyword::{INT_OR_STRING, PRESERVE};
use crate::object;
use crate::path::SchemaPath;

pub(super) struct Joined {
    pub(super) schema: Map<String, Value>,
    pub(super) origins: BTreeMap<String, BTreeSet<String>>,
    pub(super) errors: Vec<MergeError>,
}

/// One fragment's description of a node.
#[derive(Clone, Copy)]
pub(super) struct Contribution<'a> {
    pub(super) fragment: &'a Fragment,
    pub(super) schema: &'a Map<String, Value>,
}

/// Everything that is said about one node.
#[derive(Default)]
struct Node<'a> {
    /// Descriptions of the node, and whether it is the mount point of its fragment.
    here: Vec<(&'a Fragment, &'a Value, bool)>,
    /// Fragments mounted further down, with the rest of the way.
    below: Vec<(&'a Fragment, &'a [String])>,
}

/// The state that the walk carries along.
pub(super) struct Join<'t> {
    terms: &'t Terms,
    pub(super) origins: BTreeMap<String, BTreeSet<String>>,
    pub(super) errors: Vec<MergeError>,
}

pub(super) fn join(terms: &Terms, fragments: &[Fragment]) -> Joined {
    let mut join = Join { terms, origins: BTreeMap::new(), errors: Vec::new() };
    let mut root = Node::default();
    for fragment in fragments {
        match fragment.at.names() {
            [] => root.here.push((fragment, &fragment.schema, true)),
            names => root.below.push((fragment, names)),
        }
    }
    let schema = match join.node(&mut SchemaPath::root(), root) {
        Value::Object(mut schema) => {
            schema.entry("type").or_insert_with(|| json!("object"));
            schema
        }
        _ => Map::new(),
    };
    Joined { schema, origins: join.origins, errors: join.errors }
}

impl<'t> Join<'t> {
    fn node(&mut self, at: &mut SchemaPath, mut node: Node<'_>) -> Value {
        self.record(at, &node);
        self.hold_exclusive(at, &mut node);
        // One exclusive fragment: {type: object, x-kubernetes-...} goes in byte for byte, however odd, so that a mount is
        // found as it was mounted. A shared one is joined even alone, so that its outcome is the same once another comes.
        let shared = node.here.iter().any(|(fragment, ..)| fragment.policy.sharing != Sharing::Exclusive);
        if let ([(_, schema, _)], [], false) = (&*node.here, &*node.below, shared) {
            return stripped(self.terms, schema).into_owned();
        }
        let Some(parts) = self.contributions(at, &node) else {
            return Value::Null;
        };
        self.check_parent(at, &parts, &node);
        // `properties`, `items` and `additionalProperties` come last: they recurse, and all else is about this node only.
        let mut joined = agreement::join(self, at, &parts, intersection::owns);
        intersection::join(self, at, &parts, &mut joined);
        self.children(at, &node, &parts, &mut joined);
        self.elements(at, &parts, &mut joined);
        if !node.below.is_empty() {
            joined.entry("type").or_insert_with(|| json!("object"));
        }
        if self.terms.strip_descriptions {
            joined.remove("description");
        }
        Value::Object(joined)
    }

    /// Remembers who contributed a node; an implicit parent belongs to the fragments mounted below.
    fn record(&mut self, at: &SchemaPath, node: &Node<'_>) {
        let here = node.here.iter().map(|(fragment, ..)| fragment.origin.clone());
        let mut origins: BTreeSet<_> = here.collect();
        if origins.is_empty() {
            origins = node.below.iter().map(|(fragment, _)| fragment.origin.clone()).collect();
        }
        if !origins.is_empty() {
            self.origins.insert(at.pointer(), origins);
        }
    }

    /// Reports all fragments that contribute where another one is mounted exclusively, and goes on with one holder.
    fn hold_exclusive(&mut self, at: &SchemaPath, node: &mut Node<'_>) {
        let holds = |(fragment, _, mounted): &(&Fragment, &Value, bool)| {
            *mounted && fragment.policy.sharing == Sharing::Exclusive
        };
        let Some(first) = node.here.iter().position(holds) else {
            return;
        };
        let contributors: Vec<&Fragment> = node
            .here
            .iter()
            .map(|(fragment, ..)| *fragment)
            .chain(node.below.iter().map(|below| below.0))
            .collect();
        for (place, holder) in node.here.iter().enumerate().filter(|(_, part)| holds(part)) {
            let others = contributors.iter().enumerate().filter(|(other, _)| *other != place);
            // Of two exclusive fragments at one path, one error is enough.
            let once =
                others.filter(|(other, _)| *other > place || !node.here.get(*other).is_some_and(holds));
            for (_, other) in once {
                self.errors.push(MergeError::Exclusive {
                    at: at.clone(),
                    exclusive_origin: holder.0.origin.clone(),
                    exclusive_mount: holder.0.at.clone(),
                    other_origin: other.origin.clone(),
                });
            }
        }
        // a exclusive at /spec, b at /spec/x, c at /spec: the errors are (a, b) and (a, c). b and c are left out from here on,
        // or each property that they share with a would be reported as a conflict as well.
        node.here = node.here.get(first).copied().into_iter().collect();
        node.below.clear();
    }

    fn contributions<'a>(&mut self, at: &SchemaPath, node: &Node<'a>) -> Option<Vec<Contribution<'a>>> {
        let mut parts = Vec::new();
        for (fragment, schema, mounted) in &node.here {
            match schema {
                Value::Object(schema) => parts.push(Contribution { fragment, schema }),
                // The boundary check has reported an invalid schema that was mounted.
                _ if *mounted => {}
                other => self.errors.push(MergeError::NotASchema {
                    at: at.clone(),
                    origin: fragment.origin.clone(),
                    found: json_type(other),
                }),
            }
        }
        (parts.len() == node.here.len()).then_some(parts)
    }

    /// A mount further down needs a plain object here.
    fn check_parent(&mut self, at: &SchemaPath, parts: &[Contribution<'_>], node: &Node<'_>) {
        for part in parts {
            let Some(found) = not_a_parent(part.schema) else {
                continue;
            };
            for (fragment, _) in &node.below {
                self.errors.push(MergeError::NotAParent {
                    at: at.clone(),
                    origin: fragment.origin.clone(),
                    parent: part.fragment.origin.clone(),
                    found: found.clone(),
                });
            }
        }
    }

    /// Joins `properties`: those that are described here, and those that lead to mounts further down.
    fn children<'a>(
        &mut self,
        at: &mut SchemaPath,
        node: &Node<'a>,
        parts: &[Contribution<'a>],
        joined: &mut Map<String, Value>,
    ) {
        if let Some(value) = mistyped(parts, "properties", Value::is_object) {
            joined.insert("properties".to_owned(), value);
            return;
        }
        // here:  backup says properties: {keep: …}             below:  labels at ["labels"], deep at ["a", "b"]
        // gives: keep {here: backup}, labels {here: labels, a mount}, a {below: deep at ["b"]}
        let mut children: BTreeMap<&str, Node<'a>> = BTreeMap::new();
        for part in parts {
            let properties = part.schema.get("properties").and_then(Value::as_object);
            for (name, schema) in properties.into_iter().flatten() {
                children.entry(name).or_default().here.push((part.fragment, schema, false));
            }
        }
        for (fragment, way) in &node.below {
            match way {
                [] => {}
                [name] => children.entry(name).or_default().here.push((fragment, &fragment.schema, true)),
                [name, rest @ ..] => children.entry(name).or_default().below.push((fragment, rest)),
            }
        }
        if children.is_empty() {
            return;
        }
        let mut properties = Map::new();
        for (name, mut child) in children {
            // The order of contributions is that of the fragments, however they were found.
            child.here.sort_by(|left, right| left.0.origin.cmp(&right.0.origin));
            let mounted: Vec<&Fragment> =
                child.here.iter().filter(|part| part.2).map(|part| part.0).collect();
            let schema = at.within(
                |at| at.push_property(name),
                |at| {
                    let mut schema = self.node(at, child);
                    self.mount_default(at, &mounted, &mut schema);
                    schema
                },
            );
            properties.insert(name.to_owned(), schema);
        }
        joined.insert("properties".to_owned(), Value::Object(properties));
        require_mounts(node, joined);
    }

    /// Joins `items` and `additionalProperties` where they are schemas; anything else has to be equal.
    fn elements<'a>(
        &mut self,
        at: &mut SchemaPath,
        parts: &[Contribution<'a>],
        joined: &mut Map<String, Value>,
    ) {
        for keyword in ["items", "additionalProperties"] {
            let said: Vec<_> = parts
                .iter()
                .filter_map(|part| Some((part.fragment, part.schema.get(keyword)?, false)))
                .collect();
            let shapes = parts.iter().filter(|part| agreement::shapes(part.schema));
            // {type: array, items: …} with {type: array}: the second says that anything may be an item, so they differ. With {}
            // beside it, which says nothing, the first counts.
            let silent = shapes.filter(|part| !part.schema.contains_key(keyword)).count() > 0;
            if said.is_empty() {
                continue;
            }
            if silent || said.iter().any(|(_, schema, _)| !schema.is_object()) {
                if let Some(value) = agreement::agree(self, at, keyword, parts) {
                    joined.insert(keyword.to_owned(), value);
                }
                continue;
            }
            let node = Node { here: said, below: Vec::new() };
            let schema = at.within(|at| at.push_child(keyword), |at| self.node(at, node));
            joined.insert(keyword.to_owned(), schema);
        }
    }

    /// Sets the default that the policies of the fragments mounted here ask for.
    fn mount_default(&mut self, at: &SchemaPath, mounted: &[&Fragment], schema: &mut Value) {
        let asking: Vec<_> =
            mounted.iter().filter(|fragment| fragment.policy.default != MountDefault::None).collect();
        for fragment in asking {
            // {type: object, properties: {n: {default: 1}}} defaults to {}, or materialised to {n: 1}: the server fills in nested
            // defaults too, but only after it has validated `{}`, which fails where `n` is required.
            let default = match fragment.policy.default {
                MountDefault::Materialised => object::defaulted(schema, &json!({})),
                _ => json!({}),
            };
            let Value::Object(node) = schema else { return };
            let origin = fragment.origin.clone();
            if text(node, "type") != Some("object") {
                let reason = "only an object can default to an object".to_owned();
                self.errors.push(MergeError::MountDefault { at: at.clone(), origin, reason });
                continue;
            }
            match node.get("default") {
                Some(other) if *other != default => {
                    let reason = format!("the schema has the default {other} already");
                    self.errors.push(MergeError::MountDefault { at: at.clone(), origin, reason });
                }
                _ => {
                    node.insert("default".to_owned(), default);
                }
            }
        }
    }
}

/// A schema of a single contributor stays as it is, apart from descriptions when they are not wanted.
pub(super) fn stripped<'s>(terms: &Terms, schema: &'s Value) -> Cow<'s, Value> {
    if terms.strip_descriptions { Cow::Owned(without_descriptions(schema)) } else { Cow::Borrowed(schema) }
}

/// The first value of a keyword that has not the JSON type that the keyword needs. The outcome keeps it, so that the check of
/// the outcome refuses it and names who contributed it. A null is absent, as it is to the server.
fn mistyped(parts: &[Contribution<'_>], keyword: &str, fits: fn(&Value) -> bool) -> Option<Value> {
    let mut values = parts.iter().filter_map(|part| part.schema.get(keyword));
    values.find(|value| !fits(value) && !value.is_null()).cloned()
}

/// Adds the names on the way to mounts whose policy requires them.
fn require_mounts(node: &Node<'_>, joined: &mut Map<String, Value>) {
    let wanted = node.below.iter().filter_map(|(fragment, way)| match (fragment.policy.required, way) {
        (RequiredPropagation::Chain, [name, ..]) | (RequiredPropagation::Leaf, [name]) => Some(name.clone()),
        _ => None,
    });
    // A mount at ["a", "b"]: with Chain, `a` is required here and `b` in a; with Leaf, only `b` in a.
    let mut required: BTreeSet<String> = wanted.collect();
    if required.is_empty() {
        return;
    }
    if let Some(Value::Array(names)) = joined.get("required") {
        required.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    joined.insert("required".to_owned(), required.into_iter().collect());
}

/// Names what a node is, when it cannot have further properties.
fn not_a_parent(schema: &Map<String, Value>) -> Option<String> {
    if flag(schema, INT_OR_STRING) {
        return Some("integer or string".to_owned());
    }
    // A mount below a map would be one more key of the map; `additionalProperties: true` does not describe keys.
    if let Some(value) = schema.get("additionalProperties") {
        return (*value != Value::Bool(true)).then(|| "a map (additionalProperties)".to_owned());
    }
    match text(schema, "type") {
        Some("object") => None,
        Some(other) => Some(format!("type {other}")),
        None if flag(schema, PRESERVE) => Some("any value".to_owned()),
        None => None,
    }
}

/// The same schema without `description`; properties that happen to have that name stay.
fn without_descriptions(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let mut stripped = Map::new();
    for (keyword, value) in schema {
        let value = match (keyword.as_str(), value) {
            ("description", _) => continue,
            ("properties", Value::Object(properties)) => Value::Object(
                properties.iter().map(|(name, value)| (name.clone(), without_descriptions(value))).collect(),
            ),
            ("items" | "additionalProperties" | "not", value) => without_descriptions(value),
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                list.iter().map(without_descriptions).collect()
            }
            (_, value) => value.clone(),
        };
        stripped.insert(keyword.clone(), value);
    }
    Value::Object(stripped)
}
