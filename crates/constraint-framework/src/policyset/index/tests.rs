//! The index against asking every matcher, and what it spares.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::target::{AdmissionTarget, Matcher, Target};

use super::*;

fn matcher(block: &Value) -> Option<Box<dyn Matcher>> {
    AdmissionTarget.matcher(Some(block)).ok()
}

fn index(matchers: &[Box<dyn Matcher>]) -> Index {
    let mut index = Index::default();
    matchers.iter().for_each(|matcher| index.push(&matcher.route()));
    index
}

/// Everything that matches or cannot decide, found by asking each.
fn by_brute_force(matchers: &[Box<dyn Matcher>], review: &Review) -> Vec<usize> {
    let is_concerned = |position: &usize| matchers[*position].matches(review) != Ok(false);
    (0..matchers.len()).filter(is_concerned).collect()
}

fn by_index(matchers: &[Box<dyn Matcher>], review: &Review) -> Vec<usize> {
    let is_concerned = |position: &usize| matchers[*position].matches(review) != Ok(false);
    index(matchers).candidates(review).into_iter().filter(is_concerned).collect()
}

fn document(value: &Value) -> Option<Document> {
    Some(Document::from_value(value).unwrap())
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words)
}

fn words(all: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(word(all), 0..3)
}

fn maybe(strategy: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Option<Value>> {
    prop::option::of(strategy).boxed()
}

const GLOBS: &[&str] = &["", "*", "**", "a", "ab", "a*", "*b", "*a*", "abc*", "*-b", "a-b", "é*"];

fn selector() -> impl Strategy<Value = Value> {
    let labels = prop::collection::btree_map(word(&["k", "l"]), word(&["", "1", "2"]), 0..2);
    let operator = word(&["In", "NotIn", "Exists", "DoesNotExist", "in", ""]);
    let expression = (word(&["k", "l", ""]), operator, words(&["1", "2"]));
    (labels, prop::collection::vec(expression, 0..2)).prop_map(|(labels, expressions)| {
        let expressions: Vec<_> = expressions
            .into_iter()
            .map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values}))
            .collect();
        json!({"matchLabels": labels, "matchExpressions": expressions})
    })
}

/// Match blocks of all fields, some of them malformed.
fn block() -> impl Strategy<Value = Value> {
    let kinds = (words(&["", "apps", "*"]), words(&["Pod", "Namespace", "*"]))
        .prop_map(|(groups, kinds)| json!([{"apiGroups": groups, "kinds": kinds}]));
    let globs = || maybe(words(GLOBS).prop_map(|globs| json!(globs)));
    let fields = (
        maybe(kinds),
        maybe(word(&["*", "Cluster", "Namespaced", "cluster", ""]).prop_map(|scope| json!(scope))),
        globs(),
        globs(),
        maybe(selector()),
        maybe(selector()),
        maybe(word(GLOBS).prop_map(|name| json!(name))),
        maybe(word(&["All", "Original", "Generated", "other"]).prop_map(|source| json!(source))),
    );
    fields.prop_map(|(kinds, scope, namespaces, excluded, labels, namespace_labels, name, source)| {
        let fields = [
            ("kinds", kinds),
            ("scope", scope),
            ("namespaces", namespaces),
            ("excludedNamespaces", excluded),
            ("labelSelector", labels),
            ("namespaceSelector", namespace_labels),
            ("name", name),
            ("source", source),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))).collect()
    })
}

fn object() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec![("v1", "Pod"), ("v1", "Namespace"), ("apps/v1", "Deployment")]);
    let labels = prop::collection::btree_map(word(&["k", "l"]), word(&["", "1", "2"]), 0..3);
    let names = word(&["", "a", "ab", "abc", "b", "a-b", "é"]);
    (kind, names.clone(), names.clone(), names, labels).prop_map(
        |((version, kind), name, generate_name, namespace, labels)| {
            json!({"apiVersion": version, "kind": kind, "metadata":
                {"name": name, "generateName": generate_name, "namespace": namespace, "labels": labels}})
        },
    )
}

fn review() -> impl Strategy<Value = Review> {
    let source = prop::sample::select(vec![None, Some(crate::review::ReviewSource::Original)]);
    let objects = (prop::option::of(object()), prop::option::of(object()), prop::option::of(object()));
    (objects, source).prop_map(|((new, old, namespace), source)| Review {
        object: new.as_ref().and_then(document),
        old_object: old.as_ref().and_then(document),
        namespace_object: namespace.as_ref().and_then(document),
        source,
        ..Review::default()
    })
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

/// How many of these constraints are looked at for a Pod `web` with the label `app: web` in `shop`.
#[track_caller]
fn check(blocks: &[Value], expected: &[usize]) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata":
        {"name": "web", "namespace": "shop", "labels": {"app": "web"}}});
    let matchers: Vec<_> = blocks.iter().filter_map(matcher).collect();
    let review = Review { object: document(&pod), ..Review::default() };
    assert_eq!(index(&matchers).candidates(&review), expected, "{blocks:?}");
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
