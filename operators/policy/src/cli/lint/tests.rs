//! A sound policy has no lints; each flaw has its own.

use super::*;

const TEMPLATE: &str = r#"apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: sizes
  annotations: {description: Limits sizes.}
spec:
  crd: {spec: {names: {kind: Sizes}, validation: {openAPIV3Schema: {type: object, properties: {max: {type: integer}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    operations: [CREATE]
    code:
    - engine: Rego
      source:
        version: v1
        rego: |
          package sizes

          violation contains {"msg": "too large"} if {
            input.review.object.spec.size > input.parameters.max
          }
"#;
const CONSTRAINT: &str = "---\napiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Sizes\nmetadata: {name: c}\nspec: {match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}, parameters: {max: 1}}\n";

/// The rules that are reported, with the lines.
fn found(template: &str, constraint: &str) -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, format!("{template}{constraint}")).unwrap();
    let args =
        LintArgs { input: InputArgs { paths: vec![file], ..InputArgs::default() }, output: Format::Json };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let standard = StandardInput { reader: &mut std::io::empty(), is_terminal: true };
    let code = lint(&args, standard, &mut out, &mut err);
    let list: Value =
        serde_json::from_slice(&out).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&err)));
    let list: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["rule"].as_str().unwrap().to_owned(), entry["source"]["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(code, u8::from(!list.is_empty()));
    list
}

fn rules(template: &str, constraint: &str) -> Vec<String> {
    found(template, constraint).into_iter().map(|(rule, _)| rule).collect()
}

#[test]
fn a_sound_policy_has_none() {
    assert_eq!(rules(TEMPLATE, CONSTRAINT), Vec::<String>::new());
}

#[test]
fn each_flaw_has_its_rule() {
    let none = CONSTRAINT.replace(", parameters: {max: 1}", "");
    for (from, to, rule) in [
        ("max: {type: integer}", "max: {type: integer}, min: {type: integer}", "unused-parameter"),
        ("input.parameters.max", "input.parameters.max + input.parameters.min", "undeclared-parameter"),
        (
            ", validation: {openAPIV3Schema: {type: object, properties: {max: {type: integer}}}}",
            "",
            "missing-schema",
        ),
        ("  annotations: {description: Limits sizes.}\n", "", "no-description"),
    ] {
        assert_eq!(rules(&TEMPLATE.replace(from, to), &none), [rule]);
    }
    let unsteady =
        TEMPLATE.replace("input.parameters.max\n", "input.parameters.max\n            time.now_ns() > 1\n");
    assert_eq!(found(&unsteady, CONSTRAINT), [("not-deterministic".to_owned(), 20)]);
    let old = TEMPLATE
        .replace("        version: v1\n", "")
        .replace("violation contains {\"msg\": \"too large\"} if {", "violation[{\"msg\": \"too large\"}] {");
    assert_eq!(rules(&old, CONSTRAINT), ["old-rego"]);
    let join = TEMPLATE.replace("input.parameters.max\n", "input.parameters.max\n            some x in data.inventory.cluster[\"v1\"].Namespace\n            x.metadata.name != \"a\"\n");
    assert_eq!(rules(&join, CONSTRAINT), ["unindexed-join"]);
}

#[test]
fn constraints_are_reviewed_too() {
    let all = CONSTRAINT.replace("kinds: [{apiGroups: [''], kinds: [Pod]}]", "");
    assert_eq!(rules(TEMPLATE, &all), ["matches-everything"]);
    let never = CONSTRAINT.replace("match: {", "match: {scope: Cluster, namespaces: [a], ");
    assert_eq!(rules(TEMPLATE, &never), ["never-matches"]);
}

#[test]
fn cel_on_delete_needs_the_old_object() {
    let start = TEMPLATE.find("    - engine").unwrap();
    let code = "    - engine: K8sNativeValidation\n      source: {validations: [{expression: 'object.spec.size <= variables.params.max', message: m}]}\n";
    let cel = format!("{}{code}", TEMPLATE.get(..start).unwrap());
    assert_eq!(rules(&cel, CONSTRAINT), Vec::<String>::new());
    let deletes = cel.replace("[CREATE]", "[CREATE, DELETE]");
    assert_eq!(rules(&deletes, CONSTRAINT), ["delete-without-object"]);
}
