//! What `schema-merge` says before, a real API server says as well: the same verdict in the same words.
//!
//! Schemas are submitted as CRDs with dry run, so nothing is stored. `SCHEMA_CONFORMANCE_CASES` says how many,
//! `SCHEMA_CONFORMANCE_SEED` with which to start.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says no by panicking"
)]
#![allow(clippy::arithmetic_side_effects, reason = "seeds and counts stay small")]

#[path = "../../../crates/schema-merge/tests/derived/mod.rs"]
mod derived;
#[path = "../../../crates/schema-merge/tests/generate/mod.rs"]
mod generate;

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use generate::Random;
use kube::Client;
use schema_merge::{Finding, Severity, Style, check_crd, structuralize};
use serde_json::{Value, json};

/// What the server answered.
#[derive(Debug, PartialEq)]
enum Answer {
    Accepted,
    /// The errors as the server words them.
    Invalid(BTreeSet<String>),
    /// The request could not be decoded, or holds unknown fields under strict validation.
    Undecodable(String),
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn crd(schema: &Value, status: bool) -> Value {
    let mut version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    if status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
        },
    })
}

async fn submit(client: &Client, crd: &Value, field_validation: &str) -> Answer {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation={field_validation}"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(crd).unwrap())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => Answer::Accepted,
        Err(kube::Error::Api(status)) if status.code == 422 => {
            let causes = status.details.into_iter().flat_map(|details| details.causes);
            Answer::Invalid(causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect())
        }
        Err(kube::Error::Api(status)) if status.code == 400 => Answer::Undecodable(status.message),
        Err(other) => panic!("the server did not judge: {other}\n{crd:#}"),
    }
}

fn of(findings: &[Finding], severity: Severity) -> BTreeSet<String> {
    findings.iter().filter(|finding| finding.severity == severity).map(ToString::to_string).collect()
}

/// Says how the two verdicts differ, if they do.
fn difference(findings: &[Finding], answer: &Answer) -> Option<String> {
    let (decode, errors) = (of(findings, Severity::Decode), of(findings, Severity::Error));
    match answer {
        Answer::Accepted => (!decode.is_empty() || !errors.is_empty())
            .then(|| format!("accepted, but we say {decode:?} {errors:#?}")),
        Answer::Invalid(theirs) => {
            let same = decode.is_empty() && errors == *theirs;
            let ours: Vec<_> = errors.difference(theirs).collect();
            let only_theirs: Vec<_> = theirs.difference(&errors).collect();
            (!same).then(|| format!("only ours: {ours:#?} {decode:?}\nonly the server's: {only_theirs:#?}"))
        }
        // The server stops at the first thing it cannot decode.
        Answer::Undecodable(message) => {
            let said = decode.iter().any(|text| message.contains(text.as_str()));
            (!said).then(|| format!("undecodable: {message}\nours: {decode:#?}"))
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_schemas_get_the_servers_verdict_in_its_words() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let (mut accepted, mut invalid, mut undecodable) = (0, 0, 0);
    let mut differing = Vec::new();
    for seed in start..start + cases {
        let r = &mut Random::new(seed);
        let schema = if r.chance(15) { generate::heap(r, 2) } else { generate::mistaken(r) };
        if has_rules(&schema) {
            continue;
        }
        let crd = crd(&schema, r.chance(20));
        let answer = submit(&client, &crd, "Ignore").await;
        match answer {
            Answer::Accepted => accepted += 1,
            Answer::Invalid(_) => invalid += 1,
            Answer::Undecodable(_) => undecodable += 1,
        }
        if let Some(difference) = difference(&check_crd(&crd), &answer) {
            differing.push(format!("seed {seed}: {schema}\n{difference}"));
        }
    }
    println!("{accepted} accepted, {invalid} invalid, {undecodable} undecodable, {} differ", differing.len());
    assert!(differing.is_empty(), "{} of {cases} differ:\n{}", differing.len(), differing.join("\n\n"));
    assert!(cases < 500 || accepted > 100 && invalid > 100, "a mix of both");
}

/// Validation rules are another matter: only the server can compile them.
fn has_rules(schema: &Value) -> bool {
    schema.to_string().contains("x-kubernetes-validations")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_fields_are_those_of_strict_validation() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (mut strict, mut clean) = (0, 0);
    for seed in 0..setting("SCHEMA_CONFORMANCE_CASES", 600) / 3 {
        let r = &mut Random::new(seed);
        let schema = generate::mistaken(r);
        let crd = crd(&schema, false);
        let findings = check_crd(&crd);
        if findings.iter().any(Finding::is_error) {
            continue;
        }
        let unknown = of(&findings, Severity::UnknownField);
        match submit(&client, &crd, "Strict").await {
            Answer::Undecodable(message) => {
                strict += 1;
                for text in &unknown {
                    assert!(message.contains(text.as_str()), "seed {seed}: {text} is not in {message}");
                }
                assert!(!unknown.is_empty(), "seed {seed}: {message}");
            }
            answer => {
                clean += 1;
                assert_eq!(answer, Answer::Accepted, "seed {seed}");
                assert_eq!(unknown, BTreeSet::new(), "seed {seed}: {schema}");
            }
        }
    }
    println!("{strict} with unknown fields, {clean} without");
    assert!(strict > 0 && clean > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn derived_types_are_accepted_once_they_are_structural() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let types = derived::structural();
    assert!(types.len() >= 60, "{}", types.len());
    for (name, schema) in &types {
        let done =
            structuralize(schema, Style::default()).unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
        let crd = crd(&json!({"type": "object", "properties": {"spec": done.schema}}), true);
        assert_eq!(submit(&client, &crd, "Strict").await, Answer::Accepted, "{name}: {}", done.schema);
    }
    println!("{} derived types accepted", types.len());
}
