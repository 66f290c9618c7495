//! Generated policies judge generated reviews: our constraint framework against Gatekeeper's own.
//!
//! Same templates, constraints, inventory and AdmissionReviews on both sides; the violations must be equal in
//! constraint, message, details and actions, at every enforcement point. `CONFORMANCE_REVIEWS` says how many reviews,
//! `CONFORMANCE_SEED` where they begin. What differs on purpose is in `docs/differences.md` and is named below.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use conformance::admission::{self, Policies, Review, asked};
use conformance::random::Random;
use conformance::{Judge, reviews, scale};
use constraint_framework::policyset::PolicySet;
use serde_json::{Value as Json, json};

/// Reviews in all, on an ordinary day.
const EVERYDAY: usize = 4_000;
/// Reviews of one set of policies.
const EACH: usize = 40;
/// Constraints of one set of policies.
const CONSTRAINTS: usize = 14;

#[test]
fn generated_reviews_have_gatekeepers_verdicts() {
    let rounds = scale::from_env("CONFORMANCE_REVIEWS", EVERYDAY).div_ceil(EACH);
    let first = scale::from_env("CONFORMANCE_SEED", 1);
    let mut judge = Judge::gatekeeper().expect("a judge");
    let mut tally = Tally::default();
    for seed in first..first + rounds {
        Round::new(seed).play(&mut judge, &mut tally);
    }
    println!("{}", tally.report());
    assert_eq!(tally.differences, Vec::<String>::new(), "{}", tally.report());
    assert!(tally.counts["violations"] > tally.counts["reviews"], "too few violations to mean anything");
}

/// One set of policies and the reviews it judges.
struct Round {
    seed: usize,
    policies: Policies,
    reviews: Vec<Review>,
}

impl Round {
    fn new(seed: usize) -> Self {
        let mut random = Random::new(u64::try_from(seed).expect("a small number"));
        let policies = admission::policies(CONSTRAINTS, &mut random);
        let reviews = (0..EACH).map(|_| admission::review(&mut random)).collect();
        Self { seed, policies, reviews }
    }

    fn play(mut self, judge: &mut Judge, tally: &mut Tally) {
        let ours = self.fill(judge, tally);
        let questions: Vec<_> =
            self.reviews.iter().map(|review| asked(&review.question()).to_string()).collect();
        let mut answers = Vec::new();
        judge.ask_all(questions.into_iter(), |_, answer| answers.push(answer)).expect("answers");
        for (review, theirs) in self.reviews.iter().zip(answers) {
            tally.count("reviews", 1);
            let ours = reviews::answer(&ours, &review.question());
            let theirs = reviews::of_judge(&theirs);
            tally.count("violations", ours.as_ref().map_or(0, |violations| violations.len()));
            if let Some(difference) = difference(&ours, &theirs) {
                let of = |manifest: &&Json| {
                    difference.contains(&format!("/{}\"", manifest["metadata"]["name"].as_str().unwrap()))
                };
                let constraints: Vec<_> =
                    self.policies.constraints.iter().filter(of).map(Json::to_string).collect();
                let constraints = constraints.join("\n");
                let (seed, inventory) = (self.seed, json!(self.policies.inventory));
                tally
                    .differences
                    .push(format!("seed {seed}\n{difference}\n{review:?}\n{constraints}\n{inventory}"));
            }
        }
    }

    /// Fills both sides with what both accept.
    fn fill(&mut self, judge: &mut Judge, tally: &mut Tally) -> Arc<PolicySet> {
        let refused = judge.ask(&self.policies.client()).expect("an answer")["refused"].clone();
        let Policies { templates, inventory, .. } = &self.policies;
        let mut builder = reviews::builder(templates, &[], inventory).expect("policies");
        let mut both = Vec::new();
        for manifest in std::mem::take(&mut self.policies.constraints) {
            let id = format!(
                "{}/{}",
                manifest["kind"].as_str().unwrap(),
                manifest["metadata"]["name"].as_str().unwrap()
            );
            let ours = reviews::put(&mut builder, &manifest);
            match (ours, refused.get(&id)) {
                (Ok(()), None) => both.push(manifest),
                (Err(_), Some(_)) => tally.count("refused by both", 1),
                (Err(why), None) if is_ours_to_refuse(&why) => {
                    tally.count("refused by us alone, on purpose", 1)
                }
                (Ok(()), Some(why)) if is_theirs_to_refuse(why.as_str().unwrap_or_default()) => {
                    tally.count("refused by them alone, on purpose", 1);
                }
                (ours, theirs) => {
                    tally
                        .differences
                        .push(format!("seed {}: {manifest}\nours {ours:?}\ntheirs {theirs:?}", self.seed));
                }
            }
            // What only one side accepted must not be in the way of the comparison.
            if !both.iter().any(|kept| kept["metadata"]["name"] == id.split('/').next_back().unwrap()) {
                builder.remove_constraint(&constraint_framework::api::ConstraintRef {
                    kind: id.split('/').next().unwrap().to_owned(),
                    name: id.split('/').next_back().unwrap().to_owned(),
                });
            }
        }
        tally.count("constraints", both.len());
        self.policies.constraints = both;
        judge.ask(&self.policies.client()).expect("an answer");
        builder.build()
    }
}

/// Mistakes that Gatekeeper's library lets through: neither refuses a scope, its webhook alone refuses an action.
fn is_ours_to_refuse(why: &str) -> bool {
    ["/spec/match/scope", "/spec/scopedEnforcementActions"].iter().any(|pointer| why.contains(pointer))
}

/// A null that an API server leaves out before it validates, as we do, and Gatekeeper's library does not.
fn is_theirs_to_refuse(why: &str) -> bool {
    why.contains(r#"Invalid value: "null""#)
}

fn difference(ours: &Result<Vec<Json>, String>, theirs: &Result<Vec<Json>, String>) -> Option<String> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if ours == theirs => None,
        (Err(_), Err(_)) => None,
        (Ok(ours), Ok(theirs)) => {
            let only = |these: &[Json], those: &[Json]| {
                these
                    .iter()
                    .filter(|line| !those.contains(line))
                    .map(|line| format!("  {line}\n"))
                    .collect::<String>()
            };
            Some(format!("only ours:\n{}only theirs:\n{}", only(ours, theirs), only(theirs, ours)))
        }
        _ => Some(format!("ours {ours:?}\ntheirs {theirs:?}")),
    }
}

#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl Tally {
    fn count(&mut self, what: &'static str, times: usize) {
        *self.counts.entry(what).or_default() += times;
    }

    fn report(&self) -> String {
        let shown = scale::from_env("CONFORMANCE_SHOWN", 10);
        let counts: Vec<_> = self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        let some: Vec<_> = self.differences.iter().take(shown).cloned().collect();
        format!("{}; {} differences\n{}", counts.join(", "), self.differences.len(), some.join("\n\n"))
    }
}
