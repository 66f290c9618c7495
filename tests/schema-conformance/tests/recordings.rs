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
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use questions::RULES;
use serde_json::{Value, json};
use submission::{dry_run, submit};
use verdict::{Answer, Verdict, crd, rows, ruled};

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

/// The CRDs of `crds.jsonl` are kept there, and the server is asked about them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crds_are_recorded() {
    let client = ControlPlane::shared().await.unwrap().client().unwrap();
    let recorded: Vec<Value> = rows(include_str!("../../../crates/schema-merge/tests/recorded/crds.jsonl"));
    let mut answers = Vec::new();
    for mut row in recorded {
        let answer = submit(&client, &row["crd"], "Ignore").await.masked();
        row["strict"] = match submit(&client, &row["crd"], "Strict").await {
            Answer::Undecodable(message) if !matches!(answer, Answer::Undecodable(_)) => json!(message),
            _ => Value::Null,
        };
        row["answer"] = json!(answer);
        if let Some(sent) = row["object"].get("sent").cloned() {
            row["object"] = object(&client, &row["crd"], sent).await;
        }
        answers.push(row);
    }
    settle("schema-merge", "crds.jsonl", &answers).unwrap();
}

/// Installs the CRD, and asks what would be stored of the object.
async fn object(client: &Client, crd: &Value, sent: Value) -> Value {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition: CustomResourceDefinition = serde_json::from_value(crd.clone()).unwrap();
    let name = definition.metadata.name.clone().unwrap();
    crds.create(&Default::default(), &definition).await.unwrap();
    await_condition(crds, &name, is_crd_established()).await.unwrap();
    let resource = format!("{}/v1/namespaces/default/foos", definition.spec.group);
    let mut stored: Value =
        serde_json::from_str(&dry_run(client, &resource, &sent, "Ignore").await.unwrap()).unwrap();
    stored["metadata"] = sent["metadata"].clone();
    let strict = match dry_run(client, &resource, &sent, "Strict").await {
        Ok(_) => Value::Null,
        Err(kube::Error::Api(status)) if status.code == 400 => json!(status.message),
        Err(other) => panic!("the server did not judge: {other}\n{sent:#}"),
    };
    json!({"sent": sent, "stored": stored, "strict": strict})
}
