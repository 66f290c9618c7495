//! The violations that Gatekeeper 3.23.1 finds: generated reviews under generated policies in `reviews.jsonl`, templates
//! in CEL in `native.jsonl`.
//!
//! A line with `constraints` replaces the policies; its templates stay in force where the next names none. Each line with
//! a `review` is judged by them. Lines are written by `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`,
//! which needs Go; this test does not.

#![allow(clippy::expect_used, clippy::panic, reason = "a test says no by panicking")]

#[allow(dead_code, unreachable_pub, reason = "the conformance tests of the workspace use the same file")]
mod answer;

use std::sync::Arc;

use constraint_framework::policyset::PolicySet;
use serde::Deserialize;
use serde_json::Value as Json;

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Policies {
        templates: Option<Vec<Json>>,
        constraints: Vec<Json>,
        inventory: Vec<Json>,
    },
    Review {
        review: Json,
        /// Nothing where Gatekeeper refuses the review.
        violations: Option<Vec<Json>>,
    },
}

/// Counts reviews and violations, after comparing all of them.
fn agree(recorded: &str) -> [usize; 2] {
    let (mut templates, mut policies) = (Vec::new(), None::<Arc<PolicySet>>);
    let (mut reviews, mut found) = (0_usize, 0_usize);
    let mut differences = Vec::new();
    for line in recorded.lines() {
        match serde_json::from_str(line).expect("a line") {
            Line::Policies { templates: named, constraints, inventory } => {
                templates = named.unwrap_or(templates);
                let builder = answer::builder(&templates, &constraints, &inventory).expect("policies");
                policies = Some(builder.build());
            }
            Line::Review { review, violations } => {
                let ours = answer::answer(policies.as_ref().expect("policies come first"), &review).ok();
                reviews = reviews.saturating_add(1);
                found = found.saturating_add(violations.as_ref().map_or(0, Vec::len));
                differences.extend(difference(&review, ours, violations));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {reviews} differ:\n{}",
        differences.len(),
        differences.join("\n\n")
    );
    [reviews, found]
}

fn difference(review: &Json, ours: Option<Vec<Json>>, theirs: Option<Vec<Json>>) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (Some(ours), Some(theirs)) = (&ours, &theirs) else {
        return Some(format!("{review}\nours {ours:?}\ntheirs {theirs:?}"));
    };
    let only = |these: &[Json], those: &[Json]| {
        let lines = these.iter().filter(|line| !those.contains(line));
        lines.map(|line| format!("  {line}\n")).collect::<String>()
    };
    Some(format!("{review}\nonly ours:\n{}only theirs:\n{}", only(ours, theirs), only(theirs, ours)))
}

#[test]
fn generated_reviews_have_gatekeepers_violations() {
    let [reviews, violations] = agree(include_str!("reviews.jsonl"));
    assert!(reviews >= 100 && violations > reviews, "{violations} violations in {reviews} reviews");
}

#[test]
fn templates_in_cel_find_what_gatekeeper_finds() {
    let [reviews, violations] = agree(include_str!("native.jsonl"));
    assert!(reviews >= 8 && violations >= 500, "{violations} violations in {reviews} reviews");
}
