//! Cost of reviews, in total and by template, and counts of evaluations that failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use constraint_framework::driver::Limit;
use constraint_framework::policyset::{Evaluation, EvaluationFailure, ReviewObserver};

/// Kinds of which the costs are kept; beyond that they are counted anew.
const KINDS: usize = 1000;

/// The cost of the templates of a process since its start. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Costs(Arc<Mutex<BTreeMap<String, Cost>>>);

/// The cost of one template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Evaluations of its constraints.
    pub evaluations: u64,
    /// Those without an answer.
    pub failures: u64,
    /// The time that all took.
    pub total: Duration,
    /// The time of the longest one.
    pub longest: Duration,
}

impl Costs {
    /// The costs by constraint kind.
    pub fn by_kind(&self) -> BTreeMap<String, Cost> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Cost>> {
        // Figures may be off by one after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the evaluations of one review, and adds them up at its end: one lock for a review, not for each constraint.
#[derive(Debug, Default)]
pub(super) struct ReviewCosts(BTreeMap<String, Cost>);

impl ReviewObserver for ReviewCosts {
    fn selected(&mut self, constraints: usize) {
        metrics::counter!("webtroller_index_candidates_total")
            .increment(u64::try_from(constraints).unwrap_or(u64::MAX));
    }

    fn evaluated(&mut self, evaluation: &Evaluation<'_>) {
        let result = evaluation.failure.map_or("answered", result);
        metrics::counter!("webtroller_evaluations_total", "result" => result).increment(1);
        if let Some(EvaluationFailure::Budget(limit)) = evaluation.failure {
            metrics::counter!("webtroller_budget_exhausted_total", "limit" => limit.to_string()).increment(1);
        }
        let kind = &evaluation.constraint.kind;
        let cost = match self.0.get_mut(kind) {
            Some(cost) => cost,
            None => self.0.entry(kind.clone()).or_default(),
        };
        cost.add(&Cost {
            evaluations: 1,
            failures: u64::from(evaluation.failure.is_some()),
            total: evaluation.took,
            longest: evaluation.took,
        });
    }
}

impl ReviewCosts {
    /// Adds the costs of the review to those of the process.
    pub(super) fn add_to(self, costs: &Costs) {
        let mut all = costs.lock();
        // Templates come and go.
        if all.len() > KINDS {
            all.clear();
        }
        for (kind, cost) in self.0 {
            all.entry(kind).or_default().add(&cost);
        }
    }
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.failures = self.failures.saturating_add(other.failures);
        self.total = self.total.saturating_add(other.total);
        self.longest = self.longest.max(other.longest);
    }
}

/// The value of the label `result`.
const fn result(failure: EvaluationFailure) -> &'static str {
    match failure {
        EvaluationFailure::Match => "match_unknown",
        EvaluationFailure::Deadline => "deadline",
        EvaluationFailure::Budget(_) => "budget",
        EvaluationFailure::Policy => "failed",
    }
}

/// Registers the counters of reviews, so that an alert can distinguish 0 from absence.
pub(super) fn announce() {
    metrics::counter!("webtroller_index_candidates_total").increment(0);
    for result in ["answered", "match_unknown", "deadline", "budget", "failed"] {
        metrics::counter!("webtroller_evaluations_total", "result" => result).increment(0);
    }
    for limit in [Limit::Time, Limit::Instructions, Limit::Memory, Limit::Output, Limit::Depth] {
        metrics::counter!("webtroller_budget_exhausted_total", "limit" => limit.to_string()).increment(0);
    }
}
