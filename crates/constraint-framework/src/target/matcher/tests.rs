//! Each criterion of a match block, alone and with the others.

use serde_json::{Value, json};

use super::*;

fn document(value: &Value) -> Option<Document> {
    Some(Document::from_value(value).unwrap())
}

fn pod(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": namespace, "labels": {"app": "web"}}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": "prod"}}})
}

fn cluster_role() -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "admin"}})
}

fn ask(spec: Value, object: &Value, in_namespace: Option<&Value>) -> Result<bool, MatchError> {
    let matcher = KubernetesMatcher::compile(Some(&spec)).unwrap();
    let review = Review::builder("").object(document(object));
    matcher.matches(&review.namespace_object(in_namespace.and_then(document)).build())
}

#[track_caller]
fn check(spec: Value, object: &Value, expected: bool) {
    assert_eq!(ask(spec.clone(), object, None), Ok(expected), "{spec} on {object}");
}

#[test]
fn no_block_and_an_empty_one_match_everything() {
    for spec in [None, Some(json!(null)), Some(json!({})), Some(json!({"kinds": []}))] {
        let matcher = KubernetesMatcher::compile(spec.as_ref()).unwrap();
        let review = Review::builder("").object(document(&pod("a"))).build();
        assert_eq!(matcher.matches(&review), Ok(true), "{spec:?}");
    }
}

#[test]
fn a_review_without_an_object_matches_no_block_and_cannot_be_decided_by_another() {
    let ask =
        |spec: Option<Value>| KubernetesMatcher::compile(spec.as_ref()).unwrap().matches(&Review::default());
    assert_eq!(ask(None), Ok(true));
    assert_eq!(ask(Some(json!({}))), Err(MatchError::NoObject));
}

#[test]
fn an_object_is_in_the_namespace_that_comes_with_it() {
    let options = json!({"apiVersion": "v1", "kind": "PodExecOptions"});
    for (scope, expected) in [("Namespaced", true), ("Cluster", false)] {
        assert_eq!(ask(json!({"scope": scope}), &options, Some(&namespace("a"))), Ok(expected));
        assert_eq!(ask(json!({"scope": scope}), &options, None), Ok(!expected));
    }
}

#[test]
fn kinds_are_pairs_and_a_star_or_an_empty_list_means_any() {
    check(json!({"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}), &pod("a"), true);
    check(json!({"kinds": [{"apiGroups": ["apps"], "kinds": ["Pod"]}]}), &pod("a"), false);
    check(json!({"kinds": [{"apiGroups": ["*"], "kinds": ["Pod", "Service"]}]}), &pod("a"), true);
    check(json!({"kinds": [{"kinds": ["Pod"]}]}), &pod("a"), true);
    check(json!({"kinds": [{"apiGroups": [""], "kinds": ["pod"]}]}), &pod("a"), false);
    check(json!({"kinds": [{"kinds": ["Service"]}, {"apiGroups": [""]}]}), &pod("a"), true);
}

#[test]
fn scope_counts_a_namespace_as_cluster_scoped() {
    for (object, cluster) in [(pod("a"), false), (namespace("a"), true), (cluster_role(), true)] {
        check(json!({"scope": "Cluster"}), &object, cluster);
        check(json!({"scope": "Namespaced"}), &object, !cluster);
        check(json!({"scope": "*"}), &object, true);
    }
}

#[test]
fn a_mistyped_scope_is_refused() {
    let errors =
        KubernetesMatcher::compile(Some(&json!({"scope": "cluster", "source": "original"}))).unwrap_err();
    assert_eq!(errors.iter().count(), 2, "{errors}");
}

#[test]
fn namespace_lists_pass_other_cluster_scoped_objects() {
    check(json!({"namespaces": ["kube-*"]}), &pod("kube-system"), true);
    check(json!({"namespaces": ["kube-*"]}), &pod("shop"), false);
    check(json!({"namespaces": ["kube-*"]}), &namespace("kube-system"), true);
    check(json!({"namespaces": ["kube-*"]}), &namespace("shop"), false);
    check(json!({"namespaces": ["kube-*"]}), &cluster_role(), true);
    check(json!({"excludedNamespaces": ["*-system"]}), &pod("kube-system"), false);
    check(json!({"excludedNamespaces": ["*"]}), &cluster_role(), true);
}

#[test]
fn label_selector_reads_the_object() {
    check(json!({"labelSelector": {"matchLabels": {"app": "web"}}}), &pod("a"), true);
    check(json!({"labelSelector": {"matchLabels": {"app": "db"}}}), &pod("a"), false);
}

#[test]
fn namespace_selector_reads_the_namespace_or_cannot_decide() {
    let spec = json!({"namespaceSelector": {"matchLabels": {"tier": "prod"}}});
    check(spec.clone(), &namespace("a"), true);
    check(spec.clone(), &cluster_role(), true);
    assert_eq!(ask(spec.clone(), &pod("a"), Some(&namespace("a"))), Ok(true));
    assert_eq!(ask(spec, &pod("a"), None), Err(MatchError::NamespaceUnknown { object: "web-1".to_owned() }));
}

#[test]
fn an_earlier_criterion_that_fails_spares_the_undecidable_one() {
    let spec =
        json!({"kinds": [{"kinds": ["Service"]}], "namespaceSelector": {"matchLabels": {"tier": "prod"}}});
    check(spec, &pod("a"), false);
}

#[test]
fn name_is_a_glob_and_knows_generated_names() {
    check(json!({"name": "web-*"}), &pod("a"), true);
    check(json!({"name": "db-*"}), &pod("a"), false);
    let generated = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}});
    check(json!({"name": "web-*"}), &generated, true);
    check(json!({"name": "web-"}), &generated, false);
}

#[test]
fn source_matches_or_cannot_be_decided() {
    let matcher = KubernetesMatcher::compile(Some(&json!({"source": "Original"}))).unwrap();
    for (source, expected) in [
        (Some(ReviewSource::Original), Ok(true)),
        (Some(ReviewSource::Generated), Ok(false)),
        (None, Err(MatchError::SourceUnknown { object: "web-1".to_owned() })),
    ] {
        let review = Review::builder("").object(document(&pod("a"))).source(source).build();
        assert_eq!(matcher.matches(&review), expected);
    }
}

#[test]
fn the_old_object_counts_as_much_as_the_new_one() {
    let matcher =
        KubernetesMatcher::compile(Some(&json!({"labelSelector": {"matchLabels": {"app": "web"}}}))).unwrap();
    let mut unlabelled = pod("a");
    unlabelled["metadata"]["labels"] = json!({});
    let review = Review::builder("").object(document(&unlabelled)).old_object(document(&pod("a"))).build();
    assert_eq!(matcher.matches(&review), Ok(true));
    assert_eq!(matcher.matches(&Review::default()), Err(MatchError::NoObject));
}

#[test]
fn selector_mistakes_are_found_when_the_constraint_is_added() {
    let spec = json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}});
    let errors = KubernetesMatcher::compile(Some(&spec)).unwrap_err();
    assert_eq!(
        errors.iter().next().unwrap().pointer,
        "/spec/match/namespaceSelector/matchExpressions/0/operator"
    );
    let errors = KubernetesMatcher::compile(Some(&json!({"namespaces": "all"}))).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().pointer, "/spec/match/namespaces");
}
