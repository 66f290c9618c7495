//! Templates: compiled, given a CRD, and only then asked for constraints. The CRDs are in `constraint_crd`.

use std::collections::BTreeMap;
use std::sync::Arc;

use constraint_framework::policyset::CompiledTemplate;
use pod_status::readiness::{ErrorClass, ReadinessSource};
use pod_status::{ParentKey, ParentRef, PodError};
use serde_json::{Value, json};
use tokio::time::Instant;
use watch_manager::{EventKind, WatchEvent, WatchedObject};

use crate::controller::crds::{Desired, fingerprint};
use crate::controller::enforcement_points::{NotEnforced, Points};
use crate::controller::kinds::parent_kind;
use crate::controller::status::{Outcome, pod_errors, template_detail};

use super::Ingest;
use super::gauges::count_ingestion;
use super::jobs::{Done, Job, JobResult};

/// The templates that exist, by name.
pub(super) struct Templates {
    pub(super) source: ReadinessSource,
    pub(super) known: BTreeMap<String, Known>,
    /// The first list is complete: what is not here does not exist.
    pub(super) listed: bool,
}

/// The state of a template.
pub(super) struct Known {
    pub(super) key: ParentKey,
    pub(super) generation: i64,
    /// The fingerprint by which changes are noticed. Label changes count too, and do not raise the generation.
    fingerprint: String,
    /// The time when this version came.
    pub(super) begun: Instant,
    /// Counts the changes, so that the result of an older job is recognised.
    pub(super) version: u64,
    pub(super) compiled: Option<CompiledTemplate>,
    /// The CRD that this version asks for, once it is compiled.
    pub(super) desired: Option<Arc<Desired>>,
    /// The job in progress; replacing it cancels the one before.
    pub(super) job: Option<Job>,
    pub(super) attempts: u32,
    /// Since when the API server refuses to write the CRD, by a missing right or a webhook.
    pub(super) forbidden_since: Option<Instant>,
    /// The CRD of this version is as asked for, and its policy is in force.
    pub(super) placed: bool,
    /// The reason why this version is not in force. A pod that has the version before goes on with it; one that starts
    /// later has none.
    pub(super) failed: Option<ErrorClass>,
    /// The time when it was last placed, by this or an earlier version.
    pub(super) placed_at: Option<Instant>,
    /// The kind whose constraints are being watched for this template.
    pub(super) watched: Option<(String, ReadinessSource)>,
}

impl Templates {
    pub(super) fn new(source: ReadinessSource) -> Self {
        source.list_begins();
        Self { source, known: BTreeMap::new(), listed: false }
    }

    /// The template that has this job's version.
    pub(super) fn at_version(&mut self, template: &ParentKey, version: u64) -> Option<&mut Known> {
        let known = self.known.get_mut(&template.reference.name)?;
        (known.version == version && known.key == *template).then_some(known)
    }
}

impl Ingest {
    pub(super) fn on_template(&mut self, event: WatchEvent) {
        match event.kind {
            EventKind::Applied(object) => self.template_applied(&object),
            EventKind::Deleted(object) => self.template_deleted(&object),
            EventKind::Synced => {
                self.lists.push(self.templates.source.clone());
                self.parents.listed(parent_kind(&event.gvk));
                self.templates.listed = true;
                self.follow_all();
            }
            EventKind::Status(status) if !status.is_ready() => {
                self.templates.source.list_fails(ErrorClass::Transient, status.to_string());
            }
            _ => {}
        }
    }

    fn template_applied(&mut self, object: &Arc<WatchedObject>) {
        let key = parent_key(object);
        let generation = object.generation().unwrap_or_default();
        self.parent_changed(&key.reference, object);
        if object.is_deleting() {
            return;
        }
        let parts = match object.to_value() {
            Ok(manifest) => json!([key.uid, manifest.get("spec"), manifest.pointer("/metadata/labels")]),
            Err(_) => json!([key.uid, generation]),
        };
        // The template is large, and hundreds may come at once. As text, because a field that is null is not absent here.
        let fingerprint = fingerprint(&Value::from(parts.to_string()));
        if let Some(known) = self.templates.known.get_mut(object.name())
            && known.fingerprint == fingerprint
        {
            let before = std::mem::replace(&mut known.generation, generation);
            return self.template_unchanged(object.name(), before);
        }
        let (version, watched) = match self.templates.known.remove(object.name()) {
            Some(before) if before.key.uid != key.uid => {
                let version = before.version;
                self.forget(before);
                (version, None)
            }
            Some(before) => (before.version, before.watched),
            None => (0, None),
        };
        let version = version.wrapping_add(1);
        self.templates.source.expect(&key, generation);
        let compiler = self.policies.compiler().clone();
        let (job, running) = self.job_factory.compile(compiler, key.clone(), version, object.clone());
        self.jobs.push(running);
        let known = Known {
            key,
            generation,
            fingerprint,
            begun: Instant::now(),
            version,
            compiled: None,
            desired: None,
            job: Some(job),
            attempts: 0,
            forbidden_since: None,
            placed: false,
            failed: None,
            placed_at: None,
            watched,
        };
        self.templates.known.insert(object.name().to_owned(), known);
    }

    /// A generation may rise while nothing changes that counts here. It is in force all the same, and says so.
    fn template_unchanged(&mut self, name: &str, before: i64) {
        let Some(known) = self.templates.known.get_mut(name).filter(|known| known.generation != before)
        else {
            return;
        };
        let generation = known.generation;
        known.desired = known.desired.take().map(|desired| Arc::new(desired.at(generation)));
        self.report_placed(name);
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
        if let Some(desired) = &known.desired {
            self.crds.forget(&desired.name);
        }
        if let Some((kind, _)) = known.watched {
            self.disclaim_kind(&known.key.reference.name, &kind);
        }
    }

    pub(super) fn on_done(&mut self, done: Done) {
        let Done { template, version, result } = done;
        let Some(known) = self.templates.at_version(&template, version) else { return };
        let name = template.reference.name;
        match result {
            JobResult::Compiled(compiled) => {
                known.job = None;
                let desired = compiled.and_then(|compiled| {
                    let desired = Desired::new(known.key.clone(), known.generation, compiled.clone())?;
                    Ok((desired, compiled))
                });
                match desired {
                    Ok((desired, compiled)) => {
                        known.desired = Some(Arc::new(desired));
                        known.compiled = Some(compiled);
                        self.place(&name);
                    }
                    Err(error) => {
                        count_ingestion(false, known.begun.elapsed());
                        self.template_outcome(&name, Some((ErrorClass::Permanent, pod_errors(&error))));
                    }
                }
            }
            JobResult::Placed(desired, placed) => self.on_placed(&name, &desired, placed),
            JobResult::Overdue => self.on_overdue(&name),
        }
    }

    /// Reports a template with the next policy set: in force, or why not. Its constraints follow where that changes what
    /// can be said of them.
    pub(super) fn template_outcome(&mut self, name: &str, failure: Option<(ErrorClass, Vec<PodError>)>) {
        let not_judged = self.not_judged();
        let Some(known) = self.templates.known.get_mut(name) else { return };
        let failed = failure.as_ref().map(|(failure, _)| *failure);
        let has_changed = std::mem::replace(&mut known.failed, failed) != failed;
        let compiled = known.compiled.as_ref().filter(|_| failure.is_none());
        self.outcomes.push(Outcome {
            parent: known.key.clone(),
            generation: known.generation,
            source: self.templates.source.clone(),
            detail: template_detail(
                Points::default().detail(failure.is_none(), not_judged.as_ref(), known.generation),
                compiled.into_iter().flat_map(CompiledTemplate::warnings),
            ),
            failure,
        });
        if failed.is_some() {
            self.follow(name);
        }
        let known = self.templates.known.get(name);
        let kind = known.and_then(|known| known.watched.as_ref()).map(|(kind, _)| kind.clone());
        if let Some(kind) = kind.filter(|_| has_changed) {
            self.report_constraints(&kind);
        }
    }

    /// Returns why the constraints of a kind are not enforced by the present version of their template, if it is
    /// broken.
    pub(super) fn outdated(&self, constraint_kind: &str) -> Option<NotEnforced> {
        let known = self.templates.known.get(&constraint_kind.to_lowercase())?;
        (known.failed == Some(ErrorClass::Permanent)).then(|| {
            let message = "the present version of its template cannot be ingested; the version before is in force in pods that have it";
            NotEnforced::lasts(message.to_owned())
        })
    }
}

/// Returns the identity of an object for reports and readiness.
pub(super) fn parent_key(object: &WatchedObject) -> ParentKey {
    let gvk = object.gvk();
    let mut reference = ParentRef::new(&gvk.group, &gvk.kind, object.name());
    reference.namespace = object.namespace().map(str::to_owned);
    ParentKey::new(reference, object.uid())
}
