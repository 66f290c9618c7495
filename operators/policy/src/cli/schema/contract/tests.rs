//! The commands as a provider's CI uses them.

use super::super::tests::run;

const CONTRACT: &str = "
name: machine
labelPrefix: machines.example.com
scope: Namespaced
versions:
- name: v1beta1
  fields:
  - path: /status/ready
    read: {type: boolean}
";

fn crd(ready: &str) -> String {
    format!(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: boxes.example.com, labels: {{machines.example.com/v1beta1: v1}}}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: boxes, kind: Box}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, properties: {{status: {{type: object, properties: {{ready: {ready}}}}}}}}}}}
"
    )
}

#[test]
fn a_definition_is_satisfied_violated_or_unverified() {
    for (ready, code, out) in [
        ("{type: boolean}", 0, ""),
        (
            "{type: string}",
            1,
            "crd.yaml: error: /status/ready: the contract says boolean, and the schema says string\n",
        ),
        (
            "{x-kubernetes-preserve-unknown-fields: true}",
            1,
            "crd.yaml: warning: /status/ready: not verified: \
             x-kubernetes-preserve-unknown-fields: the schema accepts anything here\n",
        ),
    ] {
        let crd = crd(ready);
        let files = [("contract.yaml", CONTRACT), ("crd.yaml", crd.as_str())];
        let ran = run(&files, &["contract", "check", "contract.yaml", "crd.yaml"], "");
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (code, out, ""));
    }
}

#[test]
fn a_json_report_points_into_the_definition() {
    let crd = crd("{type: string}");
    let files = [("contract.yaml", CONTRACT), ("crd.yaml", crd.as_str())];
    let ran = run(&files, &["contract", "check", "contract.yaml", "crd.yaml", "-o", "json"], "");
    let notes: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        notes[0]["pointer"],
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/ready"
    );
}

#[test]
fn a_change_of_the_contract_is_judged_for_its_providers() {
    let narrower = CONTRACT.replace("{type: boolean}", "{type: boolean, enum: [true]}");
    let files = [("old.yaml", CONTRACT), ("new.yaml", narrower.as_str())];
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml"], "");
    let expected = "new.yaml: v1beta1: error: /status/ready: the contract reads only true\n\
                    providers do not keep the new contract: 1 change to fix\n";
    assert_eq!((ran.code, ran.out.as_str()), (1, expected));
    let ran = run(&files, &["contract", "diff", "new.yaml", "old.yaml"], "");
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn unreadable_input_is_told_apart() {
    let files = [("contract.yaml", "name: x\n"), ("crd.yaml", "type: object\n")];
    let ran = run(&files, &["contract", "check", "contract.yaml", "crd.yaml"], "");
    assert_eq!((ran.code, ran.err.contains("not a contract")), (2, true), "{}", ran.err);
    let files = [("contract.yaml", CONTRACT), ("crd.yaml", "type: object\n")];
    let ran = run(&files, &["contract", "check", "contract.yaml", "crd.yaml"], "");
    assert_eq!((ran.code, ran.err.contains("a bare schema keeps no contract")), (2, true), "{}", ran.err);
}

#[test]
fn a_change_of_the_contract_is_judged_for_the_providers_that_are_named() {
    let more = "    write: {type: boolean}\n  - path: /spec/paused\n    write: {type: boolean}\n";
    let new = format!("{CONTRACT}{more}");
    let (keeps, string) = (crd("{type: boolean}"), crd("{type: string}"));
    let keeps = keeps.replace(
        "{status: {type: object",
        "{spec: {type: object, properties: {paused: {type: boolean}}}, status: {type: object",
    );
    let files =
        [("old.yaml", CONTRACT), ("new.yaml", &new), ("keeps.yaml", &keeps), ("string.yaml", &string)];
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "keeps.yaml", "string.yaml"], "");
    let expected = "string.yaml: error: breaks for writing: /spec: not in the schema: declare it, or the API server drops it\n\
                    string.yaml: error: breaks for writing: /status/ready: the contract says boolean, and the schema says string\n\
                    string.yaml: warning: breaks the old contract too for reading: /status/ready: the contract says boolean, \
                    and the schema says string\n\
                    2 providers: the change breaks 1 (boxes.example.com)\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, expected, ""));
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "keeps.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "1 provider: the change breaks none of them\n"));
}

#[test]
fn a_contract_version_that_goes_is_reported_for_the_providers_that_claim_it() {
    let (new, claims) = (CONTRACT.replace("v1beta1", "v1beta2"), crd("{type: boolean}"));
    let files = [("old.yaml", CONTRACT), ("new.yaml", &new), ("crd.yaml", &claims)];
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "crd.yaml"], "");
    let removed =
        "crd.yaml: error: contract version v1beta1, which its labels claim, is not in the new contract\n";
    assert!(ran.out.contains(removed), "{}", ran.out);
    assert!(ran.out.ends_with("1 provider: the change breaks 1 (boxes.example.com)\n"), "{}", ran.out);
    assert_eq!(ran.code, 1);
}

/// Taken for a schema, a contract accepts everything, and every change of it is one that stored objects survive.
#[test]
fn a_contract_is_not_a_schema() {
    let stricter = CONTRACT.replace("boolean", "string");
    let files = [("old.yaml", CONTRACT), ("new.yaml", stricter.as_str())];
    for line in [["diff", "old.yaml", "new.yaml"].as_slice(), &["check", "old.yaml"]] {
        let ran = run(&files, line, "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line:?}");
        assert!(ran.err.contains(": a contract, which `webtroller schema contract` checks"), "{}", ran.err);
    }
}

#[test]
fn a_contract_has_each_version_once() {
    let (_, version) = CONTRACT.split_once("versions:\n").unwrap();
    let twice = format!("{CONTRACT}{version}");
    let ran = run(
        &[("old.yaml", CONTRACT), ("twice.yaml", &twice)],
        &["contract", "diff", "old.yaml", "twice.yaml"],
        "",
    );
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("twice.yaml: not a contract: version v1beta1 is given twice"), "{}", ran.err);
}

#[test]
fn a_definition_that_was_broken_before_or_claims_nothing_is_not_broken_by_the_change() {
    let integer = CONTRACT.replace("boolean", "integer");
    let string = crd("{type: string}");
    let unlabelled = string.replace(", labels: {machines.example.com/v1beta1: v1}", "");
    let files = [
        ("old.yaml", CONTRACT),
        ("new.yaml", &integer),
        ("string.yaml", &string),
        ("unlabelled.yaml", &unlabelled),
    ];
    let ran =
        run(&files, &["contract", "diff", "old.yaml", "new.yaml", "string.yaml", "unlabelled.yaml"], "");
    let expected = "string.yaml: warning: breaks the old contract too for reading: /status/ready: the contract says integer, and \
                    the schema says string\n\
                    unlabelled.yaml: warning: not counted as a provider: no label machines.example.com/VERSION names a version of \
                    the contract\n\
                    1 provider: the change breaks none of them; 1 broke the old contract too (boxes.example.com)\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, expected, ""));
    let ran = run(&files, &["contract", "check", "old.yaml", "unlabelled.yaml"], "");
    assert!(ran.out.starts_with("unlabelled.yaml: warning: not verified: boxes.example.com "), "{}", ran.out);
}

#[test]
fn nothing_is_said_of_all_providers_while_one_cannot_be_read() {
    let keeps = crd("{type: boolean}");
    let files =
        [("old.yaml", CONTRACT), ("new.yaml", CONTRACT), ("keeps.yaml", &keeps), ("torn.yaml", "kind: [")];
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "keeps.yaml", "torn.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("torn.yaml"), "{}", ran.err);
}

/// A field that a misspelt contract does not ask for is missing in no definition.
#[test]
fn a_contract_that_asks_for_nothing_by_mistake_is_refused() {
    let known = "unknown type \"bolean\" (known: array, boolean, integer, null, number, object, string)";
    let (none, _) = CONTRACT.split_once("versions:\n").unwrap();
    for (contract, why) in [
        (CONTRACT.replace("boolean", "bolean"), known),
        (CONTRACT.replace("type: boolean", "tpye: boolean"), "unknown keyword tpye"),
        (CONTRACT.replace("{type: boolean}", "boolean"), "\"boolean\" is not a schema"),
        (format!("{none}versions: []\n"), "it has no versions"),
    ] {
        let crd = crd("{type: boolean}");
        let files = [("contract.yaml", contract.as_str()), ("crd.yaml", &crd)];
        let ran = run(&files, &["contract", "check", "contract.yaml", "crd.yaml"], "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{contract}");
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}
