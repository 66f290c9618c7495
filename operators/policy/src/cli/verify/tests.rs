//! Suites from files, their report, and their exit.

use std::fs;

use super::*;

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: forbidden}
spec:
  crd: {spec: {names: {kind: Forbidden}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package forbidden
      violation[{"msg": msg}] { input.review.object.metadata.labels.bad; msg := "bad label" }
      violation[{"msg": "taken"}] { data.inventory.cluster["v1"].Namespace[_].metadata.name == input.review.object.metadata.name }
"#;

const SUITE: &str = r"
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
tests:
- name: labels
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - name: bad
    object: bad.yaml
    assertions:
    - violations: 1
      message: bad label
  - name: good
    object: good.yaml
    assertions: [{violations: no}]
  - name: taken
    object: good.yaml
    inventory: [namespace.yaml]
    assertions: [{violations: 1, message: ^taken$}]
";

fn folder(suite: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("template.yaml", TEMPLATE);
    write(
        "constraint.yaml",
        "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Forbidden, metadata: {name: c}}",
    );
    write("bad.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {bad: x}}}");
    write("good.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}}");
    write("namespace.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
    write("suite.yaml", suite);
    folder
}

fn output(suite: &str, run_only: Option<&str>) -> (bool, String) {
    let folder = folder(suite);
    let args =
        VerifyArgs { paths: vec![folder.path().to_owned()], run: run_only.map(str::to_owned), verbose: true };
    let mut out = Vec::new();
    let passed = run(&args, &mut out).unwrap();
    (passed, String::from_utf8(out).unwrap())
}

#[test]
fn a_suite_passes_case_by_case() {
    let (passed, text) = output(SUITE, None);
    assert!(passed, "{text}");
    for case in ["bad", "good", "taken"] {
        assert!(text.contains(&format!("    --- PASS: {case}\t(")), "{case}: {text}");
    }
    assert!(text.ends_with("PASS\n"), "{text}");
}

#[test]
fn a_wrong_expectation_fails_and_says_why() {
    let (passed, text) = output(&SUITE.replace("violations: no", "violations: yes"), None);
    assert!(!passed && text.contains("    --- FAIL: good\t("), "{text}");
    assert!(text.contains("unexpected number of violations: got 0 violations but want at least 1"), "{text}");
    assert!(text.ends_with("FAIL\n"), "{text}");
}

#[test]
fn a_case_without_assertions_or_object_fails() {
    let (_, text) = output(&SUITE.replace("assertions: [{violations: no}]", "assertions: []"), None);
    assert!(text.contains("assertions must be non-empty"), "{text}");
}

#[test]
fn the_filter_selects_tests_and_cases() {
    for (filter, ran) in [("bad", "bad"), ("labels//good", "good"), ("//taken", "taken")] {
        let (passed, text) = output(SUITE, Some(filter));
        let count = text.matches("    --- PASS").count();
        assert!(passed && count == 1 && text.contains(&format!("PASS: {ran}\t")), "{filter}: {text}");
    }
    let (_, text) = output(SUITE, Some("nothing"));
    assert!(!text.contains("--- PASS") && text.contains("=== SKIP  labels"), "{text}");
}

#[test]
fn an_unknown_field_or_file_fails_the_suite() {
    assert!(!output(&SUITE.replace("template: template.yaml", "template: missing.yaml"), None).0);
    assert!(!output(&SUITE.replace("inventory:", "inventroy:"), None).0);
}

#[test]
fn a_path_that_does_not_exist_is_an_error() {
    let args = VerifyArgs { paths: vec!["no/such/suite.yaml".into()], run: None, verbose: false };
    assert!(run(&args, &mut Vec::new()).is_err());
}

#[test]
fn dots_descend_and_a_folder_alone_does_not() {
    let folder = folder(SUITE);
    let parent = folder.path().parent().unwrap();
    let name = folder.path().file_name().unwrap();
    assert_eq!(suites(&parent.join(name).join("...")).unwrap().len(), 1);
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::rename(folder.path().join("suite.yaml"), folder.path().join("below/suite.yaml")).unwrap();
    assert_eq!(suites(folder.path()).unwrap().len(), 0);
    assert_eq!(suites(&folder.path().join("...")).unwrap().len(), 1);
}
