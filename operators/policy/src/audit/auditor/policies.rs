//! From policy sets to the constraints and kinds of the ledger.

use std::collections::BTreeSet;
use std::sync::Arc;

use constraint_framework::policyset::{ConstraintInForce, PolicySet};
use constraint_framework::review::EnforcementPoint;

use super::Auditor;
use crate::audit::kinds::{ServedKind, selected};
use crate::audit::ledger::Definition;
use crate::audit::place::Kind;
use crate::in_force::InForce;

impl Auditor {
    /// The policy set has changed: constraints, templates, the inventory, or what the Config leaves out.
    pub(super) fn on_policies(&mut self) {
        let InForce { policies, excluded, .. } = self.policies.current();
        let older = std::mem::replace(&mut self.judge.policies, policies);
        if self.served.is_none() {
            self.judge.excluded = excluded;
            return;
        }
        if self.judge.excluded != excluded {
            self.judge.excluded = excluded;
            self.ledger.outdate_all();
        }
        let before: Vec<_> = self.revisions.values().map(|(constraint, _)| constraint.clone()).collect();
        self.define();
        // A constraint that changed is judged anew by everything; the others by what they read.
        let unchanged = before.iter().filter(|constraint| {
            let now = self.revisions.get(constraint.id());
            constraint.reads_inventory() && now.is_some_and(|(now, _)| now.is_same(constraint))
        });
        for constraint in unchanged {
            let dependents = self.judge.policies.dependents(constraint, &older);
            if !dependents.is_empty() {
                self.ledger.outdate(constraint.id(), &dependents);
            }
        }
    }

    /// Takes the constraints in force, and audits the kinds that they can match.
    fn define(&mut self) {
        let Some(served) = self.served.clone() else { return };
        let policies = self.judge.policies.clone();
        let in_force = policies.in_force();
        self.revise(&in_force);
        let audited = |constraint: &&ConstraintInForce| constraint.applies(EnforcementPoint::AUDIT);
        let filters: Vec<_> = in_force.iter().filter(audited).flat_map(ConstraintInForce::kinds).collect();
        let wanted = selected(&filters, &served);
        self.follow(wanted);
        let definitions = in_force.iter().map(|constraint| self.definition(constraint, &served)).collect();
        self.judge.epoch = self.ledger.set_constraints(definitions);
        let kinds: BTreeSet<Kind> = self.kinds.values().map(|(kind, _)| kind.clone()).collect();
        self.ledger.set_kinds(&kinds);
        self.judge.keyed = Arc::new(keyed(&policies));
        self.cluster.follow_constraints(in_force.iter().map(|constraint| constraint.id().kind.as_str()));
    }

    fn revise(&mut self, in_force: &[ConstraintInForce]) {
        let mut revisions = std::mem::take(&mut self.revisions);
        for constraint in in_force {
            let known = revisions.remove(constraint.id()).filter(|(known, _)| known.is_same(constraint));
            let revision = known.unwrap_or_else(|| {
                self.last_revision = self.last_revision.saturating_add(1);
                (constraint.clone(), self.last_revision)
            });
            self.revisions.insert(constraint.id().clone(), revision);
        }
    }

    /// Watches these kinds, and no others.
    fn follow(&mut self, wanted: BTreeSet<ServedKind>) {
        let gone: Vec<_> = self
            .kinds
            .iter()
            .filter(|(_, (_, served))| !wanted.contains(served))
            .map(|(gvk, _)| gvk.clone())
            .collect();
        for gvk in gone {
            self.kinds.remove(&gvk);
            self.watches.remove(&gvk);
            self.hold.drop_kind(&gvk);
        }
        for served in wanted {
            let gvk = served.gvk();
            if !self.kinds.contains_key(&gvk) {
                self.stays = self.stays.saturating_add(1);
                self.kinds.insert(gvk.clone(), (Arc::new(served.audited(self.stays)), served));
                let _ = self.watches.add(gvk);
            }
        }
    }

    fn definition(&self, constraint: &ConstraintInForce, served: &[ServedKind]) -> Definition {
        let point = EnforcementPoint::AUDIT;
        let applies = constraint.applies(point);
        let filters = if applies { constraint.kinds() } else { Vec::new() };
        let named = selected(&filters, served);
        let kinds = named.iter().filter_map(|served| self.kinds.get(&served.gvk()));
        let metadata = constraint.metadata();
        Definition {
            id: constraint.id().clone(),
            uid: metadata.uid.clone(),
            generation: metadata.generation.unwrap_or_default(),
            revision: self.revisions.get(constraint.id()).map_or(0, |(_, revision)| *revision),
            action: constraint.enforcement_action(),
            actions: constraint.actions(point).iter().map(|action| action.name()).collect(),
            kinds: kinds.map(|(kind, _)| kind.clone()).collect(),
            reads_whole_kinds: constraint.reads_whole_kinds(),
        }
    }

    /// The API server serves these kinds.
    pub(super) fn on_served(&mut self, served: Vec<ServedKind>) {
        if self.served.as_ref() != Some(&served) {
            self.served = Some(served);
            self.define();
        }
    }
}

fn keyed(policies: &PolicySet) -> Vec<ConstraintInForce> {
    policies.in_force().into_iter().filter(ConstraintInForce::reads_inventory).collect()
}
