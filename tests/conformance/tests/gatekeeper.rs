//! The judge of reviews answers: violations with their action, what could not be added, and a template's CRD.
//!
//! The answers of our own framework to the same questions are compared where that framework is tested.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use conformance::Judge;
use serde_json::{Value as Json, json};

const REGO: &str = r#"package k8sowner
violation[{"msg": msg, "details": {"labels": labels}}] {
  labels := object.get(input.review.object.metadata, "labels", {})
  not labels[input.parameters.label]
  msg := sprintf("%v has no %v", [input.review.object.metadata.name, input.parameters.label])
}
"#;

fn template() -> Json {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"label": {"type": "string"}}}});
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "k8sowner"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "K8sOwner"}, "validation": schema}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}],
        },
    })
}

fn constraint(kind: &str, action: &str) -> Json {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": "owned"},
        "spec": {"enforcementAction": action, "parameters": {"label": "owner"}},
    })
}

#[test]
fn a_review_answers_with_violations_and_their_action() {
    let mut judge = Judge::gatekeeper().expect("a judge");
    let constraints = [constraint("K8sOwner", "warn"), constraint("K8sUnknown", "deny")];
    let client = json!({"op": "client", "key": "a", "templates": [template()], "constraints": constraints});
    let added = judge.ask(&client).expect("an answer");
    let refused: Vec<&String> = added["refused"].as_object().expect("an object").keys().collect();
    assert_eq!(refused, ["K8sUnknown/owned"]);

    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
    let review = judge.ask(&json!({"op": "review", "key": "a", "object": pod})).expect("an answer");
    let expected = json!([{
        "kind": "K8sOwner", "name": "owned", "msg": "web has no owner", "details": {"labels": {}}, "action": "warn",
        "scoped": null,
    }]);
    assert_eq!(review["results"], expected, "{review}");
}

#[test]
fn a_template_makes_a_crd() {
    let mut judge = Judge::gatekeeper().expect("a judge");
    let answer = judge.ask(&json!({"op": "crd", "template": template()})).expect("an answer");
    assert_eq!(answer["crd"]["spec"]["names"]["kind"], "K8sOwner", "{answer}");
}
