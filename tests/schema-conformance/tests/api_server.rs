//! Tests that a real API server gives the verdict that `schema-merge` predicts: the same verdict in the same words.
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
mod questions;
mod submission;
#[path = "../../../crates/schema-merge/tests/recorded/verdict.rs"]
mod verdict;

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use generate::Random;
use schema_merge::{Diagnostic, Severity, Style, structuralize, validate_crd};
use serde_json::json;
use submission::{setting, submit};
use verdict::{Answer, crd, difference, of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_schemas_get_the_servers_verdict_in_its_words() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (cases, start) = (setting("SCHEMA_CONFORMANCE_CASES", 600), setting("SCHEMA_CONFORMANCE_SEED", 0));
    let (mut accepted, mut invalid, mut undecodable) = (0, 0, 0);
    let mut differing = Vec::new();
    for seed in start..start + cases {
        let r = &mut Random::new(seed);
        let Some((schema, status)) = questions::schema(r) else { continue };
        let crd = crd(&schema, status);
        let answer = submit(&client, &crd, "Ignore").await;
        match answer {
            Answer::Accepted => accepted += 1,
            Answer::Invalid(_) => invalid += 1,
            Answer::Undecodable(_) => undecodable += 1,
        }
        if let Some(difference) = difference(&validate_crd(&crd), &answer) {
            differing.push(format!("seed {seed}: {schema}\n{difference}"));
        }
    }
    println!("{accepted} accepted, {invalid} invalid, {undecodable} undecodable, {} differ", differing.len());
    assert!(differing.is_empty(), "{} of {cases} differ:\n{}", differing.len(), differing.join("\n\n"));
    assert!(cases < 500 || accepted > 100 && invalid > 100, "a mix of both");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_fields_are_those_of_strict_validation() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let (mut strict, mut clean) = (0, 0);
    for seed in 0..setting("SCHEMA_CONFORMANCE_CASES", 600) / 3 {
        let r = &mut Random::new(seed);
        let schema = generate::mistaken(r);
        let crd = crd(&schema, false);
        let diagnostics = validate_crd(&crd);
        if diagnostics.iter().any(Diagnostic::is_error) {
            continue;
        }
        let unknown = of(&diagnostics, Severity::UnknownField);
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
