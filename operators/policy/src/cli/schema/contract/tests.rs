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
                    providers do not keep the new contract: 1 changes break it\n";
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
                    2 providers, and the change breaks 1: boxes.example.com\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, expected, ""));
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "keeps.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "1 providers, and the change breaks none of them\n"));
}

#[test]
fn a_contract_version_that_goes_is_reported_for_the_providers_that_claim_it() {
    let (new, claims) = (CONTRACT.replace("v1beta1", "v1beta2"), crd("{type: boolean}"));
    let files = [("old.yaml", CONTRACT), ("new.yaml", &new), ("crd.yaml", &claims)];
    let ran = run(&files, &["contract", "diff", "old.yaml", "new.yaml", "crd.yaml"], "");
    let removed =
        "crd.yaml: error: contract version v1beta1, which its labels claim, is not in the new contract\n";
    assert!(ran.out.contains(removed), "{}", ran.out);
    assert!(ran.out.ends_with("1 providers, and the change breaks 1: boxes.example.com\n"), "{}", ran.out);
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
