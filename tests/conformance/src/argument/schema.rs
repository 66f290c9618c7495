//! JSON schemas, sound ones and others, and documents that have something of them.

use serde_json::{Value as Json, json};

use crate::random::Random;

const NAMES: &[&str] = &["a", "b", "ab", "c d", "é"];
const TYPES: &[&str] = &["string", "integer", "number", "object", "array", "boolean", "null"];
#[rustfmt::skip]
const NUMBERS: &[&str] = &[
    "0", "1", "2", "3", "-1", "1.5", "1.0", "0.1", "1e2", "1000000", "1234567.25", "0.00001", "1e-7", "1e21",
    "9007199254740993", "12345678901234567890", "-2.5", "0.30000000000000004",
];
const COUNTS: &[&str] = &["0", "1", "2", "3", "1", "2", "-1", "1.0", "1.5", "1e1"];
const PATTERNS: &[&str] = &["^a", "b$", "[", ".*", "é", "^$", "\\d"];
#[rustfmt::skip]
const FORMATS: &[&str] = &[
    "date", "time", "date-time", "hostname", "email", "idn-email", "ipv4", "ipv6", "uri", "uri-reference", "iri",
    "uri-template", "uuid", "regex", "json-pointer", "relative-json-pointer", "unknown", "",
];
#[rustfmt::skip]
const TEXTS: &[&str] = &[
    "a", "b", "ab", "", "é", "2020-02-29", "2021-02-29", "1:02:03", "12:60:00", "12:00:00Z", "12:00:00.5+01:00",
    "2020-01-01T00:00:00Z", "2020-01-01T24:00:00Z", "2020-01-01T00:00:00,123-24:60", "a.b", "-a", "a_b", "a@b",
    "a@b.c (x)", "A <a@b>", "\"a b\"@c", "a@[1.2.3.4]", "a..b@c", "x: a@b;", "x: a@b, c@d;", "<a@b", "a b@c", "1.2.3.4",
    "::1", "::ffff:1.2.3.4", "01.2.3.4", "fe80::1%eth0", "http://a/b?c#d", "a:b", ":a", "/a", "a\\b", "%zz", "http://a b",
    "http://a:x", "//a/{b}", "{a", "a{b}c}", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "(", "/a~0/b", "/a~2", "0#", "1/a",
    "01", "http://[::1", "1a:b/c", "a/b:c", "http://a%41/", "http://u:p@h:80/",
];
#[rustfmt::skip]
const REFERENCES: &[&str] = &[
    "#/definitions/a", "#/definitions/b", "#/definitions/c%20d", "#/definitions/a/properties/b", "#/definitions/x",
    "other.json", "%zz", "#/title/x", "#/properties/a", "#/items/0", "#n", "a.json#/properties/a", "#/required",
    "#/enum/0", "#/items/x", "#", "b.json#c", "urn:x:y#c",
];

/// The first references lead to definitions or nowhere; others may lead in circles, in which OPA is lost.
const SAFE_REFERENCES: usize = 8;
#[rustfmt::skip]
const DRAFTS: &[&str] = &[
    "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema", "https://example.com", ":",
];

fn number(random: &mut Random) -> Json {
    json!({ "n": random.pick(NUMBERS) })
}

fn value(random: &mut Random, depth: usize) -> Json {
    let inner = depth.saturating_sub(1);
    match random.below(if depth == 0 { 7 } else { 13 }) {
        0..=2 => json!(random.pick(TEXTS)),
        3 | 4 => number(random),
        5 => json!(random.once_in(2)),
        6 => Json::Null,
        7..=9 => Json::Array((0..random.below(4)).map(|_| value(random, inner)).collect()),
        _ => {
            let pairs = (0..random.below(4)).map(|_| json!([random.pick(NAMES), value(random, inner)]));
            json!({ "o": pairs.collect::<Vec<_>>() })
        }
    }
}

struct Writer<'a> {
    random: &'a mut Random,
    references: &'static [&'static str],
    /// One less than the parts of an object, at most.
    most: usize,
}

fn exclusive(random: &mut Random) -> Json {
    if random.once_in(2) { json!(random.once_in(2)) } else { number(random) }
}

impl Writer<'_> {
    fn schemas(&mut self, depth: usize) -> Json {
        Json::Array((0..=self.random.below(3)).map(|_| self.schema(depth)).collect())
    }

    fn named(&mut self, depth: usize, names: &[&'static str]) -> Json {
        let pairs =
            (0..=self.random.below(self.most)).map(|_| json!([self.random.pick(names), self.schema(depth)]));
        json!({ "o": pairs.collect::<Vec<_>>() })
    }

    fn schema(&mut self, depth: usize) -> Json {
        if depth == 0 || self.random.once_in(12) {
            return match self.random.below(5) {
                0 => json!(self.random.once_in(2)),
                1 => json!({ "o": [["$ref", self.random.pick(self.references)]] }),
                2 | 3 => json!({ "o": [["type", self.random.pick(TYPES)]] }),
                _ => json!({ "o": [] }),
            };
        }
        let pairs: Vec<Json> =
            (0..self.random.below(5)).map(|_| self.keyword(depth.saturating_sub(1))).collect();
        json!({ "o": pairs })
    }

    fn keyword(&mut self, depth: usize) -> Json {
        let (name, value) = match self.random.below(40) {
            0..=2 => ("type", json!(self.random.pick(TYPES))),
            3 => ("type", json!([self.random.pick(TYPES), self.random.pick(TYPES)])),
            4..=6 => ("properties", self.named(depth, NAMES)),
            7 => ("patternProperties", self.named(depth, PATTERNS)),
            8 => ("additionalProperties", self.schema(depth)),
            9 => ("propertyNames", self.schema(depth)),
            10 => ("dependencies", self.dependencies(depth)),
            11 => ("items", self.schema(depth)),
            12 => ("items", self.schemas(depth)),
            13 => ("additionalItems", self.schema(depth)),
            14 => ("multipleOf", number(self.random)),
            15 => ("minimum", number(self.random)),
            16 => ("maximum", number(self.random)),
            17 => (self.random.pick(&["exclusiveMinimum", "exclusiveMaximum"]), exclusive(self.random)),
            18 => (self.random.pick(&["minLength", "maxLength"]), json!({ "n": self.random.pick(COUNTS) })),
            19 => (
                self.random.pick(&["minProperties", "maxProperties"]),
                json!({ "n": self.random.pick(COUNTS) }),
            ),
            20 => (self.random.pick(&["minItems", "maxItems"]), json!({ "n": self.random.pick(COUNTS) })),
            21 => ("pattern", json!(self.random.pick(PATTERNS))),
            22..=24 => ("format", json!(self.random.pick(FORMATS))),
            25 | 26 => (
                "required",
                Json::Array((0..self.random.below(3)).map(|_| json!(self.random.pick(NAMES))).collect()),
            ),
            27 => ("uniqueItems", json!(!self.random.once_in(4))),
            28 => ("contains", self.schema(depth)),
            29 => ("const", value(self.random, 1)),
            30 => ("enum", Json::Array((0..self.random.below(4)).map(|_| value(self.random, 1)).collect())),
            31 => ("oneOf", self.schemas(depth)),
            32 => ("anyOf", self.schemas(depth)),
            33 => ("allOf", self.schemas(depth)),
            34 => ("not", self.schema(depth)),
            35 => (self.random.pick(&["if", "then", "else"]), self.schema(depth)),
            36 => ("$ref", json!(self.random.pick(self.references))),
            37 => (
                self.random.pick(&["id", "$id"]),
                json!(self.random.pick(&["a.json", "#n", "urn:x:y", "b.json#c"])),
            ),
            38 => ("title", json!(self.random.pick(TEXTS))),
            // Anything under any name.
            _ => (
                self.random.pick(&["items", "required", "not", "enum", "title", "minLength", "if"]),
                value(self.random, 1),
            ),
        };
        json!([name, value])
    }

    fn dependencies(&mut self, depth: usize) -> Json {
        let pairs = (0..=self.random.below(self.most)).map(|_| {
            let keys = json!([self.random.pick(NAMES), self.random.pick(NAMES)]);
            json!([self.random.pick(NAMES), if self.random.once_in(2) { keys } else { self.schema(depth) }])
        });
        json!({ "o": pairs.collect::<Vec<_>>() })
    }

    /// Schemas that do not refer to one another.
    fn definitions(&mut self) -> Json {
        let references = std::mem::replace(&mut self.references, &["#/definitions/e"]);
        let mut definitions = self.named(1, &["a", "b", "c d"]);
        self.references = references;
        if let Some(pairs) = definitions.get_mut("o").and_then(Json::as_array_mut).filter(|_| self.most > 1) {
            pairs.push(json!(["e", { "o": [["type", "string"]] }]));
        }
        definitions
    }

    fn root(&mut self) -> Json {
        let mut pairs = Vec::new();
        if self.random.once_in(2) {
            pairs.push(json!(["definitions", self.definitions()]));
        }
        if self.random.once_in(4) {
            pairs.push(json!(["$schema", self.random.pick(DRAFTS)]));
        }
        pairs.extend((0..=self.random.below(4)).map(|_| self.keyword(2)));
        json!({ "o": pairs })
    }
}

/// Any reference: nothing follows it. What is said first is chance where an object has several parts.
pub(super) fn verified(random: &mut Random) -> Vec<Json> {
    vec![Writer { random, references: REFERENCES, most: 1 }.root()]
}

pub(super) fn matched(random: &mut Random) -> Vec<Json> {
    let document = match random.below(4) {
        0 => Json::Array((0..random.below(4)).map(|_| value(random, 2)).collect()),
        _ => {
            let pairs = (0..random.below(5)).map(|_| json!([random.pick(NAMES), value(random, 2)]));
            json!({ "o": pairs.collect::<Vec<_>>() })
        }
    };
    let references = REFERENCES.get(..SAFE_REFERENCES).unwrap_or(&[]);
    vec![document, Writer { random, references, most: 3 }.root()]
}
