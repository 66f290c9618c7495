//! Tests of constraint CRDs, and of templates that give none.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

struct Template {
    name: String,
    kind: String,
    short_names: Vec<String>,
    labels: BTreeMap<String, String>,
    parameters: Option<Value>,
    legacy: bool,
}

fn template(kind: &str) -> Template {
    Template {
        name: kind.to_lowercase(),
        kind: kind.to_owned(),
        short_names: Vec::new(),
        labels: BTreeMap::new(),
        parameters: None,
        legacy: false,
    }
}

fn build(template: &Template) -> Result<Value, CrdErrors> {
    let crds = ConstraintCrds::new(json!({"type": "object", "properties": {"name": {"type": "string"}}}));
    let parts = CrdParts {
        template_name: &template.name,
        kind: &template.kind,
        short_names: &template.short_names,
        labels: &template.labels,
        parameters: template.parameters.as_ref(),
        legacy_schema: template.legacy,
    };
    let crd = crds.build(&parts);
    assert_eq!(crds.check(&parts), crd.clone().map(drop));
    crd
}

#[track_caller]
fn errors(template: &Template) -> Vec<(String, String)> {
    let errors = build(template).expect_err("the template should be refused");
    errors.iter().map(|error| (error.pointer(), error.to_string())).collect()
}

#[test]
fn a_kind_of_59_characters_passes_and_one_of_60_is_refused_with_the_reason() {
    let kind = |length: usize| format!("K{}", "a".repeat(length - 1));
    assert!(build(&template(&kind(59))).is_ok());
    let refused = errors(&template(&kind(60)));
    let [(pointer, text)] = &*refused else { panic!("{refused:?}") };
    assert_eq!(pointer, "/spec/crd/spec/names/kind");
    assert!(text.contains("has 60 characters, and 59 is the longest") && text.contains("\"List\""), "{text}");
}

#[test]
fn the_label_of_constraints_wins_and_the_callers_labels_stay_as_they_are() {
    let mut template = template("Foo");
    template.labels.insert("gatekeeper.sh/constraint".to_owned(), "no".to_owned());
    template.labels.insert("team".to_owned(), "a".to_owned());
    let before = template.labels.clone();
    let crd = build(&template).unwrap();
    assert_eq!(crd["metadata"]["labels"], json!({"gatekeeper.sh/constraint": "yes", "team": "a"}));
    assert_eq!(template.labels, before);
}

#[test]
fn without_a_schema_there_are_no_parameters_unless_the_template_is_a_legacy_one() {
    let parameters = |template: &Template| {
        let crd = build(template).unwrap();
        let spec =
            &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        spec.get("parameters").cloned()
    };
    let mut template = template("Foo");
    assert_eq!(parameters(&template), None);
    template.legacy = true;
    assert_eq!(parameters(&template), Some(json!({"x-kubernetes-preserve-unknown-fields": true})));
}

#[test]
fn legacy_schemas_keep_unknown_fields_in_objects_and_in_what_has_no_type() {
    #[track_caller]
    fn check(before: Value, after: Value) {
        let mut schema = before;
        preserve_unknown_fields(&mut schema);
        assert_eq!(schema, after);
    }
    let any = json!({"x-kubernetes-preserve-unknown-fields": true});
    check(json!({}), any.clone());
    check(json!({"x-kubernetes-preserve-unknown-fields": true}), any.clone());
    check(json!({"x-kubernetes-preserve-unknown-fields": false}), any.clone());
    check(json!({"type": "object"}), json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    check(json!({"type": "string"}), json!({"type": "string"}));
    check(json!({"type": "array"}), json!({"type": "array", "items": any}));
    check(json!({"type": "array", "items": {}}), json!({"type": "array", "items": any}));
    check(
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    check(
        json!({"properties": {"a": {"items": {"properties": {"b": {}}}}, "c": {"additionalProperties": {}}}}),
        json!({
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "a": {
                    "x-kubernetes-preserve-unknown-fields": true,
                    "items": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"b": any}},
                },
                "c": {"x-kubernetes-preserve-unknown-fields": true, "additionalProperties": any},
            },
        }),
    );
    check(json!({"anyOf": [{}]}), json!({"anyOf": [{}], "x-kubernetes-preserve-unknown-fields": true}));
}

#[test]
fn names_are_refused_all_at_once() {
    let mut bad = template("1_x");
    bad.name = "other".to_owned();
    bad.short_names = vec!["ok".to_owned(), "NOT".to_owned()];
    let pointers: Vec<_> = errors(&bad).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(
        pointers,
        ["/metadata/name", "/spec/crd/spec/names/kind", "/spec/crd/spec/names/shortNames/1"]
    );
    assert_eq!(build(&template("")), Err(vec![CrdError::KindMissing].into()));
}

#[test]
fn parameters_that_are_not_an_object_are_refused_at_the_templates_own_schema() {
    let mut bad = template("Foo");
    bad.parameters = Some(json!({"type": "string"}));
    let refused = errors(&bad);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].0, "/spec/crd/spec/validation/openAPIV3Schema");
    assert!(refused[0].1.contains("template foo") && refused[0].1.contains("type object"), "{refused:?}");
}

/// Rows of what OPA's constraint framework and Gatekeeper 3.23 make of templates, without `status`: first the target's
/// match schema, then a template a line with the CRD or the error; `"$match"` stands for the match schema. Written by
/// `UPDATE_RECORDINGS=1 cargo test -p conformance --test recordings`, which needs Go; this test does not.
const RECORDED: &str = include_str!("../../../tests/recorded/crds.jsonl");

#[test]
fn crds_are_those_of_the_constraint_framework_byte_for_byte() {
    let mut lines = RECORDED.lines();
    let match_schema = serde_json::from_str::<Value>(lines.next().unwrap()).unwrap()["match"].clone();
    let expanded = |line: &str| line.replace("\"$match\"", &match_schema.to_string());
    let crds = ConstraintCrds::new(match_schema.clone());
    let (mut built, mut refused) = (0, 0);
    for line in lines {
        let recorded: Value = serde_json::from_str(&expanded(line)).unwrap();
        let template = &recorded["template"];
        let spec = &template["spec"]["crd"]["spec"];
        let short_names: Vec<String> =
            serde_json::from_value(spec["names"]["shortNames"].clone()).unwrap_or_default();
        let labels: BTreeMap<String, String> =
            serde_json::from_value(template["metadata"]["labels"].clone()).unwrap_or_default();
        let since_v1 = template["apiVersion"] == json!("templates.gatekeeper.sh/v1");
        let ours = crds.build(&CrdParts {
            template_name: template["metadata"]["name"].as_str().unwrap(),
            kind: spec["names"]["kind"].as_str().unwrap(),
            short_names: &short_names,
            labels: &labels,
            parameters: spec["validation"].get("openAPIV3Schema"),
            legacy_schema: spec["validation"]["legacySchema"].as_bool().unwrap_or(!since_v1),
        });
        match (ours, recorded.get("crd")) {
            (Ok(ours), Some(crd)) => {
                built += 1;
                assert_eq!(ours.to_string(), crd.to_string(), "{template}");
            }
            (Err(errors), None) => {
                refused += 1;
                the_framework_says_as_much(&errors, recorded["error"].as_str().unwrap());
            }
            (ours, _) => panic!("{template}: {ours:#?}\nbut recorded is {recorded:#}"),
        }
    }
    assert_eq!((built, refused), (21, 16));
}

/// The API server's words are in the framework's error.
#[track_caller]
fn the_framework_says_as_much(errors: &CrdErrors, recorded: &str) {
    for error in errors {
        if let CrdError::Schema(MergeError::NotStructural { diagnostic, .. }) = error {
            assert!(recorded.contains(&diagnostic.to_string()), "{diagnostic}\nis not in\n{recorded}");
        }
    }
}
