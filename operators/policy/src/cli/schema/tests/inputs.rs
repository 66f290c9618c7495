//! Several inputs of `schema check`: what cannot be read, what is no schema, and which finding is about what.

use serde_json::Value;

use super::{CRD, run};

#[test]
fn what_cannot_be_read_hides_no_findings() {
    let bad = CRD.replace("{type: integer}", "{type: array}");
    let files = [("good.yaml", CRD), ("bad.yaml", bad.as_str()), ("torn.yaml", "a: [")];
    let check = |format: &str| {
        run(&files, &["check", "-o", format, "nowhere.yaml", "good.yaml", "torn.yaml", "bad.yaml"], "")
    };
    let text = check("text");
    assert_eq!(text.code, 2);
    assert!(text.out.starts_with("bad.yaml: error: ") && text.out.lines().count() == 1, "{}", text.out);
    assert!(
        text.err.contains("nowhere.yaml: cannot be read") && text.err.contains("torn.yaml: "),
        "{}",
        text.err
    );
    let json = check("json");
    let notes: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, notes.as_array().unwrap().len()), (2, 1));
    let sarif = check("sarif");
    let log: Value = serde_json::from_str(&sarif.out).unwrap();
    assert_eq!((sarif.code, log["runs"][0]["results"].as_array().unwrap().len()), (2, 1));
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"].as_array().unwrap().len(), 2);
    let nothing = run(&[], &["check", "-o", "json", "nowhere.yaml"], "");
    assert_eq!((nothing.code, nothing.out.as_str()), (2, "[]\n"));
}

#[test]
fn other_kinds_beside_a_crd_are_skipped() {
    let other = "apiVersion: v1\nkind: ConfigMap\n";
    let bad = CRD.replace("{type: integer}", "{type: array}");
    for (crd, code) in [(CRD, 0), (bad.as_str(), 1)] {
        let ran = run(&[("a.yaml", &format!("{other}---{crd}"))], &["check", "a.yaml"], "");
        assert_eq!((ran.code, ran.out.lines().count()), (code, usize::from(code)), "{}", ran.err);
        assert!(ran.err.contains("skipped: a.yaml:1: ConfigMap of v1"), "{}", ran.err);
    }
    let alone = run(&[("a.yaml", other), ("b.yaml", CRD)], &["check", "a.yaml", "b.yaml"], "");
    assert_eq!(alone.code, 2, "a file without any CRD is not the one that was meant");
    let beta = bad.replace("io/v1", "io/v1beta1");
    let ran = run(&[("a.yaml", &format!("{bad}---{beta}"))], &["check", "a.yaml"], "");
    assert_eq!((ran.code, ran.out.lines().count()), (2, 1), "a CRD nobody serves is not skipped");
}
