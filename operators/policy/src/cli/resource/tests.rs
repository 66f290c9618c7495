//! Documents of the public formats, as they come and as they may be wrong.

use serde_json::json;

use super::*;
use crate::cli::load::load_reader;

fn taken(text: &str) -> Result<(Vec<Manifest>, Resources), String> {
    let mut manifests = load_reader(Path::new("x"), &mut text.as_bytes()).unwrap();
    match Resources::take(&mut manifests, None) {
        Ok(resources) => Ok((manifests, resources)),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
fn assets_come_alone_in_lists_and_in_lines() {
    let asset = |name: &str| {
        format!(
            r#"{{"name": "{name}", "asset_type": "t", "ancestors": ["projects/1"], "resource": {{"data": {{}}}}}}"#
        )
    };
    let [a, b] = ["a", "b"].map(asset);
    for (text, lines) in [
        (format!("[{a},\n{b}]"), [1, 2]),
        (format!("{a}\n\n{b}\n"), [1, 3]),
        (format!("- {a}\n- {b}\n"), [1, 2]),
        (format!("---\n{a}\n---\n{b}\n"), [2, 4]),
    ] {
        let (manifests, resources) = taken(&text).unwrap();
        assert!(manifests.is_empty());
        let found: Vec<_> =
            resources.subjects.iter().map(|found| (found.full_name(), found.place.line)).collect();
        assert_eq!(found, [("a".to_owned(), lines[0]), ("b".to_owned(), lines[1])], "{text}");
    }
}

#[test]
fn a_snapshot_of_no_asset_holds_no_object() {
    for text in ["[]", "[\n]\n", "--- []\n"] {
        let (manifests, resources) = taken(text).unwrap();
        assert_eq!((manifests.len(), resources.subjects.len()), (0, 0), "{text}");
    }
    assert_eq!(taken("[1]").unwrap().0.len(), 1);
}

#[test]
fn objects_of_kubernetes_stay_whatever_fields_they_have() {
    let text = "apiVersion: v1\nkind: A\nasset_type: t\nresource_changes: []\n---\n- a: 1\n";
    let (manifests, resources) = taken(text).unwrap();
    assert_eq!((manifests.len(), resources.subjects.len()), (2, 0));
}

/// Terraform leaves the list out where a configuration has no resource, and only outputs.
#[test]
fn a_plan_without_resources_has_no_change() {
    let (manifests, resources) = taken(
        r#"{"format_version": "1.2", "terraform_version": "1.9.5", "planned_values": {"root_module": {}}}"#,
    )
    .unwrap();
    assert_eq!((manifests.len(), resources.subjects.len()), (0, 0));
}

#[test]
fn what_cannot_be_judged_is_an_error_with_its_place() {
    for (text, expected) in [
        ("asset_type: t", "x:1: an asset has no name"),
        ("{name: b, assetType: t}", "x:1: b has no asset_type: export it with `gcloud asset export`"),
        ("{name: b, asset_type: t}", "x:1: b has neither ancestors nor an ancestry_path"),
        ("{name: b, asset_type: t, ancestors: [projects/1]}", "x:1: b must have exactly one of resource, "),
        ("terraform_version: 1.9.0\nvalues: {}", "x:1: this is not a plan"),
        ("{format_version: '1.0', resource_changes: {}}", "x:1: resource_changes must be a list"),
        (
            "apiVersion: templates.gatekeeper.sh/v1alpha1\nkind: ConstraintTemplate\n\
             spec: {targets: {validation.gcp.forsetisecurity.org: {}}}",
            "x:1: /spec/targets: no rego",
        ),
    ] {
        let error = taken(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// A plan with one change, of which this is what is planned.
fn plan(format: &str, planned: &str) -> String {
    let change = format!(r#"{{"address": "a", "type": "t", "name": "b"{planned}}}"#);
    format!(r#"{{{format} "terraform_version": "1.9.5", "resource_changes": [{change}]}}"#)
}

#[test]
fn a_plan_of_any_known_format_is_judged_with_what_it_does() {
    for format in ["0.1", "0.2", "1.0", "1.2", "1.99"] {
        for actions in [
            r#"["no-op"]"#,
            r#"["delete", "create"]"#,
            r#"["create", "delete"]"#,
            r#"["read"]"#,
            r#"["create", "forget"]"#,
        ] {
            let planned = format!(r#", "change": {{"actions": {actions}}}"#);
            let (_, resources) =
                taken(&plan(&format!(r#""format_version": "{format}","#), &planned)).unwrap();
            assert_eq!(resources.subjects.len(), 1, "{format} {actions}");
        }
    }
}

/// A policy asks for actions, so a change without any passes all of them; a later format may call them otherwise.
#[test]
fn a_plan_that_may_mean_something_else_is_an_error() {
    let change = r#", "change": {"actions": ["create"]}"#;
    for (format, expected) in [
        ("", "x:1: the plan has no format_version"),
        (
            r#""format_version": "2.0","#,
            "x:1: the plan has format_version \"2.0\": 0.x and 1.x are understood",
        ),
        (r#""format_version": "10.1","#, "x:1: the plan has format_version \"10.1\""),
        (r#""format_version": 1.2,"#, "x:1: the plan has format_version 1.2"),
        (r#""format_version": null,"#, "x:1: the plan has format_version null"),
        (
            r#""format_version": "1.2", "errored": true,"#,
            "x:1: the plan is incomplete, Terraform has reported errors",
        ),
        (
            r#""format_version": "1.2", "deferred_changes": [{}],"#,
            "x:1: the plan is incomplete, Terraform has put off 1",
        ),
    ] {
        let error = taken(&plan(format, change)).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    for (planned, expected) in [
        ("", "x:1: a has no change"),
        (r#", "change": {}"#, "x:1: a has no change.actions"),
        (r#", "change": {"actions": []}"#, "x:1: a has no change.actions"),
        (r#", "change": {"actions": "create"}"#, "x:1: a has no change.actions"),
        (r#", "change": {"actions": ["Create"]}"#, "x:1: a has the action \"Create\" in change.actions"),
        (r#", "change": {"actions": ["create", 1]}"#, "x:1: a has the action 1 in change.actions"),
    ] {
        let error = taken(&plan(r#""format_version": "1.2","#, planned)).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let values = r#"{"format_version": "1.2", "planned_values": {"root_module": {"resources": [{}]}}}"#;
    let error = taken(&values.replacen('{', r#"{"terraform_version": "1", "#, 1)).unwrap_err();
    assert!(error.starts_with("x:1: the plan has planned_values and no resource_changes"), "{error}");
}

#[test]
fn severities_are_those_of_constraints_for_resources() {
    let template = |target: &str| {
        format!(
            "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {{name: a}}\n\
             spec: {{crd: {{spec: {{names: {{kind: A}}}}}}, targets: [{{target: {target}, rego: package a}}]}}\n---\n\
             apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: A\nmetadata: {{name: b}}\nspec: {{severity: high}}\n"
        )
    };
    let (manifests, resources) = taken(&template(asset::ASSETS)).unwrap();
    assert_eq!(manifests[1].object["spec"], json!({}));
    let id = ConstraintRef { kind: "A".to_owned(), name: "b".to_owned() };
    assert_eq!(resources.severities, BTreeMap::from([(id, "high".to_owned())]));
    // Gatekeeper's constraints have no such field, and the framework says so.
    let (manifests, resources) = taken(&template("admission.k8s.gatekeeper.sh")).unwrap();
    assert_eq!((&manifests[1].object["spec"]["severity"], resources.severities.len()), (&json!("high"), 0));
}
