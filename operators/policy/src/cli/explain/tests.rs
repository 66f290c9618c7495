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
        output: ExplainFormat::Json,
    };
    let ran = |output| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
        let code = explain(&ExplainArgs { output, ..args.clone() }, standard, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let (code, json, err) = ran(ExplainFormat::Json);
    let text = ran(ExplainFormat::Text).1;
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

const HELPERS: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: owned}
spec:
  crd: {spec: {names: {kind: Owned}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package owned
      violation[{"msg": "no owner"}] {
        not has_owner
      }
      default has_name = false
      has_owner {
        labels.owner == names[_]
      }
      names[name] { name := ["a", "b"][_]; has_name }
      has_name { named(input.review.object.metadata) }
      named(metadata) { metadata.name != "" }
      labels := input.review.object.metadata.labels
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Owned, metadata: {name: owned}}
---
"#;

#[test]
fn rules_that_decide_are_explained_too() {
    let pod = |owner: &str| {
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: web, labels: {{owner: {owner}}}}}}}")
    };
    let (_, json, text) = run(&format!("{HELPERS}{}", pod("c")), None);
    assert!(
        text.contains(
            "  violation at template:2:1 is violated\n    holds        not has_owner\n                 has_owner = undefined\n  \
             has_owner at template:6:1 does not hold\n    fails        labels.owner == names[_]\n"
        ),
        "{text}"
    );
    assert!(text.contains("labels.owner = \"c\"\n                 names = [\"a\",\"b\"]\n"), "{text}");
    let bodies = json[0]["bodies"].as_array().unwrap();
    let held = |name: &str| &bodies.iter().find(|body| body["name"] == name).unwrap()["held"];
    for (name, expected) in [("has_owner", false), ("names", true), ("named", true), ("labels", true)] {
        assert_eq!(*held(name), expected, "{name}");
    }
    let (_, _, text) = run(&format!("{HELPERS}{}", pod("a")), None);
    assert!(
        text.contains("finds nothing\n    fails        not has_owner\n                 has_owner = true\n"),
        "{text}"
    );
}

const NATIVE: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  matchConditions: [{name: counted, expression: has(object.spec.replicas)}]
  validations: [{expression: object.spec.replicas <= int(params.data.max)}]
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: few-everywhere}, spec: {policyName: few, validationActions: [Deny], paramRef: {name: limits, namespace: shop, parameterNotFoundAction: Deny}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: shop}, data: {max: '3'}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 5}}
";

#[test]
fn policies_of_kubernetes_are_explained_with_their_parameters() {
    let (code, json, text) = run(NATIVE, Some("few-everywhere"));
    assert_eq!(code, 0, "{text}");
    let found = |kind: &str| {
        let list = json.as_array().unwrap();
        list.iter().find(|one| one["object"]["kind"] == kind).unwrap().clone()
    };
    assert_eq!((&found("ConfigMap")["matches"], &found("ConfigMap")["bodies"]), (&json!(false), &json!([])));
    let one = found("Deployment");
    assert_eq!((&one["violated"], &one["bodies"][0]["held"]), (&json!(true), &json!(true)));
    let step = &one["bodies"][1]["steps"][0];
    assert_eq!(step["outcome"], "failed");
    assert_eq!(step["values"], json!({"object.spec.replicas": "5", "params.data.max": "\"3\""}));
    assert!(text.contains("  spec.matchConstraints matches: {"), "{text}");
    let named = r#"  spec.paramRef matches: {"kind":"ConfigMap","name":"limits","namespace":"shop"}"#;
    assert!(text.contains(named), "{text}");
}

/// A selector finds several, and each decides on its own.
#[test]
fn each_of_several_parameters_is_explained_with_its_name() {
    let second = "{apiVersion: v1, kind: ConfigMap, metadata: {name: more, namespace: shop, labels: {limits: 'yes'}}, data: {max: '9'}}";
    let several = NATIVE
        .replace(
            "{name: limits, namespace: shop, param",
            "{selector: {matchLabels: {limits: 'yes'}}, namespace: shop, param",
        )
        .replace(
            "{name: limits, namespace: shop}, data",
            "{name: limits, namespace: shop, labels: {limits: 'yes'}}, data",
        );
    let (_, json, _) = run(&format!("{several}---\n{second}\n"), Some("few-everywhere"));
    let with = |name: &str| {
        let wanted = json!({"kind": "ConfigMap", "namespace": "shop", "name": name}).to_string();
        let is_of = |step: &Value| step["criterion"] == "paramRef" && step["wanted"] == wanted.as_str();
        let one =
            json.as_array().unwrap().iter().find(|one| one["matching"].as_array().unwrap().iter().any(is_of));
        one.unwrap_or_else(|| panic!("{name}: {json}"))["violated"].clone()
    };
    assert_eq!((with("limits"), with("more")), (json!(true), json!(false)));
}
