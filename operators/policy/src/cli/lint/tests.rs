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
    let args = LintArgs {
        input: InputArgs { paths: vec![file], ..InputArgs::default() },
        fix: false,
        output: LintFormat::Json,
    };
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
    for call in ["time.now_ns()", "rand.intn(\"a\", 2)", "crypto.x509.parse_and_verify_certificates(\"\")"] {
        let calls = format!("input.parameters.max\n            {call} != 1\n");
        let template = TEMPLATE.replace("input.parameters.max\n", &calls);
        assert_eq!(found(&template, CONSTRAINT), [("not-deterministic".to_owned(), 20)], "{call}");
    }
    let old = TEMPLATE
        .replace("        version: v1\n", "")
        .replace("violation contains {\"msg\": \"too large\"} if {", "violation[{\"msg\": \"too large\"}] {");
    assert_eq!(rules(&old, CONSTRAINT), ["old-rego"]);
    let join = TEMPLATE.replace("input.parameters.max\n", "input.parameters.max\n            some x in data.inventory.cluster[\"v1\"].Namespace\n            x.metadata.name != \"a\"\n");
    assert_eq!(rules(&join, CONSTRAINT), ["unindexed-join"]);
    let deletes = TEMPLATE.replace("[CREATE]", "[CREATE, DELETE]");
    assert_eq!(rules(&deletes, CONSTRAINT), ["delete-without-object"]);
    let knows = deletes.replace(
        "input.parameters.max\n",
        "input.parameters.max\n            input.review.operation != \"DELETE\"\n",
    );
    assert_eq!(rules(&knows, CONSTRAINT), Vec::<String>::new());
}

#[test]
fn constraints_are_reviewed_too() {
    let all = CONSTRAINT.replace("kinds: [{apiGroups: [''], kinds: [Pod]}]", "");
    assert_eq!(rules(TEMPLATE, &all), ["matches-everything"]);
    let never = CONSTRAINT.replace("match: {", "match: {scope: Cluster, namespaces: [a], ");
    assert_eq!(rules(TEMPLATE, &never), ["never-matches"]);
    for kinds in [
        "{apiGroups: [v1], kinds: [Pod]}",
        "{apiGroups: [apps/v1beta1], kinds: [Deployment]}",
        "{apiGroups: [''], kinds: [pods]}",
        "{apiGroups: ['*'], kinds: [Pod, service]}",
    ] {
        let mistaken = CONSTRAINT.replace("{apiGroups: [''], kinds: [Pod]}", kinds);
        assert_eq!(rules(TEMPLATE, &mistaken), ["never-matches"], "{kinds}");
    }
    let both = CONSTRAINT.replace(
        "{apiGroups: [''], kinds: [Pod]}",
        "{apiGroups: [apps/v1, v2.example.com], kinds: ['*', pod]}",
    );
    assert_eq!(rules(TEMPLATE, &both), ["never-matches", "never-matches"]);
}

#[test]
fn lints_stand_at_their_field() {
    let line = |template: &str, constraint: &str| found(template, constraint)[0].1;
    let unused = "openAPIV3Schema: {\n    type: object, properties: {max: {type: integer},\n    min: {type: integer}}}";
    let schema = "openAPIV3Schema: {type: object, properties: {max: {type: integer}}}";
    assert_eq!(line(&TEMPLATE.replace(schema, unused), CONSTRAINT), 9);
    let none = CONSTRAINT.replace(", parameters: {max: 1}", "");
    let undeclared = TEMPLATE.replace("parameters.max", "parameters.max + input.parameters.min");
    assert_eq!(line(&undeclared, &none), 19);
    assert_eq!(line(&TEMPLATE.replace("  annotations: {description: Limits sizes.}\n", ""), CONSTRAINT), 3);
    let kinds = CONSTRAINT.replace("kinds: [Pod]", "\n  kinds: [Pod,\n  pods]");
    assert_eq!(line(TEMPLATE, &kinds), u64::try_from(TEMPLATE.lines().count()).unwrap() + 7);
}

#[test]
fn cel_on_delete_needs_the_old_object() {
    let start = TEMPLATE.find("    - engine").unwrap();
    let code = "    - engine: K8sNativeValidation\n      source: {validations: [{expression: 'object.spec.size <= variables.params.max', message: m}]}\n";
    let cel = format!("{}{code}", TEMPLATE.get(..start).unwrap());
    assert_eq!(rules(&cel, CONSTRAINT), Vec::<String>::new());
    let deletes = cel.replace("[CREATE]", "[CREATE, DELETE]");
    assert_eq!(rules(&deletes, CONSTRAINT), ["delete-without-object"]);
    // A message reads no object.
    let says = deletes.replace("message: m", "message: oldObject");
    assert_eq!(rules(&says, CONSTRAINT), ["delete-without-object"]);
    let knows = deletes.replace("'object.spec", "'object == null || oldObject == null || object.spec");
    assert_eq!(rules(&knows, CONSTRAINT), Vec::<String>::new());
}

const OLD: &str = r#"# Two templates, the first one in the fields of the target.
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: a, annotations: {description: A.}}
spec:
  crd: {spec: {names: {kind: A}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package a
      import data.lib.b

      # Names are short.
      violation[{"msg": msg}] {
        b.long(input.review.object.metadata.name)
        msg := "too long"
      }
    libs:
    - |
      package lib.b

      long(name) { count(name) > 10 }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: b, annotations: {description: B.}}
spec:
  crd: {spec: {names: {kind: B}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: Rego
      source:
        rego: |
          package b
          violation[{"msg": "b"}] { re_match("^b", input.review.object.metadata.name) }
"#;

/// The file after `--fix`, and what the command said, with `x` for the file.
fn fixed(text: &str) -> (String, String, u8) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, text).unwrap();
    let input = InputArgs { paths: vec![file.clone()], ..InputArgs::default() };
    let args = LintArgs { input, fix: true, output: LintFormat::Text };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let standard = StandardInput { reader: &mut std::io::empty(), is_terminal: true };
    let code = lint(&args, standard, &mut out, &mut err);
    let said = format!("{}{}", String::from_utf8(err).unwrap(), String::from_utf8(out).unwrap());
    (std::fs::read_to_string(&file).unwrap(), said.replace(&file.display().to_string(), "x"), code)
}

#[test]
fn old_rego_is_rewritten_in_its_file_once() {
    let (new, said, code) = fixed(OLD);
    let expected = r#"# Two templates, the first one in the fields of the target.
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: a, annotations: {description: A.}}
spec:
  crd: {spec: {names: {kind: A}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: Rego
      source:
        version: v1
        rego: |
          package a
          import data.lib.b

          # Names are short.
          violation contains {"msg": msg} if {
            b.long(input.review.object.metadata.name)
            msg := "too long"
          }
        libs:
        - |
          package lib.b

          long(name) if { count(name) > 10 }
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: b, annotations: {description: B.}}
spec:
  crd: {spec: {names: {kind: B}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: Rego
      source:
        version: v1
        rego: |
          package b
          violation contains {"msg": "b"} if { regex.match("^b", input.review.object.metadata.name) }
"#;
    assert_eq!(new, expected, "{said}");
    assert_eq!(
        said,
        "webtroller lint: x:2: rewritten in Rego v1\nwebtroller lint: x:28: rewritten in Rego v1\n"
    );
    assert_eq!(code, 0);
    assert_eq!(fixed(&new), (new, String::new(), 0));
}

#[test]
fn a_file_that_is_named_twice_is_rewritten_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: a}}}}\n---\n{OLD}"))
        .unwrap();
    let paths = vec![file.clone(), folder.path().to_owned(), folder.path().join("./policy.yaml")];
    let args =
        LintArgs { input: InputArgs { paths, ..InputArgs::default() }, fix: true, output: LintFormat::Text };
    let mut err = Vec::new();
    let standard = StandardInput { reader: &mut std::io::empty(), is_terminal: true };
    assert_eq!(lint(&args, standard, &mut Vec::new(), &mut err), 0);
    let said = String::from_utf8(err).unwrap().replace(&file.display().to_string(), "x");
    assert_eq!(
        said,
        "webtroller lint: x:4: rewritten in Rego v1\nwebtroller lint: x:30: rewritten in Rego v1\n"
    );
}

#[test]
fn what_has_no_safe_rewrite_stays_and_is_named() {
    let any = OLD.replace("count(name) > 10", "all([count(name) > 10])");
    let (new, said, code) = fixed(&any);
    assert_eq!(code, 1);
    assert!(said.contains("webtroller lint: x:24: rewritten in Rego v1\n"), "{said}");
    assert!(said.contains("webtroller lint: x:2: not rewritten: libs[0]:3: "), "{said}");
    assert!(said.contains("x:8: old-rego: "), "{said}");
    assert_eq!(new.split("---").next(), any.split("---").next());
    let quoted = OLD.replace("rego: |\n          package b\n          violation[{\"msg\": \"b\"}] { re_match(\"^b\", input.review.object.metadata.name) }", "rego: 'package b violation[{\"msg\": \"b\"}] { true }'");
    let (_, said, _) = fixed(&quoted);
    assert!(said.contains("not rewritten: its Rego is not a block of lines behind `rego: |`"), "{said}");
    let windows = OLD.replace('\n', "\r\n");
    let (new, said, _) = fixed(&windows);
    assert!(new == windows && said.contains("not rewritten: the file has line ends of Windows"), "{said}");
}

#[test]
fn other_files_of_a_folder_are_no_errors_and_a_folder_without_policies_is_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), "resources: [template.yaml]\n").unwrap();
    let run = || {
        let input = InputArgs { paths: vec![folder.path().to_owned()], ..InputArgs::default() };
        let args = LintArgs { input, fix: false, output: LintFormat::Text };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let standard = StandardInput { reader: &mut std::io::empty(), is_terminal: true };
        (lint(&args, standard, &mut out, &mut err), String::from_utf8(err).unwrap())
    };
    let nothing = "webtroller lint: there is no template and no constraint among the inputs\n";
    assert_eq!(run(), (1, nothing.to_owned()));
    std::fs::write(folder.path().join("template.yaml"), format!("{TEMPLATE}{CONSTRAINT}")).unwrap();
    assert_eq!(run(), (0, String::new()));
}

/// A service that reads the document must not take an unusable policy for a clean one.
#[test]
fn what_cannot_be_used_is_a_notification_in_sarif() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, TEMPLATE.replace("violation contains", "violatoin contains")).unwrap();
    let input = InputArgs { paths: vec![file.clone()], ..InputArgs::default() };
    let args = LintArgs { input, fix: false, output: LintFormat::Sarif };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let standard = StandardInput { reader: &mut std::io::empty(), is_terminal: true };
    assert_eq!(lint(&args, standard, &mut out, &mut err), 1);
    let log: Value = serde_json::from_slice(&out).unwrap();
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let message = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(message.contains("must have a rule named `violation`"), "{message}");
}
