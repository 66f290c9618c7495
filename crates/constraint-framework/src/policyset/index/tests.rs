//! The index against asking every matcher, and what it spares.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::policyset::tests::generated::{block, document, review};
use crate::target::{AdmissionTarget, Matcher, Target};

use super::*;

fn matcher(block: &Value) -> Option<Box<dyn Matcher>> {
    AdmissionTarget.matcher(Some(block)).ok()
}

/// An index of the numbers of the matchers.
fn index(matchers: &[Box<dyn Matcher>]) -> Index<usize> {
    let mut index = Index::default();
    matchers.iter().enumerate().for_each(|(number, matcher)| index.push(number, &matcher.criteria()));
    index
}

/// Everything that matches or cannot decide, found by asking each.
fn by_brute_force(matchers: &[Box<dyn Matcher>], review: &Review) -> Vec<usize> {
    let is_concerned = |position: &usize| matchers[*position].matches(review) != Ok(false);
    (0..matchers.len()).filter(is_concerned).collect()
}

fn by_index(matchers: &[Box<dyn Matcher>], review: &Review) -> Vec<usize> {
    let is_concerned = |position: &usize| matchers[*position].matches(review) != Ok(false);
    index(matchers).candidates(review).copied().filter(is_concerned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_index_finds_what_asking_everyone_finds(
        blocks in prop::collection::vec(block(), 1..8), review in review()
    ) {
        let matchers: Vec<_> = blocks.iter().filter_map(matcher).collect();
        prop_assert_eq!(by_index(&matchers, &review), by_brute_force(&matchers, &review), "{:?}", blocks);
    }
}

/// Asserts how many of these constraints are looked at for a Pod `web` with the label `app: web` in `shop`.
#[track_caller]
fn check(blocks: &[Value], expected: &[usize]) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata":
        {"name": "web", "namespace": "shop", "labels": {"app": "web"}}});
    let matchers: Vec<_> = blocks.iter().filter_map(matcher).collect();
    let review = Review::builder("").object(document(&pod)).build();
    assert!(index(&matchers).candidates(&review).eq(expected), "{blocks:?}");
}

#[test]
fn constraints_that_cannot_match_are_not_looked_at() {
    let pods = json!([{"apiGroups": [""], "kinds": ["Pod"]}]);
    check(&[json!({"kinds": [{"apiGroups": ["apps"]}]}), json!({"kinds": pods})], &[1]);
    check(&[json!({"namespaces": ["shops", "*-shop"]}), json!({"namespaces": ["sho*", "x"]})], &[1]);
    check(&[json!({"excludedNamespaces": ["s*"]}), json!({"excludedNamespaces": ["x"]})], &[1]);
    check(&[json!({"name": "we"}), json!({"name": "w*"})], &[1]);
    let labelled = |value: &str| json!({"labelSelector": {"matchLabels": {"app": value}}});
    check(&[labelled("db"), labelled("web")], &[1]);
}

#[test]
fn a_constraint_that_cannot_decide_is_asked_whatever_its_name_is() {
    check(&[json!({"name": "other", "namespaceSelector": {"matchLabels": {"a": "b"}}})], &[0]);
}
