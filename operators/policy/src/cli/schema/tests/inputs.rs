//! Several inputs of `schema check`: what cannot be read, what is not a schema, and which diagnostic is about what.

use std::io::{ErrorKind, Write};

use clap::Parser as _;
use serde_json::{Value, json};

use super::{CRD, Line, run, schema};

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
    assert_eq!((ran.code, ran.out.lines().count()), (2, 1), "a CRD that is not served is not skipped");
}

#[test]
fn findings_say_which_crd_of_a_file_they_are_about() {
    let bad = CRD.replace("{type: integer}", "{type: array}");
    let other = bad.replace("{name: foos.example.com}", "{name: bars.example.com}");
    let nameless = bad.replace("metadata: {name: foos.example.com}\n", "");
    let all = format!("{}---{other}---{nameless}---{CRD}", bad.trim_start());
    let subjects = |text: &str| {
        let ran = run(&[("a.yaml", text)], &["check", "--errors-only", "-o", "json", "a.yaml"], "");
        let notes: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
        let items = notes.iter().filter(|note| note["rule"] == "array-items");
        items.map(|note| note["subject"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let second = "foos.example.com (document at line 1)";
    let third =
        format!("document at line {}", all.split(nameless.trim_start()).next().unwrap().lines().count() + 1);
    assert_eq!(subjects(&all), [second, "bars.example.com", &third].map(|subject| Some(subject.to_owned())));
    assert_eq!(subjects(&bad), [None], "there is only one");

    let text = run(&[("a.yaml", &all)], &["check", "a.yaml"], "").out;
    let words =
        "error: spec.validation.openAPIV3Schema.properties[spec].properties[size].items: Required value";
    assert!(text.contains(&format!("a.yaml: bars.example.com: {words}")), "{text}");
    let sarif = run(&[("a.yaml", &all)], &["check", "-o", "sarif", "a.yaml"], "").out;
    assert!(sarif.contains("\"text\": \"bars.example.com: spec.validation."), "{sarif}");
    assert!(sarif.contains("\"fullyQualifiedName\": \"bars.example.com/spec/versions/0/"), "{sarif}");
}

#[test]
fn equal_faults_of_two_items_are_two_findings() {
    let crd =
        go_compat::sigs_yaml::nested_documents(&CRD.replace("{type: integer}", "{type: array}"), 64).unwrap();
    let mut nameless = crd[0].value.clone();
    nameless.as_object_mut().unwrap().remove("metadata");
    for (item, subjects) in [
        (&crd[0].value, ["foos.example.com (items[0])", "foos.example.com (items[1])"]),
        (&nameless, ["items[0]", "items[1]"]),
    ] {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [item, item]}).to_string();
        let text = run(&[("a.json", &list)], &["check", "a.json"], "").out;
        for subject in subjects {
            let start = format!("a.json: {subject}: error: spec.validation.");
            assert_eq!(text.matches(&start).count(), 1, "{text}");
        }
    }
}

#[test]
fn standard_input_named_twice_is_said_so() {
    let bad = CRD.replace("{type: integer}", "{type: array}");
    let check = run(&[], &["check", "-", "-"], &bad);
    assert_eq!((check.code, check.out.lines().count()), (2, 1), "what was read is reported");
    let diff = run(&[], &["diff", "-", "-"], CRD);
    let merge = run(&[], &["merge", "/spec/a=-", "/spec/b=-"], "type: object");
    for ran in [check, diff, merge] {
        assert!(ran.code == 2 && ran.err.contains("`-` is given twice"), "{} {}", ran.code, ran.err);
    }
}

/// Refuses what is written, for this reason.
struct Refusing(ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_has_seen_enough_does_not_change_the_verdict() {
    let code = |line: &[&str], text: &str, kind: ErrorKind| {
        let line = Line::try_parse_from(["schema"].iter().chain(line)).unwrap();
        schema(&line.args, &mut text.as_bytes(), &mut Refusing(kind), &mut Vec::new())
    };
    let bad = CRD.replace("{type: integer}", "{type: array}");
    assert_eq!(code(&["check", "-"], &bad, ErrorKind::BrokenPipe), 1);
    assert_eq!(code(&["check", "-"], &bad, ErrorKind::StorageFull), 2);
    assert_eq!(code(&["merge", "/spec=-"], "type: object", ErrorKind::BrokenPipe), 0);
    assert_eq!(code(&["merge", "/spec=-"], "type: object", ErrorKind::StorageFull), 2);
}
