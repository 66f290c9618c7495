//! Constraints of all kinds, and what is reported about each.

use std::collections::{BTreeMap, BTreeSet};

use constraint_framework::IngestError;
use constraint_framework::api::ConstraintRef;
use pod_status::ParentKey;
use pod_status::readiness::ErrorClass;
use serde_json::Value;
use watch_manager::{EventKind, GvkStatus, WatchEvent, WatchedObject};

use crate::controller::duck;
use crate::controller::enforcement_points::{NotEnforced, Points};
use crate::controller::status::{Outcome, pod_error, pod_errors, retried};

use super::Ingest;
use super::templates::parent_key;

/// The constraints that exist.
#[derive(Default)]
pub(super) struct Constraints(BTreeMap<ConstraintRef, Known>);

struct Known {
    key: ParentKey,
    generation: i64,
    points: Points,
    action: String,
    /// The reason why it cannot be read, if so. Another version of it may be in force.
    unreadable: Option<String>,
    is_good: bool,
}

impl Constraints {
    /// The action of each constraint, and whether it is in force as it is.
    pub(super) fn actions(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0.values().map(|known| (known.action.as_str(), known.is_good))
    }

    /// The constraints of a kind, and their generations.
    pub(super) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a ParentKey, i64)> {
        let of_kind = self.0.iter().filter(move |(id, _)| id.kind == kind);
        of_kind.map(|(_, known)| (&known.key, known.generation))
    }

    /// The kinds of which there are constraints.
    pub(super) fn kinds(&self) -> BTreeSet<String> {
        self.0.keys().map(|id| id.kind.clone()).collect()
    }
}

impl Ingest {
    pub(super) fn on_constraint(&mut self, event: WatchEvent) {
        if !self.is_followed(&event.gvk) {
            return;
        }
        match event.kind {
            EventKind::Applied(object) => self.constraint_applied(&object),
            EventKind::Deleted(object) => {
                let id = ConstraintRef { kind: object.gvk().kind.clone(), name: object.name().to_owned() };
                self.forget_constraint(&id);
            }
            EventKind::Synced => self.kind_listed(&event.gvk),
            EventKind::Status(GvkStatus::Pending) => self.constraint_kind_lost(&event.gvk.kind),
            // Neither a failure nor the end of one.
            EventKind::Status(GvkStatus::Listing) => {}
            EventKind::Status(status) if !status.is_ready() => {
                self.kind_unlisted(&event.gvk, status.to_string());
            }
            _ => {}
        }
    }

    fn constraint_applied(&mut self, object: &WatchedObject) {
        let key = parent_key(object);
        let generation = object.generation().unwrap_or_default();
        self.parent_changed(&key.reference, object);
        let id = ConstraintRef { kind: object.gvk().kind.clone(), name: object.name().to_owned() };
        let known = self.constraints.0.get(&id);
        if known.is_some_and(|known| known.key == key && known.generation == generation) {
            return;
        }
        if let Some(source) = self.constraints_source(&id.kind) {
            source.expect(&key, generation);
        }
        let constraint = duck::constraint(object);
        let points = constraint.as_ref().map_or_else(|_| Points::default(), |read| Points::of(&read.spec));
        let spec = constraint.as_ref().map(|read| &read.spec).unwrap_or(&Value::Null);
        let action = spec.get("enforcementAction").and_then(Value::as_str).unwrap_or("deny").to_owned();
        let unreadable = constraint.as_ref().err().cloned();
        let known = Known { key, generation, points, action, unreadable, is_good: false };
        self.constraints.0.insert(id.clone(), known);
        let outcome = constraint.map_or(Ok(()), |constraint| {
            self.changed = true;
            self.policies.put_constraint(constraint)
        });
        self.constraint_outcome(&id, outcome.err().as_ref());
    }

    /// A template that changed has been asked again about each of its constraints.
    pub(super) fn report_constraints(&mut self, kind: &str) {
        let refused = self.policies.constraints_of(kind);
        let refused = refused.filter_map(|(constraint, error)| Some((constraint.id.clone(), error?.clone())));
        let refused: BTreeMap<_, _> = refused.collect();
        // Also those that no policy set holds because they cannot be read.
        let ids: Vec<_> = self.constraints.0.keys().filter(|id| id.kind == kind).cloned().collect();
        for id in ids {
            self.constraint_outcome(&id, refused.get(&id));
        }
    }

    pub(super) fn forget_constraints(&mut self, kind: &str) {
        let ids: Vec<_> = self.constraints.0.keys().filter(|id| id.kind == kind).cloned().collect();
        ids.iter().for_each(|id| self.forget_constraint(id));
    }

    fn forget_constraint(&mut self, id: &ConstraintRef) {
        if let Some(Known { key, .. }) = self.constraints.0.remove(id) {
            if let Some(source) = self.constraints_source(&id.kind) {
                source.cancel(&key);
            }
            self.reporter.removed(&key);
            self.parents.removed(&key.reference);
        }
        self.policies.remove_constraint(id);
        self.changed = true;
    }

    fn constraint_outcome(&mut self, id: &ConstraintRef, error: Option<&IngestError>) {
        let not_judged = self
            .not_judged()
            .or_else(|| self.outdated(&id.kind))
            .or_else(|| self.unsynced(&id.kind).map(NotEnforced::waits));
        let without_template = is_without_template(error);
        let class = self.missing_template(&id.kind).filter(|_| without_template);
        let source = self.constraints_source(&id.kind).cloned();
        let (Some(known), Some(source)) = (self.constraints.0.get_mut(id), source) else { return };
        let errors = match (&known.unreadable, error) {
            (Some(reason), _) => vec![pod_error("create_error", reason.clone())],
            (None, None) => Vec::new(),
            // It is taken in when its template comes, or is in force.
            (None, Some(error)) if without_template && class != Some(ErrorClass::Permanent) => {
                pod_errors(error).into_iter().map(retried).collect()
            }
            (None, Some(error)) => pod_errors(error),
        };
        known.is_good = errors.is_empty();
        let detail = known.points.detail(errors.is_empty(), not_judged.as_ref(), known.generation);
        let failure = (!errors.is_empty()).then_some((class.unwrap_or(ErrorClass::Permanent), errors));
        let (parent, generation) = (known.key.clone(), known.generation);
        self.outcomes.push(Outcome { parent, generation, source, failure, detail });
    }
}

const fn is_without_template(error: Option<&IngestError>) -> bool {
    matches!(error, Some(IngestError::MissingTemplate { .. }))
}
