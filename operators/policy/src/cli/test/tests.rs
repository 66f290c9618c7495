//! The command as people and pipelines use it, with the output of `gator test` v3.23.1 to hold it against.

use clap::Parser;
use serde_json::{Value, json};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: TestArgs,
}

struct Ran {
    code: u8,
    out: String,
    /// Without the summary.
    err: String,
    summary: String,
}

const TEMPLATE: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: k8sany
  annotations: {description: Refuses everything.}
spec:
  crd: {spec: {names: {kind: K8sAny}, validation: {openAPIV3Schema: {type: object, properties: {word: {type: string, default: hit}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package any
      violation[{"msg": msg, "details": {"x": 1}}] {
        msg := sprintf("%v %v", [input.parameters.word, input.review.kind.kind])
      }
"#;
const CONSTRAINT: &str = "apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sAny
metadata: {name: any}
spec:
  match: {kinds: [{apiGroups: [\"\"], kinds: [Pod, ServiceAccount]}]}
  parameters: {}
";
const OBJECTS: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: x}
---
apiVersion: v1
kind: Pod
metadata: {name: x, namespace: ns}
";

fn run(files: &[(&str, &str)], line: &[&str], input: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let here = format!("{}/", folder.path().display());
    let words = line.iter().map(|word| word.replace("@/", &here));
    let line = Line::try_parse_from(std::iter::once("test".to_owned()).chain(words)).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
    let code = test(&line.args, standard, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(&here, "");
    let err = text(err);
    let is_summary = |line: &&str| line.ends_with(" ms") && line.contains(" constraint");
    let summary = err.lines().last().filter(is_summary).unwrap_or_default().to_owned();
    let tail = if summary.is_empty() { String::new() } else { format!("{summary}\n") };
    let err = err.strip_suffix(&tail).unwrap_or(&err).to_owned();
    Ran { code, out: text(out), err, summary }
}

fn policies() -> [(&'static str, &'static str); 2] {
    [("p/template.yaml", TEMPLATE), ("p/constraint.yaml", CONSTRAINT)]
}

/// The policies in a folder, and the objects on standard input.
fn judged(input: &str, more: &[&str]) -> Ran {
    run(&policies(), &[&["-f", "@/p"], more].concat(), input)
}

#[test]
fn lines_are_gators_with_the_place_behind() {
    let ran = judged(OBJECTS, &[]);
    assert_eq!(
        ran.out,
        "v1/Pod ns/x: [\"any\"] Message: \"hit Pod\" (<stdin>:5, deny)\n\
         v1/ServiceAccount x: [\"any\"] Message: \"hit ServiceAccount\" (<stdin>:1, deny)\n"
    );
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
}

#[test]
fn nothing_to_say_is_nothing_said() {
    let ran = judged("{apiVersion: v1, kind: Service, metadata: {name: a}}", &[]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    assert_eq!(judged("", &["-o", "json"]).out, "[]\n");
    assert_eq!(judged("", &["-o", "YAML"]).out, "[]\n");
}

#[test]
fn json_has_gators_fields_and_the_place() {
    let ran = judged("\n{apiVersion: v1, kind: Pod, metadata: {name: x}}", &["-o", "json"]);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K8sAny", "metadata": {"name": "any"},
        "spec": {
            "enforcementAction": "deny", "match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod", "ServiceAccount"]}]},
            "parameters": {"word": "hit"},
        },
    });
    assert_eq!(
        list,
        json!([{
            "target": "admission.k8s.gatekeeper.sh", "msg": "hit Pod", "metadata": {"details": {"x": 1}},
            "constraint": constraint, "enforcementAction": "deny",
            "violatingObject": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}},
            "source": {"file": "<stdin>", "line": 2}, "trace": null,
        }])
    );
    assert!(ran.out.starts_with("[\n    {\n        \"target\""), "{}", ran.out);
}

/// In CEL, with a message that is not a string by type: Gatekeeper passes over it.
const IN_CEL: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: celany}
spec:
  crd: {spec: {names: {kind: CelAny}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source: {validations: [{expression: "object.kind != 'Pod'", message: stated, messageExpression: object.metadata.name}]}
---
{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: CelAny, metadata: {name: any}}
---
{apiVersion: v1, kind: Pod, metadata: {name: x}}
"#;

#[test]
fn policies_in_cel_have_no_details_and_say_what_they_pass_over() {
    let entry = |format: &str| {
        let ran = run(&[], &["-o", format], IN_CEL);
        let warning = "<stdin>:2: source/validations/0/messageExpression: must evaluate to string but got dyn; \
                       ignored, `message` is used instead\n";
        assert_eq!((ran.code, ran.err), (1, format!("webtroller test: warning: {warning}")));
        go_compat::sigs_yaml::documents(&ran.out).unwrap().remove(0).value[0].clone()
    };
    let (json, yaml) = (entry("json"), entry("yaml"));
    assert_eq!((&json["msg"], json.get("metadata")), (&json!("stated"), None));
    assert_eq!((&yaml["result"]["msg"], &yaml["result"]["metadata"]), (&json!("stated"), &json!({})));
}

#[test]
fn details_that_are_null_are_details() {
    let template = TEMPLATE.replace(r#""details": {"x": 1}"#, r#""details": null"#);
    let files = [("p/template.yaml", template.as_str()), ("p/constraint.yaml", CONSTRAINT)];
    let ran = run(&files, &["-f", "@/p", "-o", "json"], OBJECTS);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list[0]["metadata"], json!({ "details": null }));
}

#[test]
fn yaml_has_gators_shape() {
    let ran = judged("{apiVersion: v1, kind: Pod, metadata: {name: x}}", &["-o", "yaml"]);
    let list = go_compat::sigs_yaml::documents(&ran.out).unwrap().remove(0).value;
    assert_eq!(list[0]["result"]["constraint"]["object"]["metadata"]["name"], "any");
    assert_eq!(list[0]["result"]["enforcementaction"], "deny");
    assert_eq!(list[0]["result"]["scopedenforcementactions"], json!([]));
    assert_eq!(list[0]["violatingObject"]["kind"], "Pod");
    assert!(ran.out.starts_with("- result:\n"), "{}", ran.out);
}

#[test]
fn sarif_points_at_the_manifest() {
    let files = [&policies()[..], &[("o/b c.yaml", OBJECTS)]].concat();
    let ran = run(&files, &["-f", "@/p", "-f", "@/o", "-o", "sarif"], "");
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let result = &log["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 5);
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("o/b%20c.yaml"), "{place}");
    assert_eq!(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "v1/Pod/ns/x");
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("K8sAny/any"), &json!("error")));
    assert_eq!(
        log["runs"][0]["tool"]["driver"]["rules"],
        json!([{
            "id": "K8sAny/any", "shortDescription": {"text": "Refuses everything."},
            "fullDescription": {"text": "Refuses everything."},
        }])
    );
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn sarif_tells_of_failures_too() {
    let ran = run(&[("c.yaml", CONSTRAINT)], &["-f", "@/c.yaml", "-o", "sarif"], "");
    let log: Value = serde_json::from_str(&ran.out).unwrap();
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
    assert_eq!(ran.code, 1);
}

#[test]
fn only_deny_fails() {
    let with = |spec: &str, more: &[&str]| {
        let constraint = CONSTRAINT.replace("spec:", &format!("spec:\n  {spec}"));
        run(
            &[("t.yaml", TEMPLATE), ("c.yaml", &constraint)],
            &[&["-f", "@/t.yaml", "-f", "@/c.yaml"], more].concat(),
            OBJECTS,
        )
    };
    for action in ["warn", "dryrun"] {
        let ran = with(&format!("enforcementAction: {action}"), &[]);
        assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{action}");
        let ran = with(&format!("enforcementAction: {action}"), &["--deny-only"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{action}");
    }
    let scoped = "enforcementAction: scoped\n  scopedEnforcementActions:\n  - {action: warn, enforcementPoints: [{name: gator.gatekeeper.sh}]}\n  - {action: deny, enforcementPoints: [{name: \"*\"}]}";
    let ran = with(scoped, &["-o", "json"]);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&list[0]["enforcementAction"], &list[0]["scopedActions"]),
        (&json!("scoped"), &json!(["warn", "deny"]))
    );
    assert_eq!(ran.code, 1);
    let elsewhere = "enforcementAction: scoped\n  scopedEnforcementActions:\n  - {action: deny, enforcementPoints: [{name: audit.gatekeeper.sh}]}";
    assert_eq!((with(elsewhere, &[]).code, with(elsewhere, &[]).out.as_str()), (0, ""));
}

#[test]
fn everything_that_is_wrong_is_said_at_its_place() {
    let files = [
        ("a.yaml", "apiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\n"),
        ("b.yaml", CONSTRAINT),
        ("d.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: n\n  labels:\n    a: 1\n"),
        ("c.yaml", "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: x}\n"),
    ];
    let ran = run(&files, &["-f", "@/a.yaml", "-f", "@/b.yaml", "-f", "@/c.yaml", "-f", "@/d.yaml"], "[1]");
    for expected in [
        "webtroller test: a.yaml:1: not a Kubernetes object: it has no kind\n",
        "webtroller test: a.yaml:4: not a Kubernetes object: it has no apiVersion\n",
        "webtroller test: b.yaml:1: no ConstraintTemplate in force creates the kind \"K8sAny\"\n",
        "webtroller test: c.yaml:1: /spec/",
        "webtroller test: <stdin>:1: not a Kubernetes object: it is a list\n",
        "webtroller test: d.yaml:5: not a Kubernetes object: /metadata/namespace must be a string, not false (quote it)\n",
        "webtroller test: d.yaml:7: not a Kubernetes object: /metadata/labels/a must be a string, not 1 (quote it)\n",
    ] {
        assert!(ran.err.contains(expected), "{expected}: {}", ran.err);
    }
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
}

#[test]
fn errors_have_the_line_of_their_field_and_one_message_each() {
    let constraint = format!("{CONSTRAINT}  paramters: {{}}\n  enforcementActions: []\n");
    let template = TEMPLATE.replace("targets:", "targts:");
    let ran =
        run(&[("a.yaml", TEMPLATE), ("b.yaml", &constraint)], &["-f", "@/a.yaml", "-f", "@/b.yaml"], "");
    let line = |word: &str| {
        constraint.lines().zip(1..).find(|(line, _)| line.contains(word)).map_or(0, |(_, at)| at)
    };
    for word in ["paramters", "enforcementActions"] {
        let expected =
            format!("b.yaml:{}: /spec/{word}: unknown field: it is not in the schema of kind ", line(word));
        assert_eq!(ran.err.matches(&expected).count(), 1, "{expected}: {}", ran.err);
    }
    // The constraints of a template that is refused have no error of their own.
    let ran =
        run(&[("a.yaml", &template), ("b.yaml", CONSTRAINT)], &["-f", "@/a.yaml", "-f", "@/b.yaml"], "");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains(": /spec/targets: "), "{}", ran.err);
}

#[test]
fn what_cannot_be_read_is_named() {
    let ran =
        run(&[("bad.yaml", "a: [")], &["-f", "@/bad.yaml", "-f", "@/missing", "-i", "team/policies"], "");
    let lines: Vec<_> = ran.err.lines().collect();
    assert!(lines[0].contains("team/policies: is not an image: "), "{lines:?}");
    assert!(lines[1].starts_with("webtroller test: bad.yaml:2:1: is not YAML: "), "{lines:?}");
    assert!(lines[2].starts_with("webtroller test: missing: cannot be read: "), "{lines:?}");
    assert_eq!(ran.code, 1);
    let ran = run(&[], &["-f", "@/"], "");
    assert!(ran.err.contains("no input: "), "{}", ran.err);
    assert_eq!(ran.code, 1);
}

#[test]
fn errors_of_yaml_are_at_their_line_of_the_file_with_a_caret() {
    let files = [("p/a.yaml", "kind: A\nlabels: {a: b\nspec: 1\n"), ("p/b.yaml", "kind: B\nsize: .inf\n")];
    let ran = run(&files, &["-f", "@/p"], "");
    assert_eq!(
        ran.err,
        "webtroller test: p/a.yaml:3:5: is not YAML: did not find expected ',' or '}' while parsing a flow mapping that \
         begins at line 2\n  3 | spec: 1\n    |     ^\n\
         webtroller test: p/b.yaml:2: is not YAML: inf is not a number of JSON\n"
    );
    let sarif: Value = serde_json::from_str(&run(&files, &["-f", "@/p", "-o", "sarif"], "").out).unwrap();
    let notifications = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    let region = |number: usize| &notifications[number]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region(0)["startLine"], &region(0)["startColumn"]), (&json!(3), &json!(5)));
    assert_eq!(region(1)["startLine"], 2);
}

#[test]
fn a_terminal_is_read_only_when_asked_for() {
    let code = |filenames: Vec<std::path::PathBuf>| {
        let input = InputArgs { filenames, ..InputArgs::default() };
        let args = TestArgs { input, ..TestArgs::default() };
        let standard = StandardInput { reader: &mut OBJECTS.as_bytes(), is_terminal: true };
        let mut err = Vec::new();
        let code = test(&args, standard, &mut Vec::new(), &mut err);
        (code, String::from_utf8(err).unwrap().contains("no input"))
    };
    assert_eq!(code(Vec::new()), (1, true));
    assert_eq!(code(vec!["-".into()]), (0, false));
}

#[test]
fn namespaces_among_the_inputs_decide_selectors() {
    let constraint =
        CONSTRAINT.replace("  match: {", "  match: {namespaceSelector: {matchLabels: {team: a}}, ");
    let with = |namespace: &str| {
        let input = format!("{OBJECTS}---\n{namespace}");
        run(&[("t.yaml", TEMPLATE), ("c.yaml", &constraint)], &["-f", "@/"], &input).out
    };
    let namespace = |team: &str| {
        format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: ns, labels: {{team: {team}}}}}}}")
    };
    assert!(with(&namespace("a")).contains("v1/Pod ns/x: [\"any\"] Message: \"hit Pod\""));
    assert!(!with(&namespace("b")).contains("v1/Pod"));
    assert!(with("").contains("missing Namespace"), "undecided is violated");
}

#[test]
fn objects_see_each_other_and_themselves() {
    let template = TEMPLATE.replace(
        "msg := sprintf(\"%v %v\", [input.parameters.word, input.review.kind.kind])",
        "msg := sprintf(\"%v\", [count([n | data.inventory.cluster[_][_][n]])])",
    );
    let ran = run(&[("t.yaml", &template), ("c.yaml", CONSTRAINT)], &["-f", "@/"], OBJECTS);
    assert!(ran.out.contains("Message: \"3\""), "template, constraint and service account: {}", ran.out);
}

#[test]
fn a_second_object_of_the_same_identity_is_warned_of() {
    let ran = judged(&format!("{OBJECTS}---\n{OBJECTS}"), &[]);
    assert_eq!(ran.out.lines().count(), 4);
    assert!(
        ran.err.contains(
            "warning: <stdin>:9: ServiceAccount x is already defined in <stdin>:1; both are judged"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn the_last_of_two_constraints_of_one_name_is_in_force() {
    let ran = judged(&format!("{CONSTRAINT}---\n{OBJECTS}"), &[]);
    let warning = "K8sAny any is already defined in p/constraint.yaml:1; the last one is in force";
    assert!(ran.err.contains(warning), "{}", ran.err);
}

#[test]
fn a_key_that_stands_twice_is_warned_of() {
    let ran = judged(
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, name: b}}\n- {apiVersion: v1, kind: Pod, metadata: {name: c}}\n",
        &[],
    );
    assert!(ran.out.starts_with("v1/Pod b: "), "{}", ran.out);
    assert_eq!(
        ran.err,
        "webtroller test: warning: <stdin>:4: the key \"name\" is defined twice; the last value counts\n"
    );
}

const EXPANSION: &str = "{apiVersion: expansion.gatekeeper.sh/v1beta1, kind: ExpansionTemplate, metadata: {name: e}, spec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}], templateSource: spec.template, generatedGVK: {group: '', version: v1, kind: Pod}}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec: {}}}}";

#[test]
fn what_a_deployment_generates_is_judged() {
    let ran = judged(&format!("{EXPANSION}\n---\n{DEPLOYMENT}"), &[]);
    assert_eq!(
        ran.out,
        "apps/v1/Deployment shop/web: [\"any\"] Message: \"[Implied by e] hit Pod\" (<stdin>:3, deny)\n"
    );
    assert_eq!(ran.code, 1);
    let warning = EXPANSION.replace("templateSource", "enforcementAction: warn, templateSource");
    let ran = judged(&format!("{warning}\n---\n{DEPLOYMENT}"), &["-o", "json"]);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&list[0]["enforcementAction"], ran.code), (&json!("warn"), 0));
    assert_eq!(list[0]["violatingObject"]["kind"], "Deployment");
}

#[test]
fn source_tells_what_is_generated_from_what_was_written() {
    for (source, expected) in [("Generated", 1), ("Original", 0), ("All", 1)] {
        let constraint = CONSTRAINT.replace("  match: {", &format!("  match: {{source: {source}, "));
        let input = format!("{EXPANSION}\n---\n{DEPLOYMENT}");
        let ran = run(&[("t.yaml", TEMPLATE), ("c.yaml", &constraint)], &["-f", "@/"], &input);
        assert_eq!(ran.out.lines().count(), expected, "{source}: {}", ran.out);
    }
}

#[test]
fn an_unknown_action_fails_nothing_and_is_warned_of() {
    let constraint = CONSTRAINT.replace("spec:", "spec:\n  enforcementAction: foo");
    let files = [("t.yaml", TEMPLATE), ("c.yaml", constraint.as_str())];
    let ran = run(&files, &["-f", "@/", "-o", "json"], OBJECTS);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &list[0]["enforcementAction"]), (0, &json!("foo")));
    assert!(ran.err.contains("c.yaml:1: enforcementAction \"foo\" is unknown"), "{}", ran.err);
}

#[test]
fn versions_are_read_as_kubernetes_reads_them() {
    let constraint =
        CONSTRAINT.replace("  match: {", "  match: {namespaceSelector: {matchLabels: {team: a}}, ");
    let namespace = "{apiVersion: /v1, kind: Namespace, metadata: {name: ns, labels: {team: a}}}";
    let input = format!("{OBJECTS}---\n{namespace}");
    let ran = run(&[("t.yaml", TEMPLATE), ("c.yaml", &constraint)], &["-f", "@/"], &input);
    assert!(ran.out.contains("v1/Pod ns/x: [\"any\"] Message: \"hit Pod\""), "{}", ran.out);
    let ran = judged("{apiVersion: a/b/c, kind: Pod, metadata: {name: x}}", &[]);
    assert!(
        ran.code == 1 && ran.err.contains("/apiVersion must be a version or group/version, not \"a/b/c\"")
    );
}

#[test]
fn typed_lists_are_judged_item_by_item() {
    let ran =
        judged("{apiVersion: v1, kind: PodList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}", &[]);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
}

#[test]
fn paths_are_named_without_a_flag_too() {
    let ran = run(&policies(), &["@/p"], OBJECTS);
    assert_eq!((ran.code, ran.out.lines().count()), (1, 2));
}

#[test]
fn no_input_names_what_was_looked_at() {
    let ran = run(&[("p/a.txt", "x"), ("p/b.yaml", "")], &["-f", "@/p"], "");
    assert_eq!(
        ran.err,
        "webtroller test: no input: p holds no object (skipped: p/a.txt: does not end in .yaml, .yml or .json); \
         standard input holds no object\n"
    );
}

#[test]
fn a_run_without_constraints_says_so() {
    let ran = run(&[], &[], OBJECTS);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("no constraint among the inputs"), "{}", ran.err);
}

#[test]
fn names_and_messages_are_quoted_as_go_does() {
    let template = TEMPLATE.replace("\"%v %v\"", "\"%v\\t\\u00e9\\u200b\\\"<\\\\n %v\"");
    let ran = run(
        &[("t.yaml", &template), ("c.yaml", CONSTRAINT)],
        &["-f", "@/"],
        "{apiVersion: v1, kind: Pod, metadata: {name: x}}",
    );
    assert!(ran.out.contains("Message: \"hit\\té\\u200b\\\"<\\\\n Pod\""), "{}", ran.out);
}

/// A pipe whose reader has gone away.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_went_away_does_not_change_the_verdict() {
    let code = |input: &str| {
        let standard = StandardInput { reader: &mut input.as_bytes(), is_terminal: false };
        let args = TestArgs { output: TestFormat::Json, ..TestArgs::default() };
        let mut err = Vec::new();
        (test(&args, standard, &mut Closed, &mut err), err.len())
    };
    let quiet = format!("{TEMPLATE}---\n{CONSTRAINT}");
    assert_eq!(code(&format!("{quiet}---\n{OBJECTS}")), (1, 0));
    let other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: ns}}";
    assert_eq!(code(&format!("{quiet}---\n{other}")), (0, 0));
}

#[test]
fn policies_without_an_object_are_no_silent_success() {
    let ran = run(&[], &[], &format!("{TEMPLATE}---\n{CONSTRAINT}"));
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "webtroller test: warning: there is no object to judge among the inputs\n")
    );
}

#[test]
fn what_policies_print_comes_behind_the_violations_as_gator_has_it() {
    let template = TEMPLATE.replace(
        "msg := sprintf",
        "print(\"seen\", input.review.object.metadata.name, [1, \"a\"], input.nope)\n        msg := sprintf",
    );
    let files = [("p/template.yaml", template.as_str()), ("p/constraint.yaml", CONSTRAINT)];
    let objects = OBJECTS.replace("{name: x}", "{name: other}");
    let quiet = run(&files, &["-f", "@/p"], &objects);
    let loud = run(&files, &["-f", "@/p", "-v"], &objects);
    let printed = "seen other [1, \"a\"] <undefined>\nseen x [1, \"a\"] <undefined>\n";
    assert_eq!(loud.out, format!("{}\n{printed}\n", quiet.out));
    assert_eq!((loud.code, loud.err.as_str()), (1, ""));
    let json = run(&files, &["-f", "@/p", "-v", "-o", "json"], &objects);
    assert!(serde_json::from_str::<Value>(&json.out).is_ok());
    assert_eq!(json.err, printed);
    let nothing = run(&files, &["-f", "@/p", "-v"], "{apiVersion: v1, kind: Service, metadata: {name: a}}");
    assert_eq!((nothing.out.as_str(), nothing.err.as_str()), ("", ""));
}

#[test]
fn a_summary_counts_what_was_judged_and_found() {
    let said = |input: &str, more: &[&str]| judged(input, more).summary;
    assert!(said(OBJECTS, &[]).starts_with("2 objects, 1 constraint: 2 violations (2 deny) in "));
    let service = "{apiVersion: v1, kind: Service, metadata: {name: a}}";
    let nothing = "1 object, 1 constraint (1 matches none of them): nothing was judged in ";
    assert!(said(service, &[]).starts_with(nothing), "{}", said(service, &[]));
    let idle = CONSTRAINT.replace("{name: any}", "{name: idle}").replace("Pod, ServiceAccount", "pod");
    let one_of_two = said(&format!("{OBJECTS}---\n{idle}"), &[]);
    assert!(
        one_of_two.starts_with("2 objects, 2 constraints (1 matches none of them): 2 violations "),
        "{one_of_two}"
    );
    assert_eq!(said(service, &["-q"]), "");
    assert_eq!(said(service, &["-o", "json"]), "");
    let generated = said(&format!("{EXPANSION}\n---\n{DEPLOYMENT}"), &[]);
    assert!(generated.starts_with("1 object (and 1 generated), "), "{generated}");
    assert!(run(&[], &[], OBJECTS).summary.starts_with("2 objects, 0 constraints: nothing was judged in "));
}

#[test]
fn default_lines_are_gators_alone() {
    let ran = judged(OBJECTS, &["-o", "default"]);
    assert_eq!(
        ran.out,
        "v1/Pod ns/x: [\"any\"] Message: \"hit Pod\"\nv1/ServiceAccount x: [\"any\"] Message: \"hit ServiceAccount\"\n"
    );
    assert_eq!(ran.summary, "");
}

#[test]
fn a_trace_stands_with_each_violation() {
    let ran = judged(OBJECTS, &["-t"]);
    assert!(
        ran.out.contains("    Pod ns/x (<stdin>:5) and K8sAny/any:\n      spec.match.kinds matches"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("violation at p/template.yaml:13:7 is violated"), "{}", ran.out);
    let json: Value = serde_json::from_str(&judged(OBJECTS, &["-t", "-o", "json"]).out).unwrap();
    assert!(json[0]["trace"].as_str().unwrap().contains("is violated"));
}

#[test]
fn policies_in_cel_can_be_left_out_or_given_a_failure_policy() {
    let ran = run(&[], &["--enable-k8s-native-validation=false"], IN_CEL);
    assert!(
        ran.code == 1 && ran.err.contains("no code for a known engine: write one of Rego"),
        "{}",
        ran.err
    );
    let failing = IN_CEL.replace("object.kind != 'Pod'", "object.spec.none == 1");
    assert_eq!(run(&[], &[], &failing).code, 1);
    let ran = run(&[], &["--default-k8s-native-validation-failure-policy", "Ignore"], &failing);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
}

#[test]
fn errors_of_code_are_at_their_line_of_the_file_with_a_caret() {
    let template = TEMPLATE.replace("msg := sprintf", "msg := sprnitf");
    let files = [("p/template.yaml", template.as_str()), ("p/constraint.yaml", CONSTRAINT)];
    let ran = run(&files, &["-f", "@/p"], OBJECTS);
    let lines: Vec<_> = ran.err.lines().take(3).collect();
    let expected = "webtroller test: p/template.yaml:14:16: undefined function sprnitf \
                    (define it, or correct its name: did you mean sprintf?)";
    assert_eq!(lines[0], expected, "{}", ran.err);
    assert_eq!(
        lines[1],
        "  14 |         msg := sprnitf(\"%v %v\", [input.parameters.word, input.review.kind.kind])"
    );
    assert_eq!(lines[2].trim_start_matches(['|', ' ']), "^");
    assert_eq!(
        ran.err.lines().count(),
        3,
        "the constraint is not reported for want of its template: {}",
        ran.err
    );
    let sarif: Value =
        serde_json::from_str(&run(&files, &["-f", "@/p", "-o", "sarif"], OBJECTS).out).unwrap();
    let notification = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    let region = &notification["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], region["startColumn"].is_u64()), (&json!(14), true));
}

#[test]
fn one_misspelt_name_is_one_error() {
    let body = "name := inpt.review.object.metadata.name\n        count(name) > 1\n        msg := sprintf(\"%v\", [name])";
    let start = TEMPLATE.find("msg := sprintf").unwrap();
    let end = TEMPLATE.rfind("\n      }").unwrap();
    let mut template = TEMPLATE.to_owned();
    template.replace_range(start..end, body);
    let ran = run(&[("p/template.yaml", template.as_str())], &["-f", "@/p"], OBJECTS);
    let errors: Vec<_> = ran.err.lines().filter(|line| line.starts_with("webtroller test: ")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.err);
    assert!(
        errors[0].contains("p/template.yaml:14:")
            && errors[0].contains("var inpt is unsafe")
            && errors[0].contains("did you mean input?"),
        "{errors:?}"
    );
}

#[test]
fn a_helm_template_is_recognised() {
    let ran = run(&[("t.yaml", "a: {{ .Values.x }}\nb: {{- if x }}")], &["-f", "@/t.yaml"], "");
    assert!(
        ran.err.contains("it looks like a Helm template: send what `helm template` prints"),
        "{}",
        ran.err
    );
}

const PROVIDER: &str = "apiVersion: externaldata.gatekeeper.sh/v1beta1\nkind: Provider\nmetadata: {name: p}\nspec: {url: 'https://x'}\n";

#[test]
fn providers_and_kinds_that_gatekeeper_does_not_have_are_warned_of() {
    let misspelt = "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetdata\nmetadata: {name: m}\n";
    let ran = judged(&format!("{PROVIDER}{misspelt}"), &[]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.err,
        "webtroller test: warning: <stdin>:1: this Provider is not asked: templates that call external_data are refused\n\
         webtroller test: warning: <stdin>:6: mutations.gatekeeper.sh has no kind AssignMetdata, only Assign, \
         AssignMetadata, ModifySet, AssignImage: it is judged as any other object\n\
         webtroller test: warning: there is no object to judge among the inputs\n"
    );
}

#[test]
fn mutators_are_checked_and_counted_as_policies() {
    let mutator = |location: &str| {
        format!(
            "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {{name: m}}\nspec:\n  location: {location}\n  parameters: {{assign: {{value: x}}}}\n"
        )
    };
    let ran = judged(&format!("{}---\n{OBJECTS}", mutator("metadata.labels.a")), &["-o", "default"]);
    assert_eq!((ran.code, ran.err.lines().count()), (1, 1), "{}", ran.err);
    assert!(ran.err.contains("<stdin>:1: this AssignMetadata has no effect"), "{}", ran.err);
    let ran = judged(&format!("{}---\n{OBJECTS}", mutator("spec.x")), &[]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("<stdin>:1: invalid AssignMetadata: /spec/location: must be metadata.labels.NAME"),
        "{}",
        ran.err
    );
}

#[test]
fn stats_have_gators_shape_and_count_every_object() {
    let ran = judged(OBJECTS, &["-o", "json", "--stats"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, found["results"].as_array().unwrap().len()), (1, 2));
    let stats = found["stats"].as_array().unwrap();
    let source = json!({"type": "engine", "value": "Rego"});
    assert_eq!((&stats[0]["scope"], &stats[0]["statsFor"]), (&json!("template"), &json!("K8sAny")));
    assert_eq!(stats[0]["stats"][0]["name"], "templateRunTimeNS");
    assert!(stats[0]["stats"][0]["value"].as_u64().unwrap() > 0);
    assert_eq!(stats[0]["stats"][1], json!({"name": "constraintCount", "value": 1, "source": source}));
    assert_eq!((&stats[1]["scope"], &stats[1]["statsFor"]), (&json!("constraint"), &json!("K8sAny/any")));
    assert_eq!(stats[1]["stats"][2], json!({"name": "evaluationCount", "value": 2, "source": source}));
    let yaml = judged(OBJECTS, &["-o", "yaml", "--stats"]);
    let found = &go_compat::sigs_yaml::documents(&yaml.out).unwrap()[0].value;
    assert_eq!(
        (found["results"].as_array().unwrap().len(), found["stats"].as_array().unwrap().len()),
        (2, 2)
    );
    let text = judged(OBJECTS, &["--stats", "--quiet"]);
    assert_eq!(text.out, judged(OBJECTS, &[]).out);
    assert!(
        text.err.starts_with("K8sAny/any: ") && text.err.contains(" in 2 evaluations, the longest "),
        "{}",
        text.err
    );
}

#[test]
fn a_long_list_is_written_in_parts_as_one() {
    let many: String = (0..1500)
        .map(|number| format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}}}\n"))
        .collect();
    let ran = judged(&many, &["-o", "json"]);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1500);
    let mut expected = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    serde::Serialize::serialize(&list, &mut serde_json::Serializer::with_formatter(&mut expected, formatter))
        .unwrap();
    // Fields of an entry come in another order from a parsed list: lines are compared as a bag.
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&ran.out), sorted(std::str::from_utf8(&expected).unwrap()));
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["violatingObject"]["metadata"]["name"].clone())
        .collect();
    assert_eq!(names, (0..1500).map(|number| json!(format!("p{number}"))).collect::<Vec<_>>());
}
