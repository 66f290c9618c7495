//! Whatever one constraint does, it is one violation of its own, and the others' verdicts stay as they are.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::Constraint;
use crate::driver::{CelDriver, CompileErrors, CompiledPolicy, Driver, RegoDriver};
use crate::policyset::{Compiler, PolicySetBuilder};
use crate::review::{Action, Document};
use crate::target::{AdmissionTarget, Target};

use super::*;

/// A language whose programs panic.
#[derive(Debug)]
struct PanickingDriver;

impl Driver for PanickingDriver {
    fn engine(&self) -> &str {
        "Panicking"
    }

    fn compile(&self, _source: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        Ok(Arc::new(Self))
    }
}

impl CompiledPolicy for PanickingDriver {
    fn evaluate(&self, _case: &Case<'_>, _budget: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        panic!("a defect")
    }
}

fn template(kind: &str, engine: &str, source: Value) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": schema}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": engine, "source": source}]}]
        }
    })
}

fn constraint(kind: &str, action: &str, match_block: &Value) -> Constraint {
    Constraint::from_value(&json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": kind.to_lowercase()},
        "spec": {"enforcementAction": action, "match": match_block, "parameters": {"number": 7, "text": "t"}}
    }))
    .unwrap()
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// A Pod with lists of lists in a field that no policy reads.
fn pod() -> Review {
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "a", "namespace": "n"}}, "deep": {}}}"#,
        nested(100)
    );
    AdmissionTarget.object(Document::from_json_string(text).unwrap(), None)
}

fn builder() -> PolicySetBuilder {
    let drivers: [Arc<dyn Driver>; 3] =
        [Arc::new(CelDriver), Arc::new(RegoDriver), Arc::new(PanickingDriver)];
    let mut policies =
        PolicySetBuilder::new(Compiler::new([Arc::new(AdmissionTarget) as Arc<dyn Target>], drivers));
    let echo = json!({"rego": "package p\nviolation[{\"msg\": input.review.object.metadata.name}] { true }"});
    let said = json!({"validations": [{"expression": "false", "messageExpression": "string(object.metadata.name)"}]});
    for (kind, engine, source) in
        [("After", "Rego", echo.clone()), ("Before", "Rego", echo), ("Beside", "K8sNativeValidation", said)]
    {
        policies.put_template(&template(kind, engine, source)).unwrap();
        policies.put_constraint(constraint(kind, "deny", &json!({}))).unwrap();
    }
    policies
}

/// Small in everything but time.
fn small() -> Budget {
    let budget = Budget::default().with_instructions(100_000).with_memory(1 << 20).with_output(1 << 16);
    budget.with_time(Duration::from_secs(60))
}

fn verdict(policies: &PolicySetBuilder, budget: &Budget) -> Verdict {
    policies.build().review(&pod(), EnforcementPoint::AUDIT, budget)
}

/// Adds a constraint of the kind `Bad` that must fail, and be the only thing that changes.
#[track_caller]
fn check(engine: &str, source: Value, match_block: &Value, expected: &str) {
    check_within(&small(), engine, source, match_block, expected);
}

#[track_caller]
fn check_within(budget: &Budget, engine: &str, source: Value, match_block: &Value, expected: &str) {
    let expected_others = verdict(&builder(), budget);
    assert_eq!(expected_others.denial(), "[after] a\n[before] a\n[beside] a");
    for (word, action) in [("deny", Action::Deny), ("warn", Action::Warn), ("dryrun", Action::Dryrun)] {
        let mut policies = builder();
        policies.put_template(&template("Bad", engine, source.clone())).unwrap();
        policies.put_constraint(constraint("Bad", word, match_block)).unwrap();
        let verdict = verdict(&policies, budget);
        let (bad, others): (Vec<_>, Vec<_>) =
            verdict.violations().iter().cloned().partition(|violation| violation.constraint.kind == "Bad");
        assert_eq!(Verdict::new(others), expected_others);
        let [violation] = &*bad else { panic!("{source}: {bad:?}") };
        assert!(violation.message.contains(expected), "{source}: {}", violation.message);
        assert_eq!(violation.actions, [action]);
    }
}

#[track_caller]
fn check_rego(rules: &str, expected: &str) {
    check("Rego", json!({"rego": format!("package p\n{rules}")}), &json!({}), expected);
}

#[test]
fn answers_of_a_wrong_shape() {
    check_rego("violation[{\"msg\": msg}] { msg := input.parameters.number }", "string `msg`");
    check_rego("violation[{\"msg\": msg}] { msg := input.review.object }", "string `msg`");
    check_rego("violation[x] { x := input.parameters.text }", "string `msg`");
    check_rego("violation[x] { x := {\"details\": input.parameters.text, \"msg\": null} }", "string `msg`");
}

#[test]
fn rules_and_functions_in_conflict() {
    check_rego("violation[{\"msg\": x}] { true }\nx = \"1\" { true }\nx = \"2\" { true }", "");
    check_rego("violation[{\"msg\": f(1)}] { true }\nf(x) = \"1\" { true }\nf(x) = \"2\" { true }", "");
}

#[test]
fn details_are_gatekeepers_where_a_policy_fails_or_is_not_asked() {
    let conflict = json!({"rego": "package p\nviolation[{\"msg\": x}] { true }\nx = \"1\" { true }\nx = \"2\" { true }"});
    let selector = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}});
    for (engine, source, match_block, expected) in [
        ("Rego", conflict.clone(), json!({}), Some(Value::Null)),
        ("Rego", conflict, selector, None),
        ("K8sNativeValidation", cel("object.nope == 1"), json!({}), None),
    ] {
        let mut policies = builder();
        policies.put_template(&template("Bad", engine, source)).unwrap();
        policies.put_constraint(constraint("Bad", "deny", &match_block)).unwrap();
        let verdict = verdict(&policies, &small());
        let bad = verdict.violations().iter().find(|violation| violation.constraint.kind == "Bad");
        assert_eq!(bad.unwrap().details, expected, "{engine} {match_block}");
    }
}

#[test]
fn budgets_that_run_out() {
    let endless = "violation[{\"msg\": \"m\"}] { r := numbers.range(1, 2000); r[_] + r[_] < 0 }";
    check_rego(endless, "budget: instructions");
    let text = "x := concat(\",\", [s | numbers.range(1, 2000)[_]; s := \"0123456789012345678901234567890123456789\"])";
    check_rego(&format!("violation[{{\"msg\": x}}] {{ {text} }}"), "budget: output size");
    let hoard = "violation[{\"msg\": \"m\"}] { x := [y | y := numbers.range(1, 60000)]; count(x) < 0 }";
    check_rego(hoard, "budget: memory");
}

fn cel(expression: &str) -> Value {
    json!({"validations": [{"expression": expression, "message": "m"}]})
}

#[test]
fn budgets_that_run_out_in_cel() {
    let check_cel = |expression: &str, expected: &str| {
        check("K8sNativeValidation", cel(expression), &json!({}), expected);
    };
    check_cel("lists.range(1000).all(x, lists.range(1000).all(y, true))", "budget: instructions");
    check_cel("size(lists.range(100000)) < 0", "budget: memory");
    check_cel("object.nope == 1", "no such key: nope");
    check_cel("1 / (size(object.metadata.name) - 1) == 0", "division by zero");
}

/// The clock alone stops these: the other limits are out of reach.
#[test]
fn time_that_runs_out() {
    let patient = Budget::default().with_instructions(u64::MAX).with_memory(u64::MAX);
    let budget = patient.with_time(Duration::from_millis(500));
    let rego =
        "package p\nviolation[{\"msg\": \"m\"}] { r := numbers.range(1, 2000); r[_] + r[_] + r[_] < 0 }";
    check_within(&budget, "Rego", json!({"rego": rego}), &json!({}), "budget: time");
    let cel = cel("lists.range(10000).all(x, lists.range(10000).all(y, lists.range(10000).all(z, true)))");
    check_within(&budget, "K8sNativeValidation", cel, &json!({}), "budget: time");
}

/// On DELETE, CEL sees no object and Rego sees the old one, in either order of the drivers.
#[test]
fn a_delete_is_the_same_to_both_languages_in_any_order() {
    let rego = json!({"rego": "package p\nviolation[{\"msg\": input.review.object.metadata.name}] { true }"});
    let native = json!({"validations": [{
        "expression": "object != null", "messageExpression": "string(oldObject.metadata.name) + string(object == null)",
    }]});
    let old = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}});
    let request = json!({"operation": "DELETE", "namespace": "n", "oldObject": old}).to_string();
    for (first, second) in [("Cel", "Rego"), ("Rego", "Cel")] {
        let mut policies = PolicySetBuilder::new(Compiler::default());
        // Constraints are asked in the order of their kinds.
        for (place, language) in [("A", first), ("B", second)] {
            let kind = format!("{place}{language}");
            let (engine, source) =
                if language == "Cel" { ("K8sNativeValidation", &native) } else { ("Rego", &rego) };
            policies.put_template(&template(&kind, engine, source.clone())).unwrap();
            policies.put_constraint(constraint(&kind, "deny", &json!({}))).unwrap();
        }
        let review = AdmissionTarget.request(&request).unwrap();
        for _ in 0..3 {
            let verdict = policies.build().review(&review, EnforcementPoint::WEBHOOK, &Budget::default());
            let mut messages: Vec<_> = verdict.violations().iter().map(|one| one.message.as_str()).collect();
            messages.sort_unstable();
            assert_eq!(messages, ["a", "atrue"]);
        }
    }
}

#[test]
fn matches_that_cannot_be_decided() {
    let quiet = json!({"rego": "package p\nviolation[{\"msg\": \"m\"}] { false }"});
    let selector = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}});
    check("Rego", quiet.clone(), &selector, "unable to match constraints: ");
    check("Rego", quiet, &json!({"source": "Original"}), "unable to match constraints: ");
}

#[test]
fn an_engine_that_panics() {
    check("Panicking", json!({}), &json!({}), "engine failed");
}

fn with_deep(value: &str) -> Document {
    let text =
        format!(r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "a"}}, "deep": {value}}}"#);
    Document::from_json_string(text).unwrap()
}

const UNREAD: &str = "the object cannot be read: it is nested too deep, or has a number out of bounds";

#[test]
fn an_object_that_cannot_be_read_hides_nothing() {
    for value in [nested(600), "1e9999999".to_owned()] {
        let review = AdmissionTarget.object(with_deep(&value), None);
        let verdict = builder().build().review(&review, EnforcementPoint::AUDIT, &Budget::default());
        assert_eq!(verdict.denial(), format!("[after] {UNREAD}\n[before] {UNREAD}\n[beside] {UNREAD}"));
    }
}

/// A set of a Rego policy and two in CEL, of which one does not look at the object.
fn of_two_languages() -> Arc<PolicySet> {
    let mut policies = PolicySetBuilder::new(Compiler::default());
    let rego = json!({"rego": "package p\nviolation[{\"msg\": \"rego\"}] { true }"});
    let cel = |expression: &str| json!({"failurePolicy": "Ignore", "validations": [{"expression": expression, "message": "cel"}]});
    for (kind, engine, source) in [
        ("Blind", "K8sNativeValidation", cel("false")),
        ("Cel", "K8sNativeValidation", cel("object.metadata.name == 'b'")),
        ("Rego", "Rego", rego),
    ] {
        policies.put_template(&template(kind, engine, source)).unwrap();
        policies.put_constraint(constraint(kind, "deny", &json!({}))).unwrap();
    }
    policies.build()
}

#[test]
fn both_languages_read_equally_deep_and_neither_decides_for_the_other() {
    let set = of_two_languages();
    let lines = |rego: &str, cel: &str| format!("[blind] cel\n[cel] {cel}\n[rego] {rego}");
    for (value, expected) in [
        (nested(100), lines("rego", "cel")),
        (nested(200), lines("rego", "cel")),
        (nested(511), lines("rego", "cel")),
        (nested(512), lines(UNREAD, UNREAD)),
        ("\"\\ud800\"".to_owned(), lines("rego", "cel")),
        // Rego has larger numbers than CEL.
        ("1e400".to_owned(), lines("rego", UNREAD)),
        ("1e9999999".to_owned(), lines(UNREAD, UNREAD)),
    ] {
        let review = AdmissionTarget.object(with_deep(&value), None);
        // Asked twice: what one constraint read must not change what another sees.
        for _ in 0..2 {
            let verdict = set.review(&review, EnforcementPoint::AUDIT, &Budget::default());
            let mut said: Vec<_> = verdict.denial().lines().map(str::to_owned).collect();
            said.sort();
            assert_eq!(said.join("\n"), expected, "{value:.20}");
        }
    }
}

#[test]
fn an_object_of_the_inventory_that_cannot_be_read_is_an_error_of_those_who_read_it() {
    let mut policies = builder();
    let referential =
        "package p\nviolation[{\"msg\": \"m\"}] { data.inventory.namespace[_].v1.Pod[_].metadata.labels.x }";
    policies.put_template(&template("Referential", "Rego", json!({"rego": referential}))).unwrap();
    policies.put_constraint(constraint("Referential", "warn", &json!({}))).unwrap();
    let deep = format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "x", "namespace": "n"}}, "deep": {}}}"#,
        nested(600)
    );
    policies.put_object(&AdmissionTarget, Document::from_json_string(deep).unwrap()).unwrap();
    let verdict = verdict(&policies, &small());
    assert_eq!(verdict.denial(), "[after] a\n[before] a\n[beside] a");
    let unread = "[referential] the object namespace/n/v1/Pod/x of the inventory cannot be read: it is nested too \
                  deep, or has a number out of bounds";
    assert_eq!(verdict.warnings(), [unread]);
}

#[test]
fn after_the_deadline_constraints_that_match_are_undecided_under_their_own_actions() {
    let mut policies = PolicySetBuilder::new(Compiler::default());
    let source = json!({"rego": "package p\nviolation[{\"msg\": \"judged\"}] { true }"});
    for (kind, action, matched) in [
        ("Denies", "deny", json!({})),
        ("Warns", "warn", json!({})),
        ("Tries", "dryrun", json!({})),
        ("Elsewhere", "deny", json!({"namespaces": ["other"]})),
    ] {
        policies.put_template(&template(kind, "Rego", source.clone())).unwrap();
        policies.put_constraint(constraint(kind, action, &matched)).unwrap();
    }
    let (point, now) = (EnforcementPoint::WEBHOOK, Instant::now());
    let verdict = policies.build().review_observed(&pod(), point, &Budget::default(), now, &mut ());
    assert_eq!(verdict.denial(), format!("[denies] {OUT_OF_TIME}"));
    assert_eq!(verdict.warnings(), [format!("[warns] {OUT_OF_TIME}")]);
    assert_eq!(verdict.violations().len(), 3);
}

/// Each of three policies would take its minute; together they take what the deadline leaves.
#[test]
fn the_deadline_holds_for_all_constraints_together() {
    let mut policies = PolicySetBuilder::new(Compiler::default());
    let endless = "package p\nviolation[{\"msg\": \"m\"}] { n := numbers.range(1, 100000)[_]; \
                   k := numbers.range(1, 100000)[_]; n * k == 0 }";
    for kind in ["One", "Three", "Two"] {
        policies.put_template(&template(kind, "Rego", json!({"rego": endless}))).unwrap();
        policies.put_constraint(constraint(kind, "warn", &json!({}))).unwrap();
    }
    let budget = Budget::default().with_time(Duration::from_secs(60)).with_instructions(u64::MAX);
    let (set, begun) = (policies.build(), Instant::now());
    let deadline = begun.checked_add(Duration::from_millis(300)).unwrap();
    let verdict = set.review_observed(&pod(), EnforcementPoint::WEBHOOK, &budget, deadline, &mut ());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(verdict.warnings().len(), 3, "{:?}", verdict.warnings());
    assert!(!verdict.is_denied());
}

/// Collects what an observer receives.
#[derive(Default)]
struct Seen(Vec<String>);

impl ReviewObserver for Seen {
    fn selected(&mut self, constraints: usize) {
        self.0.push(format!("{constraints} selected"));
    }

    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        self.0.push(format!("{} {:?}", evaluation.constraint.name, evaluation.error));
    }
}

#[test]
fn an_observer_receives_each_evaluation_with_what_failed_in_it() {
    let endless = "package p\nviolation[{\"msg\": \"m\"}] { r := numbers.range(1, 2000); r[_] + r[_] < 0 }";
    let fine = json!({"rego": "package p\nviolation[{\"msg\": \"m\"}] { false }"});
    let mut policies = PolicySetBuilder::new(Compiler::default());
    for (kind, source, matched) in [
        ("Endless", json!({"rego": endless}), json!({})),
        ("Fine", fine.clone(), json!({})),
        (
            "Other",
            fine.clone(),
            json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}),
        ),
        ("Unknown", fine, json!({"namespaceSelector": {"matchLabels": {"a": "b"}}})),
    ] {
        policies.put_template(&template(kind, "Rego", source)).unwrap();
        policies.put_constraint(constraint(kind, "deny", &matched)).unwrap();
    }
    let (set, now) = (policies.build(), Instant::now());
    let observe = |deadline| {
        let mut seen = Seen::default();
        set.review_observed(&pod(), EnforcementPoint::WEBHOOK, &small(), deadline, &mut seen);
        seen.0
    };
    let later = now.checked_add(Duration::from_secs(60)).unwrap();
    let expected = ["endless Some(Budget(Instructions))", "fine None", "unknown Some(Match)"];
    assert_eq!(observe(later).split_off(1), expected);
    let late = ["endless Some(Deadline)", "fine Some(Deadline)", "unknown Some(Match)"];
    assert_eq!(observe(now).split_off(1), late);
    assert!(observe(now)[0].ends_with(" selected"));
}

#[test]
fn a_constraint_in_force_is_found_by_its_name() {
    let set = builder().build();
    for constraint in set.in_force() {
        assert!(set.constraint(constraint.id()).unwrap().is_same(&constraint));
    }
    assert!(set.constraint(&ConstraintRef { kind: "After".to_owned(), name: "z".to_owned() }).is_none());
}
