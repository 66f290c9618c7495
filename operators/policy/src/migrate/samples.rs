//! Objects judged by the policies: where the verdict or its words would be others under Gatekeeper.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use constraint_framework::api::ConstraintRef;
use constraint_framework::policyset::{
    ConstraintEvaluation, ConstraintEvaluationError, PolicySet, ReviewObserver,
};
use constraint_framework::review::{Document, EnforcementPoint, Review, Verdict, Violation};
use constraint_framework::target::AdmissionTarget;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::diagnostic::{Diagnostic, Rule};
use super::policies::name;
use super::{Entry, Report};
use crate::budget::without_deadline;

/// Far more than the budget of any constraint: none is left out for lack of time.
const LATER: Duration = Duration::from_secs(3600);
/// The first digits from which Gatekeeper writes a number with an exponent.
const LONG: usize = 7;

/// Judges objects.
#[derive(Debug)]
pub(super) struct Judge {
    policies: Arc<PolicySet>,
    namespaces: BTreeMap<String, Document>,
    seen: BTreeSet<(Rule, String)>,
}

/// The constraints that could not be decided.
#[derive(Default)]
struct Failures(BTreeMap<ConstraintRef, ConstraintEvaluationError>);

impl ReviewObserver for Failures {
    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        if let Some(failure) = evaluation.error {
            self.0.insert(evaluation.constraint.clone(), failure);
        }
    }
}

impl Judge {
    pub(super) fn new(policies: Arc<PolicySet>, namespaces: BTreeMap<String, Document>) -> Self {
        Self { policies, namespaces, seen: BTreeSet::new() }
    }

    /// Judges an object as the audit does, and as the webhook would when it is created.
    pub(super) fn judge(&mut self, entry: &Entry, report: &mut Report) {
        let object = match Document::from_value(&entry.object) {
            Ok(object) => object,
            Err(error) => return report.errors.push(entry.error(error)),
        };
        report.judged.0 = report.judged.0.saturating_add(1);
        let audit = || AdmissionTarget.object(object.detached(), None);
        self.review(entry, EnforcementPoint::AUDIT, &audit, report);
        let request = creation(&object, &entry.object);
        if AdmissionTarget.request(&request).is_ok() {
            let webhook = || AdmissionTarget.request(&request).unwrap_or_else(|_| audit());
            self.review(entry, EnforcementPoint::WEBHOOK, &webhook, report);
        }
    }

    fn review(
        &mut self,
        entry: &Entry,
        point: EnforcementPoint,
        review: &dyn Fn() -> Review,
        report: &mut Report,
    ) {
        let namespace = self.namespaces.get(entry.text("/metadata/namespace")).map(Document::detached);
        let (verdict, failures) = self.ask(point, review(), namespace);
        for violation in verdict.violations() {
            if let Some((rule, message)) = about(violation, &failures, entry) {
                self.find(rule, &violation.constraint, entry, message, report);
            }
        }
        if entry.text("/metadata/namespace").is_empty() && entry.text("/kind") != "Namespace" {
            self.without_namespace(entry, point, review, &verdict, report);
        }
    }

    /// Of a cluster-scoped object, Gatekeeper shows `{}` as its Namespace. Which constraints match does not depend on that.
    fn without_namespace(
        &mut self,
        entry: &Entry,
        point: EnforcementPoint,
        review: &dyn Fn() -> Review,
        ours: &Verdict,
        report: &mut Report,
    ) {
        let Ok(empty) = Document::from_value(&json!({})) else { return };
        let with_empty = review().into_builder().namespace_object(empty.detached()).build();
        let matching =
            |review: &Review| -> BTreeSet<_> { self.policies.matching(review, point).into_iter().collect() };
        let matching = &matching(&review()) & &matching(&with_empty);
        let (theirs, _) = self.ask(point, review(), Some(empty));
        let of = |verdict: &Verdict| -> BTreeSet<_> {
            let found = verdict.violations().iter().filter(|found| matching.contains(&found.constraint));
            found.map(|found| (found.constraint.clone(), found.message.clone())).collect()
        };
        let changed: BTreeSet<_> =
            of(ours).symmetric_difference(&of(&theirs)).map(|(id, _)| id.clone()).collect();
        for constraint in changed {
            let message =
                "the verdict depends on namespaceObject, which is null for this object, and {} in Gatekeeper";
            self.find(Rule::NamespaceObject, &constraint, entry, message.to_owned(), report);
        }
    }

    fn ask(
        &self,
        point: EnforcementPoint,
        review: Review,
        namespace: Option<Document>,
    ) -> (Verdict, Failures) {
        let review = review.into_builder().namespace_object(namespace).build();
        let mut failures = Failures::default();
        let now = Instant::now();
        let deadline = now.checked_add(LATER).unwrap_or(now).into_std();
        let budget = without_deadline();
        let verdict = self.policies.review_observed(&review, point, &budget, deadline, &mut failures);
        (verdict, failures)
    }

    /// Reports a rule once for each constraint, with the first object as the example.
    fn find(
        &mut self,
        rule: Rule,
        constraint: &ConstraintRef,
        entry: &Entry,
        message: String,
        report: &mut Report,
    ) {
        let object = name(constraint);
        if self.seen.insert((rule, object.clone())) {
            let message = format!("{message}, as for {}", entry.name());
            report.diagnostics.push(Diagnostic { rule, object, message, place: entry.place.clone() });
        }
    }
}

/// Returns what Gatekeeper has otherwise in a violation.
fn about(violation: &Violation, failures: &Failures, entry: &Entry) -> Option<(Rule, String)> {
    let message = &violation.message;
    match failures.0.get(&violation.constraint) {
        Some(ConstraintEvaluationError::Policy) if message.contains("string `msg`") => {
            let message =
                "its answer is a violation of this constraint, and not an error of the whole request";
            Some((Rule::MessageNotText, message.to_owned()))
        }
        Some(ConstraintEvaluationError::Policy) if message.contains("cannot be read") => {
            Some((Rule::Unreadable, message.clone()))
        }
        Some(ConstraintEvaluationError::Policy | ConstraintEvaluationError::Budget(_)) => {
            Some((Rule::PolicyFails, message.clone()))
        }
        Some(ConstraintEvaluationError::Match | ConstraintEvaluationError::Deadline) => None,
        None => {
            let number = long_numbers(message).find(|number| has_number(&entry.object, number))?;
            let message =
                format!("a message has the number {number}, which Gatekeeper writes with an exponent");
            Some((Rule::NumbersInMessages, message))
        }
    }
}

/// The digits in a text that stand for a number which Gatekeeper writes otherwise.
fn long_numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| digits.len() >= LONG)
}

/// Returns true if a number is a value in an object.
fn has_number(value: &Value, digits: &str) -> bool {
    match value {
        Value::Number(number) => number.to_string() == digits,
        Value::Array(values) => values.iter().any(|value| has_number(value, digits)),
        Value::Object(fields) => fields.values().any(|value| has_number(value, digits)),
        _ => false,
    }
}

/// The request that creates an object.
fn creation(object: &Document, whole: &Value) -> String {
    let kind = json!({"group": object.group(), "version": object.version(), "kind": object.kind()});
    json!({
        "uid": "migrate", "operation": "CREATE", "kind": kind,
        "resource": {"group": object.group(), "version": object.version(), "resource": object.kind().to_lowercase()},
        "name": object.name(), "namespace": object.namespace(),
        "userInfo": {"username": "webtroller", "groups": ["system:authenticated"]},
        "object": whole, "oldObject": null, "dryRun": true, "options": null
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::super::diagnostic::Diagnostic;
    use super::super::policies::Policies;
    use super::*;

    fn entry(object: Value) -> Entry {
        Entry { object, place: None }
    }

    /// A template, and a constraint that matches the kind `Thing` and nothing that keeps a cluster alive.
    fn policy(kind: &str, rule: &str, mut matched: Value) -> [Entry; 2] {
        matched["kinds"] = json!([{"apiGroups": ["*"], "kinds": ["Thing"]}]);
        let rego = format!("package p\nviolation[{{\"msg\": msg}}] {{ {rule} }}");
        let spec = json!({
            "crd": {"spec": {"names": {"kind": kind}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}]
        });
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
            "metadata": {"name": kind.to_lowercase()}, "spec": spec
        });
        let constraint = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": "a"},
            "spec": {"match": matched}
        });
        [entry(template), entry(constraint)]
    }

    /// Returns what is found about one constraint with this rule when it judges these objects.
    fn found(rule: &str, matched: Value, objects: &[Value]) -> Vec<Rule> {
        let mut report = Report::default();
        let policies = Policies::of(&policy("Kind", rule, matched), &mut report.diagnostics);
        let mut judge = Judge::new(policies.set(), BTreeMap::new());
        objects.iter().for_each(|object| judge.judge(&entry(object.clone()), &mut report));
        report.diagnostics.iter().map(|Diagnostic { rule, .. }| *rule).collect()
    }

    fn thing(spec: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn a_verdict_that_depends_on_the_missing_namespace_is_found_and_a_match_that_does_not_is_not() {
        let things = [thing(json!({}))];
        let rule = "is_null(input.review.namespaceObject); msg := \"m\"";
        assert_eq!(found(rule, json!({}), &things), [Rule::NamespaceObject]);
        assert_eq!(found("msg := input.review.object.metadata.name", json!({}), &things), []);
        // In a dump an object may be without its namespace; under Gatekeeper it is not.
        assert_eq!(found("msg := \"m\"", json!({"namespaces": ["shop"]}), &things), []);
    }

    #[test]
    fn answers_that_fail_are_found_once_for_a_constraint() {
        let things = [thing(json!({})), thing(json!({"number": 12345678}))];
        assert_eq!(found("msg := {\"not\": \"text\"}", json!({}), &things), [Rule::MessageNotText]);
        let conflict = "msg := f(1) } f(x) = \"1\" { true } f(x) = \"2\" { true";
        assert_eq!(found(conflict, json!({}), &things), [Rule::PolicyFails]);
        let number = "msg := sprintf(\"%v\", [input.review.object.spec.number])";
        assert_eq!(found(number, json!({}), &things), [Rule::NumbersInMessages]);
    }

    #[test]
    fn digits_that_are_no_number_of_the_object_are_not_written_otherwise() {
        let things = [thing(json!({"text": "12345678", "number": 123456}))];
        let text =
            "msg := sprintf(\"%v %v\", [input.review.object.spec.text, input.review.object.spec.number])";
        assert_eq!(found(text, json!({}), &things), []);
    }
}
