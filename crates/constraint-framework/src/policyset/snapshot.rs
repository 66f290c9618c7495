//! The policy set: what is in force, at one moment, for every reader.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::api::{Constraint, ConstraintRef};
use crate::driver::{Budget, Case, CompiledPolicy, EvalError};
use crate::error::IngestError;
use crate::inventory::Inventory;
use crate::review::{EnforcementPoint, RawViolation, Review, Verdict, Violation};
use crate::target::Target;

use super::compiled::{CompiledConstraint, CompiledTemplate};
use super::contain::contained;
use super::index::Index;
use super::inventories::Inventories;
use super::observe::{ConstraintEvaluation, ConstraintEvaluationError, ReviewObserver};

/// Compiled templates and constraints and the inventory they read. Immutable: a change makes another one.
#[derive(Debug, Default)]
pub struct PolicySet {
    in_force: Arc<InForce>,
    inventories: Inventories,
}

/// The constraints in force and the index over them. Shared by all sets between two changes of constraints.
#[derive(Debug, Default)]
pub(super) struct InForce {
    constraints: Index<Arc<CompiledConstraint>>,
    templates: BTreeMap<String, CompiledTemplate>,
}

impl InForce {
    pub(super) fn new(
        constraints: Vec<Arc<CompiledConstraint>>,
        templates: BTreeMap<String, CompiledTemplate>,
    ) -> Self {
        let mut index = Index::default();
        for constraint in constraints {
            let criteria = constraint.criteria();
            index.push(constraint, &criteria);
        }
        Self { constraints: index, templates }
    }
}

impl PolicySet {
    pub(super) const fn new(in_force: Arc<InForce>, inventories: Inventories) -> Self {
        Self { in_force, inventories }
    }

    pub(super) fn constraints(&self) -> &[Arc<CompiledConstraint>] {
        self.in_force.constraints.all()
    }

    pub(super) fn inventory_of(&self, target: &str) -> &Inventory {
        self.inventories.get(target)
    }

    /// Returns the number of constraints in force.
    pub fn len(&self) -> usize {
        self.constraints().len()
    }

    /// Returns true if nothing is in force.
    pub fn is_empty(&self) -> bool {
        self.constraints().is_empty()
    }

    /// Returns this set with one constraint instead of all of its own, as if it were in force, for a preview of its
    /// verdicts.
    ///
    /// # Errors
    /// The errors that keep the constraint out of force.
    pub fn with_only(&self, constraint: &Constraint) -> Result<Self, IngestError> {
        let templates = &self.in_force.templates;
        let missing = || IngestError::MissingTemplate { kind: constraint.id.kind.clone() };
        let template = templates.get(&constraint.id.kind).ok_or_else(missing)?;
        let compiled = Arc::new(template.compile_constraint(constraint)?);
        let in_force = InForce::new(vec![compiled], BTreeMap::new());
        Ok(Self::new(Arc::new(in_force), self.inventories.clone()))
    }

    /// Returns the objects of a target that policies may read below `data.inventory`.
    pub fn inventory(&self, target: &dyn Target) -> &Inventory {
        self.inventories.get(target.name())
    }

    /// Judges a review for an enforcement point.
    ///
    /// Never fails as a whole: a constraint that cannot be decided, or whose policy fails or exhausts its budget,
    /// is violated, under its own actions and with the reason as the message. The budget is per constraint.
    pub fn review(&self, review: &Review, point: EnforcementPoint, budget: &Budget) -> Verdict {
        self.review_within(review, point, budget, None, &|_| true, &mut ())
    }

    /// Judges a review as [`PolicySet::review`] does, with a deadline for all constraints together; `observer` receives the
    /// time and the error of each evaluation.
    ///
    /// No evaluation gets more time than is left. A constraint that matches and whose turn comes after the deadline is
    /// violated, under its own actions.
    pub fn review_observed(
        &self,
        review: &Review,
        point: EnforcementPoint,
        budget: &Budget,
        deadline: Instant,
        observer: &mut dyn ReviewObserver,
    ) -> Verdict {
        self.review_within(review, point, budget, Some(deadline), &|_| true, observer)
    }

    pub(super) fn review_within(
        &self,
        review: &Review,
        point: EnforcementPoint,
        budget: &Budget,
        deadline: Option<Instant>,
        wanted: &dyn Fn(&ConstraintRef) -> bool,
        observer: &mut dyn ReviewObserver,
    ) -> Verdict {
        let mut violations = Vec::new();
        let candidates = self.in_force.constraints.candidates(review);
        observer.selected(candidates.len());
        for constraint in candidates {
            if constraint.acts(review, point) && wanted(&constraint.id) {
                let raw = self.judge(constraint, review, budget, deadline, observer);
                violations.extend(raw.into_iter().map(|raw| violation(constraint, raw, point)));
            }
        }
        Verdict::new(violations)
    }

    /// Returns the constraints that judge a review for an enforcement point, without evaluating their policies: those that
    /// act there and match, or for which that cannot be decided.
    pub fn matching(&self, review: &Review, point: EnforcementPoint) -> Vec<ConstraintRef> {
        self.judging(review, point).map(|constraint| constraint.id.clone()).collect()
    }

    /// The constraints of [`PolicySet::matching`].
    pub(super) fn judging<'a>(
        &'a self,
        review: &'a Review,
        point: EnforcementPoint,
    ) -> impl Iterator<Item = &'a CompiledConstraint> {
        let acting = self.candidates(review).filter(move |constraint| constraint.acts(review, point));
        acting.filter(|constraint| constraint.matches(review).unwrap_or(true))
    }

    fn judge(
        &self,
        constraint: &CompiledConstraint,
        review: &Review,
        budget: &Budget,
        deadline: Option<Instant>,
        observer: &mut dyn ReviewObserver,
    ) -> Vec<RawViolation> {
        let started = Instant::now();
        let mut report = |error| {
            let (constraint, took) = (&constraint.id, started.elapsed());
            observer.evaluated(&ConstraintEvaluation { constraint, took, error });
        };
        let budget = match (constraint.matches(review), deadline) {
            (Ok(false), _) => return Vec::new(),
            (Err(error), _) => {
                report(Some(ConstraintEvaluationError::Match));
                return vec![undecided(format!("unable to match constraints: {error}"))];
            }
            (Ok(true), None) => *budget,
            (Ok(true), Some(deadline)) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    report(Some(ConstraintEvaluationError::Deadline));
                    return vec![undecided(OUT_OF_TIME.to_owned())];
                }
                budget.with_time(budget.time.min(left))
            }
        };
        let answer = self.try_ask(constraint, constraint.template.program(), review, &budget);
        report(answer.as_ref().err().map(ConstraintEvaluationError::from));
        answer.unwrap_or_else(|error| vec![failed(&error)])
    }

    /// Evaluates one program of a constraint.
    pub(super) fn ask(
        &self,
        constraint: &CompiledConstraint,
        program: &dyn CompiledPolicy,
        review: &Review,
        budget: &Budget,
    ) -> Vec<RawViolation> {
        self.try_ask(constraint, program, review, budget).unwrap_or_else(|error| vec![failed(&error)])
    }

    fn try_ask(
        &self,
        constraint: &CompiledConstraint,
        program: &dyn CompiledPolicy,
        review: &Review,
        budget: &Budget,
    ) -> Result<Vec<RawViolation>, EvalError> {
        let inventory = self.inventories.get(constraint.template.target());
        let case = Case { review, parameters: &constraint.parameters, inventory };
        let asked = contained(|| program.evaluate(&case, budget));
        asked.unwrap_or(Err(EvalError::EngineFailed))
    }

    /// Returns the constraints that may match a review, in their order.
    pub(super) fn candidates(&self, review: &Review) -> impl Iterator<Item = &CompiledConstraint> {
        self.in_force.constraints.candidates(review).map(AsRef::as_ref)
    }
}

/// The message of a constraint that was not evaluated.
const OUT_OF_TIME: &str = "not evaluated: the time for the request was used up by other constraints";

/// Returns the violation for a policy that failed. Gatekeeper gives null details to the failure of a policy in Rego, and
/// none to everything else.
fn failed(error: &EvalError) -> RawViolation {
    let details = matches!(error, EvalError::Rego(_)).then_some(serde_json::Value::Null);
    RawViolation { details, ..undecided(error.to_string()) }
}

fn undecided(message: String) -> RawViolation {
    RawViolation { message, details: None }
}

fn violation(constraint: &CompiledConstraint, raw: RawViolation, point: EnforcementPoint) -> Violation {
    Violation {
        constraint: constraint.id.clone(),
        message: raw.message,
        details: raw.details,
        actions: constraint.enforcement.at(point),
    }
}

#[cfg(test)]
mod tests;
