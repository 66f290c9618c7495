//! The health that kstatus (Flux, Helm), the `healthCheckExprs` of Flux and the health check of Argo CD in `docs/gitops.md`
//! compute from the statuses, as recorded in `health.jsonl`; and that of `kubectl wait`.
//!
//! Rows are written by `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`, which needs Go; these tests
//! do not.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

#[allow(unreachable_pub, reason = "the conformance tests of the workspace use the same file")]
mod cases;

use cases::cases;
use serde_json::{Value, json};

const WAITS: [&str; 3] = ["InProgress", "InProgress", "Progressing"];
const FAILED: [&str; 3] = ["Failed", "Failed", "Degraded"];
const NO_POD: [&str; 3] = ["InProgress", "Failed", "Degraded"];
const DONE: [&str; 3] = ["Current", "Current", "Healthy"];
/// Argo CD shows a deletion before it runs a check.
const DELETED: [&str; 3] = ["Terminating", "Current", "Healthy"];

/// The truth about each case, in the words of the three tools.
const TRUTH: [(&str, [&str; 3]); 15] = [
    ("no pod has registered", WAITS),
    ("no pod has reported", WAITS),
    ("one has", WAITS),
    ("one is behind", WAITS),
    ("one does not enforce it yet", WAITS),
    ("the last generation was enforced", WAITS),
    ("the last generation failed", WAITS),
    ("before any pod has looked, by the schema's default", WAITS),
    ("one fails", FAILED),
    ("one tries again", WAITS),
    ("one will never enforce it", FAILED),
    ("there is nothing to enforce", DONE),
    ("no pod enforces", NO_POD),
    ("all enforce it", DONE),
    ("all enforce it, and it is being deleted", DELETED),
];

fn rows() -> Vec<Value> {
    include_str!("health.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns true if `kubectl wait --for=condition=Enforced` goes on: a condition with another generation does not count.
fn waits(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let enforced = conditions.iter().find(|condition| condition["type"] == "Enforced");
    let generation = &object["metadata"]["generation"];
    !enforced.is_some_and(|one| one["status"] == "True" && one["observedGeneration"] == *generation)
}

/// Otherwise the recorded answers are about other objects: record them again.
#[test]
fn the_recorded_objects_are_those_that_are_written_today() {
    let recorded: Vec<Value> = rows().iter().map(|row| json!([row["case"], row["object"]])).collect();
    let today: Vec<Value> = cases().iter().map(|(name, object)| json!([name, object])).collect();
    assert_eq!(recorded, today);
}

#[test]
fn health_checks_and_kubectl_wait_conclude_the_truth() {
    let rows = rows();
    assert_eq!(rows.len(), TRUTH.len());
    for (row, (name, truth)) in rows.iter().zip(TRUTH) {
        assert_eq!(row["case"], name);
        let verdict = ["kstatus", "flux", "argo"].map(|tool| row["answer"][tool].as_str().unwrap());
        assert_eq!(verdict, truth, "{name}: {:#}", row["object"]);
        let is_enforced = name.starts_with("all enforce it");
        assert_eq!(waits(&row["object"]), !is_enforced, "{name}: {:#}", row["object"]);
    }
}

/// Tools that compare a report's `status.observedGeneration` with its own generation would show "in progress" for ever.
#[test]
fn a_report_has_no_status() {
    let schema = json!(pod_status::ReportKind::default().crd());
    let properties = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    assert!(properties["entries"].is_object() && properties["status"].is_null(), "{properties:#}");
}
