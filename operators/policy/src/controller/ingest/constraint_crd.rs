//! A compiled template and its CRD: written where it differs, watched afterwards, and restored when another client
//! changes or deletes it.

use std::sync::Arc;
use std::time::Duration;

use pod_status::PodError;
use pod_status::readiness::ErrorClass;
use tokio::time::Instant;

use crate::controller::crds::{Comparison, CrdEvent, Desired, Placed, template_of};
use crate::controller::kinds::constraint;
use crate::controller::repair_log;
use crate::controller::status::{pod_error, retried};
use crate::established::ESTABLISH;

use super::Ingest;
use super::gauges::count_ingestion;
use super::templates::Known;

/// A refusal by a missing right or a webhook that lasts this long is not going to end before a user acts. An API server that has just
/// started refuses everything until it knows all rights.
const FORBIDDEN: Duration = Duration::from_secs(60);
/// A CRD that stayed as it was for this long is repaired without a wait.
const QUIET: Duration = Duration::from_secs(60);

impl Ingest {
    pub(super) fn on_crd(&mut self, event: CrdEvent) {
        match &event {
            CrdEvent::Failed(reason) => {
                tracing::warn!(reason, "the constraint CRDs cannot be watched, will retry");
                self.crd_list.list_fails(ErrorClass::Transient, reason.clone());
            }
            CrdEvent::Listed(_) if !self.crds.listed => {
                self.lists.push(self.crd_list.clone());
                self.crds.apply(event);
                let names: Vec<_> = self.templates.known.keys().cloned().collect();
                names.iter().for_each(|name| self.place(name));
                return self.follow_all();
            }
            _ => {}
        }
        let is_gone = matches!(event, CrdEvent::Gone(..));
        // What is waited for may have been a kind of it.
        self.changed |= is_gone;
        for crd in self.crds.apply(event) {
            if let Some(template) = template_of(&crd) {
                if is_gone && let Some(known) = self.templates.known.get_mut(template) {
                    wake(known);
                }
                self.place(template);
                self.follow(template);
            }
        }
    }

    /// Compares the CRD of a compiled template with what it asks for, and acts on a difference.
    pub(super) fn place(&mut self, name: &str) {
        let Some(desired) = self.templates.known.get(name).and_then(|known| known.desired.clone()) else {
            return;
        };
        if !self.crds.listed {
            return;
        }
        match self.crds.compare(&desired) {
            Comparison::Served => self.template_served(name),
            Comparison::NotServed => self.await_service(name),
            Comparison::Different => {
                self.note_loss(name, &desired);
                self.start_placing(name, desired);
            }
        }
    }

    fn start_placing(&mut self, name: &str, desired: Arc<Desired>) {
        let Some(known) = self.templates.known.get_mut(name).filter(|known| known.job.is_none()) else {
            return;
        };
        let accepted = self.crds.accepted(&desired.name);
        let (job, running) = self.job_factory.place(known.version, desired, accepted, known.attempts);
        known.job = Some(job);
        known.attempts = known.attempts.saturating_add(1);
        self.jobs.push(running);
    }

    /// The CRD was as asked for and is no longer: the template says so until it is restored.
    fn note_loss(&mut self, name: &str, desired: &Desired) {
        let Some(known) = self.templates.known.get_mut(name).filter(|known| known.placed) else { return };
        known.placed = false;
        known.job = None;
        // Where another client undoes each repair, the wait before the next one grows.
        if known.placed_at.is_none_or(|at| at.elapsed() > QUIET) {
            known.attempts = 0;
        }
        repair_log::note("constraint CRD", &desired.name);
        let reason =
            format!("another client changed or deleted the CRD {}; it is being restored", desired.name);
        self.template_outcome(
            name,
            Some((ErrorClass::Transient, vec![retried(pod_error("update_error", reason))])),
        );
    }

    fn await_service(&mut self, name: &str) {
        let Some(known) = self.templates.known.get_mut(name).filter(|known| known.job.is_none()) else {
            return;
        };
        let (job, running) = self.job_factory.overdue(known.key.clone(), known.version);
        known.job = Some(job);
        self.jobs.push(running);
    }

    pub(super) fn on_overdue(&mut self, name: &str) {
        let Some(known) = self.templates.known.get_mut(name) else { return };
        known.job = None;
        let Some(desired) = known.desired.clone() else { return };
        let (error, is_conflict) = match self.crds.serving_error(&desired.name) {
            Some((error, is_conflict)) => (error, is_conflict),
            None => ("look at its conditions", false),
        };
        let reason =
            format!("the CRD {} is not served after {} s: {error}", desired.name, ESTABLISH.as_secs());
        let error = pod_error("create_error", reason);
        // Another CRD has the names: that ends when a user renames or deletes one of them.
        let failure = match is_conflict {
            true => (ErrorClass::Permanent, vec![error]),
            false => (ErrorClass::Transient, vec![retried(error)]),
        };
        self.template_outcome(name, Some(failure));
        self.place(name);
    }

    pub(super) fn on_placed(&mut self, name: &str, desired: &Desired, placed: Placed) {
        let Some(known) = self.templates.known.get_mut(name) else { return };
        known.job = None;
        match placed {
            Placed::Done(observed, wrote) => {
                known.forbidden_since = None;
                if wrote {
                    tracing::info!(crd = desired.name, "constraint CRD written");
                }
                self.crds.wrote(desired, *observed);
                self.place(name);
            }
            // The event of the version in charge is on its way; until it is here this is tried again, more slowly.
            Placed::Superseded => self.retry_placing(name),
            Placed::Refused(reason) => {
                self.placing_failed(name, ErrorClass::Permanent, pod_error("create_error", reason));
            }
            Placed::Forbidden(reason) => {
                let since = *known.forbidden_since.get_or_insert_with(Instant::now);
                let error = pod_error("create_error", reason);
                let error = if since.elapsed() < FORBIDDEN { retried(error) } else { error };
                self.placing_failed(name, ErrorClass::Transient, error);
            }
            Placed::Failed(reason) => {
                self.placing_failed(name, ErrorClass::Transient, retried(pod_error("create_error", reason)));
            }
        }
    }

    fn placing_failed(&mut self, name: &str, failure: ErrorClass, error: PodError) {
        self.template_outcome(name, Some((failure, vec![error])));
        self.retry_placing(name);
    }

    fn retry_placing(&mut self, name: &str) {
        if let Some(desired) = self.templates.known.get(name).and_then(|known| known.desired.clone()) {
            self.start_placing(name, desired);
        }
    }

    /// The CRD is there: the policy comes into force, and its constraints are asked for.
    fn template_served(&mut self, name: &str) {
        let Some(known) = self.templates.known.get_mut(name).filter(|known| !known.placed) else { return };
        let Some(compiled) = known.compiled.clone() else { return };
        if known.placed_at.is_none() {
            count_ingestion(true, known.begun.elapsed());
        }
        (known.placed, known.placed_at, known.job) = (true, Some(Instant::now()), None);
        let kind = compiled.constraint_kind().to_owned();
        let other = known.watched.take_if(|(watched, _)| *watched != kind);
        let is_watched = known.watched.is_some();
        if let Some((other, _)) = other {
            self.forget_kind(&other);
        }
        self.policies.install(compiled);
        self.changed = true;
        if is_watched {
            self.watch_kind(constraint(&kind));
        } else {
            // Declared before the template is observed, so that readiness waits for its constraints too.
            self.claim_kind(name, constraint(&kind));
        }
        self.manager.rediscover(&constraint(&kind));
        self.report_placed(name);
        self.report_constraints(&kind);
    }

    /// The kind was served and is no longer. Its CRD is looked at; the watch of CRDs may not have said so yet.
    pub(super) fn constraint_kind_lost(&mut self, kind: &str) {
        self.place(&kind.to_lowercase());
    }
}

/// Ends the wait of a job for the deletion of a CRD that is gone now.
fn wake(known: &mut Known) {
    if known.desired.is_some() {
        known.job = None;
        known.attempts = known.attempts.min(1);
    }
}
