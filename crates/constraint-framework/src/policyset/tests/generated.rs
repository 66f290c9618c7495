//! Match blocks of all fields, some of them malformed, and reviews for them: what the tests of this module judge.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::review::{Document, Review, ReviewSource};

pub(in crate::policyset) fn document(value: &Value) -> Option<Document> {
    Some(Document::from_value(value).unwrap())
}

pub(in crate::policyset) fn word(
    words: &'static [&'static str],
) -> impl Strategy<Value = &'static str> + Clone {
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
pub(in crate::policyset) fn block() -> impl Strategy<Value = Value> {
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

pub(in crate::policyset) fn object() -> impl Strategy<Value = Value> {
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

pub(in crate::policyset) fn review() -> impl Strategy<Value = Review> {
    let source = prop::sample::select(vec![None, Some(ReviewSource::Original)]);
    let objects = (prop::option::of(object()), prop::option::of(object()), prop::option::of(object()));
    (objects, source).prop_map(|((new, old, namespace), source)| {
        let read = |object: Option<Value>| object.as_ref().and_then(document);
        let review = Review::builder("").object(read(new)).old_object(read(old));
        review.namespace_object(read(namespace)).source(source).build()
    })
}
