//! An object that cannot be read is never judged as something else: not by a second engine, and not where a policy is
//! explained.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says no by panicking"
)]

use constraint_framework::api::{Constraint, ConstraintTemplate};
use constraint_framework::driver::{Budget, ExpressionOutcome};
use constraint_framework::policyset::{Compiler, Explanation, PolicySet, PolicySetBuilder};
use constraint_framework::review::{Document, EnforcementPoint, Review};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value, json};

/// Every policy finds a violation where the Service is `null`, or where it is not there.
const BY_VALUE: &str =
    "violation[{\"msg\": \"null\"}] { x := data.inventory.namespace.a.v1.Service.deep; not is_object(x) }";
const BY_ABSENCE: &str =
    "violation[{\"msg\": \"absent\"}] { count(data.inventory.namespace[_].v1.Service) == 0 }";
/// Reads objects of the inventory, but none that cannot be read.
const ELSEWHERE: &str =
    "violation[{\"msg\": \"other\"}] { data.inventory.namespace[_].v1.Secret[_].metadata.name == \"s\" }";
/// Reads no object of the inventory.
const NOTHING: &str = "violation[{\"msg\": \"any\"}] { input.review.object.kind }";

const NAMED: &str = "the object namespace/a/v1/Service/deep of the inventory cannot be read: it is nested too \
                     deep, or has a number out of bounds";

fn template(code: Value) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "k"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "K"}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [code]}],
        },
    })
}

fn rego(rules: &str) -> Value {
    template(json!({"engine": "Rego", "source": {"rego": format!("package k\n{rules}")}}))
}

/// An object that nests deeper than the 512 levels that are read.
fn deep(kind: &str) -> Document {
    let nested = format!("{}{}", "[".repeat(600), "]".repeat(600));
    let head = format!("\"apiVersion\": \"v1\", \"kind\": {kind:?}");
    let metadata = "\"metadata\": {\"name\": \"deep\", \"namespace\": \"a\"}";
    Document::from_json_string(format!("{{{head}, {metadata}, \"spec\": {nested}}}")).unwrap()
}

/// The policy, with an unreadable Service and a readable Secret in the inventory.
fn policies(compiler: &Compiler, template: &Value) -> std::sync::Arc<PolicySet> {
    let mut builder = PolicySetBuilder::new(compiler.clone());
    builder.put_template(template).unwrap();
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "K", "metadata": {"name": "c"}});
    builder.put_constraint(Constraint::from_value(&constraint).unwrap()).unwrap();
    builder.put_object(&AdmissionTarget, deep("Service")).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}});
    builder.put_object(&AdmissionTarget, Document::from_value(&secret).unwrap()).unwrap();
    builder.build()
}

fn pod() -> Review {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}});
    AdmissionTarget.object(Document::from_value(&pod).unwrap(), None)
}

#[track_caller]
fn answers_agree(compiler: &Compiler) {
    for (rules, expected) in [(BY_VALUE, NAMED), (BY_ABSENCE, NAMED), (ELSEWHERE, "other"), (NOTHING, "any")]
    {
        let policies = policies(compiler, &rego(rules));
        let verdict = policies.review(&pod(), EnforcementPoint::AUDIT, &Budget::default());
        assert_eq!(verdict.denial(), format!("[c] {expected}"), "{rules}");
    }
}

#[test]
fn the_engine_that_decides_names_the_object_of_the_inventory() {
    answers_agree(&Compiler::default());
}

#[cfg(feature = "regorus")]
#[test]
fn regorus_names_the_object_of_the_inventory() {
    use constraint_framework::driver::{Driver, RegorusDriver};
    use constraint_framework::target::Target;
    use std::sync::Arc;

    answers_agree(&Compiler::new(
        [Arc::new(AdmissionTarget) as Arc<dyn Target>],
        [Arc::new(RegorusDriver) as Arc<dyn Driver>],
    ));
}

fn explain(template: &Value, review: &Review) -> Result<Explanation, String> {
    let compiler = Compiler::default();
    let policies = policies(&compiler, template);
    let template = ConstraintTemplate::from_value(template).unwrap();
    let explained = compiler.explain(&template, &json!({}), review, &policies, &Budget::default());
    explained.map_err(|error| error.to_string())
}

#[test]
fn an_explanation_in_rego_names_the_object_of_the_inventory() {
    for rules in [BY_VALUE, BY_ABSENCE] {
        let error = explain(&rego(rules), &pod()).unwrap_err();
        assert!(error.contains(NAMED), "{error}");
    }
    for rules in [ELSEWHERE, NOTHING] {
        let explanation = explain(&rego(rules), &pod()).unwrap();
        assert!(explanation.bodies[0].is_violation(), "{explanation:?}");
    }
}

#[test]
fn an_explanation_in_cel_has_no_verdict_on_an_object_that_cannot_be_read() {
    let validations = json!([
        {"expression": "object != null"},
        {"expression": "object == null || true"},
        {"expression": "request.operation == ''"},
    ]);
    let source = json!({"validations": validations, "failurePolicy": "Ignore"});
    let cel = template(json!({"engine": "K8sNativeValidation", "source": source}));
    let explanation = explain(&cel, &AdmissionTarget.object(deep("Pod"), None)).unwrap();
    let outcomes: Vec<_> = explanation.bodies.iter().map(|body| &body.steps[0].outcome).collect();
    let [ExpressionOutcome::Error(first), ExpressionOutcome::Error(second), ExpressionOutcome::Held] =
        &*outcomes
    else {
        panic!("{explanation:?}")
    };
    let reason = "the object cannot be read: it is nested too deep, or has a number out of bounds";
    assert_eq!((first.as_str(), second.as_str()), (reason, reason));
    assert!(!explanation.bodies.iter().any(constraint_framework::driver::BodyTrace::is_violation));
    let values: Vec<_> = explanation.bodies.iter().flat_map(|body| &body.steps[0].values).collect();
    assert!(!values.iter().any(|(_, value)| value == "null"), "{values:?}");
}
