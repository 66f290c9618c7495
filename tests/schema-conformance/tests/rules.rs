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
mod questions;
mod submission;
#[path = "../../../crates/schema-merge/tests/recorded/verdict.rs"]
mod verdict;

use control_plane::ControlPlane;
use generate::Random;
use questions::RULES;
use serde_json::{Value, json};
use submission::{setting, submit};
use verdict::{Verdict, compared, crd, ours, resource, ruled};

use Verdict::{Accepted, LeftToTheServer, Refused, SyntaxError};

/// The verdict that the server and `validate_crd` have in common, or how they differ.
async fn judged(client: &kube::Client, crd: &Value) -> Result<Verdict, String> {
    compared(crd, &submit(client, crd, "Ignore").await.masked())
}

/// Gives the difference from what is expected.
async fn judge(client: &kube::Client, schema: &Value, expected: Verdict, what: &str) -> Option<String> {
    let verdict = judged(client, &crd(schema, false)).await;
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
        let schema = ruled(json!([{"rule": rule, "message": "no"}]));
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
        differing.extend(judge(&client, &ruled(json!([rule])), expected, &what).await);
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}

/// The place of a rule, and its cost there.
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

/// The number of rules by verdict, and those that differ.
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
        let expression = questions::rule(&mut Random::new(seed));
        let crd = crd(&ruled(json!([{"rule": expression, "message": "no"}])), false);
        tally.count(&format!("seed {seed}: {expression}"), judged(&client, &crd).await);
    }
    tally.report("generated rules");
    assert!(cases < 500 || tally.refused > 100 && tally.accepted > 10, "a mix of both");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_cost_what_the_server_estimates() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let mut tally = Tally::default();
    let mut estimates = 0;
    for seed in start..start + cases {
        let r = &mut Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let schema = questions::costly(r);
        let crd = crd(&schema, false);
        estimates += u64::from(ours(&crd).iter().any(|text| text.contains("estimated rule cost")));
        tally.count(&format!("seed {seed}: {schema}"), judged(&client, &crd).await);
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
    let nullable = |rule: &str| {
        json!({"type": "object", "default": {"z": null}, "properties": {"z": {"type": "object", "nullable": true}},
            "x-kubernetes-validations": [{"rule": rule}]})
    };
    let empty = |format: &str, rule: &str| {
        let list = json!({"type": "array", "maxItems": 9, "items": {"type": "string", "format": format}});
        json!({"type": "object", "default": {"list": []}, "properties": {"list": list},
            "x-kubernetes-validations": [{"rule": rule}]})
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
        ("null is absent", nullable("!has(self.z)"), Accepted),
        ("null has no value", nullable("has(self.z)"), Refused),
        ("null is not equal to null", nullable("self.z == null"), Refused),
        ("no durations", empty("duration", "duration('1h') > self.list.sum()"), Accepted),
        ("a date as a sum", empty("date", "self.list.sum() == 0"), Refused),
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
