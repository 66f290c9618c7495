//! Policies, bindings and parameters in files.

use serde_json::json;

use crate::cli::assemble::{Assembly, assemble};
use crate::cli::judge::{Manner, Unplaced, judge};
use crate::cli::load::load_reader;
use crate::cli::progress::Progress;

const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: rules.example.com/v1, kind: Limit}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  variables: [{name: replicas, expression: object.spec.replicas}]
  validations:
  - {expression: variables.replicas <= params.max, messageExpression: "'at most ' + string(params.max)"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: replicas, validationActions: [Deny, Audit], paramRef: {name: few, parameterNotFoundAction: Deny}}
"#;
const LIMIT: &str = "---\n{apiVersion: rules.example.com/v1, kind: Limit, metadata: {name: few}, max: 3}\n";
const OBJECTS: &str = "---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop, labels: {team: one}}, spec: {replicas: 5}}\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: b}, spec: {replicas: 5}}\n";

fn assembled(text: &str) -> Result<Assembly, String> {
    let manifests = load_reader(std::path::Path::new("x"), &mut text.as_bytes()).unwrap();
    assemble(&manifests, constraint_framework::policyset::Compiler::default())
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Object and message of each violation.
fn found(text: &str) -> Vec<(String, String)> {
    let assembly = assembled(text).unwrap();
    let manner = Manner { unplaced: Unplaced::Nowhere, in_turn: true };
    let offences = judge(&assembly, manner, &Progress::new(1, "objects"));
    offences
        .iter()
        .map(|offence| (offence.subject.object.name().to_owned(), offence.violation.message.clone()))
        .collect()
}

#[test]
fn an_object_is_judged_by_the_policies_bound_to_its_kind() {
    let expected = [("a".to_owned(), "at most 3".to_owned())];
    assert_eq!(found(&format!("{POLICY}{LIMIT}{OBJECTS}")), expected);
    assert_eq!(found(&format!("{POLICY}{LIMIT}{}", OBJECTS.replace("replicas: 5", "replicas: 3"))), []);
}

#[test]
fn missing_parameters_deny_or_pass_as_the_binding_says() {
    let text = format!("{POLICY}{OBJECTS}");
    assert!(found(&text)[0].1.contains("no params found"));
    assert_eq!(found(&text.replace("parameterNotFoundAction: Deny", "parameterNotFoundAction: Allow")), []);
}

#[test]
fn selectors_of_policy_and_binding_narrow_it() {
    let text = format!("{POLICY}{LIMIT}{OBJECTS}");
    for (selector, count) in [("{team: one}", 1), ("{team: two}", 0)] {
        let block =
            format!("matchResources: {{objectSelector: {{matchLabels: {selector}}}}}, policyName: replicas");
        assert_eq!(found(&text.replace("policyName: replicas", &block)).len(), count, "{selector}");
    }
}

#[test]
fn what_keeps_a_policy_from_judging_is_named() {
    let unbound = POLICY.split("---").next().unwrap();
    let assembly = assembled(unbound).unwrap();
    assert!(assembly.warnings[0].problem.message.contains("binds this policy"));
    for (from, to, expected) in [
        ("params.max, ", "parms.max, ", "/spec/validations/0/expression:1:"),
        ("policyName: replicas", "policyName: other", "there is no ValidatingAdmissionPolicy \"other\""),
        ("[Deny, Audit]", "[Refuse]", "must hold Deny, Warn or Audit"),
    ] {
        let error = assembled(&POLICY.replace(from, to)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn output_names_the_binding_and_its_action() {
    let assembly = assembled(&format!("{POLICY}{LIMIT}")).unwrap();
    let (id, loaded) = assembly.constraints.iter().next().unwrap();
    assert_eq!(id.to_string(), "ValidatingAdmissionPolicy/everywhere");
    assert_eq!(loaded.manifest["spec"]["enforcementAction"], json!("deny"));
}
