//! Validation rules under the feature `cel`: a real API server has the same verdict in the same words. For syntax errors
//! the words may differ behind the first error, and a listed kind of rule is left to the server.
//!
//! CRDs are submitted with dry run. `SCHEMA_CONFORMANCE_CASES` says how many generated ones.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says no by panicking"
)]
#![allow(clippy::arithmetic_side_effects, reason = "seeds and counts stay small")]

#[path = "../../../crates/schema-merge/tests/generate/mod.rs"]
mod generate;
mod submission;
mod typed;

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use generate::Random;
use schema_merge::check_crd;
use serde_json::{Value, json};
use submission::{Answer, crd, setting, submit};

/// The verdicts of the server and of `check_crd` on a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Both accept it.
    Accepted,
    /// Both refuse it in the same words.
    Refused,
    /// Both refuse it for a syntax error, in other words: ANTLR goes on behind the first one, and we do not.
    SyntaxError,
    /// The server refuses it, and we leave that to the server: it nests deeper than we read.
    LeftToTheServer,
}

use Verdict::{Accepted, LeftToTheServer, Refused, SyntaxError};

/// Rules about `spec`, whose schema is [`spec`].
const RULES: [(&str, Verdict); 62] = [
    // Syntax.
    ("true", Accepted),
    ("self.size <", Refused),
    ("self.size = 3", Refused),
    ("self.size > 3 and true", Refused),
    ("'unterminated", Refused),
    ("(self.size > 3", Refused),
    ("self.size > 3)", Refused),
    ("self..size > 3", Refused),
    ("1 +", Refused),
    ("", Refused),
    ("  ", Refused),
    ("self.size > 3 // a note", Accepted),
    ("self.size > 0x1F", Accepted),
    ("self.name == r'\\d'", Accepted),
    ("self.name == '\\q'", Refused),
    // Fields.
    ("self.size > 3", Accepted),
    ("self.sise > 3", Refused),
    ("self.inner.deep == 'x'", Accepted),
    ("self.inner.wrong == 'x'", Refused),
    ("has(self.size)", Accepted),
    ("has(self.wrong)", Refused),
    ("self.list.all(x, x.startsWith('a'))", Accepted),
    ("self.things.all(t, t.id == 'x')", Accepted),
    ("self.things.all(t, t.wrong == 'x')", Refused),
    ("self.labels.all(k, k.startsWith('a'))", Accepted),
    ("self.labels['a'] == 'x'", Accepted),
    ("self.odd__dash__name == 'x'", Accepted),
    ("self.__namespace__ == 'x'", Accepted),
    ("self.open.anything == 'x'", Refused),
    ("self.port == 80 || self.port == 'http'", Accepted),
    ("self.metadata.name == 'x'", Refused),
    // Scope.
    ("nothing > 3", Refused),
    ("self.size > size", Refused),
    ("oldSelf.size == self.size", Accepted),
    ("object.spec.size > 3", Refused),
    ("request.name == 'x'", Refused),
    ("self.list.all(x, y == 'a')", Refused),
    ("self.list.exists(x, x == self.name)", Accepted),
    ("[1, 2].all(i, i < self.size)", Accepted),
    // A condition.
    ("self.size", Refused),
    ("self.name", Refused),
    ("'text'", Refused),
    ("1", Refused),
    ("size(self.list)", Refused),
    ("self.flag", Accepted),
    ("!self.flag", Accepted),
    ("self.flag ? self.size > 1 : self.size > 2", Accepted),
    ("self.flag ? 1 : 2", Refused),
    ("self.size + 1", Refused),
    // Types and functions.
    ("self.size == 'x'", Refused),
    ("self.name > 3", Refused),
    ("self.name.nonsense()", Refused),
    ("nonsense(self.name)", Refused),
    ("self.name.startsWith(3)", Refused),
    ("self.name.matches('[')", Refused),
    ("quantity(self.name).isGreaterThan(quantity('1Gi'))", Accepted),
    ("isURL(self.name) && url(self.name).getHost() == 'x'", Accepted),
    ("self.list.sum() > 1", Refused),
    ("self.numbers.sum() > 1", Accepted),
    ("self.?name.orValue('x') == 'x'", Accepted),
    ("optional.none().hasValue()", Accepted),
    ("format.dns1123Label().validate(self.name).hasValue()", Accepted),
];

fn spec(rules: Value) -> Value {
    json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "a": {"type": "string", "maxLength": 20}, "x-y": {"type": "string", "maxLength": 20},
        "b": {"type": "object", "properties": {"c": {"type": "string", "maxLength": 20}}},
        "size": {"type": "integer"}, "name": {"type": "string", "maxLength": 20}, "flag": {"type": "boolean"},
        "odd-name": {"type": "string", "maxLength": 20}, "namespace": {"type": "string", "maxLength": 20},
        "inner": {"type": "object", "properties": {"deep": {"type": "string", "maxLength": 20}}},
        "list": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
        "numbers": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
        "things": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 20}}}},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 20}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
    }})
}

fn resource(spec: Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

/// The errors that `check_crd` finds.
fn ours(crd: &Value) -> BTreeSet<String> {
    check_crd(crd)
        .iter()
        .filter(|finding| finding.is_error())
        .map(|finding| masked(&finding.to_string()))
        .collect()
}

/// The errors that the server finds.
async fn theirs(client: &kube::Client, crd: &Value) -> BTreeSet<String> {
    match submit(client, crd, "Ignore").await {
        Answer::Accepted => BTreeSet::new(),
        Answer::Invalid(texts) => texts.iter().map(|text| masked(text)).collect(),
        Answer::Undecodable(text) => BTreeSet::from([text]),
    }
}

/// The text without the numbers that the server makes up: of the type of `self`, and of types not known yet.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) =
        ["selfType", "_var"].into_iter().filter_map(|word| Some(rest.find(word)? + word.len())).min()
    {
        let (before, behind) = rest.split_at(at);
        masked.push_str(before);
        rest = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    masked + rest
}

/// Whether all errors that differ are syntax errors.
fn is_syntax(theirs: &BTreeSet<String>) -> bool {
    theirs.iter().any(|text| text.contains("Syntax error: "))
}

/// The verdict that both have in common, or how they differ.
async fn compared(client: &kube::Client, crd: &Value) -> Result<Verdict, String> {
    let (ours, theirs) = (ours(crd), theirs(client, crd).await);
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => Ok(Accepted),
        (true, false) => Ok(LeftToTheServer),
        (false, false) if ours == theirs => Ok(Refused),
        (false, false) if is_syntax(&theirs) => Ok(SyntaxError),
        _ => {
            let (only_ours, only_theirs): (Vec<_>, Vec<_>) =
                (ours.difference(&theirs).collect(), theirs.difference(&ours).collect());
            Err(format!("only ours {only_ours:#?}\nonly the server's {only_theirs:#?}"))
        }
    }
}

/// Gives the difference from what is expected.
async fn judge(client: &kube::Client, schema: &Value, expected: Verdict, what: &str) -> Option<String> {
    let verdict = compared(client, &crd(schema, false)).await;
    // Which syntax errors are worded alike is counted on generated rules.
    let is_expected = verdict == Ok(expected) || expected == Refused && verdict == Ok(SyntaxError);
    (!is_expected).then(|| match verdict {
        Ok(verdict) => format!("{what}: expected {expected:?}, is {verdict:?}"),
        Err(difference) => format!("{what}: {difference}"),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_judged_as_the_server_judges_them() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let mut differing = Vec::new();
    for (rule, expected) in RULES {
        let schema = resource(spec(json!([{"rule": rule, "message": "no"}])));
        differing.extend(judge(&client, &schema, expected, rule).await);
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}

/// The form of a rule, beside the expression.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_form_of_a_rule_is_judged_as_the_server_judges_it() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let mut differing = Vec::new();
    for (rule, expected) in [
        (json!({"rule": "self.size > 3"}), Accepted),
        (json!({}), Refused),
        (json!({"rule": "true", "message": " "}), Refused),
        (json!({"rule": "true", "message": "a\nb"}), Refused),
        (json!({"rule": "true\n&& true"}), Refused),
        (json!({"rule": "true", "reason": "FieldValueInvalid"}), Accepted),
        (json!({"rule": "true", "reason": "Nonsense"}), Refused),
        (json!({"rule": "true", "fieldPath": ".size"}), Accepted),
        (json!({"rule": "true", "fieldPath": ".inner.deep"}), Accepted),
        (json!({"rule": "true", "fieldPath": ".labels.x"}), Accepted),
        (json!({"rule": "true", "fieldPath": ".wrong"}), Refused),
        (json!({"rule": "true", "fieldPath": "size"}), Refused),
        (json!({"rule": "true", "fieldPath": ".list[0]"}), Refused),
        (json!({"rule": "true", "optionalOldSelf": true}), Refused),
        (json!({"rule": "oldSelf.hasValue() || true", "optionalOldSelf": true}), Accepted),
        (json!({"rule": "true", "messageExpression": "'name is ' + self.name"}), Accepted),
        (json!({"rule": "true", "messageExpression": "'size is ' + string(self.size)"}), Refused),
        (json!({"rule": "true", "messageExpression": " "}), Refused),
        (json!({"rule": "true", "messageExpression": "'a' +"}), Refused),
        (json!({"rule": "true", "messageExpression": "self.wrong"}), Refused),
        (json!({"rule": "true", "messageExpression": "nothing"}), Refused),
        (json!({"rule": "true", "messageExpression": "1"}), Refused),
        (json!({"rule": "true", "messageExpression": "self.flag"}), Refused),
        (json!({"rule": "true", "messageExpression": "self.name"}), Accepted),
    ] {
        let what = rule.to_string();
        differing.extend(judge(&client, &resource(spec(json!([rule]))), expected, &what).await);
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}

/// Where a rule stands, and what it costs there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn placement_and_cost_are_judged_as_the_server_judges_them() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let rule = |rule: &str| json!([{"rule": rule, "message": "no"}]);
    let text = |rules: Value| json!({"type": "string", "x-kubernetes-validations": rules});
    let list = |items: Value| json!({"type": "array", "items": items});
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    let mut differing = Vec::new();
    for (what, spec, expected) in [
        ("a text of any length", text(rule("self == 'x'")), Accepted),
        (
            "equal texts of any length",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "x-kubernetes-validations": rule("self.a == self.b")}),
            Accepted,
        ),
        ("a rule per item", list(text(rule("self != 'x'"))), Accepted),
        ("a rule per item of an item", list(list(text(rule("self != 'x'")))), Accepted),
        (
            "texts compared per item of an item",
            list(list(json!({"type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "x-kubernetes-validations": rule("self.a == self.b")}))),
            Refused,
        ),
        (
            "all items with all items",
            json!({"type": "array", "items": {"type": "string"},
            "x-kubernetes-validations": rule("self.all(x, self.exists_one(y, x == y))")}),
            Refused,
        ),
        (
            "all few items with all few items",
            json!({"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9},
            "x-kubernetes-validations": rule("self.all(x, self.exists_one(y, x == y))")}),
            Accepted,
        ),
        (
            "three loops of all items",
            json!({"type": "array", "items": {"type": "string"},
            "x-kubernetes-validations": rule("self.all(x, self.all(y, self.all(z, x == y || y == z)))")}),
            Refused,
        ),
        ("a regular expression of any length", text(rule("self.matches('a+b+c+d+e+f+')")), Accepted),
        ("oldSelf in an item", list(text(rule("self == oldSelf"))), Refused),
        (
            "oldSelf in a value",
            map(
                json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": rule("self == oldSelf")}),
            ),
            Accepted,
        ),
        (
            "a preserving node",
            json!({"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": rule("true")}),
            Refused,
        ),
        (
            "a preserving object",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": rule("true")}),
            Accepted,
        ),
        (
            "integer or string",
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-validations": rule("type(self) == int")}),
            Accepted,
        ),
        (
            "an embedded resource",
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": rule("self.metadata.name == 'x' && self.kind == 'y'")}),
            Accepted,
        ),
        (
            "beside a mistake",
            json!({"type": "object", "properties": {"a": {}}, "x-kubernetes-validations": rule("self.wrong")}),
            Refused,
        ),
        (
            "in a junctor",
            json!({"type": "object", "allOf": [{"x-kubernetes-validations": rule("true")}]}),
            Refused,
        ),
        ("a long rule", text(rule(&format!("self != '{}'", "x".repeat(100_000)))), Refused),
        ("a long chain", text(rule(&format!("self.size() > {}", "1 + ".repeat(400) + "1"))), LeftToTheServer),
        ("many conditions", text(rule(&["self != 'x'"; 150].join(" && "))), Accepted),
    ] {
        differing.extend(judge(&client, &resource(spec), expected, what).await);
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}

/// A rule that is more often good than what is made up for fuzzing.
fn condition(r: &mut Random) -> String {
    let field = *r.pick(&["self.a", "self.b.c", "self.name", "self.x__dash__y", "'x'"]);
    match r.below(6) {
        0 => format!("{field} == {}", generate::text::expression(r, 1)),
        1 => format!("!({}) || {field} != 'x'", generate::text::expression(r, 1)),
        2 => format!("self.list.all(x, x != {})", generate::text::expression(r, 1)),
        3 => format!("[{field}].exists(a, a == {})", generate::text::expression(r, 0)),
        _ => generate::text::expression(r, 3),
    }
}

/// How many rules got which verdict, and those that differ.
#[derive(Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    syntax: usize,
    left: Vec<String>,
    differing: Vec<String>,
}

impl Tally {
    fn count(&mut self, rule: &str, verdict: Result<Verdict, String>) {
        match verdict {
            Ok(Accepted) => self.accepted += 1,
            Ok(Refused) => self.refused += 1,
            Ok(SyntaxError) => self.syntax += 1,
            Ok(LeftToTheServer) => self.left.push(rule.to_owned()),
            Err(difference) => self.differing.push(format!("{rule}\n{difference}")),
        }
    }

    fn report(&self, what: &str) {
        println!(
            "{what}: {} accepted by both, {} refused in the same words, {} syntax errors in other words, {} left to the \
             server, {} differ",
            self.accepted,
            self.refused,
            self.syntax,
            self.left.len(),
            self.differing.len()
        );
        assert!(
            self.differing.is_empty(),
            "{} differ:\n{}",
            self.differing.len(),
            self.differing.join("\n\n")
        );
        assert!(self.left.is_empty(), "left to the server:\n{}", self.left.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_rules_get_the_servers_verdict_in_its_words() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let mut tally = Tally::default();
    for seed in start..start + cases {
        let expression = condition(&mut Random::new(seed));
        let crd = crd(&resource(spec(json!([{"rule": expression, "message": "no"}]))), false);
        tally.count(&format!("seed {seed}: {expression}"), compared(&client, &crd).await);
    }
    tally.report("generated rules");
    assert!(cases < 500 || tally.refused > 100 && tally.accepted > 10, "a mix of both");
}

/// A CRD with a rule for each item of a list of so many items.
fn repeated(schema: &Value, items: u64) -> Value {
    crd(&resource(json!({"type": "array", "maxItems": items, "items": schema})), false)
}

/// The fewest items for which the rule of a schema is too expensive: there the error shows the factor with six decimals,
/// so that its text compares the estimates themselves. One item, when the rule is refused for something else.
fn barely_too_many(schema: &Value) -> u64 {
    let is_over = |items: u64| ours(&repeated(schema, items)).iter().any(|text| text.contains("budget"));
    if !ours(&repeated(schema, 1)).is_empty() {
        return 1;
    }
    // A rule that costs nothing is never too expensive.
    let Some(mut over) = (0..24).map(|power| 1 << power).find(|items| is_over(*items)) else { return 1 };
    let mut under = 0;
    while over - under > 1 {
        let middle = under + (over - under) / 2;
        if is_over(middle) { over = middle } else { under = middle }
    }
    over
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_cost_what_the_server_estimates() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let mut tally = Tally::default();
    let mut estimates = 0;
    for seed in start..start + cases {
        let r = &mut Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut schema = typed::schema(r);
        let expression = typed::expression(r, typed::Kind::Bool, 3, &mut Vec::new());
        schema["x-kubernetes-validations"] = json!([{"rule": expression, "message": "no"}]);
        let items = barely_too_many(&schema);
        let crd = repeated(&schema, items);
        estimates += u64::from(ours(&crd).iter().any(|text| text.contains("estimated rule cost")));
        tally.count(
            &format!("seed {seed}, {items} items: {expression}\n{schema}"),
            compared(&client, &crd).await,
        );
    }
    println!("{estimates} estimates compared");
    tally.report("typed rules");
    assert!(cases < 500 || estimates * 3 > cases, "most rules have a cost to compare");
}

/// The rules of a schema are evaluated on its defaults.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defaults_that_violate_a_rule_are_refused_in_the_servers_words() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let number = |rule: Value, default: i64| json!({"type": "integer", "default": default, "x-kubernetes-validations": [rule]});
    let object = |default: Value, rule: Value| {
        let pair = json!({"a": {"type": "integer"}, "x-y": {"type": "string"}});
        json!({"type": "object", "properties": pair, "default": default, "x-kubernetes-validations": [rule]})
    };
    let mut differing = Vec::new();
    for (what, spec, expected) in [
        ("kept", number(json!({"rule": "self > 3"}), 4), Accepted),
        ("violated", number(json!({"rule": "self > 3"}), 3), Refused),
        ("a message", number(json!({"rule": "self > 3", "message": " too small "}), 3), Refused),
        (
            "a computed message",
            number(json!({"rule": "self > 3", "messageExpression": "string(self) + ' is'"}), 3),
            Refused,
        ),
        ("an empty message", number(json!({"rule": "self > 3", "messageExpression": "''"}), 3), Refused),
        ("forbidden", number(json!({"rule": "self > 3", "reason": "FieldValueForbidden"}), 3), Refused),
        ("required", number(json!({"rule": "self > 3", "reason": "FieldValueRequired"}), 3), Refused),
        ("a duplicate", number(json!({"rule": "self > 3", "reason": "FieldValueDuplicate"}), 3), Refused),
        ("an error", number(json!({"rule": "1 / self > 3"}), 0), Refused),
        ("not compiled", number(json!({"rule": "self.x"}), 0), Refused),
        ("a rule of change", number(json!({"rule": "self != oldSelf"}), 3), Refused),
        ("optional", number(json!({"rule": "oldSelf.hasValue()", "optionalOldSelf": true}), 3), Refused),
        (
            "an object",
            object(json!({"a": 1, "x-y": "b"}), json!({"rule": "self.a > 1 || self.x__dash__y == 'b'"})),
            Accepted,
        ),
        ("a violated object", object(json!({"a": 1}), json!({"rule": "self.a > 1"})), Refused),
        ("a field", object(json!({"a": 1}), json!({"rule": "self.a > 1", "fieldPath": ".a"})), Refused),
        ("a missing field", object(json!({"a": 1}), json!({"rule": "self.x__dash__y == 'b'"})), Refused),
        (
            "below",
            json!({"type": "object", "default": {"list": [1, 2]}, "properties": {"list": {"type": "array", "maxItems": 9, "items": {
                "type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]}}}}),
            Refused,
        ),
        (
            "in a map",
            json!({"type": "object", "default": {"k": "1h"}, "maxProperties": 9, "additionalProperties": {
                "type": "string", "format": "duration", "x-kubernetes-validations": [{"rule": "self > duration('2h')"}]}}),
            Refused,
        ),
        (
            "an integer or a string",
            json!({"x-kubernetes-int-or-string": true, "default": "a", "x-kubernetes-validations": [{"rule": "self > 1"}]}),
            Refused,
        ),
        (
            "a date",
            json!({"type": "string", "format": "date", "default": "2020-01-01",
                "x-kubernetes-validations": [{"rule": "self.getFullYear() == 2021"}]}),
            Refused,
        ),
    ] {
        differing.extend(
            judge(&client, &resource(json!({"type": "object", "properties": {"x": spec}})), expected, what)
                .await,
        );
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}
