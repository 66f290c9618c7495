//! The commands as a pipeline in CI uses them.

use clap::Parser;
use serde_json::Value;

use super::*;

mod inputs;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: SchemaArgs,
}

pub(super) struct Ran {
    pub(super) code: u8,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs a command line in a folder with these files; `-` reads `input`.
pub(super) fn run(files: &[(&str, &str)], line: &[&str], input: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    // Arguments that name a file are made to point into the folder, and the folder is taken out of the output again.
    let here = format!("{}/", folder.path().display());
    let place = |word: &&str| match files.iter().find(|(name, _)| word.ends_with(name)) {
        Some((name, _)) => word.replace(name, &format!("{here}{name}")),
        None => (*word).to_owned(),
    };
    let line =
        Line::try_parse_from(std::iter::once("schema".to_owned()).chain(line.iter().map(place))).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = schema(&line.args, &mut input.as_bytes(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(&here, "");
    Ran { code, out: text(out), err: text(err) }
}

const CRD: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, kind: Foo}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";

#[test]
fn a_sound_crd_is_clean() {
    let ran = run(&[("crd.yaml", CRD)], &["check", "crd.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

#[test]
fn errors_stand_in_the_servers_words_and_lints_come_after_them() {
    let bad = CRD
        .replace("{type: integer}", "{type: array}")
        .replace("spec: {type: object,", "status: {type: object}, spec: {type: object,");
    let ran = run(&[("crd.yaml", &bad)], &["check", "crd.yaml"], "");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[0],
        "crd.yaml: error: spec.validation.openAPIV3Schema.properties[spec].properties[size].items: Required value: must be specified"
    );
    assert!(lines[1].starts_with(
        "crd.yaml: lint: spec.validation.openAPIV3Schema.properties[status]: an object without properties"
    ));
    assert_eq!((ran.code, lines.len()), (1, 2));
    let ran = run(&[("crd.yaml", &bad)], &["check", "--errors-only", "crd.yaml"], "");
    assert_eq!((ran.code, ran.out.lines().count()), (1, 1));
}

#[test]
fn bare_schemas_and_standard_input_are_checked_too() {
    let ran = run(&[], &["check", "-"], r#"{"type": "object", "properties": {"a": {}}}"#);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.out,
        "<stdin>: error: spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields\n"
    );
}

#[test]
fn every_version_and_every_document_is_checked() {
    let second =
        "\n  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: string}}}\n";
    let both = format!("{}{second}---\ntype: object\nnullable: true\n", CRD.trim_end());
    let ran = run(&[("all.yaml", &both)], &["check", "all.yaml"], "");
    assert!(ran.out.contains("spec.versions[1].schema.openAPIV3Schema.type: Invalid value"), "{}", ran.out);
    assert!(
        ran.out.contains("openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"),
        "{}",
        ran.out
    );
}

#[test]
fn json_and_sarif_carry_the_same_findings() {
    let bad = CRD.replace("{type: integer}", "{type: array}");
    let json: Value =
        serde_json::from_str(&run(&[("crd.yaml", &bad)], &["check", "-o", "json", "crd.yaml"], "").out)
            .unwrap();
    assert_eq!(
        json[0]["pointer"],
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/items"
    );
    assert_eq!(
        (&json[0]["level"], &json[0]["rule"], &json[0]["line"]),
        (&"error".into(), &"array-items".into(), &2.into())
    );
    let sarif: Value =
        serde_json::from_str(&run(&[("crd.yaml", &bad)], &["check", "-o", "sarif", "crd.yaml"], "").out)
            .unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["message"]["text"], json[0]["text"]);
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "file://crd.yaml", "an absolute path, whose folder the test has taken out");
    assert_eq!(result["ruleId"], sarif["runs"][0]["tool"]["driver"]["rules"][0]["id"]);
}

#[test]
fn what_cannot_be_read_exits_with_2() {
    for (files, line, expected) in [
        (&[][..], &["check", "nowhere.yaml"][..], "nowhere.yaml: cannot be read"),
        (&[("a.yaml", "a: [")], &["check", "a.yaml"], "a.yaml: "),
        (&[("a.yaml", "apiVersion: v1\nkind: Pod")], &["check", "a.yaml"], "Pod of v1 is neither"),
        (&[("a.yaml", CRD)], &["merge", "a.yaml"], "a.yaml:2: a CustomResourceDefinition is not a fragment"),
        (&[("a.yaml", CRD), ("b.yaml", "type: object")], &["diff", "a.yaml", "b.yaml"], "cannot be compared"),
        (&[("a.yaml", "{}\n---\n{}")], &["diff", "a.yaml", "a.yaml"], "holds 2 documents"),
        (&[("a.yaml", "{}")], &["merge", "/spec~=a.yaml"], "mount path"),
        (&[("a.yaml", "")], &["check", "a.yaml"], "a.yaml: holds no document"),
        (&[("a.yaml", "---\n# nothing\n---\n")], &["check", "a.yaml"], "a.yaml: holds no document"),
        (&[("a.yaml", "kind: CustomResourceDefinition")], &["check", "a.yaml"], "without an apiVersion"),
        (
            &[("a.yaml", "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition")],
            &["check", "a.yaml"],
            "no API server has served since 1.22",
        ),
        (&[], &["check", "-"], "<stdin>: holds no document"),
    ] {
        let ran = run(files, line, "");
        assert!(
            ran.code == 2 && ran.err.contains(expected) && ran.out.is_empty(),
            "{line:?}: {} {}",
            ran.code,
            ran.err
        );
    }
}

#[test]
fn fragments_are_mounted_where_the_command_line_says() {
    let files = [
        ("match.yaml", "type: object"),
        ("parameters.json", r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#),
    ];
    let ran = run(&files, &["merge", "/spec/match=match.yaml", "/spec/parameters=parameters.json"], "");
    let schema: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        schema["properties"]["spec"]["properties"]["parameters"]["properties"]["n"]["type"],
        "integer"
    );
}

#[test]
fn conflicts_name_both_files() {
    let files = [("a.yaml", "type: object"), ("b.yaml", "{type: object, properties: {x: {type: string}}}")];
    let ran = run(&files, &["merge", "/spec=a.yaml", "/spec/x=b.yaml"], "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("a.yaml,b.yaml: error: /properties/spec: b.yaml contributes here"),
        "{}",
        ran.out
    );
    let shared = run(&files, &["merge", "--shared", "intersect", "/spec=a.yaml", "/spec=b.yaml"], "");
    assert_eq!((shared.code, shared.err.as_str()), (0, ""));
}

#[test]
fn generated_schemas_can_be_made_structural_on_the_way() {
    let emitted = r#"{"type": "object", "properties": {"a": {"type": ["string", "null"]}}}"#;
    assert_eq!(run(&[("a.json", emitted)], &["merge", "/spec=a.json"], "").code, 1);
    let ran = run(&[("a.json", emitted)], &["merge", "--structuralize", "/spec=a.json"], "");
    assert_eq!(ran.code, 0, "{}", ran.out);
    let tuple = r#"{"type": "array", "prefixItems": [{"type": "string"}]}"#;
    let ran = run(&[("a.json", tuple)], &["merge", "--structuralize", "/spec/x=a.json"], "");
    assert!(ran.code == 1 && ran.out.contains("a tuple has a type per position"), "{}", ran.out);
}

#[test]
fn a_diff_says_whether_stored_objects_survive_and_which_rule_breaks() {
    let files = |new: &str| [("old.yaml", CRD.to_owned()), ("new.yaml", CRD.replace("{type: integer}", new))];
    let diff = |new: &str| {
        let files = files(new);
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        run(&files, &["diff", "old.yaml", "new.yaml"], "")
    };
    let same = diff("{type: integer}");
    assert_eq!((same.code, same.out.as_str()), (0, "stored objects survive\n"));
    let tighter = diff("{type: integer, maximum: 5}");
    assert_eq!(tighter.code, 1);
    assert_eq!(
        tighter.out,
        "new.yaml: error: spec.size: maximum: stored objects break: maximum 5 is new\n\
         stored objects do not survive: 1 change breaks them, 0 more may\n"
    );
    let described = diff("{type: integer, description: how many}");
    assert_eq!(described.code, 0);
}

/// On a stack as large as that of a main thread, where the commands run.
#[test]
fn two_hundred_levels_are_read_as_yaml_and_as_json() {
    std::thread::Builder::new().stack_size(8 << 20).spawn(deep_texts).unwrap().join().unwrap();
}

fn deep_texts() {
    let nest =
        |leaf: &str, before: &str, after: &str| format!("{}{leaf}{}", before.repeat(200), after.repeat(200));
    let json = nest(r#"{"type":"string"}"#, r#"{"type":"object","properties":{"a":"#, "}}");
    let yaml = nest("{type: string}", "{type: object, properties: {a: ", "}}");
    for (name, text) in [("a.json", json), ("a.yaml", yaml)] {
        let ran = run(&[(name, &text)], &["check", name], "");
        assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "", ""), "{name}");
        let ran = run(&[(name, &text)], &["merge", &format!("/spec={name}")], "");
        assert_eq!((ran.code, &*ran.err), (0, ""), "{name}");
        let ran = run(&[(name, &text)], &["diff", name, name], "");
        assert_eq!((ran.code, &*ran.out), (0, "stored objects survive\n"), "{name}");
    }
    let abyss = "{\"a\":".repeat(100_000);
    let ran = run(&[("a.json", &abyss)], &["check", "a.json"], "");
    assert!(ran.code == 2 && ran.err.contains("nested too deeply"), "{}", ran.err);
}

#[test]
fn odd_texts_get_an_answer_and_a_code() {
    for (text, code, expected) in [
        ("\u{feff}type: object", 0, ""),
        ("\u{feff}{\"type\": \"object\"}", 0, ""),
        ("[]", 1, "json: cannot unmarshal array"),
        ("3", 1, "json: cannot unmarshal number"),
        ("type: object\nproperties: {a: {type: integer, maximum: 1e400}}", 1, "maximum"),
        ("type: object\nproperties: {a: &t {type: string}, b: *t, c: {<<: *t, maxLength: 4}}", 0, ""),
        ("apiVersion: v1\nkind: List\nitems: []", 0, ""),
    ] {
        let ran = run(&[("a.yaml", text)], &["check", "a.yaml"], "");
        assert!(
            ran.code == code && ran.out.contains(expected),
            "{text:?}: {} {} {}",
            ran.code,
            ran.out,
            ran.err
        );
    }
}

#[test]
fn rules_are_compiled() {
    let with = |rule: &str| {
        let properties =
            format!("{{type: object, x-kubernetes-validations: [{{rule: \"{rule}\"}}], properties: {{size");
        CRD.replace("{type: object, properties: {size", &properties)
    };
    let check = |crd: &str| run(&[("crd.yaml", crd)], &["check", "crd.yaml"], "");
    assert_eq!(check(&with("self.size > 3")).code, 0);
    let ran = check(&with("self.sise > 3"));
    assert!(ran.code == 1 && ran.out.contains("undefined field 'sise'"), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 1, "one diagnostic a line: {}", ran.out);
}

#[test]
fn a_conflict_is_placed_in_one_file_and_names_the_other() {
    let files = [("a.yaml", "type: object"), ("b.yaml", "{type: object, properties: {x: {type: string}}}")];
    let merge =
        |format: &str| run(&files, &["merge", "-o", format, "/spec=a.yaml", "/spec/x=b.yaml"], "").out;
    let json: Value = serde_json::from_str(&merge("json")).unwrap();
    assert_eq!((json[0]["file"].as_str(), json[0]["others"][0].as_str()), (Some("a.yaml"), Some("b.yaml")));
    let sarif: Value = serde_json::from_str(&merge("sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file://a.yaml");
    assert!(result["message"]["text"].as_str().unwrap().contains("b.yaml contributes here"));
}

/// Whatever stands in a file, the commands end, with one of three codes.
#[test]
fn no_text_makes_the_commands_panic() {
    let scraps = [
        "type: object",
        "\n",
        "\n  ",
        "properties:",
        "a: ",
        "{",
        "}",
        "[",
        "]",
        "- ",
        "&a ",
        "*a",
        "<<: ",
        "\"",
        "'",
        "---\n",
        "...",
        "|\n",
        "!!str ",
        "? ",
        ", ",
        ": ",
        "#",
        "\t",
        "\u{feff}",
        "\0",
        "1e999",
        "0o17",
        "~",
        "é",
        "$ref: '#'",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
        "spec: ",
        "versions: ",
        "null",
        "required: [a]",
    ];
    let mut state: u64 = 1;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..500 {
        let length = 1 + below(14);
        let text: String = (0..length).map(|_| scraps[below(scraps.len())]).collect();
        let files = [("a.yaml", text.as_str()), ("b.yaml", "type: object")];
        for line in [
            &["check", "a.yaml"][..],
            &["diff", "a.yaml", "b.yaml"],
            &["merge", "--structuralize", "/spec=a.yaml"],
        ] {
            let ran = run(&files, line, "");
            assert!(
                ran.code <= 2 && (ran.code == 2) != ran.err.is_empty(),
                "{text:?} {line:?}: {} {}",
                ran.code,
                ran.err
            );
        }
    }
}

#[test]
fn a_property_that_yaml_takes_for_a_boolean_is_warned_of() {
    let crd = CRD.replace("size: {type: integer}", "n: {type: integer}");
    let ran = run(&[("crd.yaml", &crd)], &["check", "crd.yaml"], "");
    assert!(
        ran.out.contains("warning: ") && ran.out.contains("/spec/properties/false: the property is called"),
        "{}",
        ran.out
    );
    let quoted = CRD.replace("size: {type: integer}", "\"n\": {type: integer}");
    assert!(!run(&[("crd.yaml", &quoted)], &["check", "crd.yaml"], "").out.contains("is called"));
    assert_eq!(run(&[("crd.yaml", &crd)], &["check", "--errors-only", "crd.yaml"], "").code, 0);
}

#[test]
fn many_findings_of_one_rule_are_counted() {
    let fields: String = (0..2000).map(|number| format!("f{number}: {{}}, ")).collect();
    let crd = CRD.replace("size: {type: integer}", &fields);
    let ran = run(&[("crd.yaml", &crd)], &["check", "--errors-only", "crd.yaml"], "");
    assert!(ran.out.lines().count() < 50 && ran.out.contains(" more of "), "{}", ran.out);
    let json: Value =
        serde_json::from_str(&run(&[("crd.yaml", &crd)], &["check", "-o", "json", "crd.yaml"], "").out)
            .unwrap();
    assert!(json.as_array().unwrap().len() >= 2000);
}

/// A file of manifests in place of CRDs.
#[test]
fn many_documents_of_a_wrong_file_are_counted() {
    let manifests: String = (0..2000)
        .map(|number| format!("---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p{number}}}}}\n"))
        .collect();
    let both = format!("{CRD}{manifests}");
    for (file, text, code, prefix) in [("pods.yaml", &manifests, 2, ""), ("both.yaml", &both, 0, "skipped: ")]
    {
        let ran = run(&[(file, text)], &["check", "--errors-only", file], "");
        let (lines, more) = (ran.err.lines().count(), format!("webtroller schema: {prefix}"));
        assert!(lines < 50 && ran.err.lines().all(|line| line.starts_with(&more)), "{}", ran.err);
        assert!(ran.err.ends_with(" more like this\n"), "{}", ran.err);
        assert_eq!(ran.code, code, "{}", ran.out);
    }
}
