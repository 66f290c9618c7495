//! The function as kpt calls it.

use serde_json::json;

use super::*;

const TEMPLATE: &str = r#"- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata: {name: k8sbad}
  spec:
    crd: {spec: {names: {kind: K8sBad}}}
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package bad
        violation[{"msg": "bad label"}] { input.review.object.metadata.labels.bad }
"#;

fn constraint(name: &str, action: &str) -> String {
    format!(
        "- apiVersion: constraints.gatekeeper.sh/v1beta1\n  kind: K8sBad\n  metadata: {{name: {name}}}\n  spec: {{enforcementAction: {action}}}\n"
    )
}

const POD: &str = "- apiVersion: v1
  kind: Pod
  metadata:
    name: a # why it is called so
    namespace: shop
    labels: {bad: \"yes\"}
    annotations:
      internal.config.kubernetes.io/path: pods.yaml
      internal.config.kubernetes.io/index: '1'
";

fn list(items: &[&str]) -> String {
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{}", items.concat())
}

struct Ran {
    code: u8,
    out: String,
    err: String,
}

fn run(input: &str, filenames: &[PathBuf]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = FunctionArgs { filenames: filenames.to_vec() };
    let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
    let code = function(&args, standard, &mut out, &mut err);
    Ran { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

fn results(ran: &Ran) -> Value {
    go_compat::sigs_yaml::documents(&ran.out)
        .unwrap()
        .remove(0)
        .value
        .get("results")
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_violation_is_an_error_at_its_file() {
    let input = list(&[TEMPLATE, &constraint("no-bad", "deny"), POD]);
    let ran = run(&input, &[]);
    assert_eq!(
        results(&ran),
        json!([{
            "message": "bad label\nviolatedConstraint: no-bad", "severity": "error",
            "resourceRef": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "a"},
            "file": {"path": "pods.yaml", "index": 1},
        }])
    );
    assert_eq!(ran.code, 1);
    assert_eq!(ran.err, "[error] v1/Pod/shop/a: bad label violatedConstraint: no-bad\n");
    assert!(ran.out.starts_with(&input), "items are written as they came: {}", ran.out);
}

#[test]
fn warnings_and_dry_runs_do_not_fail() {
    let ran = run(&list(&[TEMPLATE, &constraint("w", "warn"), &constraint("d", "dryrun"), POD]), &[]);
    let severities: Vec<_> =
        results(&ran).as_array().unwrap().iter().map(|result| result["severity"].clone()).collect();
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(severities, ["warning", "info"]);
}

#[test]
fn a_sound_package_comes_out_as_it_went_in() {
    let input = list(&[TEMPLATE, &constraint("c", "deny")]);
    let ran = run(&input, &[]);
    assert_eq!((ran.code, ran.out), (0, input));
    for empty in ["items: []", "items:", ""] {
        let input = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n{empty}");
        assert_eq!(run(&input, &[]).out, input);
    }
}

#[test]
fn lists_that_cannot_be_amended_are_written_anew() {
    let item = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"bad": "no"}}});
    let folder = tempfile::tempdir().unwrap();
    let policies = list(&[TEMPLATE, &constraint("c", "deny")]).replace("ResourceList", "List");
    std::fs::write(folder.path().join("policies.yaml"), policies).unwrap();
    let base = json!({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [item]});
    let mut old = base.clone();
    old["results"] = json!([{"message": "of the function before"}]);
    let marked = format!("{}...\n", go_compat::sigs_yaml::block(&base.to_string()).unwrap());
    for input in
        [base.to_string(), old.to_string(), marked, go_compat::sigs_yaml::block(&old.to_string()).unwrap()]
    {
        let ran = run(&input, &[folder.path().to_owned()]);
        let out = go_compat::sigs_yaml::documents(&ran.out).unwrap().remove(0).value;
        assert_eq!(out["items"], base["items"], "{input}");
        assert_eq!(out["results"][0]["message"], "bad label\nviolatedConstraint: c", "{input}");
        assert_eq!((out["results"].as_array().unwrap().len(), ran.code), (1, 1), "{input}");
    }
}

#[test]
fn what_cannot_be_used_is_an_error_about_its_item() {
    let broken = TEMPLATE.replace("package bad", "package bad {");
    let nameless = "- {apiVersion: v1, metadata: {name: x}}\n";
    let ran = run(&list(&[&broken, nameless]), &[]);
    let results = results(&ran);
    let about: Vec<_> =
        results.as_array().unwrap().iter().map(|result| result["resourceRef"].clone()).collect();
    assert_eq!(ran.code, 1);
    assert!(about.contains(&json!({"apiVersion": "v1", "name": "x"})), "{about:?}");
    assert!(about.iter().any(|item| item["kind"] == "ConstraintTemplate"), "{about:?}");
}

#[test]
fn what_is_no_list_is_refused() {
    for input in [
        "",
        "a: [",
        "kind: ResourceList",
        "{}\n---\n{}",
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: 1",
    ] {
        let ran = run(input, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{input}");
        assert!(ran.err.starts_with("webtroller fn: standard input is not a ResourceList: "), "{}", ran.err);
    }
}

#[test]
fn what_is_in_a_list_is_judged_too() {
    let nested = r#"- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [
    {apiVersion: v1, kind: Pod, metadata: {name: inner, labels: {bad: "1"}}}]}]}
"#;
    let input = list(&[TEMPLATE, &constraint("no-bad", "deny"), nested]);
    let ran = run(&input, &[]);
    assert_eq!((ran.code, results(&ran)[0]["resourceRef"]["name"].as_str()), (1, Some("inner")));
    assert!(ran.out.starts_with(&input), "{}", ran.out);
}
