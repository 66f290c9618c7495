//! Observer of a review: the time of each evaluation and its failure, for metrics.

use std::time::Duration;

use crate::api::ConstraintRef;
use crate::driver::{EvalError, Limit};

/// An observer of the evaluations of a review, for metrics, see
/// [`PolicySet::review_observed`](super::PolicySet::review_observed).
///
/// `()` is an observer that ignores everything.
pub trait ReviewObserver {
    /// Receives the number of constraints that the index has selected because they may match.
    fn selected(&mut self, constraints: usize) {
        let _ = constraints;
    }

    /// Receives the evaluation of a constraint that matches, or for which that is not known.
    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        let _ = evaluation;
    }
}

impl ReviewObserver for () {}

/// The evaluation of one constraint.
#[derive(Clone, Copy, Debug)]
pub struct ConstraintEvaluation<'a> {
    /// Kind and name of the constraint.
    pub constraint: &'a ConstraintRef,
    /// The time of matching and evaluation.
    pub took: Duration,
    /// The reason why there is no answer; the constraint is then violated, with that as the message.
    pub error: Option<ConstraintEvaluationError>,
}

/// The reason why a constraint could not be decided, without details: the violation has them in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintEvaluationError {
    /// Matching failed, see [`MatchError`](crate::target::MatchError).
    #[error("unable to match")]
    Match,
    /// The time for the request was used up before the constraint's turn.
    #[error("the time for the request was used up")]
    Deadline,
    /// The policy used up a part of its budget.
    #[error("the budget was used up: {0}")]
    Budget(Limit),
    /// The policy or its engine failed.
    #[error("the policy failed")]
    Policy,
}

impl From<&EvalError> for ConstraintEvaluationError {
    fn from(error: &EvalError) -> Self {
        match error {
            EvalError::Rego(rego_compat::EvalError::Budget(limit))
            | EvalError::Cel(cel_compat::EvalError::Budget(limit)) => Self::Budget(*limit),
            _ => Self::Policy,
        }
    }
}
