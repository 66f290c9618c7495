//! Tests of the answers to queries and schemas; random ones are compared with OPA in the conformance tests.

use eval_budget::{Budget, Limit};

use super::*;

/// Without a bound on time: an answer must not depend on the speed of the machine.
fn meter() -> Meter {
    Meter::new(&Budget::default().with_time(std::time::Duration::MAX))
}

fn call(name: &str, args: &[&str]) -> Answer {
    let args: Vec<Value> = args.iter().map(|arg| Value::from(*arg)).collect();
    let args: Vec<&Value> = args.iter().collect();
    crate::builtin::find(name).unwrap().call(&args, &meter())
}

const SCHEMA: &str = "
    interface Node { id: ID! }
    type User implements Node { id: ID! name(upper: Boolean = false): String friends(first: Int!): [User!] role: Role }
    type Post implements Node { id: ID! title: String }
    union Found = User | Post
    enum Role { ADMIN GUEST }
    input Filter { role: Role name: String! = \"a\" not: Filter }
    input One @oneOf { a: Int b: String }
    type Query { user(id: ID!): User search(filter: Filter, one: One): [Found!]! node: Node }
    type Subscription { added: User removed: User }
";

#[track_caller]
fn is_valid(query: &str, wanted: bool) {
    assert_eq!(call("graphql.is_valid", &[query, SCHEMA]), answer(wanted), "{query}");
}

#[test]
fn queries_that_ask_for_what_there_is_are_valid() {
    for query in [
        "{ user(id: 1) { name friends(first: 2) { id } __typename } }",
        "query Q($r: Role = ADMIN) { search(filter: {role: $r}) { ... on User { name } ... on Post { title } } }",
        "{ node { ...F } } fragment F on User { a: name b: name(upper: true) }",
        "{ __schema { types { name } } __type(name: \"User\") { kind } }",
        "subscription { added { id } }",
        "{ search(one: {a: 1}) { __typename } node @include(if: true) { id } }",
    ] {
        is_valid(query, true);
    }
}

#[test]
fn queries_that_break_a_rule_are_not() {
    for query in [
        "{ user { name } }",
        "{ user(id: 1) }",
        "{ user(id: 1) { age } }",
        "{ user(id: 1) { name { x } } }",
        "{ user(id: 1.5) { id } }",
        "{ user(id: 1, id: 2) { id } }",
        "{ user(id: $x) { id } }",
        "query($x: Int) { user(id: 1) { friends(first: $x) { id } } }",
        "query($x: Int!) { node { id } }",
        "{ a: node { id } a: user(id: 1) { id } }",
        "{ node { ...F } }",
        "{ node { id } } fragment F on User { id }",
        "{ node { ...F } } fragment F on User { friends(first: 1) { ...F } }",
        "{ node { ... on Role { id } } }",
        "{ node @nothing { id } }",
        "{ search(filter: {role: OTHER}) { __typename } }",
        "{ search(filter: {none: 1}) { __typename } }",
        "{ search(one: {a: 1, b: \"x\"}) { __typename } }",
        "{ node { id } } { node { id } }",
        "mutation { x }",
        "subscription { added { id } removed { id } }",
        "{",
    ] {
        is_valid(query, false);
    }
}

#[test]
fn schemas_that_contradict_themselves_are_not_valid() {
    let schema = |text: &str| call("graphql.schema_is_valid", &[text]);
    assert_eq!(schema(SCHEMA), answer(true));
    for text in [
        "type A { b: C }",
        "type A { __b: Int }",
        "type A",
        "type A { b: Int b: Int }",
        "type A { b: Int } type A { c: Int }",
        "interface I { a: Int } type A implements I { b: Int }",
        "input A { b: A! }",
        "type A { b(c: A): Int }",
        "union U = Int",
        "enum E { true }",
        "schema { query: A }",
        "type A @x { b: Int }",
        "extend type A",
        "scalar Int",
    ] {
        assert_eq!(schema(text), answer(false), "{text}");
    }
}

#[test]
fn trees_are_those_of_opa() {
    let tree = call("graphql.parse_query", &["query # c\n Q { a: b(c: [1, $d]) }"]).unwrap().unwrap();
    let wanted = r#"{"Operations": [{"Name": "Q", "Operation": "query", "SelectionSet": [{"Alias": "a", "Name": "b",
        "Arguments": [{"Name": "c", "Value": {"Children": [
            {"Name": "", "Value": {"ExpectedTypeHasDefault": false, "Kind": 1, "Raw": "1"}},
            {"Name": "", "Value": {"ExpectedTypeHasDefault": false, "Kind": 0, "Raw": "d"}}],
            "ExpectedTypeHasDefault": false, "Kind": 8, "Raw": ""}}]}]}]}"#;
    assert_eq!(tree, Value::from_json_str(wanted).unwrap());
    let args = [tree, SCHEMA.into()];
    let args: Vec<&Value> = args.iter().collect();
    assert_eq!(crate::builtin::find("graphql.is_valid").unwrap().call(&args, &meter()), answer(false));
}

#[test]
fn depth_is_bounded() {
    let deep = "{a".repeat(100_000) + &"}".repeat(100_000);
    assert_eq!(call("graphql.parse_query", &[&deep]), Err(EvalError::Budget(Limit::Depth)));
}
