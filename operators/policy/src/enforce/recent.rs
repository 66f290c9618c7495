//! The last requests that the webhook denied, for the status page: names alone, nothing of the objects themselves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admission_server::AdmissionRequest;
use constraint_framework::review::{Action, Verdict};
use k8s_openapi::jiff::Timestamp;

/// Denials that are kept.
const KEPT: usize = 50;

/// The last denials of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentDenials(Arc<Mutex<VecDeque<Denial>>>);

/// A request that was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The time.
    pub at: Timestamp,
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// The kind of the object.
    pub kind: String,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    /// Empty where the API server generates it.
    pub name: String,
    /// The constraints that deny, as `kind/name`.
    pub constraints: Vec<String>,
}

impl RecentDenials {
    /// Returns the denials, the last one first.
    pub fn list(&self) -> Vec<Denial> {
        self.lock().iter().rev().cloned().collect()
    }

    /// Keeps a denial, and forgets the oldest beyond the bound.
    pub(super) fn record(&self, request: &AdmissionRequest, verdict: &Verdict) {
        if !verdict.is_denied() {
            return;
        }
        let denies = verdict.violations().iter().filter(|found| found.actions.contains(&Action::Deny));
        let mut constraints: Vec<_> =
            denies.map(|found| format!("{}/{}", found.constraint.kind, found.constraint.name)).collect();
        constraints.dedup();
        self.push(Denial {
            at: Timestamp::now(),
            operation: request.operation.clone(),
            kind: request.kind.kind.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            constraints,
        });
    }

    fn push(&self, denial: Denial) {
        let mut denials = self.lock();
        denials.push_back(denial);
        if denials.len() > KEPT {
            denials.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Denial>> {
        // A list of whole entries, whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_denials_are_kept_the_newest_first() {
        let recent = RecentDenials::default();
        for number in 0..KEPT + 10 {
            recent.push(Denial {
                at: Timestamp::UNIX_EPOCH,
                operation: "CREATE".to_owned(),
                kind: "Pod".to_owned(),
                namespace: String::new(),
                name: number.to_string(),
                constraints: Vec::new(),
            });
        }
        let names: Vec<_> = recent.list().into_iter().map(|denial| denial.name).collect();
        assert_eq!(names.len(), KEPT);
        assert_eq!((names[0].as_str(), names[KEPT - 1].as_str()), ("59", "10"));
    }
}
