//! The recorded answers that the published crates are tested with are those of the judges.
//!
//! `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings` writes them anew.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

#[path = "../../../crates/pod-status/tests/recorded/cases.rs"]
#[allow(unreachable_pub, reason = "the tests of the crate use the same file")]
mod health;

use std::collections::BTreeMap;

use conformance::admission::{self, Policies, asked};
use conformance::calls::{calls, functions};
use conformance::cel::object;
use conformance::generator::generate;
use conformance::random::Random;
use conformance::{Judge, Verdict, go, native, reviews, tagged};
use duck_types::ready::{Progress, kstatus};
use go_program::recording::settle;
use kube::core::DynamicObject;
use rego_compat::Value;
use serde_json::{Value as Json, json};

/// Generated modules that are recorded.
const MODULES: u64 = 150;
/// Recorded calls of each builtin function.
const CALLS: usize = 3;
/// Damaged copies of each recorded call of Go's own functions.
const DAMAGED: usize = 2;
/// Sets of policies that are recorded, the constraints of each, and the reviews by each.
const POLICIES: [usize; 3] = [8, 8, 25];

/// The query of each row of Rego: the value as `sprintf` prints it, which tells sets from arrays and shows each digit.
const QUERY: &str = "data.recorded.text";

/// A row without its answer. `value` is the term that is printed.
fn question(module: (&str, &str), v0: bool, value: &str, input: &Json) -> Json {
    let recorded = format!("package recorded\n\ntext := sprintf(\"%v\", [[{value}]])\n");
    json!({"modules": {(module.0): module.1, "recorded.rego": recorded}, "v0": v0, "query": QUERY, "input": input})
}

/// The answer of OPA as it is recorded: the text, or the stage at which there was none.
fn answer(verdict: &Verdict) -> Json {
    match verdict {
        Verdict::Value(Value::String(text)) => json!({ "text": &**text }),
        Verdict::Undefined => json!("undefined"),
        Verdict::Refused(_) => json!("refused"),
        other => json!(if matches!(other, Verdict::Failed(_)) { "failed" } else { "not a string" }),
    }
}

fn answered(judge: &mut Judge, mut rows: Vec<Json>) -> Vec<Json> {
    let asked = |row: &Json| {
        let input = json!([row["input"]]);
        json!({"op": "evals", "modules": row["modules"], "v0": row["v0"], "query": QUERY, "inputs": input})
            .to_string()
    };
    let questions: Vec<String> = rows.iter().map(asked).collect();
    let hear = |position: usize, said: Json| {
        let one = said["answers"].get(0).unwrap_or(&said);
        rows[position]["answer"] = answer(&Verdict::of_judge(one));
    };
    judge.ask_all(questions.into_iter(), hear).expect("answers");
    rows
}

#[test]
fn modules_are_recorded() {
    let rows = (1..=MODULES).map(|seed| {
        let generated = generate(seed, 1);
        let (name, text) = &generated.sources.modules[0];
        question((name, text), generated.sources.v0, generated.query, &generated.inputs[0])
    });
    let rows = answered(&mut Judge::opa().expect("a judge"), rows.collect());
    settle("rego-compat", "modules.jsonl", &rows).unwrap();
}

#[test]
fn calls_of_builtin_functions_are_recorded() {
    let mut judge = Judge::opa().expect("a judge");
    let functions = functions(&mut judge).expect("the functions");
    // OPA reports the errors of a schema in the order of a Go map.
    let rows =
        functions.iter().filter(|function| function.name != "json.match_schema").flat_map(|function| {
            calls(function, CALLS).into_iter().map(|operands| {
                let operands: Vec<String> =
                    operands.iter().map(|value| tagged::term(value).expect("a tagged value")).collect();
                let module = format!("package called\n\nvalue := {}\n", function.call(&operands));
                question(("called.rego", &module), false, "data.called.value", &Json::Null)
            })
        });
    let rows = rows.collect();
    settle("rego-compat", "builtins.jsonl", &answered(&mut judge, rows)).unwrap();
}

/// The expressions whose answers are compared in `cel.rs`, without those that differ on purpose.
#[test]
fn expressions_are_recorded() {
    let lines = |text: &'static str| text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let divergent = |one: &str| {
        lines(include_str!("expressions-divergent.txt")).any(|line| line.split("  ").next() == Some(one))
    };
    let expressions: Vec<&str> =
        lines(include_str!("expressions.txt")).filter(|one| !divergent(one)).collect();
    let question = |one: &&str| json!({"op": "cel", "expression": one, "subject": object()}).to_string();
    let mut rows = Vec::new();
    let hear = |position: usize, answer: Json| {
        rows.push(json!({"expression": expressions[position], "answer": answer}))
    };
    let questions: Vec<String> = expressions.iter().map(question).collect();
    Judge::gatekeeper().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    settle("cel-compat", "expressions.jsonl", &rows).unwrap();
}

/// The lines of a set of policies and of the reviews by it.
fn reviewed(judge: &mut Judge, policies: &Policies, with_templates: bool, asking: Vec<Json>) -> Vec<Json> {
    let mut head = json!({"constraints": policies.constraints, "inventory": policies.inventory});
    if with_templates {
        head["templates"] = json!(policies.templates);
    }
    let mut rows = vec![head];
    let questions: Vec<_> = asking.iter().map(|review| asked(review).to_string()).collect();
    let hear = |position: usize, answer: Json| {
        let violations = reviews::of_judge(&answer).ok();
        rows.push(json!({"review": asking[position], "violations": violations}));
    };
    judge.ask_all(questions.into_iter(), hear).expect("answers");
    rows
}

/// Policies without the constraints that one side refuses; those are compared in `reviews.rs`.
fn accepted(judge: &mut Judge, mut policies: Policies) -> Policies {
    let refused = judge.ask(&policies.client()).expect("an answer")["refused"].clone();
    let mut builder = reviews::builder(&policies.templates, &[], &policies.inventory).expect("policies");
    policies.constraints.retain(|constraint| {
        let of = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let id = format!("{}/{}", of(&constraint["kind"]), of(&constraint["metadata"]["name"]));
        refused.get(&id).is_none() && reviews::put(&mut builder, constraint).is_ok()
    });
    judge.ask(&policies.client()).expect("an answer");
    policies
}

#[test]
fn reviews_are_recorded() {
    let mut judge = Judge::gatekeeper().expect("a judge");
    let [sets, constraints, each] = POLICIES;
    let mut rows = Vec::new();
    for seed in 1..=sets {
        let mut random = Random::new(seed.try_into().expect("a small number"));
        let policies = accepted(&mut judge, admission::policies(constraints, &mut random));
        let asking = (0..each).map(|_| admission::review(&mut random).question()).collect();
        rows.extend(reviewed(&mut judge, &policies, seed == 1, asking));
    }
    settle("constraint-framework", "reviews.jsonl", &rows).unwrap();
}

/// All templates in CEL but those whose messages are long.
#[test]
fn templates_in_cel_are_recorded() {
    let mut judge = Judge::gatekeeper().expect("a judge");
    let mut sources = native::sources();
    sources.retain(|source| !source.to_string().contains("lists.range"));
    let policies = native::policies(&sources);
    let mut client = policies.client();
    client["cel"] = json!(true);
    judge.ask(&client).expect("an answer");
    let rows = reviewed(&mut judge, &policies, true, native::reviews());
    settle("constraint-framework", "native.jsonl", &rows).unwrap();
}

/// The CRD of the constraints of each template of `crd-templates.jsonl`, or the error for which there is none. `"$match"`
/// stands for the match schema, which is the first row.
#[test]
fn constraint_crds_are_recorded() {
    let templates: Vec<Json> = include_str!("crd-templates.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a template"))
        .collect();
    let rego = "package recorded\nviolation[{\"msg\": \"no\"}] { true }";
    let question = |template: &Json| {
        let mut template = template.clone();
        template["spec"]["targets"] = json!([{"target": "admission.k8s.gatekeeper.sh", "rego": rego}]);
        json!({"op": "crd", "template": template}).to_string()
    };
    let questions: Vec<String> = templates.iter().map(question).collect();
    let mut rows = Vec::new();
    let hear = |position: usize, answer: Json| rows.push(crd_row(&templates[position], &answer));
    Judge::gatekeeper().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    let crd = rows.iter().find_map(|row| row.get("crd")).expect("a CRD");
    let schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        ["match"]
        .clone();
    let masked = |row: &Json| {
        let text = row.to_string().replace(&schema.to_string(), "\"$match\"");
        serde_json::from_str(&text).expect("JSON")
    };
    let masked = rows.iter().map(masked).collect::<Vec<Json>>();
    let rows: Vec<Json> = std::iter::once(json!({ "match": schema })).chain(masked).collect();
    settle("constraint-framework", "crds.jsonl", &rows).unwrap();
}

/// A template and the judge's answer, without the fields that Go's types add to an object outside of a cluster.
fn crd_row(template: &Json, answer: &Json) -> Json {
    let Some(crd) = answer["crd"].as_object() else {
        return json!({"template": template, "error": answer["error"]["message"]});
    };
    let mut crd = crd.clone();
    crd.remove("status");
    if let Some(metadata) = crd.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.retain(|_, value| !value.is_null());
    }
    // Go's type knows what it is without saying so.
    crd.insert("apiVersion".to_owned(), json!("apiextensions.k8s.io/v1"));
    crd.insert("kind".to_owned(), json!("CustomResourceDefinition"));
    json!({"template": template, "crd": crd})
}

/// The health of constraints with each status, by the two blocks of YAML in the guide for GitOps tools.
#[test]
fn health_checks_are_recorded() {
    let guide = include_str!("../../../docs/gitops.md");
    let blocks: Vec<&str> =
        guide.split("```yaml\n").skip(1).map(|block| block.split("```").next().expect("a block")).collect();
    let [kustomization, config] = blocks[..] else { panic!("the guide has two blocks of YAML") };
    let mut rows: Vec<Json> =
        health::cases().iter().map(|(name, object)| json!({"case": name, "object": object})).collect();
    let question = |row: &Json| {
        json!({"object": row["object"], "kustomization": kustomization, "argoCM": config}).to_string()
    };
    let questions: Vec<String> = rows.iter().map(question).collect();
    let hear = |position: usize, answer: Json| {
        assert_eq!(answer["error"], Json::Null, "{answer}");
        // Without Argo CD's message, which repeats that of the condition.
        rows[position]["answer"] =
            json!({"kstatus": answer["kstatus"], "flux": answer["flux"], "argo": answer["argo"]});
    };
    Judge::health().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    settle("pod-status", "health.jsonl", &rows).unwrap();
}

#[test]
fn calls_of_gos_functions_are_recorded() {
    let calls = go::calls(DAMAGED, &mut Random::new(1));
    let mut rows: Vec<Json> =
        calls.iter().map(|(function, arguments)| json!({"call": function, "args": arguments})).collect();
    let questions: Vec<String> = rows.iter().map(Json::to_string).collect();
    let hear = |position: usize, answer: Json| rows[position]["answer"] = answer;
    Judge::go().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    settle("go-compat", "calls.jsonl", &rows).unwrap();
}

/// The patterns are taken from the recording itself; the verdicts are Go's.
#[test]
fn patterns_of_gos_regexp_are_recorded() {
    let recorded = include_str!("../../../crates/go-compat/tests/recorded/regexp.jsonl");
    let of = |line: &str| serde_json::from_str::<(String, Option<String>)>(line).expect("a row").0;
    let patterns: Vec<String> = recorded.lines().map(of).collect();
    let question = |pattern: &String| json!({"call": "regexp.Error", "args": [pattern]}).to_string();
    let mut rows = Vec::new();
    let hear = |position: usize, error: Json| rows.push(json!([patterns[position], error]));
    let questions: Vec<String> = patterns.iter().map(question).collect();
    Judge::go().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    settle("go-compat", "regexp.jsonl", &rows).unwrap();
}

/// Objects whose health is asked of kstatus; the first few of each kind and verdict are recorded.
#[test]
fn verdicts_of_kstatus_are_recorded() {
    let count = std::env::var("CONFORMANCE_KSTATUS").map_or(20_000, |count| count.parse().expect("a number"));
    let rows = Judge::kstatus(count).expect("a judge");
    assert_eq!(rows.len(), count);
    let mut groups: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for row in rows {
        let (verdict, object): (String, DynamicObject) = serde_json::from_value(row.clone()).expect("a row");
        assert_eq!(verdict_of(&kstatus(&object).expect("an object")), verdict, "{row}");
        let group = json!([verdict, row[1]["kind"], row[1]["apiVersion"]]).to_string();
        groups.entry(group).or_default().push(row);
    }
    let rows: Vec<Json> = groups.into_values().flat_map(|group| group.into_iter().take(4)).collect();
    settle("duck-types", "kstatus.jsonl", &rows).unwrap();
}

fn verdict_of(progress: &Progress) -> &'static str {
    match progress {
        Progress::Current => "Current",
        Progress::InProgress(_) => "InProgress",
        Progress::Failed(_) => "Failed",
        Progress::Terminating => "Terminating",
        Progress::Unknown(_) => "Unknown",
    }
}
