//! Events in every order, failures that leave the last good version in force, and verdicts that stay apart.

use proptest::prelude::*;
use serde_json::json;

use crate::api::ConstraintRef;
use crate::driver::Budget;
use crate::review::{Action, EnforcementPoint, Review, Verdict};
use crate::target::AdmissionTarget;

use super::*;

fn template(kind: &str, rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": {"type": "object",
                "x-kubernetes-preserve-unknown-fields": true}}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}]
        }
    })
}

/// Complains about every object, with the constraint's own word.
fn echo(kind: &str) -> Value {
    template(kind, "package p\nviolation[{\"msg\": msg}] { msg := input.parameters.say }")
}

fn constraint(kind: &str, name: &str, spec: Value) -> Constraint {
    Constraint::from_value(&json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec
    }))
    .unwrap()
}

fn say(kind: &str, name: &str, word: &str) -> Constraint {
    constraint(kind, name, json!({"parameters": {"say": word}}))
}

fn pod() -> Review {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}});
    AdmissionTarget.object(Document::from_value(&pod).unwrap(), None)
}

fn verdict(policies: &PolicySetBuilder) -> Verdict {
    policies.build().review(&pod(), EnforcementPoint::AUDIT, &Budget::default())
}

fn builder() -> PolicySetBuilder {
    PolicySetBuilder::new(Compiler::default())
}

#[test]
fn a_constraint_waits_for_its_template() {
    let mut policies = builder();
    let early = policies.put_constraint(say("Echo", "c", "hello"));
    assert!(matches!(early, Err(IngestError::MissingTemplate { .. })), "{early:?}");
    assert!(policies.build().is_empty());
    policies.put_template(&echo("Echo")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] hello");
    policies.remove_template("Echo");
    assert!(policies.build().is_empty());
    assert_eq!(policies.constraints_of("Echo").filter(|(_, error)| error.is_some()).count(), 1);
}

#[test]
fn a_broken_template_leaves_the_last_good_one_in_force() {
    let mut policies = builder();
    policies.put_template(&echo("Echo")).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    let broken = policies.put_template(&template("Echo", "package p\nviolation[{\"msg\": msg}] { msg := "));
    assert!(matches!(broken, Err(IngestError::Compile(_))), "{broken:?}");
    assert_eq!(verdict(&policies).denial(), "[c] hello");
    policies.put_template(&template("Echo", "package p\nviolation[{\"msg\": \"new\"}] { true }")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] new");
}

#[test]
fn a_broken_constraint_leaves_the_last_good_one_in_force() {
    let mut policies = builder();
    policies.put_template(&echo("Echo")).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    let spec = json!({"match": {"scope": "nowhere"}, "enforcementAction": "explode"});
    let errors = policies.put_constraint(constraint("Echo", "c", spec)).unwrap_err().to_string();
    assert!(errors.contains("/spec/enforcementAction") && errors.contains("/spec/match/scope"), "{errors}");
    assert_eq!(verdict(&policies).denial(), "[c] hello");
    policies.remove_constraint(&ConstraintRef { kind: "Echo".to_owned(), name: "c".to_owned() });
    assert!(policies.build().is_empty());
}

#[test]
fn the_last_good_constraint_runs_the_new_code_of_its_template() {
    let mut policies = builder();
    policies.put_template(&template("Echo", "package p\nviolation[{\"msg\": \"old\"}] { true }")).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    policies.put_constraint(constraint("Echo", "c", json!({"enforcementAction": "explode"}))).unwrap_err();
    assert_eq!(verdict(&policies).denial(), "[c] old");
    policies.put_template(&echo("Echo")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] hello");
    let error = policies.constraints_of("Echo").find_map(|(_, error)| error).unwrap().to_string();
    assert!(error.contains("explode"), "{error}");
    policies.remove_template("Echo");
    assert!(policies.build().is_empty());
    policies.put_template(&echo("Echo")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] hello");
}

#[test]
fn what_a_template_may_not_hold_is_refused_with_a_place() {
    for (rego, expected) in [
        ("package p\nother[{\"msg\": \"m\"}] { true }", "violation"),
        ("package p\nviolation[{\"msg\": \"m\"}] { data.secrets.x }", "secrets"),
        ("package p\nviolation[{\"msg\": \"m\"}] { f(1) }\nf(x) { f(x) }", "recurs"),
        ("package p\nviolation[{\"msg\": \"m\"}] { no_such_function(1) }", "no_such_function"),
        ("package p\nviolation[{\"msg\": \"m\"}] { http.send({}) }", "http.send"),
    ] {
        let error = builder().put_template(&template("Echo", rego)).unwrap_err();
        assert!(matches!(error, IngestError::Compile(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_violation_that_cannot_have_a_message_is_refused_with_the_template() {
    let refused = [
        "violation[msg] { msg := \"text\" }",
        "violation[{\"message\": \"m\"}] { true }",
        "violation = [{\"msg\": \"m\"}]",
        "violation[k] = {\"msg\": \"m\"} { k := [1, 2][_] }",
        "violation = {\"k\": {\"msg\": \"m\"}}",
        "violation = true",
        "violation = set()",
    ];
    let mut policies = builder();
    for rules in refused {
        let outcome = policies.put_template(&template("Shape", &format!("package p[\"q-r\"]\n{rules}")));
        let Err(IngestError::Compile(errors)) = outcome else { panic!("{rules}: {outcome:?}") };
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors.to_string().starts_with("template: `violation` must be a set"), "{errors:?}");
    }
    for rules in [
        "violation[{\"msg\": \"m\"}] { true }",
        "violation[v] { v := input.parameters }",
        "violation[v] { v := {\"msg\": 5} }",
        "violation[v] { v := {\"msg\": \"m\", \"other\": 1} }\nviolation[{\"msg\": \"n\", \"details\": []}] { true }",
        "violation = {{\"msg\": \"m\"}}",
        "violation = {v | v := input.parameters[_]}",
    ] {
        policies.put_template(&template("Shape", &format!("package p[\"q-r\"]\n{rules}"))).expect(rules);
    }
}

#[test]
fn a_library_lies_below_lib() {
    let mut manifest = echo("Echo");
    manifest["spec"]["targets"][0]["libs"] =
        json!(["package lib\nf(x) = x { true }", "package lib.a\nf(x) = x { true }"]);
    let error = builder().put_template(&manifest).unwrap_err().to_string();
    assert!(error.contains("libs[0]") && !error.contains("libs[1]"), "{error}");
}

#[test]
fn unknown_targets_and_engines_are_refused() {
    let mut manifest = echo("Echo");
    manifest["spec"]["targets"][0]["target"] = json!("elsewhere");
    assert!(matches!(builder().put_template(&manifest), Err(IngestError::UnknownTarget { .. })));
    let mut manifest = echo("Echo");
    manifest["spec"]["targets"][0] =
        json!({"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": "Lua", "source": {}}]});
    assert!(matches!(builder().put_template(&manifest), Err(IngestError::NoDriver { .. })));
}

#[test]
fn one_failing_constraint_leaves_the_other_verdicts_as_they_are() {
    let mut policies = builder();
    policies.put_template(&echo("Echo")).unwrap();
    policies
        .put_template(&template(
            "Shapeless",
            "package p\nviolation[{\"msg\": msg}] { msg := input.parameters }",
        ))
        .unwrap();
    policies
        .put_template(&template(
            "Conflict",
            "package p\nviolation[{\"msg\": msg}] { msg := x }\nx = \"1\" { true }\nx = \"2\" { true }",
        ))
        .unwrap();
    policies.put_constraint(say("Echo", "good", "hello")).unwrap();
    policies.put_constraint(constraint("Shapeless", "number", json!({"enforcementAction": "warn"}))).unwrap();
    policies
        .put_constraint(constraint("Conflict", "conflict", json!({"enforcementAction": "dryrun"})))
        .unwrap();
    policies
        .put_constraint(constraint(
            "Echo",
            "undecided",
            json!({
                "enforcementAction": "warn", "match": {"namespaceSelector": {"matchLabels": {"a": "b"}}}
            }),
        ))
        .unwrap();
    let verdict = verdict(&policies);
    assert_eq!(verdict.denial(), "[good] hello");
    let warnings = verdict.warnings().join("\n");
    assert!(
        warnings.contains("[number] ") && warnings.contains("[undecided] unable to match constraints: "),
        "{warnings}"
    );
    let conflict =
        verdict.violations().iter().find(|violation| violation.constraint.kind == "Conflict").unwrap();
    assert_eq!(conflict.actions, [Action::Dryrun]);
}

#[test]
fn operations_of_a_template_count_at_the_webhook_only() {
    let mut manifest = echo("Echo");
    manifest["spec"]["targets"][0]["operations"] = json!(["DELETE"]);
    let mut policies = builder();
    policies.put_template(&manifest).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    let at = |point| policies.build().review(&pod(), point, &Budget::default()).is_denied();
    assert!(at(EnforcementPoint::AUDIT) && !at(EnforcementPoint::WEBHOOK));
}

#[test]
fn details_and_duplicates_are_gatekeepers() {
    let rego = r#"package p
        violation[{"msg": "m", "details": {"n": 1}, "extra": 1}] { true }
        violation[{"msg": "m", "details": {"n": 1}, "extra": 2}] { true }
        violation[{"msg": "m"}] { true }"#;
    let mut policies = builder();
    policies.put_template(&template("Echo", rego)).unwrap();
    policies.put_constraint(say("Echo", "c", "")).unwrap();
    let verdict = verdict(&policies);
    let details: Vec<_> =
        verdict.violations().iter().map(|violation| violation.details.clone().unwrap().to_string()).collect();
    assert_eq!(details, [r#"{"n":1}"#, "{}"]);
}

#[test]
fn the_inventory_is_what_policies_see() {
    let rego = r#"package p
        violation[{"msg": name}] { data.inventory.namespace["n"]["v1"]["Pod"][name] }"#;
    let mut policies = builder();
    policies.put_template(&template("Echo", rego)).unwrap();
    policies.put_constraint(say("Echo", "c", "")).unwrap();
    let other = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "n"}});
    let other = Document::from_value(&other).unwrap();
    policies.put_object(&AdmissionTarget, other.clone()).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] b");
    policies.remove_object(&AdmissionTarget, &other).unwrap();
    assert_eq!(verdict(&policies).denial(), "");
}

#[test]
fn a_snapshot_stays_as_it_is() {
    let mut policies = builder();
    policies.put_template(&echo("Echo")).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    let before = policies.build();
    policies.put_constraint(say("Echo", "c", "changed")).unwrap();
    policies.put_constraint(say("Echo", "d", "more")).unwrap();
    let after = policies.build();
    policies.remove_template("Echo");
    let said =
        |policies: &PolicySet| policies.review(&pod(), EnforcementPoint::AUDIT, &Budget::default()).denial();
    assert_eq!(said(&before), "[c] hello");
    assert_eq!(said(&after), "[c] changed\n[d] more");
    assert_eq!(said(&policies.build()), "");
}

#[test]
fn a_template_that_changes_is_asked_again_about_each_of_its_constraints() {
    let strict = |parameter: &str| {
        let mut manifest = echo("Echo");
        manifest["spec"]["crd"]["spec"]["validation"]["openAPIV3Schema"] =
            json!({"type": "object", "properties": {parameter: {"type": "string"}}});
        manifest
    };
    let mut policies = builder();
    policies.put_template(&strict("say")).unwrap();
    policies.put_constraint(say("Echo", "c", "hello")).unwrap();
    policies.put_template(&strict("other")).unwrap();
    let errors = |policies: &PolicySetBuilder| {
        let errors: Vec<_> =
            policies.constraints_of("Echo").filter_map(|(_, error)| error.map(ToString::to_string)).collect();
        errors.join("; ")
    };
    assert!(errors(&policies).starts_with("/spec/parameters/say: unknown field"), "{}", errors(&policies));
    assert_eq!(verdict(&policies).denial(), "[c] hello", "the last good version stays in force");
    policies.put_template(&strict("say")).unwrap();
    assert_eq!(errors(&policies), "");
}

#[test]
fn every_served_version_and_both_ways_to_write_rego_are_accepted() {
    let rego = "package p\nviolation[{\"msg\": \"m\"}] { data.lib.a.yes }";
    let library = "package lib.a\nyes { true }";
    let sources = [
        json!({"target": "admission.k8s.gatekeeper.sh", "rego": rego, "libs": [library]}),
        json!({"target": "admission.k8s.gatekeeper.sh",
            "code": [{"engine": "Rego", "source": {"rego": rego, "libs": [library]}}]}),
    ];
    for version in ["v1", "v1beta1", "v1alpha1"] {
        for target in &sources {
            let mut manifest = echo("Echo");
            manifest["apiVersion"] = json!(format!("templates.gatekeeper.sh/{version}"));
            manifest["spec"]["targets"][0] = target.clone();
            let mut policies = builder();
            policies.put_template(&manifest).unwrap();
            policies.put_constraint(say("Echo", "c", "")).unwrap();
            assert_eq!(verdict(&policies).denial(), "[c] m", "{version} {target}");
        }
    }
}

#[test]
fn a_crd_that_cannot_be_is_refused_with_the_places_to_correct() {
    let mut manifest = echo("Echo");
    manifest["spec"]["crd"]["spec"]["names"]["shortNames"] = json!(["NOT"]);
    manifest["spec"]["crd"]["spec"]["validation"]["openAPIV3Schema"] = json!({"type": "string"});
    let error = builder().put_template(&manifest).unwrap_err();
    let IngestError::Crd(errors) = &error else { panic!("{error:?}") };
    let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        ["/spec/crd/spec/names/shortNames/0", "/spec/crd/spec/validation/openAPIV3Schema"],
        "{error}"
    );
}

#[test]
fn an_index_follows_the_templates() {
    let rego = r#"package p
        violation[{"msg": name}] {
            other := data.inventory.namespace[_].v1.Pod[name]
            other.metadata.labels.app == input.parameters.say
        }"#;
    let other = |name: &str, app: &str| {
        Document::from_value(&json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "n", "labels": {"app": app}}}))
        .unwrap()
    };
    let mut policies = builder();
    policies.put_object(&AdmissionTarget, other("early", "web")).unwrap();
    policies.put_template(&template("Echo", rego)).unwrap();
    policies.put_constraint(say("Echo", "c", "web")).unwrap();
    policies.put_object(&AdmissionTarget, other("late", "web")).unwrap();
    policies.put_object(&AdmissionTarget, other("else", "db")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] early\n[c] late");
    policies.put_template(&echo("Echo")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] web");
    policies.put_template(&template("Echo", rego)).unwrap();
    policies.remove_object(&AdmissionTarget, &other("early", "web")).unwrap();
    assert_eq!(verdict(&policies).denial(), "[c] late");
}

#[derive(Clone, Debug)]
enum Event {
    Template(&'static str),
    Constraint(&'static str, &'static str, &'static str),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let all = vec![
        Event::Template("Echo"),
        Event::Template("Other"),
        Event::Constraint("Echo", "a", "one"),
        Event::Constraint("Echo", "b", "two"),
        Event::Constraint("Other", "a", "three"),
    ];
    Just(all).prop_shuffle()
}

fn apply(policies: &mut PolicySetBuilder, event: &Event) {
    // A constraint that comes before its template is told so; the order must not matter all the same.
    let _ = match event {
        Event::Template(kind) => policies.put_template(&echo(kind)),
        Event::Constraint(kind, name, word) => policies.put_constraint(say(kind, name, word)),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_events_does_not_matter(events in events()) {
        let mut policies = builder();
        events.iter().for_each(|event| apply(&mut policies, event));
        prop_assert_eq!(verdict(&policies).denial(), "[a] one\n[a] three\n[b] two");
    }

    #[test]
    fn what_was_added_and_removed_was_never_there(events in events(), extra in 0_usize..2) {
        let mut policies = builder();
        events.iter().for_each(|event| apply(&mut policies, event));
        let before = verdict(&policies);
        let kind = ["Echo", "Third"][extra];
        apply(&mut policies, &Event::Constraint(kind, "z", "gone"));
        policies.remove_constraint(&ConstraintRef { kind: kind.to_owned(), name: "z".to_owned() });
        prop_assert_eq!(verdict(&policies), before);
    }
}
