//! regorus's answers beside those of the engine that decides: equal, or listed here with the difference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says no by panicking")]

use constraint_framework::driver::{Budget, Case, Driver, RegoDriver, RegorusDriver};
use constraint_framework::inventory::Inventory;
use constraint_framework::review::{Document, Json, Review};
use serde_json::json;

/// The messages of `violation` in a body, or why there are none.
fn messages(driver: &dyn Driver, body: &str) -> Result<Vec<String>, String> {
    let rego = format!("package t\n{body}");
    let program = driver
        .compile(&json!({ "rego": rego }))
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let object =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"a": "b"}}});
    let review = Review::builder("").object(Document::from_value(&object).unwrap()).build();
    let parameters = Json::from_value(&json!({"list": [1, 2, 3], "text": "x"})).unwrap();
    let case = Case { review: &review, parameters: &parameters, inventory: &Inventory::default() };
    let found = program.evaluate(&case, &Budget::default()).map_err(|error| error.to_string())?;
    let mut messages: Vec<String> = found.into_iter().map(|violation| violation.message).collect();
    messages.sort();
    Ok(messages)
}

/// A violation whose message is the JSON of an expression.
fn saying(expression: &str) -> String {
    format!("violation[{{\"msg\": msg}}] {{ x := {expression}; msg := json.marshal(x) }}")
}

fn one(driver: &dyn Driver, expression: &str) -> Result<Option<String>, String> {
    let messages = messages(driver, &saying(expression))?;
    assert!(messages.len() <= 1, "{expression}: {messages:?}");
    Ok(messages.into_iter().next())
}

#[test]
fn answers_are_equal() {
    for expression in EQUAL {
        assert_eq!(one(&RegorusDriver, expression), one(&RegoDriver, expression), "{expression}");
    }
}

#[test]
fn answers_that_differ_are_these() {
    for (expression, own, theirs) in DIFFERENT.iter().copied() {
        assert_eq!(one(&RegoDriver, expression).unwrap().as_deref(), Some(own), "{expression}");
        assert_eq!(one(&RegorusDriver, expression).unwrap().as_deref(), theirs, "{expression}");
    }
    // A key that a comprehension finds, not a number beyond 64-bit floating point, and a relation.
    let unsafe_key = one(&RegorusDriver, "{x: y | y := input.parameters.list[x]}").unwrap_err();
    assert!(unsafe_key.contains("var x is unsafe"), "{unsafe_key}");
    assert!(one(&RegorusDriver, "1e400").unwrap_err().contains("regorus does not read the template"));
    let walked = saying("walk({\"a\": 1})");
    assert_eq!(
        (messages(&RegoDriver, &walked).unwrap().len(), messages(&RegorusDriver, &walked)),
        (2, Ok(vec![]))
    );
}

#[test]
fn functions_that_regorus_lacks_fail_by_name_and_are_not_undefined() {
    for expression in MISSING {
        let name = expression.split('(').next().unwrap_or_default();
        let error = one(&RegorusDriver, expression).unwrap_err();
        assert!(error.contains(&format!("could not find function {name}")), "{error}");
        assert!(one(&RegoDriver, expression).is_ok(), "{expression}");
    }
}

#[test]
fn what_a_template_may_not_contain_is_refused_before_regorus_sees_it() {
    for body in [
        "violation[{\"msg\": \"a\"}] { data.secrets.x }",
        "violation[{\"msg\": p}] { q }\np { p }",
        "p { true }",
    ] {
        assert!(messages(&RegorusDriver, body).is_err(), "{body}");
    }
}

#[test]
fn conflicts_and_answers_of_another_shape_fail_the_constraint() {
    for body in [
        "violation = null { true }",
        "f = 1 { true }\nf = 2 { true }\nviolation[{\"msg\": \"a\"}] { f }",
        "violation[{\"msg\": 1}] { true }",
    ] {
        for driver in [&RegoDriver as &dyn Driver, &RegorusDriver] {
            assert!(messages(driver, body).is_err(), "{body}");
        }
    }
}

const EQUAL: &[&str] = &[
    "input.review.object.metadata.name",
    "sprintf(\"%x %q %v\", [255, \"a\", {\"b\": [1]}])",
    "sprintf(\"%v\", [{1, 2}])",
    "regex.template_match(\"a{.*}\", \"abc\", \"{\", \"}\")",
    "regex.match(\"^\\\\d+$\", \"12\")",
    "regex.replace(\"abc\", \"b\", \"[$0]\")",
    "glob.match(\"*.com\", [\".\"], \"a.com\")",
    "glob.match(\"{a,b}\", null, \"a\")",
    "units.parse(\"10Ki\")",
    "units.parse_bytes(\"10Ki\")",
    "json.patch({\"a\": 1}, [{\"op\": \"add\", \"path\": \"/b\", \"value\": 2}])",
    "graph.reachable({\"a\": [\"b\"], \"b\": []}, [\"a\"])",
    "net.cidr_contains(\"10.0.0.0/8\", \"10.1.2.3\")",
    "net.cidr_expand(\"10.0.0.0/30\")",
    "time.parse_rfc3339_ns(\"2020-01-01T00:00:00Z\")",
    "time.add_date(0, 1, 1, 1)",
    "semver.compare(\"1.0.0\", \"2.0.0\")",
    "5 % 3",
    "round(2.5)",
    "to_number(\"0x10\")",
    "trim_space(\" a \")",
    "split(\"abc\", \"\")",
    "indexof_n(\"aaa\", \"a\")",
    "substring(\"héllo\", 1, -1)",
    "format_int(15.5, 2)",
    "object.union_n([{\"a\": 1}, {\"a\": 2}])",
    "object.subset([1, 2, 3], [2, 3])",
    "yaml.unmarshal(\"a: no\")",
    "yaml.marshal({\"a\": 1})",
    "base64.decode(\"YQ==\")",
    "urlquery.decode_object(\"a=1&a=2\")",
    "strings.count(\"aaa\", \"a\")",
    "sort([3, \"a\", null, true, [1], {\"a\": 1}])",
    "[1, 2][-1]",
    "count(\"héllo\")",
    "[x | x := input.parameters.list[_]; x > 1]",
    "is_number(1)",
    "numbers.range(3, 1)",
    "concat(\",\", {\"b\", \"a\"})",
    "product([1.5, 2])",
    "json.filter({\"a\": {\"b\": 1, \"c\": 2}}, [\"a/b\"])",
];

/// Expression, the engine's own answer, which is OPA's, and that of regorus; none where it is undefined.
const DIFFERENT: &[(&str, &str, Option<&str>)] = &[
    ("sprintf(\"%d\", [\"a\"])", "\"%!d(string=a)\"", Some("\"\"")),
    ("sprintf(\"%5.2f\", [3.14159])", "\" 3.14\"", None),
    ("sprintf(\"%s\", [1])", "\"%!s(int64=1)\"", Some("\"1\"")),
    ("1 / 3", "0.33333333333333333334", Some("0.3333333333333333")),
    (
        "10000000000000000000000 * 10000000000000000000",
        "100000000000000000000000000000000000000000",
        Some("1e+41"),
    ),
    ("0.1 + 0.2", "0.3", Some("0.30000000000000004")),
    ("to_number(\"1e3\")", "1e3", Some("1000")),
    ("upper(\"ß\")", "\"ß\"", Some("\"SS\"")),
    ("json.match_schema({\"a\": 1}, {\"type\": \"object\"})", "[true,[]]", Some("[true,null]")),
    ("json.marshal(1.0)", "\"1.0\"", Some("\"1\"")),
    ("bits.lsh(1, 70)", "1180591620717411303424", Some("1.1805916207174113e+21")),
];

const MISSING: &[&str] = &[
    "regex.globs_match(\"a.*\", \"ab\")",
    "crypto.sha256(\"a\")",
    "crypto.x509.parse_certificates(\"a\")",
    "io.jwt.decode(\"a.b.c\")",
    "graphql.is_valid(\"{a}\", \"type Query {a: Int}\")",
    "net.cidr_merge([\"10.0.0.0/9\", \"10.128.0.0/9\"])",
    "strings.render_template(\"{{.a}}\", {\"a\": 1})",
    "rego.parse_module(\"a.rego\", \"package a\")",
    "array.flatten([[1], 2])",
    "uri.parse(\"http://a/b\")",
    "cast_set([1])",
    "any([false, true])",
    "re_match(\"a\", \"a\")",
];
