//! Expressions have the type and the value that Kubernetes' own CEL libraries give them, or an error where those have
//! one.
//!
//! The judge compiles and evaluates in the environment of admission policies. What differs on purpose is listed with
//! its reason in `tests/expressions-divergent.txt`; each refuses what Kubernetes would let pass, and a line that agrees
//! fails the test.

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

use conformance::Judge;
use conformance::cel::{Answer, object};
use conformance::random::Random;
use conformance::scale::from_env;
use serde_json::{Value as Json, json};

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn expressions() -> Vec<String> {
    lines(include_str!("expressions.txt")).map(str::to_owned).collect()
}

/// Expression and reason.
fn divergent() -> BTreeMap<&'static str, &'static str> {
    let split = |line: &'static str| line.split_once("  ").expect("expression, two spaces, reason");
    lines(include_str!("expressions-divergent.txt")).map(split).map(|(a, b)| (a, b.trim())).collect()
}

/// The judge's answers, in order.
fn judged(expressions: &[String]) -> Vec<Answer> {
    let question = |expression: &String| json!({"op": "cel", "expression": expression, "subject": object()});
    let questions: Vec<_> = expressions.iter().map(|expression| question(expression).to_string()).collect();
    let mut answers = Vec::new();
    let hear = |_, said: Json| answers.push(Answer::of_judge(&said).unwrap_or_else(|| panic!("{said}")));
    Judge::gatekeeper().expect("a judge").ask_all(questions.into_iter(), hear).expect("answers");
    answers
}

fn shown(expression: &str, theirs: &Answer, ours: &Answer) -> String {
    format!("{expression}\n    theirs: {theirs:?}\n    ours:   {ours:?}")
}

#[test]
fn every_expression_has_the_type_and_value_that_kubernetes_gives_it() {
    let (expressions, divergent) = (expressions(), divergent());
    let mut unexpected = Vec::new();
    for (expression, theirs) in expressions.iter().zip(judged(&expressions)) {
        let ours = Answer::ours(expression, &object());
        let is_listed = divergent.contains_key(expression.as_str());
        if ours.agrees(&theirs) == is_listed {
            unexpected.push(format!("{} (listed: {is_listed})", shown(expression, &theirs, &ours)));
        }
        // A listed difference may refuse what Kubernetes lets pass; the other way round there is none.
        assert!(!is_listed || !matches!(ours, Answer::Value(..)), "{}", shown(expression, &theirs, &ours));
    }
    assert!(unexpected.is_empty(), "{} differ:\n{}", unexpected.len(), unexpected.join("\n"));
    assert!(divergent.keys().all(|line| expressions.iter().any(|expression| expression == line)));
}

/// Ways to put two expressions together.
const FORMS: [&str; 40] = [
    "({a}) == ({b})",
    "({a}) != ({b})",
    "({a}) < ({b})",
    "({a}) + ({b})",
    "({a}) - ({b})",
    "({a}) * ({b})",
    "({a}) in ({b})",
    "dyn({a}) == dyn({b})",
    "dyn({a}) >= dyn({b})",
    "dyn({a}) + dyn({b})",
    "dyn({a}) in [dyn({b})]",
    "dyn({a})[dyn({b})]",
    "dyn({a})[?dyn({b})]",
    "({a}) || ({b})",
    "({a}) && ({b})",
    "dyn({a}) || dyn({b})",
    "!dyn({a})",
    "-dyn({a})",
    "({a}) ? ({b}) : ({a})",
    "dyn({a}) ? dyn({b}) : dyn({a})",
    "[{a}, {b}]",
    "{'k': {a}, 'l': {b}}.l",
    "[dyn({a}), dyn({b})].exists(x, x == dyn({a}))",
    "[dyn({a}), dyn({b})].sort()",
    "[dyn({a}), dyn({b})].filter(x, x != dyn({b}))",
    "dyn({a}).map(x, dyn({b}))",
    "dyn({a}).all(x, x == dyn({b}))",
    "dyn({a}).exists(i, v, v == dyn({b}))",
    "type({a}) == type({b})",
    "type(dyn({a}))",
    "string(dyn({a}))",
    "int(dyn({a}))",
    "size(dyn({a}))",
    "optional.of({a}).orValue({b})",
    "optional.ofNonZeroValue(dyn({a})).hasValue()",
    "has(dyn({a}).b)",
    "dyn({a}).?b.orValue(dyn({b}))",
    "'%s'.format([dyn({a})])",
    "sets.contains([dyn({a})], [dyn({b})])",
    "[dyn({a}), dyn({b})].transformMap(i, v, v)",
];

fn put_together(count: usize) -> Vec<String> {
    let (parts, divergent) = (expressions(), divergent());
    // A comment would end the line.
    let usable = |part: &&str| !divergent.contains_key(part) && !part.contains("//");
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(usable).collect();
    let mut random = Random::new(from_env("CONFORMANCE_SEED", 1) as u64);
    let mut one =
        || random.pick(&FORMS).replace("{a}", random.pick(&parts)).replace("{b}", random.pick(&parts));
    (0..count).map(|_| one()).collect()
}

#[test]
fn expressions_put_together_at_random_agree() {
    let expressions = put_together(from_env("CONFORMANCE_EXPRESSIONS", 3000));
    let mut differ = Vec::new();
    for (expression, theirs) in expressions.iter().zip(judged(&expressions)) {
        let ours = Answer::ours(expression, &object());
        if !ours.agrees(&theirs) {
            differ.push(shown(expression, &theirs, &ours));
        }
    }
    let most = from_env("CONFORMANCE_SHOWN", 10);
    let first: Vec<_> = differ.iter().take(most).map(String::as_str).collect();
    assert!(differ.is_empty(), "{} of {} differ:\n{}", differ.len(), expressions.len(), first.join("\n"));
}
