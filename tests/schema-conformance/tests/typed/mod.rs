//! Schemas with and without bounds, and rules over them that are mostly well typed: what the cost estimate is tried on.
//!
//! This file asserts nothing.

use serde_json::{Value, json};

use crate::generate::Random;

/// A bound, or none.
fn bounded(r: &mut Random, schema: Value, keyword: &str, most: usize) -> Value {
    let mut schema = schema;
    if r.chance(70) {
        schema[keyword] = json!(1 + r.below(most));
    }
    schema
}

/// The schema of the object that rules are about. Its fields are those that [`expression`] uses.
pub(crate) fn schema(r: &mut Random) -> Value {
    let text = |r: &mut Random| bounded(r, json!({"type": "string"}), "maxLength", 60);
    let texts = |r: &mut Random| {
        let items = text(r);
        bounded(r, json!({"type": "array", "items": items}), "maxItems", 20)
    };
    let numbers = bounded(r, json!({"type": "array", "items": {"type": "integer"}}), "maxItems", 20);
    let (inner, pair, note) = (text(r), texts(r), text(r));
    let things = json!({"type": "array", "items": {"type": "object", "required": ["id"], "properties": {
        "id": inner, "tags": pair, "count": {"type": "integer"}, "deep": {"type": "object", "properties": {"note": note}},
    }}});
    let value = text(r);
    let labels = json!({"type": "object", "additionalProperties": value});
    json!({"type": "object", "properties": {
        "name": text(r), "other": text(r), "kind": {"type": "string", "enum": ["a", "bb", "ccc"]}, "for": text(r),
        "size": {"type": "integer"}, "ratio": {"type": "number"}, "flag": {"type": "boolean"},
        "data": bounded(r, json!({"type": "string", "format": "byte"}), "maxLength", 60),
        "age": {"type": "string", "format": "duration"}, "since": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": true}, "list": texts(r), "numbers": numbers,
        "things": bounded(r, things, "maxItems", 20), "labels": bounded(r, labels, "maxProperties", 20),
    }})
}

/// The kind that an expression is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Text,
    Bytes,
    Texts,
    Numbers,
    Things,
    Labels,
    Duration,
    Time,
    Any,
}

use Kind::{Any, Bool, Bytes, Duration, Int, Labels, Numbers, Text, Texts, Things, Time};

const KINDS: [Kind; 10] = [Bool, Int, Text, Bytes, Texts, Numbers, Things, Labels, Duration, Time];

/// An expression of a kind over the fields of [`schema`] and the names in `bound`; now and then of another kind.
pub(crate) fn expression(
    r: &mut Random,
    kind: Kind,
    depth: usize,
    bound: &mut Vec<(String, Kind)>,
) -> String {
    let kind = if r.chance(2) { *r.pick(&KINDS) } else { kind };
    if depth == 0 || r.chance(15) {
        return leaf(r, kind, bound);
    }
    let mut of = |r: &mut Random, kind: Kind| expression(r, kind, depth - 1, bound);
    if r.chance(5) {
        return format!("({} ? {} : {})", of(r, Bool), of(r, kind), of(r, kind));
    }
    match kind {
        Bool => condition(r, depth, bound),
        Int => match r.below(9) {
            0 => format!("({} {} {})", of(r, Int), r.pick(&["+", "-", "*", "/", "%"]), of(r, Int)),
            1 => format!("size({})", of(r, Text)),
            2 => format!("{}.size()", of(r, Texts)),
            3 => format!("{}.{}()", of(r, Numbers), r.pick(&["sum", "min", "max"])),
            4 => format!("{}.indexOf({})", of(r, Text), of(r, Text)),
            5 => format!("{}.{}({})", of(r, Texts), r.pick(&["indexOf", "lastIndexOf"]), of(r, Text)),
            6 => format!("int({})", of(r, Text)),
            7 => format!("{}.getHours()", of(r, Duration)),
            _ => format!("{}[{}]", of(r, Numbers), of(r, Int)),
        },
        Text => match r.below(15) {
            0 => format!("({} + {})", of(r, Text), of(r, Text)),
            1 => format!("{}.{}()", of(r, Text), r.pick(&["lowerAscii", "upperAscii", "trim"])),
            2 => format!("{}.replace({}, {})", of(r, Text), of(r, Text), of(r, Text)),
            3 => format!("{}.join({})", of(r, Texts), of(r, Text)),
            4 => format!("{}.join()", of(r, Texts)),
            5 => format!("{}.substring({})", of(r, Text), of(r, Int)),
            6 => format!("{}.find('{}')", of(r, Text), r.pick(&["a+", "[a-z]*b", "x"])),
            7 => format!("string({})", of(r, Int)),
            8 => format!("'%s and %d'.format([{}, {}])", of(r, Any), of(r, Int)),
            9 => format!("{}[{}]", of(r, Texts), of(r, Int)),
            10 => format!("{}[{}]", of(r, Labels), of(r, Text)),
            11 => format!("{}[{}].id", of(r, Things), of(r, Int)),
            12 => format!("strings.quote({})", of(r, Text)),
            13 => {
                format!("{}.{}({}, {})", of(r, Text), "replace", r.pick(&["''", "'ab'", "'a'"]), of(r, Text))
            }
            _ => format!("self.?{}.orValue({})", r.pick(&["name", "other", "for"]), of(r, Text)),
        },
        Bytes => format!("bytes({})", of(r, Text)),
        Texts => list(r, depth, bound),
        Numbers => match r.below(6) {
            0 => format!("({} + {})", of(r, Numbers), of(r, Numbers)),
            1 => format!("lists.range({})", r.below(50)),
            2 => format!("{}.{}()", of(r, Numbers), r.pick(&["sort", "reverse", "distinct"])),
            3 => format!("{}.slice({}, {})", of(r, Numbers), r.below(5), r.below(9)),
            4 => macro_of(r, "map", Texts, Int, depth, bound),
            _ => macro_of(r, "filter", Numbers, Bool, depth, bound),
        },
        Things => match r.below(3) {
            0 => macro_of(r, "filter", Things, Bool, depth, bound),
            1 => format!("({} + {})", of(r, Things), of(r, Things)),
            _ => macro_of(r, "sortBy", Things, Int, depth, bound),
        },
        Labels => {
            let body = over(r, Text, &[("k", Text), ("v", Text)], depth, bound);
            format!("self.labels.transformMap(k, v, {body})")
        }
        Duration => format!("duration({})", of(r, Text)),
        Time => format!("({} + {})", of(r, Time), of(r, Duration)),
        Any => {
            let kind = *r.pick(&KINDS);
            of(r, kind)
        }
    }
}

fn condition(r: &mut Random, depth: usize, bound: &mut Vec<(String, Kind)>) -> String {
    let mut of = |r: &mut Random, kind: Kind| expression(r, kind, depth - 1, bound);
    match r.below(17) {
        0 => format!("({} && {})", of(r, Bool), of(r, Bool)),
        1 => format!("({} || {})", of(r, Bool), of(r, Bool)),
        2 => format!("!{}", of(r, Bool)),
        3 => {
            let kind = *r.pick(&KINDS);
            format!("({} {} {})", of(r, kind), r.pick(&["==", "!="]), of(r, kind))
        }
        4 => {
            let kind = *r.pick(&[Int, Text, Bytes, Duration, Time]);
            format!("({} {} {})", of(r, kind), r.pick(&["<", "<=", ">", ">="]), of(r, kind))
        }
        5 => format!("{}.{}({})", of(r, Text), r.pick(&["startsWith", "endsWith", "contains"]), of(r, Text)),
        6 => format!("{}.matches({})", of(r, Text), r.pick(&["'^[a-z]+$'", "'a'", "self.other"])),
        7 => format!("({} in {})", of(r, Text), of(r, Texts)),
        8 => format!("({} in {})", of(r, Text), of(r, Labels)),
        9 => format!("{}.isSorted()", of(r, Texts)),
        10 => format!(
            "sets.{}({}, {})",
            r.pick(&["contains", "intersects", "equivalent"]),
            of(r, Texts),
            of(r, Texts)
        ),
        11 => format!(
            "{}({})",
            r.pick(&["isIP", "isCIDR", "isURL", "isQuantity", "isSemver", "ip.isCanonical"]),
            of(r, Text)
        ),
        12 => (*r.pick(&[
            "has(self.name)",
            "has(self.for)",
            "quantity(self.name) == quantity(self.other)",
            "ip(self.name) == ip(self.other)",
            "cidr(self.name).containsIP(self.other)",
            "cidr(self.name).containsCIDR(self.other)",
            "cidr(self.name).containsIP(ip(self.other))",
            "url(self.name) == url(self.other)",
            "format.dns1123Label().validate(self.name).hasValue()",
            "format.uuid() == format.uri()",
            "semver(self.name).isLessThan(semver(self.other))",
            "self.port == 80",
            "self.port.startsWith('a')",
            "self.?labels['a'].hasValue()",
            "self.name.find(self.other) != ''",
            "dyn(self.list).size() > 1",
            "self.labels.all(k, self.labels[k] == k)",
            "(type(self.port) == int)",
            "self == oldSelf",
            "self.labels.?a.optMap(x, x + self.name).orValue('') == ''",
            "self.data == b'x'",
            "self.things.all(t, t.tags.all(g, g == t.id))",
            "self.things.exists(t, t.deep.note == t.id)",
            "[[self.name], ['a']].flatten() == self.list",
            "{'a': self.name}.a == self.name",
        ]))
        .to_owned(),
        13 => {
            let range = *r.pick(&[Texts, Numbers, Things]);
            macro_of(r, "all", range, Bool, depth, bound)
        }
        14 => {
            let range = *r.pick(&[Texts, Numbers, Things]);
            macro_of(r, "exists", range, Bool, depth, bound)
        }
        15 => {
            let range = *r.pick(&[Texts, Numbers, Things]);
            macro_of(r, "exists_one", range, Bool, depth, bound)
        }
        _ => {
            let body = over(r, Bool, &[("k", Text), ("v", Text)], depth, bound);
            format!("self.labels.{}(k, v, {body})", r.pick(&["all", "exists", "existsOne"]))
        }
    }
}

fn list(r: &mut Random, depth: usize, bound: &mut Vec<(String, Kind)>) -> String {
    let mut of = |r: &mut Random, kind: Kind| expression(r, kind, depth - 1, bound);
    match r.below(12) {
        0 => format!("({} + {})", of(r, Texts), of(r, Texts)),
        1 => format!("[{}, {}]", of(r, Text), of(r, Text)),
        2 => format!("{}.split({})", of(r, Text), of(r, Text)),
        3 => format!("{}.split(',', {})", of(r, Text), r.below(9)),
        4 => format!("{}.findAll('a+')", of(r, Text)),
        5 => format!("{}.{}()", of(r, Texts), r.pick(&["sort", "reverse", "distinct"])),
        6 => format!("{}.map(t, t.tags).flatten()", of(r, Things)),
        7 => macro_of(r, "filter", Texts, Bool, depth, bound),
        8 => macro_of(r, "map", Things, Text, depth, bound),
        9 => macro_of(r, "map", Numbers, Text, depth, bound),
        10 => macro_of(r, "sortBy", Texts, Int, depth, bound),
        _ => {
            let body = over(r, Text, &[("i", Int), ("e", Text)], depth, bound);
            format!("{}.transformList(i, e, {body})", expression(r, Texts, depth - 1, bound))
        }
    }
}

fn macro_of(
    r: &mut Random,
    name: &str,
    range: Kind,
    body: Kind,
    depth: usize,
    bound: &mut Vec<(String, Kind)>,
) -> String {
    let element = match range {
        Texts => Text,
        Numbers => Int,
        _ => Things,
    };
    let range = expression(r, range, depth - 1, bound);
    let variable = format!("x{}", bound.len());
    // Elements of `things` are objects; their fields stand for them.
    bound.push((variable.clone(), if element == Things { Any } else { element }));
    let body = expression(r, body, depth - 1, bound);
    bound.pop();
    format!("{range}.{name}({variable}, {body})")
}

/// A body with names bound, at one level less.
fn over(
    r: &mut Random,
    body: Kind,
    names: &[(&str, Kind)],
    depth: usize,
    bound: &mut Vec<(String, Kind)>,
) -> String {
    let outside = bound.len();
    bound.extend(names.iter().map(|(name, kind)| ((*name).to_owned(), *kind)));
    let body = expression(r, body, depth - 1, bound);
    bound.truncate(outside);
    body
}

/// A field, a bound name or a literal.
fn leaf(r: &mut Random, kind: Kind, bound: &[(String, Kind)]) -> String {
    if let Some((name, of)) = bound.iter().rev().find(|(_, of)| *of == kind || *of == Any)
        && r.chance(60)
    {
        let field = match kind {
            Text => ".id",
            Texts => ".tags",
            Int => ".count",
            _ => return name.clone(),
        };
        return if *of == Any { format!("{name}{field}") } else { name.clone() };
    }
    let leaves: &[&str] = match kind {
        Bool => &["self.flag", "true", "has(self.list)"],
        Int => &["self.size", "3", "-1", "0"],
        Text => &["self.name", "self.other", "self.kind", "self.for", "'abc'", "''", "self.things[0].id"],
        Bytes => &["self.data", "b'abc'"],
        Texts => &["self.list", "['a', 'bb']", "self.things[0].tags"],
        Numbers => &["self.numbers", "[1, 2, 3]"],
        Things => &["self.things"],
        Labels => &["self.labels", "{'a': 'b'}"],
        Duration => &["self.age", "duration('1h')"],
        Time => &["self.since", "timestamp('2020-01-01T00:00:00Z')"],
        Any => &["self.port", "self.ratio", "self.name"],
    };
    (*r.pick(leaves)).to_owned()
}
