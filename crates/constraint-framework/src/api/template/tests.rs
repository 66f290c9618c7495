//! Tests of accepted templates, and of every error in one.

use serde_json::{Value, json};

use super::*;

fn template(change: impl FnOnce(&mut Value)) -> Value {
    let mut value = json!({
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "k8srequiredlabels"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "K8sRequiredLabels"}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": "package x\nviolation[{\"msg\": \"m\"}] { true }"}]
        }
    });
    change(&mut value);
    value
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Value), expected: &[&str]) {
    let errors = ConstraintTemplate::from_value(&template(change)).unwrap_err();
    let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, expected, "{errors}");
}

#[test]
fn a_template_of_each_version_is_accepted() {
    for (version, legacy) in [("v1", false), ("v1beta1", true), ("v1alpha1", true)] {
        let value =
            template(|value| value["apiVersion"] = json!(format!("templates.gatekeeper.sh/{version}")));
        assert_eq!(ConstraintTemplate::from_value(&value).unwrap().legacy_schema(), legacy, "{version}");
    }
}

#[test]
fn all_mistakes_come_at_once() {
    refused(
        |value| {
            value["apiVersion"] = json!("templates.gatekeeper.sh/v2");
            value["metadata"]["name"] = json!("other");
            value["spec"]["targets"] = json!([]);
        },
        &["/apiVersion", "/metadata/name", "/spec/targets"],
    );
}

#[test]
fn an_empty_kind_is_refused() {
    refused(
        |value| value["spec"]["crd"]["spec"]["names"]["kind"] = json!(""),
        &["/spec/crd/spec/names/kind"],
    );
}

#[test]
fn operations_are_known_words_and_the_star_stands_alone() {
    refused(
        |value| value["spec"]["targets"][0]["operations"] = json!(["*", "CREATE"]),
        &["/spec/targets/0/operations"],
    );
    refused(
        |value| value["spec"]["targets"][0]["operations"] = json!(["create"]),
        &["/spec/targets/0/operations/0"],
    );
}

#[test]
fn a_value_of_a_wrong_type_is_named_by_its_pointer() {
    refused(|value| value["spec"]["targets"][0]["libs"] = json!(["a", 1]), &["/spec/targets/0/libs/1"]);
}

#[test]
fn the_shorthand_replaces_the_rego_code_block() {
    let value = template(|value| {
        value["spec"]["targets"][0]["code"] = json!([
            {"engine": "Rego", "source": {"rego": "package old"}},
            {"engine": "K8sNativeValidation", "source": {}}
        ]);
    });
    let template = ConstraintTemplate::from_value(&value).unwrap();
    let sources = template.target().unwrap().sources();
    let engines: Vec<_> = sources.iter().map(|code| code.engine.as_str()).collect();
    assert_eq!(engines, ["K8sNativeValidation", "Rego"]);
    assert!(RegoSource::from_value(&sources[1].source).unwrap().rego.starts_with("package x"));
}

#[test]
fn operations_filter_by_exact_word() {
    let only_delete = Operations(vec!["DELETE".to_owned()]);
    assert!(only_delete.include("DELETE") && !only_delete.include("CREATE"));
    assert!(Operations::default().include("CREATE"));
}
