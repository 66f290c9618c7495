//! The recorded verdicts that `schema-merge` is tested with are those of the API server.
//!
//! `UPDATE_RECORDINGS=1 cargo test -p schema-conformance --test recordings` writes them anew.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

#[path = "../../../crates/schema-merge/tests/generate/mod.rs"]
mod generate;
mod questions;
mod submission;
#[path = "../../../crates/schema-merge/tests/recorded/verdict.rs"]
mod verdict;

use control_plane::ControlPlane;
use generate::Random;
use go_program::recording::settle;
use questions::RULES;
use serde_json::{Value, json};
use submission::submit;
use verdict::{Verdict, crd, ruled};

/// Seeds of recorded schemas; some give none.
const SCHEMAS: u64 = 300;
/// Recorded rules beside those that are written by hand.
const GENERATED: u64 = 200;
/// Recorded rules of a cost that is barely too high.
const COSTS: u64 = 120;

/// The rows with the server's answers to the CRDs beside them.
async fn answered(questions: Vec<(Value, Value)>) -> Vec<Value> {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let mut rows = Vec::new();
    for (mut row, crd) in questions {
        row["answer"] = json!(submit(&client, &crd, "Ignore").await.masked());
        rows.push(row);
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_are_recorded() {
    let question = |seed| {
        let (schema, status) = questions::schema(&mut Random::new(seed))?;
        let crd = crd(&schema, status);
        Some((json!({"schema": schema, "status": status}), crd))
    };
    let rows = answered((0..SCHEMAS).filter_map(question).collect()).await;
    settle("schema-merge", "schemas.jsonl", &rows).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_recorded() {
    let by_hand = RULES.iter().filter(|(_, verdict)| *verdict != Verdict::LeftToTheServer);
    let generated = (0..GENERATED).map(|seed| questions::rule(&mut Random::new(seed)));
    let question = |rule: String| {
        let crd = crd(&ruled(json!([{"rule": rule, "message": "no"}])), false);
        (json!({ "rule": rule }), crd)
    };
    let all = by_hand.map(|(rule, _)| (*rule).to_owned()).chain(generated);
    settle("schema-merge", "rules.jsonl", &answered(all.map(question).collect()).await).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_are_recorded() {
    let question = |seed: u64| {
        let schema = questions::costly(&mut Random::new(seed));
        let crd = crd(&schema, false);
        (json!({ "schema": schema }), crd)
    };
    let rows = answered((0..COSTS).map(question).collect()).await;
    settle("schema-merge", "costs.jsonl", &rows).unwrap();
}
