//! Templates: compiled, given a CRD, and only then asked for constraints.

use std::collections::BTreeMap;

use constraint_framework::policyset::CompiledTemplate;
use futures::FutureExt;
use pod_status::readiness::{Failure, ReadinessSource};
use pod_status::{ParentKey, ParentRef, PodError};
use serde_json::{Value, json};
use watch_manager::{EventKind, WatchEvent, WatchedObject};

use crate::controller::kinds::constraint;
use crate::controller::status::{Outcome, pod_error, pod_errors, warned};

use super::Ingest;
use super::jobs::{Done, JobResult, apply_crd, compile};

/// The templates that exist, by name.
pub(super) struct Templates {
    source: ReadinessSource,
    known: BTreeMap<String, Known>,
}

#[derive(Clone)]
struct Known {
    key: ParentKey,
    generation: i64,
    /// What a change is told by. Label changes count too, and do not raise the generation.
    fingerprint: Value,
    /// Counts the changes, so that the result of an older job is recognised.
    version: u64,
    compiled: Option<CompiledTemplate>,
    attempts: u32,
    /// The kind whose constraints are being watched for this template.
    watched: Option<(String, ReadinessSource)>,
}

impl Templates {
    pub(super) fn new(source: ReadinessSource) -> Self {
        source.list_begins();
        Self { source, known: BTreeMap::new() }
    }

    /// The readiness source of a constraint kind.
    pub(super) fn constraints_source(&self, kind: &str) -> Option<&ReadinessSource> {
        let watched = self.known.values().filter_map(|known| known.watched.as_ref());
        watched.filter(|(watched, _)| watched == kind).map(|(_, source)| source).next()
    }
}

impl Ingest {
    pub(super) fn on_template(&mut self, event: WatchEvent) {
        match event.kind {
            EventKind::Applied(object) => self.template_applied(&object),
            EventKind::Deleted(object) => self.template_deleted(&object),
            EventKind::Synced => self.lists.push(self.templates.source.clone()),
            EventKind::Status(status) if status.is_stuck() => {
                self.templates.source.list_fails(Failure::Transient, status.to_string())
            }
            _ => {}
        }
    }

    fn template_applied(&mut self, object: &WatchedObject) {
        let Ok(manifest) = object.to_value() else { return };
        let key = parent_key(object);
        let generation = object.metadata().generation.unwrap_or_default();
        self.parent_changed(&key.reference);
        if object.metadata().deletion_timestamp.is_some() {
            return;
        }
        let fingerprint = json!([key.uid, manifest.get("spec"), manifest.pointer("/metadata/labels")]);
        let before = self.templates.known.remove(object.name());
        if let Some(before) = before.as_ref().filter(|before| before.fingerprint == fingerprint) {
            self.template_unchanged(object.name(), Known { generation, ..before.clone() }, before.generation);
            return;
        }
        let recreated = before.as_ref().is_some_and(|before| before.key.uid != key.uid);
        let (version, watched) = match before {
            Some(before) if recreated => {
                let version = before.version;
                self.forget(before);
                (version, None)
            }
            Some(before) => (before.version, before.watched),
            None => (0, None),
        };
        let version = version.wrapping_add(1);
        self.templates.source.expect(&key, generation);
        let known = Known {
            key: key.clone(),
            generation,
            fingerprint,
            version,
            compiled: None,
            attempts: 0,
            watched,
        };
        self.templates.known.insert(object.name().to_owned(), known);
        self.jobs.push(compile(self.policies.compiler().clone(), key, version, manifest).boxed());
    }

    /// A generation may rise while nothing changes that counts here. It is in force all the same, and says so.
    fn template_unchanged(&mut self, name: &str, known: Known, before: i64) {
        let in_force = known.watched.is_some() && known.generation != before;
        self.templates.known.insert(name.to_owned(), known);
        if in_force {
            self.template_outcome(name, Vec::new());
        }
    }

    fn template_deleted(&mut self, object: &WatchedObject) {
        if let Some(known) = self.templates.known.remove(object.name()) {
            self.forget(known);
        }
    }

    /// Takes a template out of force with everything that hangs on it. Its CRD goes by garbage collection, and
    /// the constraints with the CRD.
    fn forget(&mut self, known: Known) {
        self.templates.source.cancel(&known.key);
        self.reporter.removed(&known.key);
        self.parents.removed(&known.key.reference);
        if let Some((kind, _)) = known.watched {
            self.registrars.constraints.remove(&constraint(&kind));
            self.forget_constraints(&kind);
            self.policies.remove_template(&kind);
            self.changed = true;
        }
    }

    pub(super) fn on_done(&mut self, done: Done) {
        let Some(known) = self.templates.known.get_mut(&done.template.reference.name) else {
            return;
        };
        if known.version != done.version || known.key != done.template {
            return;
        }
        let Done { template, version, result } = done;
        let name = template.reference.name.clone();
        match result {
            JobResult::Compiled(compiled) => match *compiled {
                Ok(compiled) => {
                    known.compiled = Some(compiled.clone());
                    let job = apply_crd(self.client.clone(), template, version, compiled.crd(), 0);
                    self.jobs.push(job.boxed());
                }
                Err(error) => self.template_outcome(&name, pod_errors(&error)),
            },
            JobResult::Established(Ok(())) => self.template_established(&name),
            JobResult::Established(Err(reason)) => self.template_refused(template, version, reason),
        }
    }

    /// The CRD is there: the policy comes into force, and its constraints are asked for.
    fn template_established(&mut self, name: &str) {
        let Some(known) = self.templates.known.get_mut(name) else {
            return;
        };
        let Some(compiled) = known.compiled.clone() else {
            return;
        };
        let kind = compiled.constraint_kind().to_owned();
        self.policies.install(compiled);
        self.changed = true;
        if known.watched.is_none() {
            // Declared before the template is observed, so that readiness waits for its constraints too.
            let source = self.templates.source.child(&known.key, format!("constraints of kind {kind}"));
            source.list_begins();
            known.watched = Some((kind.clone(), source));
            let gvk = constraint(&kind);
            self.registrars.constraints.add(gvk.clone());
            self.manager.rediscover(&gvk);
        }
        self.template_outcome(name, Vec::new());
        self.report_constraints(&kind);
    }

    fn template_refused(&mut self, template: ParentKey, version: u64, reason: String) {
        let name = template.reference.name.clone();
        let Some(known) = self.templates.known.get_mut(&name) else {
            return;
        };
        let Some(compiled) = known.compiled.clone() else {
            return;
        };
        known.attempts = known.attempts.saturating_add(1);
        let job = apply_crd(self.client.clone(), template, version, compiled.crd(), known.attempts);
        self.jobs.push(job.boxed());
        self.template_outcome(&name, vec![pod_error("create_error", reason)]);
    }

    /// The CRD was served and is no longer: somebody deleted it. The template says so, and it is made again.
    pub(super) fn constraint_kind_lost(&mut self, kind: &str) {
        let is_watched =
            |known: &&mut Known| known.watched.as_ref().is_some_and(|(watched, _)| watched == kind);
        let Some(known) = self.templates.known.values_mut().find(is_watched) else { return };
        let Some(compiled) = known.compiled.clone() else { return };
        let (template, version) = (known.key.clone(), known.version);
        let name = template.reference.name.clone();
        let job = apply_crd(self.client.clone(), template, version, compiled.crd(), 1);
        self.jobs.push(job.boxed());
        let reason = format!("the CRD of kind {kind} is not served any more; it is being created again");
        self.template_outcome(&name, vec![pod_error("create_error", reason)]);
    }

    fn template_outcome(&mut self, name: &str, errors: Vec<PodError>) {
        if let Some(known) = self.templates.known.get(name) {
            let compiled = known.compiled.as_ref().filter(|_| errors.is_empty());
            self.outcomes.push(Outcome {
                parent: known.key.clone(),
                generation: known.generation,
                source: self.templates.source.clone(),
                detail: warned(compiled.into_iter().flat_map(CompiledTemplate::warnings)),
                errors,
            });
        }
    }
}

/// Who an object is, for reports and readiness.
pub(super) fn parent_key(object: &WatchedObject) -> ParentKey {
    let gvk = object.gvk();
    let reference = ParentRef {
        group: gvk.group.clone(),
        kind: gvk.kind.clone(),
        namespace: object.namespace().map(str::to_owned),
        name: object.name().to_owned(),
    };
    ParentKey { reference, uid: object.uid().to_owned() }
}
