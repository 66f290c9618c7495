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
    err: String,
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
    Ran { code, out: text(out), err: text(err) }
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
        "v1/Pod ns/x: [\"any\"] Message: \"hit Pod\" (<stdin>:5)\n\
         v1/ServiceAccount x: [\"any\"] Message: \"hit ServiceAccount\" (<stdin>:1)\n"
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

/// In CEL, with a message that is no string by type: Gatekeeper passes over it.
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
        let warning = "<stdin>:2: source/validations/0/messageExpression: must evaluate to string but got dyn; it is \
                       passed over, and `message` is said\n";
        assert_eq!((ran.code, ran.err), (1, format!("webtroller test: warning: {warning}")));
        crate::yaml::documents(&ran.out).unwrap().remove(0).value[0].clone()
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
    let list = crate::yaml::documents(&ran.out).unwrap().remove(0).value;
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
        json!([{"id": "K8sAny/any", "shortDescription": {"text": "Refuses everything."}}])
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
        ("d.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: n, labels: {a: 1}}}"),
        ("c.yaml", "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: x}\n"),
    ];
    let ran = run(&files, &["-f", "@/a.yaml", "-f", "@/b.yaml", "-f", "@/c.yaml", "-f", "@/d.yaml"], "[1]");
    for expected in [
        "webtroller test: a.yaml:1: not a Kubernetes object: it has no kind\n",
        "webtroller test: a.yaml:4: not a Kubernetes object: it has no apiVersion\n",
        "webtroller test: b.yaml:1: no ConstraintTemplate in force creates the kind \"K8sAny\"\n",
        "webtroller test: c.yaml:1: /spec/",
        "webtroller test: <stdin>:1: not a Kubernetes object: it is a list\n",
        "webtroller test: d.yaml:1: not a Kubernetes object: /metadata/namespace must be text, not false (quote it); /metadata/labels/a must be text, not 1 (quote it)\n",
    ] {
        assert!(ran.err.contains(expected), "{expected}: {}", ran.err);
    }
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
}

#[test]
fn what_cannot_be_read_is_named() {
    let ran = run(
        &[("bad.yaml", "a: [")],
        &["-f", "@/bad.yaml", "-f", "@/missing", "-i", "example.com/policies"],
        "",
    );
    let lines: Vec<_> = ran.err.lines().collect();
    assert!(lines[0].contains("example.com/policies: policies are not pulled from OCI images"), "{lines:?}");
    assert!(lines[1].starts_with("webtroller test: bad.yaml: is not YAML: "), "{lines:?}");
    assert!(lines[2].starts_with("webtroller test: missing: cannot be read: "), "{lines:?}");
    assert_eq!(ran.code, 1);
    let ran = run(&[], &["-f", "@/"], "");
    assert!(ran.err.contains("no input: "), "{}", ran.err);
    assert_eq!(ran.code, 1);
}

#[test]
fn a_terminal_is_read_only_when_asked_for() {
    let code = |filenames: Vec<std::path::PathBuf>| {
        let input = InputArgs { filenames, images: Vec::new() };
        let args = TestArgs { input, output: Format::Text, deny_only: false, verbose: false };
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

#[test]
fn expansion_is_refused_where_it_would_matter() {
    let template = "{apiVersion: expansion.gatekeeper.sh/v1beta1, kind: ExpansionTemplate, metadata: {name: e}, spec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}]}}";
    assert_eq!(judged(template, &[]).code, 0);
    let ran = judged(
        &format!("{template}\n---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: a}}}}"),
        &[],
    );
    assert!(
        ran.code == 1 && ran.err.contains("<stdin>:1: workloads are not expanded yet, and <stdin>:3 is one"),
        "{}",
        ran.err
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
        let args =
            TestArgs { input: InputArgs::default(), output: Format::Json, deny_only: false, verbose: false };
        let mut err = Vec::new();
        (test(&args, standard, &mut Closed, &mut err), err.len())
    };
    let quiet = format!("{TEMPLATE}---\n{CONSTRAINT}");
    assert_eq!(code(&format!("{quiet}---\n{OBJECTS}")), (1, 0));
    assert_eq!(code(&quiet), (0, 0));
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
