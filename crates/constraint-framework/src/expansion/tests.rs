//! Resultants, nesting, cycles and bounds.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::ConstraintRef;
use crate::review::{Action, Verdict, Violation};

use super::*;

fn template(name: &str, from: &str, to: &str) -> Value {
    json!({
        "apiVersion": "expansion.gatekeeper.sh/v1beta1", "kind": "ExpansionTemplate", "metadata": {"name": name},
        "spec": {
            "applyTo": [{"groups": ["x"], "versions": ["v1"], "kinds": [from]}], "templateSource": "spec.template",
            "generatedGVK": {"group": "x", "version": "v1", "kind": to},
        },
    })
}

fn set(edges: &[(&str, &str, &str)]) -> ExpansionTemplates {
    let read = |(name, from, to): &(&str, &str, &str)| {
        ExpansionTemplate::from_value(&template(name, from, to)).unwrap()
    };
    ExpansionTemplates::new(edges.iter().map(read))
}

fn generator(kind: &str, spec: Value) -> Document {
    Document::from_value(&json!({
        "apiVersion": "x/v1", "kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": spec,
    }))
    .unwrap()
}

#[test]
fn a_resultant_has_kind_namespace_name_and_owner() {
    let templates = set(&[("t", "A", "Pod")]);
    let spec = json!({"template": {"metadata": {"labels": {"a": "b"}, "namespace": "other"}, "spec": 1}});
    let resultants = templates.expand(&generator("A", spec)).unwrap();
    assert_eq!(
        resultants[0].object.json().unwrap(),
        &json!({
            "apiVersion": "x/v1", "kind": "Pod", "spec": 1,
            "metadata": {
                "name": "web-pod", "namespace": "shop", "labels": {"a": "b"},
                "ownerReferences": [{"apiVersion": "x/v1", "kind": "A", "name": "web", "uid": ""}],
            },
        })
    );
    assert!(templates.expand(&generator("B", json!({}))).unwrap().is_empty());
}

#[test]
fn a_resultant_may_generate_others_and_comes_after_them() {
    let templates = set(&[("one", "A", "B"), ("two", "B", "C")]);
    let spec = json!({"template": {"spec": {"template": {"spec": {}}}}});
    let names: Vec<_> = templates
        .expand(&generator("A", spec))
        .unwrap()
        .iter()
        .map(|resultant| (resultant.object.name().to_owned(), resultant.template.clone()))
        .collect();
    assert_eq!(names, [("web-b-c".to_owned(), "two".to_owned()), ("web-b".to_owned(), "one".to_owned())]);
}

#[test]
fn a_generator_without_its_source_is_an_error() {
    let templates = set(&[("t", "A", "Pod")]);
    for spec in [json!({}), json!({"template": "text"}), json!(null)] {
        let error = templates.expand(&generator("A", spec)).unwrap_err().to_string();
        assert!(
            error.starts_with("could not find source field \"spec.template\" in resource web"),
            "{error}"
        );
    }
    let error = templates.expand(&generator("A", json!({"template": {"metadata": 1}}))).unwrap_err();
    assert!(matches!(error, ExpansionError::Source { .. }));
}

#[test]
fn cycles_expand_nothing_and_are_named() {
    let templates = set(&[("a", "A", "B"), ("b", "B", "C"), ("c", "C", "B")]);
    assert_eq!(templates.cyclic().collect::<Vec<_>>(), ["b", "c"]);
    let spec = json!({"template": {"spec": {"template": {}}}});
    assert_eq!(templates.expand(&generator("A", spec)).unwrap().len(), 1);
}

#[test]
fn depth_and_number_are_bounded() {
    let kinds: Vec<_> = (0..40).map(|level| format!("K{level}")).collect();
    let chain: Vec<_> =
        kinds.windows(2).map(|pair| (pair[0].as_str(), pair[0].as_str(), pair[1].as_str())).collect();
    let deep = (0..40).fold(json!({}), |spec, _| json!({"template": {"spec": spec}}));
    assert_eq!(set(&chain).expand(&generator("K0", deep.clone())).unwrap_err(), ExpansionError::TooDeep);
    assert_eq!(set(&chain[..30]).expand(&generator("K0", deep.clone())).unwrap().len(), 30);
    // Three templates for each of seven levels: 3 + 9 + ... + 2187.
    let names: Vec<_> = (0..21).map(|number| format!("t{number}")).collect();
    let fan: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| (name.as_str(), kinds[number / 3].as_str(), kinds[number / 3 + 1].as_str()))
        .collect();
    assert_eq!(set(&fan).expand(&generator("K0", deep)).unwrap_err(), ExpansionError::TooMany);
}

#[test]
fn every_mistake_of_a_template_is_named() {
    let value = json!({
        "apiVersion": "expansion.gatekeeper.sh/v2", "kind": "ExpansionTemplate", "metadata": {"name": ""},
        "spec": {"enforcementAction": "block"},
    });
    let errors = ExpansionTemplate::from_value(&value).unwrap_err();
    let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/apiVersion",
            "/metadata/name",
            "/spec/applyTo",
            "/spec/enforcementAction",
            "/spec/generatedGVK",
            "/spec/templateSource",
        ]
    );
    let errors = ExpansionTemplate::from_value(&template("t", "A", "A")).unwrap_err();
    assert!(errors.to_string().contains("to which the template applies"), "{errors}");
}

#[test]
fn violations_are_attributed_to_the_generator() {
    let mut value = template("t", "A", "Pod");
    value["spec"]["enforcementAction"] = json!("warn");
    let templates = ExpansionTemplates::new([ExpansionTemplate::from_value(&value).unwrap()]);
    let resultants = templates.expand(&generator("A", json!({"template": {}}))).unwrap();
    let violation = Violation {
        constraint: ConstraintRef { kind: "K".to_owned(), name: "c".to_owned() },
        message: "no".to_owned(),
        details: None,
        actions: vec![Action::Deny],
    };
    let verdict = resultants[0].attribute(&Verdict::new(vec![violation]));
    assert_eq!(verdict.warnings(), ["[c] [Implied by t] no"]);
    assert!(!verdict.is_denied());
}

proptest! {
    /// Whatever the templates are, an expansion ends, and no template in a cycle takes part in it.
    #[test]
    fn every_expansion_ends(edges in proptest::collection::vec((0..6_usize, 0..6_usize), 0..12)) {
        let kinds = ["A", "B", "C", "D", "E", "F"];
        let named: Vec<_> = edges
            .iter()
            .enumerate()
            .filter(|(_, (from, to))| from != to)
            .map(|(number, (from, to))| (format!("t{number}"), kinds[*from], kinds[*to]))
            .collect();
        let list: Vec<_> = named.iter().map(|(name, from, to)| (name.as_str(), *from, *to)).collect();
        let templates = set(&list);
        let deep = (0..12).fold(json!({}), |spec, _| json!({"template": {"spec": spec}}));
        let cyclic: Vec<_> = templates.cyclic().map(str::to_owned).collect();
        match templates.expand(&generator("A", deep)) {
            Ok(resultants) => prop_assert!(resultants.iter().all(|resultant| !cyclic.contains(&resultant.template))),
            Err(error) => prop_assert_eq!(error, ExpansionError::TooMany),
        }
    }
}
