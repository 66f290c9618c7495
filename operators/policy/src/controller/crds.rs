//! The CRDs of constraint kinds: who owns each, how it is brought to the form its template asks for, and how a change
//! by another client is noticed.
//!
//! Every write is conditional on what it was decided from: the resource version of the CRD, and a read of the owning
//! template that is not served from a cache. Hence a pod that lags behind cannot put an older schema, or the owner
//! reference of a deleted template, in place of a newer one. `model` explores that claim exhaustively.

mod decision;
mod desired;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small counters of a model")]
mod model;
mod observed;
mod revision;
mod watch;
mod write;

use std::collections::BTreeMap;

use constraint_framework::api::CONSTRAINTS_GROUP;
use kube::core::GroupVersionKind;

use super::kinds::constraint;

pub(super) use desired::Desired;
pub(super) use observed::Observed;
pub(super) use revision::{REVISION, REVISION_ANNOTATION, fingerprint};
pub(super) use watch::{CrdEvent, watch_crds};
pub(super) use write::{Placed, place};

/// The CRD of the constraints of a template.
pub(super) fn crd_name(template: &str) -> String {
    format!("{template}.{CONSTRAINTS_GROUP}")
}

/// The template that a CRD is for: its name is its kind in lower case, and so is the first part of its CRD's.
pub(super) fn template_of(crd: &str) -> Option<&str> {
    crd.strip_suffix(CONSTRAINTS_GROUP)?.strip_suffix('.')
}

/// The constraint CRDs that exist, by name, as this pod has seen them.
#[derive(Debug, Default)]
pub(super) struct ConstraintCrds {
    /// The first list is complete: what is not here does not exist.
    pub(super) listed: bool,
    seen: BTreeMap<String, Observed>,
    /// The form that the API server gave to what was sent, where that differs: it drops fields that say nothing.
    accepted: BTreeMap<String, (String, String)>,
}

/// The comparison of a CRD with what its template requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It is as asked for, and served.
    Served,
    /// It is as asked for; the API server does not serve it yet.
    NotServed,
    /// It is absent, belongs to another owner, or differs.
    Different,
}

impl ConstraintCrds {
    /// Takes an event of the watch, and returns the names of the CRDs that are to be looked at.
    pub(super) fn apply(&mut self, event: CrdEvent) -> Vec<String> {
        match event {
            CrdEvent::Listed(crds) => {
                let gone = self.seen.keys().filter(|seen| !crds.iter().any(|(name, _)| name == *seen));
                let gone: Vec<_> = gone.cloned().collect();
                self.seen.retain(|name, _| !gone.contains(name));
                let names = crds.iter().map(|(name, _)| name.clone()).chain(gone).collect();
                crds.into_iter().for_each(|(name, observed)| self.learn(&name, observed));
                self.listed = true;
                return names;
            }
            CrdEvent::Changed(name, observed) => {
                self.learn(&name, *observed);
                return vec![name];
            }
            CrdEvent::Gone(name, uid) => {
                if self.seen.get(&name).is_some_and(|seen| seen.uid == uid) {
                    self.seen.remove(&name);
                }
                return vec![name];
            }
            CrdEvent::Failed(_) => {}
        }
        Vec::new()
    }

    /// Takes what a write or a read returned; an older form than the one known changes nothing.
    pub(super) fn learn(&mut self, name: &str, observed: Observed) {
        if self.seen.get(name).is_none_or(|seen| !seen.is_newer_than(&observed)) {
            self.seen.insert(name.to_owned(), observed);
        }
    }

    /// Takes the answer to a write of `desired`: the form of it that the API server keeps.
    pub(super) fn wrote(&mut self, desired: &Desired, observed: Observed) {
        let forms = (desired.fingerprint.clone(), observed.fingerprint.clone());
        if forms.0 == forms.1 {
            self.accepted.remove(&desired.name);
        } else {
            self.accepted.insert(desired.name.clone(), forms);
        }
        self.learn(&desired.name, observed);
    }

    /// Forgets what is remembered of writes to a CRD whose template is gone.
    pub(super) fn forget(&mut self, name: &str) {
        self.accepted.remove(name);
    }

    pub(super) fn compare(&self, desired: &Desired) -> Comparison {
        let Some(seen) = self.seen.get(&desired.name) else { return Comparison::Different };
        let accepted = self.accepted.get(&desired.name);
        match desired.matches(seen, accepted) {
            true if seen.established => Comparison::Served,
            true => Comparison::NotServed,
            false => Comparison::Different,
        }
    }

    /// The constraint kind that a CRD serves, in the version in which it is watched.
    pub(super) fn served_kind(&self, name: &str) -> Option<GroupVersionKind> {
        let seen = self.seen.get(name).filter(|seen| seen.established)?;
        let version = seen.version.as_ref()?;
        let is_ours = crd_name(&seen.kind.to_lowercase()) == name;
        is_ours.then(|| GroupVersionKind { version: version.clone(), ..constraint(&seen.kind) })
    }

    /// The names of the CRDs that exist.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.seen.keys().map(String::as_str)
    }

    /// The API server's reason for not serving a CRD, and whether another CRD has its names.
    pub(super) fn serving_error(&self, name: &str) -> Option<(&str, bool)> {
        self.seen
            .get(name)?
            .serving_error
            .as_ref()
            .map(|(reason, is_conflict)| (reason.as_str(), *is_conflict))
    }

    /// The form that the API server keeps of `desired`, where it is known to differ.
    pub(super) fn accepted(&self, name: &str) -> Option<(String, String)> {
        self.accepted.get(name).cloned()
    }
}
