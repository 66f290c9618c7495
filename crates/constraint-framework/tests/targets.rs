//! Several targets in one policy set: each review is judged by the constraints of its own target, and by no others.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test says no by panicking")]

use std::sync::Arc;

use constraint_framework::IngestError;
use constraint_framework::api::{Constraint, FieldErrors};
use constraint_framework::driver::{
    Budget, Case, CompileErrors, CompiledPolicy, Driver, EvalError, RegoDriver,
};
use constraint_framework::policyset::{Compiler, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, RawViolation, Review};
use constraint_framework::target::{
    AdmissionTarget, InventoryPathError, MatchCriteria, MatchError, Matcher, Target,
};
use serde_json::{Value, json};

/// Judges letters; matches all of them.
#[derive(Debug)]
struct Letters;

#[derive(Debug)]
struct Every;

impl Target for Letters {
    fn name(&self) -> &str {
        "letters.example"
    }

    fn match_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn matcher(&self, _: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        Ok(Box::new(Every))
    }

    fn inventory_path(&self, _: &Document) -> Result<Vec<String>, InventoryPathError> {
        Err(InventoryPathError("address"))
    }
}

impl Matcher for Every {
    fn criteria(&self) -> MatchCriteria {
        MatchCriteria::everywhere()
    }

    fn matches(&self, _: &Review) -> Result<bool, MatchError> {
        Ok(true)
    }
}

/// A policy that every object violates.
const SEEN: &str = "package p\nviolation[{\"msg\": \"seen\"}] { true }";

/// Puts a template for a target, and a constraint with the name of its template.
fn put_policy(builder: &mut PolicySetBuilder, kind: &str, target: &Value) {
    let name = kind.to_lowercase();
    builder
        .put_template(&json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": name},
            "spec": {"crd": {"spec": {"names": {"kind": kind}}}, "targets": [target]}
        }))
        .unwrap();
    let constraint =
        json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name}});
    builder.put_constraint(Constraint::from_value(&constraint).unwrap()).unwrap();
}

fn policies() -> Arc<PolicySet> {
    let targets = [Arc::new(AdmissionTarget) as Arc<dyn Target>, Arc::new(Letters)];
    let compiler = Compiler::new(targets, [Arc::new(RegoDriver) as Arc<dyn Driver>]);
    let mut builder = PolicySetBuilder::new(compiler);
    for (kind, target) in [("Pods", "admission.k8s.gatekeeper.sh"), ("Mail", "letters.example")] {
        put_policy(&mut builder, kind, &json!({"target": target, "rego": SEEN}));
    }
    builder.build()
}

fn denial(review: &Review) -> String {
    policies().review(review, EnforcementPoint::AUDIT, &Budget::default()).denial()
}

#[test]
fn a_review_meets_the_constraints_of_its_target_only() {
    let document = |value: Value| Document::from_value(&value).unwrap();
    let pod = document(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}));
    assert_eq!(denial(&AdmissionTarget.object(pod, None)), "[pods] seen");
    let letter = Review::builder(Letters.name()).object(document(json!({"to": "Ann"})));
    assert_eq!(denial(&letter.build()), "[mail] seen");
}

#[test]
fn a_review_of_no_target_meets_all() {
    assert_eq!(denial(&Review::default()).lines().count(), 2);
}

/// Panics where the constraint tells it to.
#[derive(Debug)]
struct Faulty;

#[derive(Debug)]
struct FaultyMatcher(String);

impl Target for Faulty {
    fn name(&self) -> &str {
        "faulty.example"
    }

    fn match_schema(&self) -> Value {
        json!({"type": "object", "properties": {"panic": {"type": "string"}}})
    }

    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        let place = spec.and_then(|spec| spec["panic"].as_str()).unwrap_or_default();
        assert_ne!(place, "compile");
        Ok(Box::new(FaultyMatcher(place.to_owned())))
    }

    fn inventory_path(&self, _: &Document) -> Result<Vec<String>, InventoryPathError> {
        Err(InventoryPathError("address"))
    }
}

impl Matcher for FaultyMatcher {
    fn criteria(&self) -> MatchCriteria {
        assert_ne!(self.0, "criteria");
        MatchCriteria::everywhere()
    }

    fn matches(&self, _: &Review) -> Result<bool, MatchError> {
        assert_ne!(self.0, "match");
        Ok(true)
    }
}

#[test]
fn a_target_that_panics_fails_one_constraint() {
    let drivers = [Arc::new(RegoDriver) as Arc<dyn Driver>];
    let mut builder = PolicySetBuilder::new(Compiler::new([Arc::new(Faulty) as Arc<dyn Target>], drivers));
    builder
        .put_template(&json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "seen"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "Seen"}}},
                "targets": [{"target": "faulty.example", "rego": "package p\nviolation[{\"msg\": \"seen\"}] { true }"}]
            }
        }))
        .unwrap();
    let mut put = |name: &str, place: &str| {
        let constraint = json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Seen",
            "metadata": {"name": name}, "spec": {"match": {"panic": place}}});
        builder
            .put_constraint(Constraint::from_value(&constraint).unwrap())
            .map_err(|error| error.to_string())
    };
    put("sound", "").unwrap();
    put("matching", "match").unwrap();
    put("routing", "criteria").unwrap();
    let refused = put("sound", "compile").unwrap_err();
    assert!(refused.starts_with("/spec/match: "), "{refused}");
    let verdict = builder.build().review(&Review::default(), EnforcementPoint::AUDIT, &Budget::default());
    let failed = "[matching] unable to match constraints: the target failed: report it with the constraint and the object";
    assert_eq!(verdict.denial(), format!("[routing] seen\n[sound] seen\n{failed}"));
}

/// Panics on every source.
#[derive(Debug)]
struct FaultyDriver;

impl Driver for FaultyDriver {
    fn engine(&self) -> &str {
        "Faulty"
    }

    fn compile(&self, _: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        panic!("on purpose")
    }
}

#[test]
fn a_driver_that_panics_refuses_one_template() {
    let drivers = [Arc::new(FaultyDriver) as Arc<dyn Driver>];
    let mut builder = PolicySetBuilder::new(Compiler::new([Arc::new(Letters) as Arc<dyn Target>], drivers));
    let refused = builder.put_template(&json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "mail"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Mail"}}},
            "targets": [{"target": "letters.example", "code": [{"engine": "Faulty", "source": {}}]}]
        }
    }));
    assert_eq!(refused, Err(IngestError::CompilerFailed));
}

/// Judges pods of another sort, which lie where Kubernetes' pods do.
#[derive(Debug)]
struct Peas;

impl Target for Peas {
    fn name(&self) -> &str {
        "peas.example"
    }

    fn match_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn matcher(&self, _: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors> {
        Ok(Box::new(Every))
    }

    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError> {
        AdmissionTarget.inventory_path(object)
    }
}

#[test]
fn each_target_has_an_inventory_of_its_own() {
    let targets = [Arc::new(AdmissionTarget) as Arc<dyn Target>, Arc::new(Peas)];
    let mut builder =
        PolicySetBuilder::new(Compiler::new(targets, [Arc::new(RegoDriver) as Arc<dyn Driver>]));
    let rego = "package p\nviolation[{\"msg\": name}] { data.inventory.cluster.v1.Pod[name] }";
    for (kind, target) in [("Whale", "admission.k8s.gatekeeper.sh"), ("Pea", "peas.example")] {
        put_policy(&mut builder, kind, &json!({"target": target, "rego": rego}));
    }
    let pod = |name: &str| {
        Document::from_value(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}})).unwrap()
    };
    let said = |builder: &PolicySetBuilder| {
        builder.build().review(&Review::default(), EnforcementPoint::AUDIT, &Budget::default()).denial()
    };
    builder.put_object(&AdmissionTarget, pod("both")).unwrap();
    builder.put_object(&Peas, pod("both")).unwrap();
    builder.put_object(&Peas, pod("green")).unwrap();
    assert_eq!(said(&builder), "[pea] both\n[whale] both\n[pea] green");
    builder.remove_object(&Peas, &pod("both")).unwrap();
    assert_eq!(said(&builder), "[whale] both\n[pea] green");
    let policies = builder.build();
    assert_eq!((policies.inventory(&AdmissionTarget).len(), policies.inventory(&Peas).len()), (1, 1));
}

/// A language that has one answer for everything.
#[derive(Clone, Debug)]
struct OneAnswer(&'static str, fn() -> Result<Vec<RawViolation>, EvalError>);

impl Driver for OneAnswer {
    fn engine(&self) -> &str {
        self.0
    }

    fn compile(&self, _: &Value) -> Result<Arc<dyn CompiledPolicy>, CompileErrors> {
        Ok(Arc::new(self.clone()))
    }
}

impl CompiledPolicy for OneAnswer {
    fn evaluate(&self, _: &Case<'_>, _: &Budget) -> Result<Vec<RawViolation>, EvalError> {
        (self.1)()
    }
}

#[test]
fn engines_are_compared_on_the_constraints_of_the_target_only() {
    let targets = [Arc::new(AdmissionTarget) as Arc<dyn Target>, Arc::new(Letters)];
    let drivers = [Arc::new(RegoDriver) as Arc<dyn Driver>, Arc::new(OneAnswer("Praise", || Ok(Vec::new())))];
    let mut builder = PolicySetBuilder::new(Compiler::new(targets, drivers).comparing());
    for (kind, target) in [("Pods", "admission.k8s.gatekeeper.sh"), ("Mail", "letters.example")] {
        let code = json!([{"engine": "Rego", "source": {"rego": SEEN}}, {"engine": "Praise", "source": {}}]);
        put_policy(&mut builder, kind, &json!({"target": target, "code": code}));
    }
    let letter = Document::from_value(&json!({"to": "Ann"})).unwrap();
    let letter = Review::builder(Letters.name()).object(letter).build();
    let found = builder.build().disagreements(&letter, EnforcementPoint::AUDIT, &Budget::default());
    let kinds: Vec<_> = found.iter().map(|found| found.constraint.kind.as_str()).collect();
    assert_eq!(kinds, ["Mail"]);
}

#[test]
fn an_embedder_has_enforcement_points_and_errors_of_its_own() {
    const GATE: EnforcementPoint = EnforcementPoint::new("gate.example");
    let scoped = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Quiet", "metadata": {"name": "quiet"},
        "spec": {"enforcementAction": "scoped", "scopedEnforcementActions": [
            {"action": "deny", "enforcementPoints": [{"name": "gate.example"}]},
            {"action": "warn", "enforcementPoints": [{"name": "*"}]}]}
    });
    let template = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "quiet"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Quiet"}}},
            "targets": [{"target": "letters.example", "code": [{"engine": "Silence", "source": {}}]}]
        }
    });
    let silence = OneAnswer("Silence", || Err(EvalError::foreign("silence has no answer")));
    let compiler = || {
        let driver = Arc::new(silence.clone()) as Arc<dyn Driver>;
        Compiler::new([Arc::new(Letters) as Arc<dyn Target>], [driver])
    };
    let put = |compiler: Compiler| {
        let mut builder = PolicySetBuilder::new(compiler);
        builder.put_template(&template).unwrap();
        builder.put_constraint(Constraint::from_value(&scoped).unwrap()).map(|_| builder.build())
    };
    let refused = put(compiler()).unwrap_err().to_string();
    assert!(refused.contains("not \"gate.example\""), "{refused}");

    let policies = put(compiler().with_enforcement_points([GATE])).unwrap();
    let review = Review::builder("letters.example").build();
    let at = |point| policies.review(&review, point, &Budget::default());
    assert!(at(GATE).denial().contains("silence has no answer"), "{}", at(GATE).denial());
    assert_eq!(at(GATE).warnings().len(), 1);
    // The other points know nothing of the first action, and `*` means them too.
    assert!(!at(EnforcementPoint::AUDIT).is_denied());
    assert_eq!(at(EnforcementPoint::AUDIT).warnings().len(), 1);
}
