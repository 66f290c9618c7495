//! Cost of reviews, in total and by template, and counts of evaluations that failed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use constraint_framework::driver::Limit;
use constraint_framework::policyset::{ConstraintEvaluation, ConstraintEvaluationError, ReviewObserver};

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
    /// Returns the costs by constraint kind.
    pub fn by_kind(&self) -> BTreeMap<String, Cost> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Cost>> {
        // Figures may be off by one after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receives the evaluations of one review, and adds them up at its end: each counter is looked up and each lock is taken
/// once for a review, not for each constraint.
#[derive(Debug, Default)]
pub(super) struct ReviewCosts {
    candidates: usize,
    answered: u64,
    failures: Vec<ConstraintEvaluationError>,
    /// By constraint kind. The constraints of a kind follow each other.
    kinds: Vec<(String, Cost)>,
}

impl ReviewObserver for ReviewCosts {
    fn selected(&mut self, constraints: usize) {
        self.candidates = self.candidates.saturating_add(constraints);
    }

    fn evaluated(&mut self, evaluation: &ConstraintEvaluation<'_>) {
        match evaluation.error {
            None => self.answered = self.answered.saturating_add(1),
            Some(failure) => self.failures.push(failure),
        }
        let cost = Cost {
            evaluations: 1,
            failures: u64::from(evaluation.error.is_some()),
            total: evaluation.took,
            longest: evaluation.took,
        };
        let kind = &evaluation.constraint.kind;
        match self.kinds.last_mut() {
            Some((last, sum)) if last == kind => sum.add(&cost),
            _ => self.kinds.push((kind.clone(), cost)),
        }
    }
}

impl ReviewCosts {
    /// Returns true if an evaluation ended, or did not begin, because its time was up.
    pub(super) fn is_out_of_time(&self) -> bool {
        let is_of_time = |failure: &ConstraintEvaluationError| {
            matches!(
                failure,
                ConstraintEvaluationError::Deadline | ConstraintEvaluationError::Budget(Limit::Time)
            )
        };
        self.failures.iter().any(is_of_time)
    }

    /// Adds the costs of the review to those of the process.
    pub(super) fn add_to(self, costs: &Costs) {
        self.count();
        let mut all = costs.lock();
        // Templates come and go.
        if all.len() > KINDS {
            all.clear();
        }
        for (kind, cost) in self.kinds {
            all.entry(kind).or_default().add(&cost);
        }
    }

    fn count(&self) {
        metrics::counter!("webtroller_index_candidates_total")
            .increment(u64::try_from(self.candidates).unwrap_or(u64::MAX));
        metrics::counter!("webtroller_evaluations_total", "result" => "answered").increment(self.answered);
        for failure in &self.failures {
            metrics::counter!("webtroller_evaluations_total", "result" => result(*failure)).increment(1);
            if let ConstraintEvaluationError::Budget(limit) = failure {
                metrics::counter!("webtroller_budget_exhausted_total", "limit" => limit.to_string())
                    .increment(1);
            }
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
const fn result(failure: ConstraintEvaluationError) -> &'static str {
    match failure {
        ConstraintEvaluationError::Match => "match_unknown",
        ConstraintEvaluationError::Deadline => "deadline",
        ConstraintEvaluationError::Budget(_) => "budget",
        ConstraintEvaluationError::Policy => "failed",
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
