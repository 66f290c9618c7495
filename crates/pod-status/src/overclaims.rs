//! Parents whose status may claim more than the pods report: they are decided about before all others.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::decision::DecisionJob;
use crate::parent::ParentRef;
use crate::report_store::about;

/// The generations that the statuses claim to be enforced, as this process knows them.
#[derive(Debug, Default)]
pub(crate) struct Overclaims(BTreeMap<ParentRef, Option<i64>>);

impl Overclaims {
    /// The status claims this generation, or none.
    pub(crate) fn set(&mut self, parent: &ParentRef, generation: Option<i64>) {
        match self.0.get_mut(parent) {
            Some(known) => *known = generation,
            None => {
                self.0.insert(parent.clone(), generation);
            }
        }
    }

    /// The parent is gone, or it is not known what its status claims.
    pub(crate) fn remove(&mut self, parent: &ParentRef) {
        self.0.remove(parent);
    }

    /// Returns true if a pod contradicts what the status claims, or may claim: it reports an error or an older
    /// generation, or serves without the parent, or no pod reports it at all. A newer generation contradicts nothing:
    /// the claim names its own.
    pub(crate) fn is_contradicted(&self, job: &DecisionJob) -> bool {
        let claimed = match self.0.get(&job.parent) {
            Some(None) => return false,
            Some(claimed) => *claimed,
            None => None,
        };
        if job.shape.enforcing.is_empty() {
            return false;
        }
        let is_false =
            |field: &String, detail: &Value| detail.get(field).and_then(Value::as_bool) != Some(true);
        let mut entries =
            job.reports.iter().flat_map(|report| about(&job.parent, &report.entries)).peekable();
        entries.peek().is_none()
            || entries.any(|entry| {
                !entry.errors.is_empty()
                    || claimed.is_some_and(|claimed| entry.generation < claimed)
                    || job.shape.enforced_field.as_ref().is_some_and(|field| is_false(field, &entry.detail))
            })
            || job
                .count
                .members
                .iter()
                .filter(|member| member.incomplete)
                .any(|member| !job.reports.iter().any(|report| report.pod.is_same_run(member)))
    }
}
