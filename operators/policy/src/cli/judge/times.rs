//! The evaluation time of each constraint, summed over the objects of a run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use constraint_framework::api::ConstraintRef;
use constraint_framework::policyset::{ConstraintEvaluation, ReviewObserver};

/// The cost of each constraint that was asked. The threads that judge share it.
#[derive(Debug, Default)]
pub(in crate::cli) struct Times(Mutex<BTreeMap<ConstraintRef, Cost>>);

/// The cost of one constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Cost {
    /// The number of objects its policy was asked about.
    pub(in crate::cli) evaluations: u64,
    /// The time that all took.
    pub(in crate::cli) total: Duration,
    /// The time of the longest one.
    pub(in crate::cli) longest: Duration,
}

impl Times {
    /// The costs so far.
    pub(in crate::cli) fn by_constraint(&self) -> BTreeMap<ConstraintRef, Cost> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn add(&self, review: ReviewTimes) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (constraint, took) in review.0 {
            let cost = all.entry(constraint).or_default();
            cost.evaluations = cost.evaluations.saturating_add(1);
            cost.total = cost.total.saturating_add(took);
            cost.longest = cost.longest.max(took);
        }
    }
}

/// The evaluations of one review; one lock for all of them.
#[derive(Debug, Default)]
pub(super) struct ReviewTimes(Vec<(ConstraintRef, Duration)>);

impl ReviewObserver for ReviewTimes {
    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        self.0.push((evaluation.constraint.clone(), evaluation.took));
    }
}
