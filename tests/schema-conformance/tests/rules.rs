//! Validation rules under the feature `cel`: what is refused here is refused by a real API server, and what is accepted
//! here although the server refuses it belongs to a listed kind.
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

use control_plane::ControlPlane;
use generate::Random;
use schema_merge::{Finding, check_crd};
use serde_json::{Value, json};
use submission::{Answer, crd, setting, submit};

/// What the server thinks of a rule, and whether we say so as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Both accept it.
    Accepted,
    /// Both refuse it.
    Refused,
    /// The server refuses it, and we leave that to the server: see the page of the crate.
    LeftToTheServer,
}

use Verdict::{Accepted, LeftToTheServer, Refused};

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
    ("self.flag ? 1 : 2", LeftToTheServer),
    ("self.size + 1", LeftToTheServer),
    // Types and functions.
    ("self.size == 'x'", LeftToTheServer),
    ("self.name > 3", LeftToTheServer),
    ("self.name.nonsense()", LeftToTheServer),
    ("nonsense(self.name)", LeftToTheServer),
    ("self.name.startsWith(3)", LeftToTheServer),
    ("self.name.matches('[')", LeftToTheServer),
    ("quantity(self.name).isGreaterThan(quantity('1Gi'))", Accepted),
    ("isURL(self.name) && url(self.name).getHost() == 'x'", Accepted),
    ("self.list.sum() > 1", LeftToTheServer),
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

/// Gives the difference from what is expected, with both answers.
async fn judge(client: &kube::Client, schema: &Value, expected: Verdict, what: &str) -> Option<String> {
    let crd = crd(schema, false);
    let ours: Vec<String> =
        check_crd(&crd).iter().filter(|finding| finding.is_error()).map(Finding::to_string).collect();
    let theirs = submit(client, &crd, "Ignore").await;
    let verdict = match (ours.is_empty(), theirs == Answer::Accepted) {
        (true, true) => Some(Accepted),
        (false, false) => Some(Refused),
        (true, false) => Some(LeftToTheServer),
        (false, true) => None,
    };
    (verdict != Some(expected))
        .then(|| format!("{what}: expected {expected:?}\nours {ours:#?}\ntheirs {theirs:#?}"))
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
        (json!({"rule": "true", "messageExpression": "'size is ' + string(self.size)"}), LeftToTheServer),
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_generated_rule_is_refused_that_the_server_accepts() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let (mut both, mut accepted, mut left) = (0, 0, 0);
    let mut differing = Vec::new();
    for seed in start..start + cases {
        let r = &mut Random::new(seed);
        let expression = condition(r);
        let schema = resource(spec(json!([{"rule": expression, "message": "no"}])));
        let crd = crd(&schema, false);
        let ours: Vec<String> =
            check_crd(&crd).iter().filter(|finding| finding.is_error()).map(Finding::to_string).collect();
        match (submit(&client, &crd, "Ignore").await, ours.is_empty()) {
            (Answer::Accepted, true) => accepted += 1,
            (Answer::Accepted, false) => differing.push(format!("seed {seed}: {expression}\n{ours:#?}")),
            (_, true) => left += 1,
            (_, false) => both += 1,
        }
    }
    println!(
        "{both} refused by both, {accepted} accepted by both, {left} left to the server, {} differ",
        differing.len()
    );
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
    assert!(cases < 500 || both > 100 && accepted > 10, "a mix of both");
}
