//! The consequences of a settled decision.

use tokio::time::Instant;

use super::Term;
use crate::cluster::{Next, Written};
use crate::decisions::Settled;
use crate::enforcement_states::EnforcementState;
use crate::parent::ParentRef;
use crate::reason::{no_subresource, reason};

impl Term<'_> {
    pub(super) fn note_settled(&mut self, settled: Settled) {
        let Settled { parent, written, is_outdated, count } = settled;
        if written.as_ref().is_ok_and(Written::is_settled) {
            self.acknowledgements.settled(&parent, &count);
        }
        let version = match &written {
            Ok(Written::Done(_, Next { version, .. })) => version.clone(),
            _ => None,
        };
        // Our own write comes back by the host's watch, before or after this answer: only another version is news.
        let has_changed = self.own_writes.settled(&parent, version);
        if is_outdated || has_changed {
            self.reports.touch(parent.clone());
        }
        match written {
            Ok(Written::Done(state, Next { waiting, plan, .. })) => {
                if let Some(plan) = plan {
                    self.plans.push(*plan);
                    self.reports.touch(parent.clone());
                }
                self.waiting_generations.set(&parent, waiting);
                self.decisions.succeeded(&parent);
                self.note_switch(&parent, &state);
                self.overclaims.set(&parent, state.claimed());
                self.enforcement_states.set(&parent, *state);
            }
            Ok(Written::Gone) => {
                // The object with the activations has room for some 10,000: those of parents that are gone would fill it.
                if self.epoch.contains(&parent) {
                    self.gone.push(parent.clone());
                    self.recount = true;
                }
                self.waiting_generations.set(&parent, None);
                self.changes.forget(&parent);
                self.decisions.succeeded(&parent);
                self.enforcement_states.remove(&parent);
                self.switch_skew.remove(&parent);
                self.overclaims.remove(&parent);
            }
            // Decided on a parent that has changed since. The decision is not retried but made again.
            Ok(Written::Stale) => self.reports.touch(parent),
            Ok(Written::NoSubresource { .. }) => {
                let error = no_subresource(&parent.kind, 404);
                self.note_failure(parent, &error);
            }
            Err(error) => self.note_failure(parent, &error),
        }
        self.publish();
    }

    fn note_failure(&mut self, parent: ParentRef, error: &kube::Error) {
        let (delay, reason) = (self.decisions.failed(parent.clone(), error), reason(error));
        self.overclaims.remove(&parent);
        self.enforcement_states.fails(&parent, &reason);
        let ParentRef { kind, namespace, name, .. } = &parent;
        tracing::warn!(kind, namespace, name, reason, ?delay, "cannot write the status, will retry");
    }

    /// Measures how far apart the pods switch to the generation that is activated.
    fn note_switch(&mut self, parent: &ParentRef, state: &EnforcementState) {
        let Some((generation, is_complete)) = state.activation() else { return };
        if is_complete {
            if let Some(skew) = self.switch_skew.complete(parent, generation) {
                metrics::histogram!("pod_status_switch_skew_seconds").record(skew.as_secs_f64());
            }
        } else if self.switch_skew.begin(parent, generation) {
            let now = Instant::now();
            self.reports.reports(parent).iter().for_each(|report| self.switch_skew.note(report, now));
        }
    }
}
