//! The consequences of a settled decision.

use tokio::time::Instant;

use super::Term;
use crate::cluster::{Next, Written};
use crate::decisions::Settled;
use crate::enforcement_states::Standing;
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
        let has_changed = self.echoes.settled(&parent, version);
        if is_outdated || has_changed {
            self.reports.touch(parent.clone());
        }
        match written {
            Ok(Written::Done(standing, Next { held, plan, .. })) => {
                if let Some(plan) = plan {
                    self.plans.push(*plan);
                    self.reports.touch(parent.clone());
                }
                self.holds.set(&parent, held);
                self.decisions.succeeded(&parent);
                self.note_switch(&parent, &standing);
                self.claims.set(&parent, standing.claimed());
                self.standings.set(&parent, *standing);
            }
            Ok(Written::Gone) => {
                if self.epoch.contains(&parent) {
                    self.gone.push(parent.clone());
                    self.recount = true;
                }
                self.holds.set(&parent, None);
                self.changes.forget(&parent);
                self.decisions.succeeded(&parent);
                self.standings.remove(&parent);
                self.switches.remove(&parent);
                self.claims.remove(&parent);
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
        self.claims.remove(&parent);
        self.standings.fails(&parent, &reason);
        let ParentRef { kind, namespace, name, .. } = &parent;
        tracing::warn!(kind, namespace, name, reason, ?delay, "cannot write the status, will retry");
    }

    /// Measures how far apart the pods switch to the generation that is activated.
    fn note_switch(&mut self, parent: &ParentRef, standing: &Standing) {
        let Some((generation, is_complete)) = standing.activation() else { return };
        if is_complete {
            if let Some(skew) = self.switches.complete(parent, generation) {
                metrics::histogram!("pod_status_switch_skew_seconds").record(skew.as_secs_f64());
            }
        } else if self.switches.begin(parent, generation) {
            let now = Instant::now();
            self.reports.reports(parent).iter().for_each(|report| self.switches.note(report, now));
        }
    }
}
