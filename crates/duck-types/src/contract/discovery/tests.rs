//! Labels, in the ways that providers get them wrong.

use serde_json::json;

use super::*;

fn contract() -> ContractSpec {
    ContractSpec::new("machine", "cluster.x-k8s.io").version("v1beta1", []).version("v1beta2", [])
}

fn crd(labels: &[(&str, &str)], served: &[&str]) -> Value {
    let labels: serde_json::Map<_, _> =
        labels.iter().map(|(key, value)| (format!("cluster.x-k8s.io/{key}"), json!(value))).collect();
    let versions: Vec<Value> = served.iter().map(|name| json!({"name": name, "served": true})).collect();
    json!({
        "metadata": {"name": "oxen.example.com", "labels": labels},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
                 "names": {"kind": "Ox", "plural": "oxen"}},
    })
}

fn found(labels: &[(&str, &str)], served: &[&str]) -> Result<(String, String), DiscoverError> {
    let provider = contract().discover(&crd(labels, served))?;
    assert_eq!((provider.resource.plural.as_str(), provider.namespaced), ("oxen", true), "not guessed");
    Ok((provider.contract_version, provider.resource.api_version))
}

fn both(contract: &str, version: &str) -> Result<(String, String), DiscoverError> {
    Ok((contract.to_owned(), format!("example.com/{version}")))
}

#[test]
fn the_newest_common_contract_and_the_highest_served_version_win() {
    assert_eq!(found(&[("v1beta1", "v1")], &["v1"]), both("v1beta1", "v1"));
    assert_eq!(found(&[("v1beta1", "v1"), ("v1beta2", "v2")], &["v1", "v2"]), both("v1beta2", "v2"));
    assert_eq!(
        found(&[("v1beta1", "v1alpha1_v1_v1beta3")], &["v1alpha1", "v1", "v1beta3"]),
        both("v1beta1", "v1")
    );
    assert_eq!(found(&[("v1beta1", "v1_v2")], &["v1"]), both("v1beta1", "v1"), "v2 is not served");
    assert_eq!(found(&[("v1beta1", "v1__v2_")], &["v1", "v2"]), both("v1beta1", "v2"), "empty parts");
    assert_eq!(found(&[("v1beta2", ""), ("v1beta1", "v1")], &["v1"]), both("v1beta1", "v1"), "empty label");
}

#[test]
fn refusals_name_the_reason() {
    let text =
        |result: Result<_, DiscoverError>| result.map(|_: (String, String)| ()).unwrap_err().to_string();
    assert_eq!(
        text(found(&[("provider", "x"), ("aggregate-to-manager", "true")], &["v1"])),
        "oxen.example.com has no label cluster.x-k8s.io/<contract version>: label it with the versions that keep the contract"
    );
    assert_eq!(
        text(found(&[("v1", "v1")], &["v1"])),
        r#"oxen.example.com keeps the contract versions ["v1"], and ["v1beta1", "v1beta2"] are known here"#
    );
    assert_eq!(
        text(found(&[("v1beta2", "v1")], &["v2"])),
        r#"oxen.example.com promises contract version v1beta2 for ["v1"], and serves only ["v2"]"#
    );
    let mut malformed = crd(&[("v1beta1", "v1")], &["v1"]);
    malformed["spec"]["names"] = json!({});
    assert!(matches!(
        contract().discover(&malformed),
        Err(DiscoverError::Malformed { pointer: "/spec/names/kind", .. })
    ));
}

#[test]
fn an_ambiguous_version_belongs_to_the_newest_contract() {
    let crd = crd(&[("v1beta1", "v1_v2"), ("v1beta2", "v2")], &["v1", "v2"]);
    assert_eq!(contract().contract_version_of(&crd, "v2"), Some("v1beta2"));
    assert_eq!(contract().contract_version_of(&crd, "v1"), Some("v1beta1"));
    assert_eq!(contract().contract_version_of(&crd, "v3"), None);
}

#[test]
fn a_contract_version_may_have_any_name() {
    let contract = ContractSpec::new("machine", "cluster.x-k8s.io").version("stable", []);
    let provider = contract.discover(&crd(&[("stable", "v1"), ("provider", "x")], &["v1"])).unwrap();
    assert_eq!(provider.contract_version, "stable");
}
