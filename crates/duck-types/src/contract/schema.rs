//! One node of a JSON schema or OpenAPI schema, in the form that both dialects have in common.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

/// References followed before a schema counts as recursive.
const REFERENCES: usize = 32;

/// A node, with references followed and nullability told apart from the type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    root: &'a Value,
    nullable: bool,
    /// The branches of an `anyOf` or `oneOf` that is an enumeration.
    branches: Option<&'a [Value]>,
    depth: usize,
    /// The API server enforces it, which ignores the formats that it does not know.
    pub(super) enforced: bool,
}

/// The keywords that may stand beside a reference or branches, because they say nothing about the value.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
];

/// The keyword of a schema for a path of which a type says nothing.
const UNDESCRIBED: &str = "a type that does not describe the path";

static ANYTHING: Value = Value::Bool(true);

/// The metadata of every object, as far as a path may lead into it.
pub(crate) static METADATA: LazyLock<Value> = LazyLock::new(|| {
    let (text, flag) = (json!({"type": "string"}), json!({"type": "boolean"}));
    let texts = json!({"type": "object", "additionalProperties": text});
    let owner = json!({
        "type": "object", "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag, "blockOwnerDeletion": flag,
        },
    });
    let owners = json!({
        "type": "array", "items": owner, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
    });
    let finalizers = json!({"type": "array", "items": text});
    json!({
        "type": "object",
        "properties": {"labels": texts, "annotations": texts, "finalizers": finalizers, "ownerReferences": owners},
    })
});

impl<'a> Node<'a> {
    pub(crate) fn root(schema: &'a Value) -> Self {
        let (value, root) = (schema, schema);
        Self { value, root, nullable: false, branches: None, depth: 0, enforced: false }.resolved()
    }

    /// The root of a schema in a CustomResourceDefinition.
    pub(crate) fn enforced(schema: &'a Value) -> Self {
        Self { enforced: true, ..Self::root(schema) }
    }

    pub(crate) fn below(&self, value: &'a Value) -> Self {
        let depth = self.depth.saturating_add(1);
        Self { value, nullable: false, branches: None, depth, ..*self }.resolved()
    }

    /// Follows references, single branches and `anyOf: [T, null]`, if nothing beside them restricts the value.
    fn resolved(mut self) -> Self {
        for _ in 0..REFERENCES {
            if !self.says_one_thing() {
                break;
            }
            self.nullable |= self.flag("nullable");
            if let Some(reference) = self.value.get("$ref").and_then(Value::as_str) {
                let target = reference.strip_prefix('#').and_then(|at| self.root.pointer(at));
                self.value = target.unwrap_or(self.value);
                if target.is_none() {
                    break;
                }
                continue;
            }
            let Some(branches) = self.branches_of() else { break };
            let mut others = branches.iter().filter(|branch| !is_null(branch));
            self.nullable |= branches.iter().any(is_null);
            match (others.next(), others.next()) {
                (Some(only), None) => self.value = only,
                _ if branches.iter().all(|branch| is_null(branch) || values(branch).is_some()) => {
                    self.branches = Some(branches);
                    break;
                }
                _ => break,
            }
        }
        self
    }

    fn branches_of(&self) -> Option<&'a [Value]> {
        if self.flag("x-kubernetes-int-or-string") || self.value.get("type").is_some() {
            return None;
        }
        let listed = |key: &str| self.value.get(key)?.as_array().map(Vec::as_slice);
        listed("anyOf").or_else(|| listed("oneOf")).or_else(|| listed("allOf").filter(|all| all.len() == 1))
    }

    /// Returns true if exactly one keyword is not an annotation.
    fn says_one_thing(&self) -> bool {
        let other = |name: &str| name.starts_with("x-") && !name.starts_with("x-kubernetes-");
        let names = self.value.as_object().into_iter().flat_map(|members| members.keys());
        names.filter(|name| !other(name) && !ANNOTATIONS.contains(&name.as_str())).count() == 1
    }

    /// The types of the value without null; nothing means any type.
    pub(crate) fn types(&self) -> Option<BTreeSet<&'a str>> {
        if self.flag("x-kubernetes-int-or-string") {
            return Some(BTreeSet::from(["integer", "string"]));
        }
        if let Some(values) = self.values().filter(|_| self.value.get("type").is_none()) {
            return Some(values.into_iter().filter(|value| !value.is_null()).map(type_of).collect());
        }
        match self.value.get("type")? {
            Value::String(one) => Some(BTreeSet::from([one.as_str()])),
            Value::Array(several) => {
                Some(several.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect())
            }
            _ => None,
        }
    }

    pub(crate) fn is_nullable(&self) -> bool {
        let listed = |key: &str| self.value.get(key).and_then(Value::as_array);
        self.nullable
            || self.flag("nullable")
            || is_null(self.value)
            || listed("type").is_some_and(|types| types.iter().any(|name| name == "null"))
            || listed("enum").is_some_and(|values| values.iter().any(Value::is_null))
    }

    /// The only values, if they are enumerated.
    pub(crate) fn values(&self) -> Option<Vec<&'a Value>> {
        match self.branches {
            Some(branches) => Some(branches.iter().filter_map(values).flatten().collect()),
            None => values(self.value),
        }
    }

    /// The keyword that makes the node incomparable, if there is one.
    pub(crate) fn incomparable(&self) -> Option<&'static str> {
        if self.depth > REFERENCES {
            return Some("recursion");
        }
        if *self.value == Value::Bool(false) {
            return Some("false");
        }
        let int_or_string = self.flag("x-kubernetes-int-or-string");
        [
            "anyOf",
            "oneOf",
            "allOf",
            "not",
            "if",
            "prefixItems",
            "patternProperties",
            "propertyNames",
            "unevaluatedProperties",
            "unevaluatedItems",
            "dependentRequired",
            "dependentSchemas",
            "contains",
            "x-kubernetes-validations",
            "$ref",
            UNDESCRIBED,
        ]
        .into_iter()
        .find(|key| self.value.get(*key).is_some() && self.branches.is_none())
        .filter(|key| !(int_or_string && matches!(*key, "anyOf" | "allOf")))
    }

    /// Two nodes of one address are the same part of a document.
    pub(crate) fn address(&self) -> *const Value {
        self.value
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.value.get(key).and_then(Value::as_f64)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    pub(crate) fn strings(&self, key: &str) -> Vec<&'a str> {
        let list = self.value.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    }

    pub(crate) fn preserves(&self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    /// Returns true for the root of an object and for an object within it, whose metadata the API server declares.
    pub(crate) fn is_resource(&self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    /// The members without which the API server refuses the object, apart from those that it fills in.
    pub(crate) fn needed(&self) -> Vec<&'a str> {
        let mut names = self.strings("required");
        if self.is_resource() {
            names.extend(["apiVersion", "kind"]);
            names.sort_unstable();
            names.dedup();
        }
        names.retain(|name| !self.property(name).is_some_and(|node| node.has("default")));
        names
    }

    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'a String, Self)> {
        let fields = self.value.get("properties").and_then(Value::as_object).into_iter().flatten();
        fields.map(|(name, value)| (name, self.below(value)))
    }

    pub(crate) fn property(&self, name: &str) -> Option<Self> {
        self.value.get("properties")?.get(name).map(|value| self.below(value))
    }

    pub(crate) fn items(&self) -> Option<Self> {
        self.value.get("items").map(|value| self.below(value))
    }

    pub(crate) fn additional(&self) -> Additional<'a> {
        match self.value.get("additionalProperties") {
            None => Additional::Unstated,
            Some(Value::Bool(false)) => Additional::None,
            Some(Value::Bool(true)) => Additional::Any(self.below(&ANYTHING)),
            Some(schema) => Additional::Each(self.below(schema)),
        }
    }

    /// The schema of a member that is not among the properties.
    pub(crate) fn unnamed(&self) -> Self {
        match self.additional() {
            Additional::Each(each) | Additional::Any(each) => each,
            _ => self.below(&ANYTHING),
        }
    }

    /// Returns true if values may be or hold objects, which the API server prunes below `additionalProperties: true`.
    pub(crate) fn may_hold_objects(&self) -> bool {
        match self.types() {
            None => true,
            Some(types) if types.contains("object") => true,
            Some(types) => {
                types.contains("array") && self.items().is_none_or(|items| items.may_hold_objects())
            }
        }
    }

    /// An object that declares no field at all: the API server prunes all of its content.
    pub(crate) fn drops_everything(&self) -> bool {
        self.types().is_some_and(|types| types.contains("object"))
            && !self.preserves()
            && !self.has("properties")
            && matches!(self.additional(), Additional::Unstated | Additional::None)
    }
}

/// The schema of undeclared members.
#[derive(Clone, Copy)]
pub(crate) enum Additional<'a> {
    Unstated,
    None,
    /// `true`: any value in JSON schema; in a CustomResourceDefinition objects in it lose their content.
    Any(Node<'a>),
    Each(Node<'a>),
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null") || schema.get("const").is_some_and(Value::is_null)
}

fn values(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(only) = schema.get("const") {
        return Some(vec![only]);
    }
    schema.get("enum")?.as_array().map(|values| values.iter().collect())
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema of the field at a path, with the definitions of the whole, for ducks that span several paths.
#[cfg(feature = "schemars")]
pub(crate) fn at_path(schema: &Value, path: &crate::DuckPath) -> Value {
    let mut node = Node::root(schema);
    for segment in path.segments() {
        let each = || match node.additional() {
            Additional::Each(each) | Additional::Any(each) => Some(each),
            _ => None,
        };
        match node.property(&segment).or_else(each) {
            Some(next) => node = next,
            None if node.incomparable().is_none() && node.types().is_none() => return Value::Bool(true),
            None => return json!({UNDESCRIBED: true}),
        }
    }
    let mut found = node.value.clone();
    if let (Some(fields), Some(definitions)) = (found.as_object_mut(), schema.get("$defs")) {
        fields.insert("$defs".to_owned(), definitions.clone());
    }
    found
}
