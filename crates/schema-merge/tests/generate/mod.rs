//! Random JSON, schemas and objects from a seed, for tests that run as long as they are told to.
//!
//! Schemas come in three kinds: structural ones, structural ones with mistakes worked in, and heaps of keywords that no
//! person would write. This file asserts nothing.
#![allow(dead_code, reason = "each test uses its own part of this file")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "only tests include this file"
)]

pub(crate) mod text;

use serde_json::{Map, Value, json};

/// A small pseudo-random generator (splitmix64): the same seed gives the same values on every machine.
pub(crate) struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

const NAMES: [&str; 8] = ["a", "b", "c", "metadata", "kind", "name", "a.b", "x-y"];
const ODD_NAMES: [&str; 12] =
    ["", "a/b", "a~b", "$ref", "__proto__", "properties", "a]b", "é", "type", "items", "a.b", "default"];
const PATTERNS: [&str; 12] = [
    "^a+$",
    "[a-z]*",
    "(?=x)",
    "a**",
    "[z-a]",
    "\\d{1,3}",
    "(a|b)",
    "a{1001}",
    "(",
    "\\p{Greek}",
    "\\1",
    "(?i)x",
];
const FORMATS: [&str; 29] = [
    "int32",
    "int64",
    "double",
    "date-time",
    "ipv4",
    "uint8",
    "byte",
    "nonsense",
    "bsonobjectid",
    "cidr",
    "creditcard",
    "date",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "mac",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid4",
    "k8s-short-name",
    "k8s-long-name",
    "password",
];
const KEYWORDS: [&str; 52] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "id",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
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
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
    "const",
    "$defs",
    "prefixItems",
    "if",
    "unevaluatedProperties",
    "examples",
    "constant",
    "propertyNames",
];
const TYPES: [&str; 8] = ["object", "array", "string", "integer", "number", "boolean", "null", "foo"];

/// Any JSON value.
pub(crate) fn any(r: &mut Random, depth: usize) -> Value {
    match r.below(if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => json!(r.chance(50)),
        2 => json!(r.below(10) as i64 - 3),
        3 => [json!(1.5), json!(1.0), json!(u64::MAX), json!(i64::MIN), json!(1e300)][r.below(5)].clone(),
        4 => json!(*r.pick(&NAMES)),
        5 if r.chance(50) => json!(text::formatted(r)),
        5 => json!(*r.pick(&ODD_NAMES)),
        6 => (0..r.below(4)).map(|_| any(r, depth - 1)).collect(),
        _ => object_of(r, 4, |r| any(r, depth - 1)),
    }
}

fn object_of(r: &mut Random, most: usize, mut value: impl FnMut(&mut Random) -> Value) -> Value {
    let mut map = Map::new();
    for _ in 0..r.below(most + 1) {
        let name = if r.chance(70) { *r.pick(&NAMES) } else { *r.pick(&ODD_NAMES) };
        map.insert(name.to_owned(), value(r));
    }
    Value::Object(map)
}

/// Keywords with values that mostly have the right JSON type and rarely make sense together.
pub(crate) fn heap(r: &mut Random, depth: usize) -> Value {
    if r.chance(5) {
        return any(r, depth.min(2));
    }
    let mut map = Map::new();
    if r.chance(60) {
        map.insert("type".to_owned(), json!(*r.pick(&TYPES)));
    }
    for _ in 0..r.below(5) {
        let keyword = *r.pick(&KEYWORDS);
        map.insert(keyword.to_owned(), keyword_value(r, keyword, depth));
    }
    Value::Object(map)
}

fn keyword_value(r: &mut Random, keyword: &str, depth: usize) -> Value {
    if r.chance(8) {
        return any(r, 2);
    }
    let below = depth.saturating_sub(1);
    let inner = |r: &mut Random| if depth == 0 { json!({}) } else { heap(r, below) };
    match keyword {
        "properties" | "definitions" | "$defs" | "patternProperties" => object_of(r, 4, inner),
        "items" | "not" | "if" | "propertyNames" => inner(r),
        "additionalProperties" | "unevaluatedProperties" | "additionalItems" if r.chance(40) => {
            json!(r.chance(50))
        }
        "additionalProperties" | "unevaluatedProperties" | "additionalItems" => inner(r),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => (0..r.below(4)).map(|_| inner(r)).collect(),
        "type" if r.chance(20) => json!([*r.pick(&TYPES), "null"]),
        "type" => json!(*r.pick(&TYPES)),
        "required" | "x-kubernetes-list-map-keys" => {
            (0..r.below(3)).map(|_| json!(*r.pick(&NAMES))).collect()
        }
        "enum" | "examples" => (0..r.below(4)).map(|_| any(r, 1)).collect(),
        "pattern" if r.chance(50) => json!(text::pattern(r)),
        "pattern" => json!(*r.pick(&PATTERNS)),
        "format" => json!(*r.pick(&FORMATS)),
        "$ref" => json!(*r.pick(&["#", "#/$defs/a", "#/definitions/b", "#/properties/a", "x"])),
        "x-kubernetes-list-type" | "x-kubernetes-map-type" => {
            json!(*r.pick(&["atomic", "set", "map", "granular", "bogus"]))
        }
        "x-kubernetes-validations" => (0..r.below(3)).map(|_| rule(r)).collect(),
        "nullable" | "uniqueItems" | "exclusiveMinimum" | "exclusiveMaximum" => {
            if r.chance(20) {
                json!(r.below(5))
            } else {
                json!(r.chance(60))
            }
        }
        name if name.starts_with("x-kubernetes-") => json!(r.chance(85)),
        name if name.starts_with("min") || name.starts_with("max") || name == "multipleOf" => {
            json!(r.below(8) as i64 - 1)
        }
        "description" | "title" | "id" | "$schema" => json!("text"),
        "dependencies" => object_of(r, 2, |r| if r.chance(50) { json!(["a"]) } else { json!({}) }),
        "externalDocs" => json!({"description": "d", "url": "u"}),
        _ => any(r, depth.min(2)),
    }
}

/// A validation rule, rarely a good one.
pub(crate) fn rule(r: &mut Random) -> Value {
    let mut rule =
        json!({"rule": *r.pick(&["true", "self == oldSelf", "", " ", "self.a\n== 1", "has(self.a)"])});
    if r.chance(50) {
        rule["rule"] = json!(text::expression(r, 4));
    }
    for (field, values) in [
        ("message", ["no", " ", "a\nb", ""]),
        ("reason", ["FieldValueInvalid", "Bogus", "FieldValueRequired", "FieldValueForbidden"]),
        ("fieldPath", [".a", ".zzz", "a", " "]),
        ("messageExpression", ["'x'", " ", "", "self.a"]),
    ] {
        if r.chance(25) {
            rule[field] = json!(*r.pick(&values));
        }
    }
    if r.chance(10) {
        rule["optionalOldSelf"] = json!(r.chance(50));
    }
    rule
}

/// A structural schema of a value; `depth` bounds its nesting.
pub(crate) fn structural(r: &mut Random, depth: usize) -> Value {
    let kind = match r.below(if depth == 0 { 5 } else { 9 }) {
        0 | 1 => "string",
        2 => "integer",
        3 => "number",
        4 => "boolean",
        5 => return list(r, depth),
        6 => return map(r, depth),
        _ => return object(r, depth),
    };
    if r.chance(5) {
        return json!({"x-kubernetes-int-or-string": true});
    }
    if r.chance(4) {
        return json!({"x-kubernetes-preserve-unknown-fields": true});
    }
    let mut node = json!({ "type": kind });
    scalar_validations(r, kind, &mut node);
    if r.chance(15) {
        node["nullable"] = json!(true);
    }
    if r.chance(20) {
        let default = sample(r, &node);
        if !default.is_null() {
            node["default"] = default;
        }
    }
    if r.chance(20) {
        node["description"] = json!("what it means");
    }
    node
}

fn scalar_validations(r: &mut Random, kind: &str, node: &mut Value) {
    match kind {
        "string" => {
            if r.chance(15) {
                node["enum"] = json!(["a", "b", "ab"]);
            } else {
                if r.chance(20) {
                    node["minLength"] = json!(r.below(2));
                }
                if r.chance(20) {
                    node["maxLength"] = json!(2 + r.below(9));
                }
                if r.chance(10) {
                    node["pattern"] = json!("^[a-z]*$");
                }
            }
        }
        "integer" | "number" => {
            if r.chance(25) {
                node["minimum"] = json!(r.below(3) as i64 - 2);
                if r.chance(20) {
                    node["exclusiveMinimum"] = json!(true);
                }
            }
            if r.chance(25) {
                node["maximum"] = json!(4 + r.below(9));
            }
            if r.chance(10) {
                node["multipleOf"] = json!(1 + r.below(2));
            }
        }
        _ => {}
    }
}

fn list(r: &mut Random, depth: usize) -> Value {
    let mut node = json!({"type": "array", "items": structural(r, depth - 1)});
    if r.chance(25) {
        node["maxItems"] = json!(1 + r.below(5));
    }
    let item = node["items"]["type"].as_str().unwrap_or_default().to_owned();
    if r.chance(20) && matches!(&*item, "string" | "integer") && node["items"].get("nullable").is_none() {
        node["x-kubernetes-list-type"] = json!("set");
    }
    node
}

fn map(r: &mut Random, depth: usize) -> Value {
    let mut values = structural(r, depth - 1);
    // The server does not look at defaults in here, so that they need not be good.
    values.as_object_mut().unwrap().remove("default");
    let mut node = json!({"type": "object", "additionalProperties": values});
    if r.chance(20) {
        node["maxProperties"] = json!(2 + r.below(4));
    }
    node
}

/// A structural schema of an object with declared properties.
pub(crate) fn object(r: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    for _ in 0..1 + r.below(4) {
        let name = if r.chance(85) { *r.pick(&NAMES) } else { *r.pick(&ODD_NAMES) };
        properties.insert(name.to_owned(), structural(r, depth.saturating_sub(1)));
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    let mut node = json!({"type": "object", "properties": properties});
    if r.chance(30) {
        node["required"] = json!([r.pick(&names)]);
    }
    if r.chance(10) {
        node["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    let free: Vec<&String> = names.iter().filter(|name| *name != "metadata").collect();
    if r.chance(15) && !free.is_empty() {
        let junctor = *r.pick(&["anyOf", "oneOf", "allOf"]);
        node[junctor] = json!([{"required": [r.pick(&free)]}]);
    }
    node
}

/// The structural schema of a whole resource.
pub(crate) fn resource(r: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "object", "properties": {"spec": object(r, depth)}});
    if r.chance(20) {
        schema["properties"]["status"] = structural(r, depth);
    }
    if r.chance(15) {
        schema["properties"]["metadata"] =
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 63}}});
    }
    if r.chance(20) {
        schema["required"] = json!(["spec"]);
    }
    schema
}

/// The schema of a resource with up to three mistakes, or none.
pub(crate) fn mistaken(r: &mut Random) -> Value {
    let depth = 1 + r.below(3);
    let mut schema = resource(r, depth);
    for _ in 0..r.below(3) {
        let count = nodes(&schema);
        let at = r.below(count);
        visit(&mut schema, at, &mut |node| mistake(r, node));
    }
    schema
}

/// Counts the schemas in this one.
pub(crate) fn nodes(schema: &Value) -> usize {
    walk(&mut schema.clone(), &mut |_| {})
}

/// Calls `act` on the node with this number.
pub(crate) fn visit(schema: &mut Value, target: usize, act: &mut impl FnMut(&mut Value)) {
    let mut seen = 0;
    walk(schema, &mut |node| {
        if seen == target {
            act(node);
        }
        seen += 1;
    });
}

/// Calls `act` on every schema, children first, and counts them.
fn walk(schema: &mut Value, act: &mut impl FnMut(&mut Value)) -> usize {
    let mut count = 1;
    if let Value::Object(map) = schema {
        for keyword in ["properties"] {
            if let Some(Value::Object(properties)) = map.get_mut(keyword) {
                count += properties.values_mut().map(|node| walk(node, act)).sum::<usize>();
            }
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(node @ Value::Object(_)) = map.get_mut(keyword) {
                count += walk(node, act);
            }
        }
    }
    act(schema);
    count
}

/// Works one thing into a node that may or may not be a mistake there.
fn mistake(r: &mut Random, node: &mut Value) {
    let Value::Object(map) = node else { return };
    let mut set = |keyword: &str, value: Value| drop(map.insert(keyword.to_owned(), value));
    match r.below(34) {
        0 => drop(map.remove("type")),
        1 => set("type", json!(*r.pick(&["foo", "null", "array", "object", "string"]))),
        2 => drop(map.remove("items")),
        3 => set("uniqueItems", json!(true)),
        4 => set("nullable", json!(true)),
        5 => set("pattern", json!(*r.pick(&PATTERNS))),
        6 => set("additionalProperties", json!(*r.pick(&[true, false]))),
        7 => set("additionalProperties", json!({"type": "string"})),
        8 => set("anyOf", json!([{"type": "integer"}, {"type": "string"}])),
        9 => set("anyOf", json!([{"required": ["zzz"]}, {"minProperties": 1}])),
        10 => set("allOf", json!([{"properties": {"zzz": {"minLength": 1}}}])),
        11 => set("not", json!({"required": ["a"], "description": "x"})),
        12 => set("oneOf", json!([{"additionalProperties": false}, {"nullable": true}])),
        13 => set("default", any(r, 2)),
        14 => set("x-kubernetes-preserve-unknown-fields", json!(r.chance(70))),
        15 => set("x-kubernetes-int-or-string", json!(true)),
        16 => set("x-kubernetes-embedded-resource", json!(true)),
        17 => set("x-kubernetes-list-type", json!(*r.pick(&["set", "map", "atomic", "bogus"]))),
        18 => set("x-kubernetes-list-map-keys", json!([*r.pick(&["a", "b"])])),
        19 => set("x-kubernetes-map-type", json!(*r.pick(&["atomic", "granular", "bogus"]))),
        20 => set("$ref", json!("#/definitions/a")),
        21 => set("definitions", json!({"a": {"type": "string"}})),
        22 => set("const", json!("x")),
        23 => set("enum", json!([1, "a", null])),
        24 => set("required", json!(["a", "a", "zzz"])),
        25 => set("format", json!(*r.pick(&FORMATS))),
        26 => set("minimum", json!(7)),
        27 => set("maxLength", json!(-1)),
        28 => set("items", json!({"type": "string", "nullable": true})),
        29 => set("items", json!([{"type": "string"}])),
        30 => set("exclusiveMinimum", if r.chance(50) { json!(3) } else { json!(true) }),
        31 => set("externalDocs", json!({"url": "x"})),
        32 => set("minItems", json!(1.5)),
        _ => set("anyOf", json!([{"properties": {"metadata": {"minProperties": 1}}}])),
    }
}

/// A value that the schema probably accepts; null when there seems to be none.
pub(crate) fn sample(r: &mut Random, schema: &Value) -> Value {
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
        return r.pick(values).clone();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" => {
            let most = schema["maxLength"].as_u64().unwrap_or(4).min(4) as usize;
            let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
            if schema.get("format").is_some() {
                return json!(text::formatted(r));
            }
            json!("abababab".chars().take(least.max(r.below(most + 1))).collect::<String>())
        }
        kind @ ("integer" | "number") => number(r, schema, kind),
        "boolean" => json!(r.chance(50)),
        "array" => {
            let most = schema["maxItems"].as_u64().unwrap_or(3) as usize;
            let mut items: Vec<Value> =
                (0..r.below(most.min(3) + 1)).map(|_| sample(r, &schema["items"])).collect();
            if schema["x-kubernetes-list-type"] == json!("set") {
                items.dedup();
            }
            Value::Array(items)
        }
        "object" => fields(r, schema),
        _ if schema["x-kubernetes-int-or-string"] == json!(true) => {
            if r.chance(50) {
                json!(r.below(9))
            } else {
                json!("5%")
            }
        }
        _ => any(r, 1),
    }
}

fn number(r: &mut Random, schema: &Value, kind: &str) -> Value {
    let bound = |keyword: &str| schema[keyword].as_i64().map(|bound| bound.clamp(-10_000, 10_000));
    let low = bound("minimum").unwrap_or(-3) + i64::from(schema["exclusiveMinimum"] == json!(true));
    let high = bound("maximum").unwrap_or(low + 9).max(low);
    let mut value = low + r.below((high - low + 1) as usize) as i64;
    if let Some(factor) = schema["multipleOf"].as_i64().filter(|factor| *factor > 0) {
        value -= value.rem_euclid(factor);
    }
    if kind == "number" && r.chance(20) && schema.get("multipleOf").is_none() && value < high {
        return json!(value as f64 + 0.5);
    }
    json!(value)
}

fn fields(r: &mut Random, schema: &Value) -> Value {
    let mut map = Map::new();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&name.as_str()) || r.chance(60) {
            map.insert(name.clone(), sample(r, property));
        }
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        for name in ["k1", "k2"] {
            if r.chance(50) {
                map.insert(name.to_owned(), sample(r, values));
            }
        }
    }
    Value::Object(map)
}

/// The same schema after a change or two, for better or worse.
pub(crate) fn evolved(r: &mut Random, old: &Value) -> Value {
    let mut schema = old.clone();
    for _ in 0..r.below(3) {
        let at = r.below(nodes(&schema));
        visit(&mut schema, at, &mut |node| evolve(r, node));
    }
    schema
}

fn evolve(r: &mut Random, node: &mut Value) {
    let Value::Object(map) = node else { return };
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let gone = *r.pick(&[
        "minimum",
        "maximum",
        "maxLength",
        "minLength",
        "pattern",
        "enum",
        "required",
        "default",
        "maxItems",
        "nullable",
        "multipleOf",
        "exclusiveMinimum",
        "anyOf",
        "oneOf",
        "allOf",
    ]);
    if r.chance(30) {
        map.remove(gone);
        return;
    }
    let mut set = |keyword: &str, value: Value| drop(map.insert(keyword.to_owned(), value));
    match (&*kind, r.below(8)) {
        (_, 0) => set("nullable", json!(true)),
        (_, 1) => set("description", json!("another")),
        ("string", 2) => set("maxLength", json!(1 + r.below(9))),
        ("string", 3) => set("enum", json!(["a", "b", "ab", "c"])),
        ("string", 4) => set("pattern", json!("^a*$")),
        ("integer" | "number", 2) => set("maximum", json!(r.below(12))),
        ("integer" | "number", 3) => set("minimum", json!(r.below(6) as i64 - 4)),
        ("integer", 4) => set("type", json!("number")),
        ("number", 4) => set("type", json!("integer")),
        ("array", 2 | 3) => set("maxItems", json!(r.below(6))),
        ("array", 4) => set("minItems", json!(r.below(2))),
        ("object", 2) => set("maxProperties", json!(r.below(6))),
        ("object", 3) => set("required", json!([*r.pick(&NAMES)])),
        ("object", 4) => set("x-kubernetes-preserve-unknown-fields", json!(true)),
        ("object", 5) => {
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                let name = (*r.pick(&NAMES)).to_owned();
                properties.insert(name, structural(r, 1));
            }
        }
        ("object", 6) => {
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                properties.remove(*r.pick(&NAMES));
            }
        }
        _ => {}
    }
}
