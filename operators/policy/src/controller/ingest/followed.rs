//! The constraint kinds that are watched: as long as a template claims them, or their CRD exists.
//!
//! A CRD outlives its policy: the template is broken, or was deleted while garbage collection is slow. A status from before
//! may call its constraints enforced. So they are announced to the aggregator, and reported as what this pod does not
//! enforce, also when no process of before is left that knew them. A pod that starts reports them before it serves.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::GroupVersionKind;
use pod_status::readiness::{ErrorClass, ReadinessSource};
use pod_status::{MissingSemantics, ReadinessTracker};

use crate::controller::crds::{crd_name, template_of};
use crate::controller::kinds::{OtherVersions, constraint, parent_kind};
use crate::controller::status::{pod_error, retried};

use super::Ingest;

pub(super) struct Followed {
    /// The kinds that are watched.
    kinds: BTreeMap<String, Watched>,
    /// Those of them that no template claims.
    unclaimed: BTreeSet<String>,
    /// The source of the constraints of these. Its list is complete when all kinds of which there are CRDs are listed: a pod
    /// that starts waits for those, and serves without the constraints like without others that it cannot ingest.
    source: ReadinessSource,
    /// Every object with a status has been announced.
    all_announced: bool,
    versions: OtherVersions,
}

struct Watched {
    gvk: GroupVersionKind,
    /// The first list is complete.
    listed: bool,
    /// The reason why it is not.
    list_error: Option<String>,
}

impl Followed {
    pub(super) fn new(tracker: &ReadinessTracker, versions: OtherVersions) -> Self {
        let source = tracker.source("constraints of broken and deleted templates");
        let source = source.missing(MissingSemantics::Looser);
        source.list_begins();
        Self { kinds: BTreeMap::new(), unclaimed: BTreeSet::new(), source, all_announced: false, versions }
    }

    fn is_listed(&self, kind: &str) -> bool {
        self.kinds.get(kind).is_some_and(|watched| watched.listed)
    }

    fn is_watched(&self, gvk: &GroupVersionKind) -> bool {
        self.kinds.get(&gvk.kind).is_some_and(|watched| watched.gvk == *gvk)
    }
}

impl Ingest {
    /// The readiness source of a constraint kind that is watched.
    pub(super) fn constraints_source(&self, kind: &str) -> Option<&ReadinessSource> {
        let claimed = self.templates.known.values().filter_map(|known| known.watched.as_ref());
        let claimed = claimed.filter(|(claimed, _)| claimed == kind).map(|(_, source)| source).next();
        claimed.or_else(|| self.followed.unclaimed.contains(kind).then_some(&self.followed.source))
    }

    /// The class of failure of constraints without a template in force: permanent, where the template is broken.
    pub(super) fn missing_template(&self, kind: &str) -> Option<ErrorClass> {
        let known = self.templates.known.get(&kind.to_lowercase())?;
        Some(known.failed.unwrap_or(ErrorClass::Transient))
    }

    /// Watches the constraints of a kind for a template. Readiness waits for them as long as it expects the template.
    pub(super) fn claim_kind(&mut self, template: &str, gvk: GroupVersionKind) {
        let kind = &*gvk.kind;
        let Some(known) = self.templates.known.get_mut(template) else { return };
        let source = self.templates.source.child(&known.key, format!("constraints of kind {kind}"));
        let source = source.missing(MissingSemantics::Looser);
        source.list_begins();
        known.watched = Some((kind.to_owned(), source.clone()));
        self.followed.unclaimed.remove(kind);
        // They may be known already, from a time without the template.
        for (key, generation) in self.constraints.of_kind(kind) {
            self.followed.source.cancel(key);
            source.expect(key, generation);
        }
        if self.followed.is_listed(kind) {
            self.lists.push(source);
        }
        self.watch_kind(gvk);
    }

    /// Watches a kind in this version, and no longer in another one.
    pub(super) fn watch_kind(&mut self, gvk: GroupVersionKind) {
        if self.followed.is_watched(&gvk) {
            return;
        }
        self.followed.versions.watched(&gvk);
        let watched = Watched { gvk: gvk.clone(), listed: false, list_error: None };
        if let Some(before) = self.followed.kinds.insert(gvk.kind.clone(), watched) {
            self.registrars.constraints.remove(&before.gvk);
        }
        let _ = self.registrars.constraints.add(gvk);
    }

    /// The template of a kind is gone. Its constraints are not enforced; they exist as long as the CRD does.
    pub(super) fn disclaim_kind(&mut self, template: &str, kind: &str) {
        self.policies.remove_template(kind);
        self.changed = true;
        if self.crds.served_kind(&crd_name(template)).is_none_or(|served| served.kind != kind) {
            return self.forget_kind(kind);
        }
        self.followed.unclaimed.insert(kind.to_owned());
        self.report_constraints(kind);
    }

    /// Ends the watch of a kind. What was in force of it is so no longer.
    pub(super) fn forget_kind(&mut self, kind: &str) {
        if let Some(watched) = self.followed.kinds.remove(kind) {
            self.registrars.constraints.remove(&watched.gvk);
        }
        self.followed.versions.watched(&constraint(kind));
        self.forget_constraints(kind);
        self.followed.unclaimed.remove(kind);
        self.parents.kind_removed(&parent_kind(&constraint(kind)));
        self.policies.remove_template(kind);
        self.changed = true;
    }

    /// All constraints of a kind that exist have been announced.
    pub(super) fn kind_listed(&mut self, gvk: &GroupVersionKind) {
        let Some(source) = self.constraints_source(&gvk.kind).cloned() else { return };
        self.lists.push(source);
        self.parents.listed(parent_kind(gvk));
        self.note_list(gvk, None);
    }

    /// The constraints of a kind cannot be listed.
    pub(super) fn kind_unlisted(&mut self, gvk: &GroupVersionKind, reason: String) {
        if let Some(source) = self.constraints_source(&gvk.kind) {
            source.list_fails(ErrorClass::Transient, reason.clone());
        }
        self.note_list(gvk, Some(reason));
    }

    /// A template is not in force before its constraints are known. What is known stays so when the watch breaks off.
    fn note_list(&mut self, gvk: &GroupVersionKind, list_error: Option<String>) {
        let Some(watched) = self.followed.kinds.get_mut(&gvk.kind).filter(|watched| !watched.listed) else {
            return;
        };
        watched.listed = list_error.is_none();
        watched.list_error = list_error;
        self.report_placed(&gvk.kind.to_lowercase());
    }

    /// Reports a template whose CRD is in place: as in force once its constraints are known.
    pub(super) fn report_placed(&mut self, template: &str) {
        let known = self.templates.known.get(template).filter(|known| known.placed);
        let Some((kind, _)) = known.and_then(|known| known.watched.as_ref()) else { return };
        let Some(watched) = self.followed.kinds.get(kind) else { return };
        match &watched.list_error {
            _ if watched.listed => self.template_outcome(template, None),
            Some(reason) => {
                let reason = format!("the constraints of kind {kind} cannot be listed: {reason}");
                let errors = vec![retried(pod_error("ingest_error", reason))];
                self.template_outcome(template, Some((ErrorClass::Transient, errors)));
            }
            None => {}
        }
    }

    /// Returns true if an event is of the version in which its kind is watched. Others are of a watch that has ended.
    pub(super) fn is_followed(&self, gvk: &GroupVersionKind) -> bool {
        self.followed.is_watched(gvk)
    }

    /// As [`Ingest::follow`], for every CRD.
    pub(super) fn follow_all(&mut self) {
        let templates = self.crds.names().filter_map(template_of);
        let templates: Vec<_> = templates.map(str::to_owned).collect();
        templates.iter().for_each(|template| self.follow(template));
    }

    /// Watches the constraints of a CRD whose template has failed or does not exist.
    pub(super) fn follow(&mut self, template: &str) {
        if !self.crds.listed || !self.templates.listed {
            return;
        }
        let kind = self.crds.served_kind(&crd_name(template));
        match (self.templates.known.get(template), kind) {
            (Some(known), Some(gvk)) if known.failed.is_some() && known.watched.is_none() => {
                self.claim_kind(template, gvk);
            }
            // Nothing restores the version of a CRD whose template does not compile.
            (Some(known), Some(gvk)) if known.desired.is_none() && known.watched.is_some() => {
                self.watch_kind(gvk);
            }
            (Some(_), _) => {}
            (None, Some(gvk)) => {
                self.followed.unclaimed.insert(gvk.kind.clone());
                self.watch_kind(gvk);
            }
            (None, None) => {
                let mut unclaimed = self.followed.unclaimed.iter();
                if let Some(kind) = unclaimed.find(|kind| kind.to_lowercase() == template).cloned() {
                    self.forget_kind(&kind);
                }
            }
        }
    }

    /// Notifies the aggregator once everything has been announced that existed when this pod started. Outcomes have been reported.
    pub(super) fn announce_all(&mut self) {
        let is_listed = self.templates.listed && self.crds.listed && self.sync.is_listed();
        if self.followed.all_announced || !is_listed {
            return;
        }
        let kinds = self.crds.names().filter_map(|name| self.crds.served_kind(name));
        if kinds.into_iter().all(|gvk| self.followed.is_listed(&gvk.kind)) {
            self.followed.all_announced = true;
            self.parents.all_announced();
            self.followed.source.list_ends();
        }
    }
}
