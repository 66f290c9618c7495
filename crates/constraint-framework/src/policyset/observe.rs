//! Observer of a review: the time of each evaluation and its failure, for metrics.

use std::time::Duration;

use crate::api::ConstraintRef;
use crate::driver::{EvalError, Limit};

/// Receives what happens during a review, see [`PolicySet::review_observed`](super::PolicySet::review_observed).
///
/// `()` is an observer that ignores everything.
pub trait ReviewObserver {
    /// The index has selected this many constraints that may match.
    fn selected(&mut self, constraints: usize) {
        let _ = constraints;
    }

    /// A constraint that matches, or for which that is not known, has been evaluated.
    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        let _ = evaluation;
    }
}

impl ReviewObserver for () {}

/// The evaluation of one constraint.
#[derive(Clone, Copy, Debug)]
pub struct ConstraintEvaluation<'a> {
    /// The constraint.
    pub constraint: &'a ConstraintRef,
    /// Time that its policy took.
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
