//! Tests of explanations, for both engines and both outcomes.

use super::*;

const REGO: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: probes}
spec:
  crd: {spec: {names: {kind: Probes}, validation: {openAPIV3Schema: {type: object, properties: {max: {type: integer}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package probes
      violation[{"msg": msg}] {
        container := input.review.object.spec.containers[_]
        not container.probe
        msg := container.name
      }
      violation[{"msg": "too many"}] {
        count(input.review.object.spec.containers) > input.parameters.max
      }
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Probes, metadata: {name: probed}, spec: {match: {kinds: [{apiGroups: [""], kinds: [Pod]}], namespaces: [shop]}, parameters: {max: 3}}}
---
"#;
const CEL: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: named}
spec:
  crd: {spec: {names: {kind: Named}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source: {variables: [{name: short, expression: size(object.metadata.name) < 3}], validations: [{expression: variables.short, message: too long}]}
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Named, metadata: {name: short-names}}
---
"#;
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: a, probe: 1}, {name: b}]}}";

fn run(input: &str, constraint: Option<&str>) -> (u8, Value, String) {
    let args = ExplainArgs {
        input: InputArgs::default(),
        constraint: constraint.map(str::to_owned),
        object: None,
        output: Format::Json,
    };
    let ran = |output| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
        let code = explain(&ExplainArgs { output, ..args.clone() }, standard, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let (code, json, err) = ran(Format::Json);
    let text = ran(Format::Text).1;
    (code, serde_json::from_str(&json).unwrap_or_default(), format!("{text}{err}"))
}

#[test]
fn a_violation_in_rego_has_its_bodies_and_the_expression_that_failed() {
    let (code, json, text) = run(&format!("{REGO}{POD}"), None);
    assert_eq!(code, 0, "{text}");
    let one = &json[0];
    assert_eq!((&one["matches"], &one["violated"]), (&json!(true), &json!(true)));
    let outcomes = |body: usize| {
        let steps = one["bodies"][body]["steps"].as_array().unwrap();
        steps.iter().map(|step| step["outcome"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(0), ["held", "held", "held"], "{text}");
    assert_eq!(one["bodies"][0]["steps"][2]["values"]["msg"], "\"b\"");
    assert_eq!(outcomes(1), ["failed"], "{text}");
    assert_eq!(one["bodies"][1]["steps"][0]["values"]["input.parameters.max"], "3");
    assert!(text.contains("spec.match.namespaces matches: [\"shop\"]"), "{text}");
    assert!(text.contains("violation at template:7:1 finds nothing\n    fails        count("), "{text}");
}

#[test]
fn what_does_not_hold_ends_a_body() {
    let pod = POD.replace("{name: b}", "{name: b, probe: 1}");
    let (_, json, text) = run(&format!("{REGO}{pod}"), None);
    let steps = json[0]["bodies"][0]["steps"].as_array().unwrap();
    let outcomes: Vec<_> = steps.iter().map(|step| step["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["held", "failed", "not-reached"], "{text}");
    assert_eq!(json[0]["violated"], false);
}

#[test]
fn what_does_not_match_is_not_asked() {
    let (_, json, text) = run(&format!("{REGO}{}", POD.replace("namespace: shop", "namespace: other")), None);
    assert_eq!((&json[0]["matches"], &json[0]["bodies"]), (&json!(false), &json!([])));
    assert!(text.contains("spec.match.namespaces does not match"), "{text}");
}

#[test]
fn cel_has_the_values_of_its_variables() {
    let (code, json, text) = run(&format!("{CEL}{POD}"), None);
    assert_eq!(code, 0, "{text}");
    let step = &json[0]["bodies"][0]["steps"][0];
    assert_eq!((&step["outcome"], &step["values"]), (&json!("failed"), &json!({"variables.short": "false"})));
}

#[test]
fn a_name_that_nothing_has_is_an_error() {
    let (code, _, text) = run(&format!("{CEL}{POD}"), Some("other"));
    assert_eq!(code, 1);
    assert!(text.contains("constraints among the inputs: Named/short-names; objects: Pod/web"), "{text}");
}
