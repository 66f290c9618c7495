//! The result of a case: the assertions that do not hold, and the trace of the constraint's evaluation.

use constraint_framework::review::Verdict;

use crate::cli::suite::Case;

/// The outcome of a case that could be judged.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) failures: Vec<String>,
    /// The expected and the actual value.
    pub(super) diff: Vec<String>,
    /// The steps by which the constraint came to its answer.
    pub(super) trace: Vec<String>,
}

impl Judged {
    /// Compares a verdict with the assertions of a case.
    pub(super) fn of(case: &Case, verdict: &Verdict) -> Result<Self, String> {
        if case.assertions.is_empty() {
            return Err("invalid Case: assertions must be non-empty".to_owned());
        }
        let mut judged = Self::default();
        for mismatch in case.assertions.iter().filter_map(|assertion| assertion.check(verdict).err()) {
            judged.failures.push(mismatch.summary);
            judged.diff.extend(mismatch.diff);
        }
        Ok(judged)
    }
}
