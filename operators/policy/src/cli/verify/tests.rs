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

/// The report on a suite that is run as a whole.
fn report_of(path: &Path) -> SuiteReport {
    let cel = EngineArgs::default();
    let options = RunOptions {
        filter: &Filter::All,
        engine: None,
        cel: &cel,
        trace: false,
        prints: None,
        coverage: None,
    };
    run_suite(&suites(path).unwrap().suites[0], &options)
}

fn args(paths: Vec<PathBuf>) -> VerifyArgs {
    VerifyArgs {
        paths,
        run: None,
        engine: None,
        verbose: false,
        trace: false,
        cel: EngineArgs::default(),
        output: VerifyFormat::Text,
    }
}

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
    output_as(VerifyFormat::Text, suite, run_only)
}

fn output_as(output: VerifyFormat, suite: &str, run_only: Option<&str>) -> (bool, String) {
    output_of(&folder(suite), output, run_only, None)
}

fn output_of(
    folder: &tempfile::TempDir,
    output: VerifyFormat,
    run_only: Option<&str>,
    engine: Option<EngineChoice>,
) -> (bool, String) {
    let paths = vec![folder.path().to_owned()];
    let run_only = run_only.map(str::to_owned);
    let args = VerifyArgs { run: run_only, engine, verbose: true, output, ..args(paths) };
    let mut out = Vec::new();
    let passed = run(&args, &mut out, &mut Vec::new()).unwrap();
    (passed, String::from_utf8(out).unwrap())
}

/// Returns the message when nothing can be run.
fn refusal(path: PathBuf) -> Option<String> {
    let args = args(vec![path]);
    run(&args, &mut Vec::new(), &mut Vec::new()).err()
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
    assert!(text.contains("          - wanted at least 1\n          + found no violation\n"), "{text}");
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
    assert!(text.ends_with("NOTHING RAN\n"), "{text}");
}

#[test]
fn a_trace_and_a_summary_are_printed() {
    let folder = folder(SUITE);
    let args = VerifyArgs { trace: true, verbose: true, ..args(vec![folder.path().to_owned()]) };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(verify(&args, &mut out, &mut err), 0);
    let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
    assert!(out.contains("template.yaml:") && !out.contains("violation at template:"), "{out}");
    assert!(err.starts_with("suites: 1, tests: 1, cases: 3 passed, 0 failed, 0 skipped in "), "{err}");
}

#[test]
fn an_unknown_field_or_file_fails_the_suite() {
    assert!(!output(&SUITE.replace("template: template.yaml", "template: missing.yaml"), None).0);
    assert!(!output(&SUITE.replace("inventory:", "inventroy:"), None).0);
}

#[test]
fn a_path_that_does_not_exist_is_an_error() {
    assert!(refusal("no/such/suite.yaml".into()).is_some());
}

#[test]
fn only_yaml_is_a_suite() {
    let folder = folder(SUITE);
    fs::write(folder.path().join("README.md"), SUITE).unwrap();
    assert!(refusal(folder.path().join("README.md")).unwrap().contains(".yaml or .yml"));
    assert_eq!(suites(folder.path()).unwrap().suites.len(), 1);
}

#[test]
fn no_suite_at_all_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let args = args(vec![folder.path().to_owned()]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(verify(&args, &mut out, &mut err), 0);
    assert_eq!(out, b"NOTHING RAN\n");
    assert!(String::from_utf8(err).unwrap().contains("there is no suite"));
}

#[test]
fn reports_for_programs_warn_where_nothing_ran() {
    let folder = folder(SUITE);
    let said = |output, run: Option<&str>| {
        let args = VerifyArgs { output, run: run.map(str::to_owned), ..args(vec![folder.path().to_owned()]) };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(verify(&args, &mut out, &mut err), 0);
        String::from_utf8(err).unwrap()
    };
    for output in [VerifyFormat::Junit, VerifyFormat::Json] {
        assert_eq!(said(output, Some("nothing")), "webtroller verify: warning: nothing ran\n");
        assert_eq!(said(output, None), "");
    }
}

#[test]
fn a_suite_that_is_no_yaml_fails() {
    let (passed, text) = output(&format!("{SUITE}  - ]"), None);
    assert!(!passed && text.contains("invalid Suite: "), "{text}");
}

#[test]
fn a_key_that_stands_twice_fails() {
    let (passed, text) = output(&format!("{SUITE}tests: []\n"), None);
    assert!(
        !passed && text.contains("invalid Suite: line 21: the key \"tests\" is already defined"),
        "{text}"
    );
    let folder = folder(SUITE);
    fs::write(folder.path().join("good.yaml"), "{apiVersion: v1, kind: Pod, kind: Pod, metadata: {name: a}}")
        .unwrap();
    let report = report_of(&folder.path().join("suite.yaml"));
    assert!(!report.passed());
    assert!(report.tests[0].cases[1].error.as_ref().unwrap().contains("good.yaml: line 1: the key \"kind\""));
}

#[test]
fn booleans_are_no_counts() {
    for word in ["true", "false", "No", "off"] {
        let (passed, text) = output(&SUITE.replace("violations: no", &format!("violations: {word}")), None);
        assert!(!passed && text.contains("violations must be yes, no or a count"), "{word}: {text}");
    }
}

#[test]
fn invalid_is_about_the_schema() {
    let invalid = |constraint: &str| {
        let folder = folder(&SUITE.replace("  cases:", "  invalid: true\n  cases:"));
        fs::write(folder.path().join("constraint.yaml"), constraint).unwrap();
        report_of(&folder.path().join("suite.yaml")).passed()
    };
    let head = "apiVersion: constraints.gatekeeper.sh/v1beta1";
    assert!(!invalid(&format!("{{{head}, kind: Forbidden, metadata: {{name: c}}}}")));
    assert!(invalid(&format!("{{{head}, kind: Forbidden, metadata: {{name: c}}, spec: {{match: 5}}}}")));
    assert!(!invalid(&format!("{{{head}, kind: Forbiden, metadata: {{name: c}}}}")), "the kind is misspelt");
    assert!(!invalid(&format!("{{{head}, kind: Forbidden, metadata: {{}}}}")), "the name is missing");
}

#[test]
fn programs_get_json() {
    let suite = SUITE.replace("- name: taken", "- name: taken\n    skip: true");
    let (passed, text) =
        output_as(VerifyFormat::Json, &suite.replace("violations: no", "violations: 3"), None);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let test = &value["suites"][0]["tests"][0];
    assert!(!passed && value["passed"] == false && test["result"] == "fail");
    let results: Vec<_> =
        test["cases"].as_array().unwrap().iter().map(|case| case["result"].clone()).collect();
    assert_eq!(results, ["pass", "fail", "skip"]);
    assert!(test["cases"][1]["error"].as_str().unwrap().starts_with("unexpected number of violations"));
    // Where nothing ran, nothing passed.
    let nothing = export::json(&[]);
    let value: serde_json::Value = serde_json::from_str(&nothing).unwrap();
    assert!(value["passed"].is_null(), "{nothing}");
}

#[test]
fn ci_systems_get_junit() {
    let suite = SUITE.replace("- name: taken", "- name: <taken> & \"gone\"\n    skip: true");
    let (_, text) = output_as(VerifyFormat::Junit, &suite.replace("violations: no", "violations: 3"), None);
    assert!(
        text.contains(
            "<testsuites name=\"webtroller verify\" tests=\"3\" skipped=\"1\" failures=\"1\" errors=\"0\""
        ),
        "{text}"
    );
    assert!(text.contains("<testcase name=\"bad\" classname=\"labels\""), "{text}");
    assert!(text.contains("<failure message=\"unexpected number of violations: got 0"), "{text}");
    assert!(
        text.contains("<testcase name=\"&lt;taken&gt; &amp; &quot;gone&quot;\"")
            && text.contains("<skipped/>"),
        "{text}"
    );
    let (_, text) = output_as(
        VerifyFormat::Junit,
        &SUITE.replace("template: template.yaml", "template: missing.yaml"),
        None,
    );
    assert!(
        text.contains("<testcase name=\"labels\" classname=\"labels\"") && text.contains("missing.yaml"),
        "{text}"
    );
}

#[test]
fn dots_descend_and_a_folder_alone_does_not() {
    let folder = folder(SUITE);
    let parent = folder.path().parent().unwrap();
    let name = folder.path().file_name().unwrap();
    assert_eq!(suites(&parent.join(name).join("...")).unwrap().suites.len(), 1);
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::rename(folder.path().join("suite.yaml"), folder.path().join("below/suite.yaml")).unwrap();
    assert_eq!(suites(folder.path()).unwrap().suites.len(), 0);
    assert_eq!(suites(&folder.path().join("...")).unwrap().suites.len(), 1);
}

/// CEL refuses the label, Rego as it is above.
const CEL: &str = r#"
    code:
    - engine: K8sNativeValidation
      source:
        validations:
        - expression: "!has(object.metadata.labels) || !('bad' in object.metadata.labels)"
          message: bad label
"#;

#[test]
fn an_engine_can_be_chosen_and_both_compared() {
    let labels = SUITE.split("  - name: taken").next().unwrap();
    let folder = folder(labels);
    let passes = |engine| output_of(&folder, VerifyFormat::Text, None, engine);
    let (passed, text) = passes(Some(EngineChoice::Cel));
    assert!(passed && text.contains("=== SKIP  labels"), "{text}");
    fs::write(folder.path().join("template.yaml"), format!("{}{CEL}", TEMPLATE.trim_end())).unwrap();
    for engine in [None, Some(EngineChoice::Cel), Some(EngineChoice::Rego), Some(EngineChoice::Both)] {
        let (passed, text) = passes(engine);
        assert!(passed && text.contains("--- PASS: bad"), "{engine:?}: {text}");
    }
    let other = CEL.replace("'bad'", "'worse'");
    fs::write(folder.path().join("template.yaml"), format!("{}{other}", TEMPLATE.trim_end())).unwrap();
    let (passed, text) = passes(Some(EngineChoice::Both));
    assert!(!passed && text.contains(r#"the engines disagree: Rego finds ["bad label"]"#), "{text}");
    assert!(passes(Some(EngineChoice::Rego)).0);
}

/// The lines of `gator verify -v` for the same files.
#[test]
fn what_policies_print_stands_with_its_case() {
    let folder = folder(SUITE);
    let prints = "violation[{\"msg\": msg}] { print(\"seen\", [1, \"a\"]); print(input.nope); input.review.object.metadata.labels.bad;";
    let template =
        TEMPLATE.replace("violation[{\"msg\": msg}] { input.review.object.metadata.labels.bad;", prints);
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    let run = |verbose: bool| {
        let args =
            VerifyArgs { run: Some("bad".to_owned()), verbose, ..args(vec![folder.path().to_owned()]) };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(verify(&args, &mut out, &mut err), 0);
        String::from_utf8(out).unwrap()
    };
    let expected = "    === RUN   bad\n        === PRINT ===\n        seen [1, \"a\"]\n        <undefined>\n    --- PASS: bad\t";
    let said = run(true);
    assert!(said.contains(expected), "{said}");
    assert!(!run(false).contains("seen"));
}

#[test]
fn what_is_null_or_nameless_counts_as_left_out() {
    let suite = r"
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
skip: null
tests:
- template: template.yaml
  constraint: constraint.yaml
  skip: null
  invalid: null
  cases:
  - {object: bad.yaml, inventory: null, skip: null, assertions: [{violations: 1}]}
- {name: none, template: template.yaml, constraint: constraint.yaml, cases: null}
";
    let (passed, output) = output(suite, None);
    assert!(passed, "{output}");
}

#[test]
fn a_request_is_taken_by_its_word() {
    let folder = folder(
        r"
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
tests:
- name: requests
  template: template.yaml
  constraint: selecting.yaml
  cases:
  - {name: its-namespace, object: named.yaml, inventory: [namespace.yaml], assertions: [{violations: 1, message: bad label}]}
  - {name: none, object: nameless.yaml, inventory: [namespace.yaml], assertions: [{violations: 1, message: missing Namespace}]}
  - {name: typing-error, object: misspelt.yaml, assertions: [{violations: no}]}
",
    );
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "selecting.yaml",
        "{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Forbidden, metadata: {name: c}, spec: {match: {namespaceSelector: {}}}}",
    );
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a, labels: {bad: x}}}";
    let request = |fields: &str| {
        format!(
            "{{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {{operation: CREATE, object: {pod}{fields}}}}}"
        )
    };
    write("named.yaml", &request(", namespace: a"));
    write("nameless.yaml", &request(""));
    write("misspelt.yaml", &request(", oldObjet: {}"));
    let report = report_of(&folder.path().join("suite.yaml"));
    let errors: Vec<_> = report.tests[0].cases.iter().map(|case| case.error.clone()).collect();
    let unknown = "invalid AdmissionReview: unknown fields: /request/oldObjet".to_owned();
    assert_eq!(errors, [None, None, Some(unknown)]);
}

#[test]
fn a_request_whose_object_has_no_kind_fails_its_case() {
    let folder = folder(&SUITE.replace(
        "object: good.yaml\n    assertions: [{violations: no}]",
        "object: review.yaml\n    assertions: [{violations: no}]",
    ));
    let review = "{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {operation: CREATE, object: {apiVersion: v1, metadata: {name: a}}}}";
    fs::write(folder.path().join("review.yaml"), review).unwrap();
    let report = report_of(&folder.path().join("suite.yaml"));
    let errors: Vec<_> = report.tests[0].cases.iter().map(|case| case.error.clone()).collect();
    assert_eq!(errors[1], Some("invalid AdmissionReview: /request/object/kind is missing".to_owned()));
    assert_eq!((&errors[0], &errors[2]), (&None, &None));
}

#[test]
fn what_an_object_generates_is_reviewed_where_a_test_names_an_expansion() {
    let suite = r"
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
tests:
- name: expanded
  template: template.yaml
  constraint: constraint.yaml
  expansion: expansion.yaml
  cases:
  - {name: implied, object: deployment.yaml, assertions: [{violations: 1, message: '^\[Implied by e\] bad label$'}]}
- name: alone
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - {name: not-implied, object: deployment.yaml, assertions: [{violations: no}]}
- name: wrong
  template: template.yaml
  constraint: constraint.yaml
  expansion: good.yaml
";
    let folder = folder(suite);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "expansion.yaml",
        "{apiVersion: expansion.gatekeeper.sh/v1alpha1, kind: ExpansionTemplate, metadata: {name: e}, spec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}], templateSource: spec.template, generatedGVK: {group: '', version: v1, kind: Pod}}}",
    );
    write(
        "deployment.yaml",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {metadata: {labels: {bad: x}}}}}",
    );
    let report = report_of(&folder.path().join("suite.yaml"));
    assert!(report.tests[0].passed() && report.tests[1].passed(), "{report:?}");
    assert_eq!(
        report.tests[2].error.as_deref(),
        Some("reading expansion: good.yaml must hold ExpansionTemplates, and nothing else")
    );
}

#[test]
fn bodies_that_no_case_violates_are_named() {
    let ran = |suite: &str, threshold| {
        let folder = folder(suite);
        let args = CoverageArgs {
            paths: vec![folder.path().to_owned()],
            threshold,
            output: super::coverage::CoverageFormat::Text,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = coverage(&args, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
    };
    let (code, text) = ran(SUITE, 100.0);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("template.yaml: 2 of 2 exercised\n") && text.contains("(100.0 %)"), "{text}");
    let without = SUITE.split("  - name: taken").next().unwrap();
    let (code, text) = ran(without, 60.0);
    assert!(code == 1 && text.contains("template.yaml:12:7: no case violates it\n"), "{text}");
    assert_eq!(ran(without, 50.0).0, 0);
}

fn covered(folder: &Path) -> (u8, String) {
    let args = CoverageArgs {
        paths: vec![folder.to_owned()],
        threshold: 100.0,
        output: super::coverage::CoverageFormat::Text,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = coverage(&args, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
}

#[test]
fn rules_that_hold_in_no_case_are_named() {
    let folder = folder(SUITE);
    let helpers = "      is_bad { has(\"bad\") }\n      has(label) { input.review.object.metadata.labels[label] }\n      is_worse { has(\"worse\") }\n";
    let template = TEMPLATE.replace(
        "      violation[{\"msg\": msg}] { input.review.object.metadata.labels.bad;",
        &format!("{helpers}      violation[{{\"msg\": msg}}] {{ is_bad;"),
    );
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    let (code, text) = covered(folder.path());
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("template.yaml: 4 of 5 exercised\n")
            && text.contains(":13:7: is_worse holds in no case\n"),
        "{text}"
    );
}

#[test]
fn what_some_declares_is_part_of_the_body() {
    let folder = folder(SUITE);
    let code = r#"
    code:
    - engine: Rego
      source:
        version: v1
        rego: |
          package forbidden
          violation contains {"msg": "bad label"} if {
            some x
            some label in ["bad"]
            x = input.review.object.metadata.labels[label]
          }
"#;
    let (head, _) = TEMPLATE.split_once("\n    rego: |").unwrap();
    let template = format!("{head}{code}");
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    let (_, text) = covered(folder.path());
    assert!(text.contains("template.yaml: 1 of 1 exercised\n"), "{text}");
    let args = VerifyArgs { trace: true, ..args(vec![folder.path().to_owned()]) };
    let mut out = Vec::new();
    verify(&args, &mut out, &mut Vec::new());
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("holds        some label in [\"bad\"]\n"), "{out}");
    assert!(out.contains("fails        x = input.review.object.metadata.labels[label]\n"), "{out}");
}

#[test]
fn each_of_several_bodies_behind_one_head_is_one() {
    let folder = folder(SUITE);
    let chained = "msg := \"bad label\" } { input.review.object.metadata.labels.worse; msg := \"worse\" }";
    let template = TEMPLATE.replace("msg := \"bad label\" }", chained);
    fs::write(folder.path().join("template.yaml"), template).unwrap();
    let (_, text) = covered(folder.path());
    assert!(text.contains("template.yaml: 2 of 3 exercised\n"), "{text}");
    assert!(text.contains(": no case violates it\n"), "{text}");
    let args = VerifyArgs { trace: true, ..args(vec![folder.path().to_owned()]) };
    let mut out = Vec::new();
    verify(&args, &mut out, &mut Vec::new());
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("fails        input.review.object.metadata.labels.worse\n"), "{out}");
}

#[test]
fn all_suites_of_a_file_are_run() {
    let folder = folder(&format!("{SUITE}---\n{}", SUITE.replace("violations: no", "violations: 7")));
    let report = report_of(&folder.path().join("suite.yaml"));
    assert_eq!(report.counts(), [5, 1, 0], "{report:?}");
}

#[test]
fn templates_that_no_suite_tests_are_named() {
    let folder = folder(SUITE);
    fs::write(folder.path().join("other.yaml"), TEMPLATE.replace("forbidden", "other")).unwrap();
    let (code, text) = covered(folder.path());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("other.yaml: 0 of 1 exercised\n  no suite tests it\n"), "{text}");
    assert!(text.contains("total: 2 of 3 exercised (66.7 %)\n"), "{text}");
}

#[test]
fn policies_of_kubernetes_are_tested_with_their_bindings() {
    let suite = r"
apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
tests:
- name: native
  template: policy.yaml
  constraint: binding.yaml
  cases:
  - {name: bad, object: bad.yaml, assertions: [{violations: 1, message: ^no label bad$}]}
  - {name: good, object: good.yaml, assertions: [{violations: no}]}
  - {name: updated, object: update.yaml, assertions: [{violations: no}]}
";
    let folder = folder(suite);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "policy.yaml",
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: \"!has(object.metadata.labels) || !('bad' in object.metadata.labels)\", message: no label bad}]}}",
    );
    write(
        "binding.yaml",
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, validationActions: [Deny]}}",
    );
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {bad: x}}}";
    write(
        "update.yaml",
        &format!(
            "{{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {{operation: UPDATE, object: {pod}, oldObject: {pod}}}}}"
        ),
    );
    let report = report_of(&folder.path().join("suite.yaml"));
    assert!(report.passed() && report.tests[0].cases.len() == 3, "{report:?}");
    let (_, text) = covered(folder.path());
    assert!(text.contains("policy.yaml: 1 of 1 exercised\n"), "{text}");
    let args = VerifyArgs { trace: true, ..args(vec![folder.path().to_owned()]) };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    verify(&args, &mut out, &mut err);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("policy.yaml:1:") && out.contains("validation at "), "{out}");
    write(
        "binding.yaml",
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p}}",
    );
    assert!(
        report_of(&folder.path().join("suite.yaml")).tests[0]
            .error
            .as_ref()
            .unwrap()
            .contains("validationActions")
    );
}

#[test]
fn what_is_not_applied_cannot_be_tested_and_says_so() {
    let folder = folder(SUITE);
    let mutator = "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\n";
    std::fs::write(folder.path().join("template.yaml"), mutator).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(verify(&args(vec![folder.path().to_owned()]), &mut out, &mut err), 1);
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("Assign cannot be tested: mutation is not applied here"), "{out}");
}
