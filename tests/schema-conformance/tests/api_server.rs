//! What `schema-merge` says before, a real API server says as well: the same verdict in the same words.
//!
//! Schemas are submitted as CRDs with dry run, so nothing is stored. `SCHEMA_CONFORMANCE_CASES` says how many,
//! `SCHEMA_CONFORMANCE_SEED` with which to start.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test says no by panicking"
)]
#![allow(clippy::arithmetic_side_effects, reason = "seeds and counts stay small")]

#[path = "../../../crates/schema-merge/tests/derived/mod.rs"]
mod derived;
#[path = "../../../crates/schema-merge/tests/generate/mod.rs"]
mod generate;
mod submission;

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use generate::Random;
use schema_merge::{Finding, Severity, Style, check_crd, structuralize};
use serde_json::{Value, json};
use submission::{Answer, crd, setting, submit};

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
            let same = decode.is_empty() && (errors == *theirs || same_but_metadata(&errors, theirs));
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

/// The server prints a default of a whole resource after it has dropped what is unknown in its metadata.
fn same_but_metadata(ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> bool {
    let masked = |texts: &BTreeSet<String>| -> BTreeSet<String> {
        let mask = |text: &String| match (text.find('{'), text.rfind('}')) {
            (Some(start), Some(end)) if text.contains("\"metadata\":") => {
                format!("{}{}", &text[..start], &text[end..])
            }
            _ => text.clone(),
        };
        texts.iter().map(mask).collect()
    };
    masked(ours) == masked(theirs)
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
