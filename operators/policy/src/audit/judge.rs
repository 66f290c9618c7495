//! From an object's text to what the policies say about it: the same review and the same evaluation as at the webhook,
//! asked at the enforcement point of the audit.

use std::sync::Arc;

use constraint_framework::driver::Limit;
use constraint_framework::policyset::{
    ConstraintEvaluation, ConstraintEvaluationError, ConstraintInForce, PolicySet, ReviewObserver,
};
use constraint_framework::review::{Document, EnforcementPoint, ReviewSource};
use constraint_framework::target::AdmissionTarget;

use super::ledger::{Epoch, Judged, Scope};
use super::place::Place;
use crate::budget::without_deadline;
use crate::config::{ExcludedNamespaces, Process};

const EXHAUSTED: &str = "webtroller_audit_budget_exhausted_total";

/// The policies at one moment.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub(super) epoch: Epoch,
    pub(super) policies: Arc<PolicySet>,
    /// The constraints whose policies compare objects with the inventory.
    pub(super) keyed: Arc<Vec<ConstraintInForce>>,
    /// The Namespaces that the Config leaves out.
    pub(super) excluded: Arc<ExcludedNamespaces>,
}

/// Counts evaluations that ran out of a part of their budget.
struct Exhausted;

impl ReviewObserver for Exhausted {
    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        if let Some(ConstraintEvaluationError::Budget(limit)) = evaluation.error {
            metrics::counter!(EXHAUSTED, "limit" => limit.to_string()).increment(1);
        }
    }
}

/// Registers the counter of this module, so that an alert can distinguish 0 from absence.
pub(super) fn announce() {
    for limit in [Limit::Time, Limit::Instructions, Limit::Memory, Limit::Output, Limit::Depth] {
        metrics::counter!(EXHAUSTED, "limit" => limit.to_string()).increment(0);
    }
}

impl Judge {
    /// Returns true if the Config leaves out an object; a Namespace by its own name.
    pub(super) fn leaves_out(&self, place: &Place) -> bool {
        let kind = (place.kind.group.as_str(), place.kind.kind.as_str());
        self.excluded.contains_named(Process::Audit, kind, place.namespace(), place.name())
    }

    /// The answer about an object that no policy sees.
    pub(super) fn nothing(&self, scope: Scope) -> Judged {
        Judged { epoch: self.epoch, scope, violations: Vec::new(), keys: Vec::new() }
    }

    /// Judges an object. Takes as long as the policies deserve: not for a thread that others wait for.
    pub(super) fn judge(&self, object: Document, namespace: Option<Document>, scope: Scope) -> Judged {
        let review = AdmissionTarget.object(object, Some(ReviewSource::Original));
        let review = review.into_builder().namespace_object(namespace).build();
        let point = EnforcementPoint::AUDIT;
        let wanted = |id: &_| scope.includes(id);
        let verdict = self.policies.review_some(&review, point, &without_deadline(), &wanted, &mut Exhausted);
        let violations = verdict.violations().iter();
        let violations =
            violations.map(|violation| (violation.constraint.clone(), violation.message.clone())).collect();
        let asked = self.keyed.iter().filter(|constraint| scope.includes(constraint.id()));
        let keys = asked.flat_map(|constraint| {
            let keys = self.policies.dependency_keys(constraint, &review);
            keys.into_iter().map(|key| (constraint.id().clone(), key))
        });
        let keys = keys.collect();
        Judged { epoch: self.epoch, violations, keys, scope }
    }
}

#[cfg(test)]
mod tests;
