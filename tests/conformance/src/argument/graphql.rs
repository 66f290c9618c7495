//! GraphQL: schemas and queries, sound ones and others.

use rego_compat::{Budget, Restrictions, Value};
use serde_json::{Value as Json, json};

use crate::Verdict;
use crate::ours::{Sources, evaluate};
use crate::random::Random;

const SCHEMA: &str = "interface Node { id: ID! name: String }
type User implements Node { id: ID! name: String friends(first: Int! after: String = \"x\"): [User!] role: Role pet: Pet }
type Post implements Node { id: ID! name: String title: String! tags: [String!]! author: User }
type Dog { name: String! barks: Boolean } type Cat { name: String meows: Int }
union Pet = Dog | Cat
enum Role { ADMIN GUEST }
scalar Date
input Filter { role: Role name: String! = \"a\" not: Filter ids: [ID!] }
input One @oneOf { a: Int b: String }
directive @tag(name: String! n: Int) repeatable on FIELD | QUERY | FRAGMENT_SPREAD
type Query { user(id: ID!): User search(filter: Filter one: One at: Date ids: [Int]): [Pet!]! node: Node pet: Pet count(f: Float b: Boolean): Int }
type Mutation { add(name: String!): User } type Subscription { added: User removed: User }";

#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "id", "name", "friends", "role", "pet", "title", "tags", "author", "barks", "meows", "user", "search", "node", "count",
    "__typename", "age", "a: name", "a: id", "b: role", "name: id", "__schema", "add", "added", "removed",
];
#[rustfmt::skip]
const ARGUMENTS: &[&str] = &[
    "id: 1", "id: \"x\"", "first: 1", "first: $n", "after: null", "filter: {role: ADMIN}", "filter: {name: \"b\" not: {role: GUEST}}",
    "filter: $f", "filter: {role: OTHER}", "filter: {none: 1}", "one: {a: 1}", "one: {a: 1 b: \"x\"}", "one: {a: $n}", "at: 2020",
    "ids: [1 2 null]", "ids: 3", "ids: [\"x\"]", "f: 1", "f: 1.5", "f: \"1\"", "b: true", "b: 1", "name: \"n\"", "id: 1.5", "id: $i", "one: {a: null}",
    "filter: {name: null}", "ids: [[1]]", "filter: {ids: [1 \"x\"]}", "filter: {ids: $i}", "first: 99999999999", "first: 9999999999999999999",
];
#[rustfmt::skip]
const DIRECTIVES: &[&str] = &[
    "@include(if: true)", "@skip(if: $b)", "@skip", "@tag(name: \"x\")", "@tag(name: \"x\") @tag(name: \"y\")", "@none", "@include(if: 1)",
    "@skip(if: true) @skip(if: false)", "@deprecated", "@tag(n: 1)", "@defer",
];
#[rustfmt::skip]
const VARIABLES: &[&str] = &[
    "$n: Int!", "$n: Int", "$n: Int = 1", "$f: Filter", "$i: ID!", "$b: Boolean!", "$b: Boolean = true", "$x: User", "$x: None", "$i: [ID!]",
    "$f: Filter = {name: 1}", "$b: Boolean! @tag(name: \"x\")",
];
const TYPES: &[&str] = &["User", "Post", "Node", "Dog", "Cat", "Pet", "Role", "None", "Query"];
const NOISE: &[&str] = &["", "", "", "", "# c\n", ",", "\u{feff}", "!", "\"", "..."];

/// Fields of a type with arguments and the type of what they give, if that has fields.
fn fields_of(parent: &str) -> &'static [(&'static str, &'static str, &'static str)] {
    match parent {
        "Query" => &[
            ("user", "(id: 1)", "User"),
            ("search", "", "Pet"),
            ("node", "", "Node"),
            ("pet", "", "Pet"),
            ("count", "", ""),
            ("search", "(filter: {role: ADMIN})", "Pet"),
            ("count", "(f: 1)", ""),
            ("user", "(id: $i)", "User"),
            ("search", "(filter: $f)", "Pet"),
        ],
        "User" => &[
            ("id", "", ""),
            ("name", "", ""),
            ("friends", "(first: 1)", "User"),
            ("friends", "(first: $n)", "User"),
            ("role", "", ""),
            ("pet", "", "Pet"),
        ],
        "Post" => &[("id", "", ""), ("title", "", ""), ("tags", "", ""), ("author", "", "User")],
        "Node" => &[("id", "", ""), ("name", "", "")],
        "Dog" => &[("name", "", ""), ("barks", "", "")],
        "Cat" => &[("name", "", ""), ("meows", "", "")],
        "Mutation" => &[("add", "(name: \"x\")", "User")],
        "Subscription" => &[("added", "", "User"), ("removed", "", "User")],
        _ => &[("__typename", "", "")],
    }
}

struct Writer<'a> {
    random: &'a mut Random,
}

impl Writer<'_> {
    fn noise(&mut self) -> &'static str {
        if self.random.once_in(12) { self.random.pick(NOISE) } else { "" }
    }

    fn directive(&mut self) -> String {
        if self.random.once_in(10) { format!(" {}", self.random.pick(DIRECTIVES)) } else { String::new() }
    }

    fn list(&mut self, choices: &[&'static str]) -> String {
        let items: Vec<&str> = (0..=self.random.below(2)).map(|_| self.random.pick(choices)).collect();
        format!("({})", items.join(", "))
    }

    /// Fields that a type has, mostly.
    fn fields(&mut self, parent: &str, depth: usize) -> String {
        let known = fields_of(parent);
        let count = if parent == "Subscription" { 0 } else { self.random.below(3) };
        let parts: Vec<String> = (0..=count)
            .map(|_| {
                let noise = self.noise();
                let part = match self.random.below(12) {
                    0 if self.random.once_in(3) => self.random.pick(FIELDS).to_owned(),
                    1 => self.inline(parent, depth),
                    2 => format!("...{}{}", self.random.pick(&["F", "F", "G", "H"]), self.directive()),
                    _ => {
                        let at = self.random.below(known.len());
                        let (name, arguments, kind) = known.get(at).copied().unwrap_or(("id", "", ""));
                        let alias = if self.random.once_in(6) {
                            self.random.pick(&["a: ", "name: ", "id: "])
                        } else {
                            ""
                        };
                        let arguments =
                            if self.random.once_in(8) { self.list(ARGUMENTS) } else { arguments.to_owned() };
                        let inner = if kind.is_empty() || depth == 0 {
                            String::new()
                        } else {
                            self.fields(kind, depth.saturating_sub(1))
                        };
                        format!("{alias}{name}{arguments}{}{inner}", self.directive())
                    }
                };
                format!("{noise}{part}")
            })
            .collect();
        format!(" {{ {} }}", parts.join(" "))
    }

    fn inline(&mut self, parent: &str, depth: usize) -> String {
        if depth == 0 {
            return "__typename".to_owned();
        }
        let kind = match (parent, self.random.below(3)) {
            (_, 0) => self.random.pick(TYPES),
            ("Pet", _) => self.random.pick(&["Dog", "Cat"]),
            ("Node", _) => self.random.pick(&["User", "Post"]),
            _ => "",
        };
        let condition = if kind.is_empty() { String::new() } else { format!(" on {kind}") };
        let inner = self.fields(if kind.is_empty() { parent } else { kind }, depth.saturating_sub(1));
        format!("...{condition}{}{inner}", self.directive())
    }

    fn query(&mut self) -> String {
        let mut parts = Vec::new();
        for _ in 0..=usize::from(self.random.once_in(10)) {
            let (kind, root) = match self.random.below(10) {
                0 => ("mutation", "Mutation"),
                1 => ("subscription", "Subscription"),
                2..=4 => ("", "Query"),
                _ => ("query", "Query"),
            };
            let variables =
                if kind == "query" && self.random.once_in(3) { self.list(VARIABLES) } else { String::new() };
            let name = if kind.is_empty() { "" } else { self.random.pick(&["", " A", " B"]) };
            let directive = if kind.is_empty() { String::new() } else { self.directive() };
            parts.push(format!("{}{kind}{name}{variables}{directive}{}", self.noise(), self.fields(root, 3)));
        }
        let text = parts.join("\n");
        for name in ["F", "G"] {
            if text.contains(&format!("...{name}")) || self.random.once_in(12) {
                let kind = self.random.pick(TYPES);
                parts.push(format!("fragment {name} on {kind}{}", self.fields(kind, 2)));
            }
        }
        parts.join("\n")
    }

    fn schema(&mut self) -> String {
        #[rustfmt::skip]
        const PARTS: &[&str] = &[
            "type A { a: Int }", "type A implements I { a: Int b(c: Int): String }", "interface I { a: Int }", "interface I implements J { a: Int }",
            "interface J { a: Int }", "union U = A | B", "union U = | A", "union U = Int", "type B { a: A! b: [U!]! }", "enum E { X Y }", "enum E { X X }",
            "input N { a: Int = 1 b: N }", "input N { a: N! }", "input N { a: [N!]! }", "scalar S @specifiedBy(url: \"u\")", "scalar S", "schema { query: A }",
            "schema { query: A mutation: B }", "extend schema { subscription: A }", "extend type A { z: Int }", "extend type A @d", "extend enum E { Z }",
            "extend input N { z: Int }", "extend union U = B", "extend scalar S @d", "extend type Q { a: Int }", "extend type A", "directive @d on OBJECT | SCALAR | FIELD_DEFINITION",
            "directive @d(a: Int! b: E) repeatable on OBJECT", "directive @d(a: Int @d) on ARGUMENT_DEFINITION", "directive @skip on FIELD", "type A @d { a: Int @deprecated(reason: \"x\") }",
            "type A @d(a: 1) @d(a: null) { a: Int }", "\"text\" type C { \"\"\"\n  block\n    more\n\"\"\" a: Int # c\n b(\"arg\" c: N = {a: 2}): S }", "# only\n", "type __A { a: Int }", "type A { __a: Int }",
            "type Query { a: Int }", "type A { a: B }", "type A { a(b: A): Int }", "type A { }", "input N { a: A }", "type A implements I & J { a: Int }", "type A implements I { a: String }",
            "\"x\" extend type A { y: Int }", "enum E { true }", "enum E { \"v\" X @deprecated # e\n }", "interface I { a(b: Int): Int }", "type A implements I { a(b: Int c: Int!): Int }", "union U = A | A", "type C { a: N }", "type", "}", "\"\"\"unclosed",
        ];
        let parts: Vec<&str> = (0..=self.random.below(5)).map(|_| self.random.pick(PARTS)).collect();
        parts.join(&format!("\n{}", self.noise()))
    }
}

/// The tree of a document, which the functions take in place of its text.
fn tree(function: &str, text: &str) -> Json {
    let module = format!("package g\n\np = graphql.{function}(input)\n");
    let sources = Sources { modules: vec![("g.rego".to_owned(), module)], v0: true };
    let program = sources.compile("data.g.p", &Restrictions::default());
    let tree =
        program.map(|program| evaluate(&program, &text.into(), &Value::new_object(), &Budget::default()));
    match tree {
        Ok(Verdict::Value(value)) => crate::tagged::write(&value),
        _ => json!(text),
    }
}

pub(super) fn asked(name: &str, random: &mut Random) -> Option<Vec<Json>> {
    let mut writer = Writer { random };
    let schema = if writer.random.once_in(8) { writer.schema() } else { SCHEMA.to_owned() };
    let (query, broken) = (writer.query(), writer.schema());
    // OPA does not survive trees in which something is missing that a rule looks at: these are whole.
    let as_tree = random.once_in(4);
    let schema_of = |text: &str| if as_tree { tree("parse_schema", text) } else { json!(text) };
    let query_of =
        |text: &str| if as_tree && !text.contains('@') { tree("parse_query", text) } else { json!(text) };
    Some(match name {
        "graphql.parse_query" => vec![json!(query)],
        "graphql.parse_schema" => vec![json!(broken)],
        "graphql.schema_is_valid" => vec![schema_of(&broken)],
        "graphql.is_valid" | "graphql.parse" | "graphql.parse_and_verify" => {
            vec![query_of(&query), schema_of(&schema)]
        }
        _ => return None,
    })
}
