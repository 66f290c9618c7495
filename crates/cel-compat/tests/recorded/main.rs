//! The types and values that Kubernetes' CEL libraries (cel-go as Gatekeeper 3.23.1 pins it) give to the expressions in
//! `expressions.jsonl`.
//!
//! Rows are written by `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`, which needs Go; this test
//! does not.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

#[allow(unreachable_pub, reason = "the conformance tests of the workspace use the same file")]
mod answer;

use answer::{Answer, object};
use serde_json::Value as Json;

/// Returns the difference of a row, if there is one.
fn difference(row: &Json) -> Option<String> {
    let expression = row["expression"].as_str().expect("an expression");
    let theirs = Answer::of_judge(&row["answer"]).expect("an answer");
    let ours = Answer::ours(expression, &object());
    (!ours.agrees(&theirs)).then(|| format!("{expression}\n    theirs: {theirs:?}\n    ours:   {ours:?}"))
}

#[test]
fn expressions_have_the_type_and_value_that_kubernetes_gives_them() {
    let recorded = include_str!("expressions.jsonl");
    let rows: Vec<Json> = recorded.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    let differences: Vec<String> = rows.iter().filter_map(difference).collect();
    assert!(
        differences.is_empty(),
        "{} of {} differ:\n{}",
        differences.len(),
        rows.len(),
        differences.join("\n")
    );
    let values = rows.iter().filter(|row| row["answer"].get("value").is_some()).count();
    assert!(values * 3 > rows.len(), "{values} of {} rows have a value", rows.len());
}

#[test]
fn the_first_error_has_the_words_and_the_place_of_cel_go() {
    let recorded = include_str!("expressions.jsonl");
    let mut differences = Vec::new();
    for line in recorded.lines() {
        let row: Json = serde_json::from_str(line).expect("a row");
        let expression = row["expression"].as_str().expect("an expression");
        let theirs = Answer::of_judge(&row["answer"]).expect("an answer");
        let ours = Answer::ours(expression, &object());
        if let Some(first) = theirs.first_error()
            && ours.first_error() != Some(first)
        {
            differences.push(format!("{expression}\n    theirs: {first}\n    ours:   {ours:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
