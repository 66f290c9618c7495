//! The policies in force, one constraint at a time: for an enforcement point that keeps verdicts, and has to know which
//! of them a change makes outdated.

use std::sync::Arc;

use crate::api::{ConstraintRef, ObjectMeta};
use crate::driver::{Budget, Case, CompiledPolicy};
use crate::inventory::{DependencyKey, Dependents, Reads};
use crate::review::{Action, Enforcement, EnforcementPoint, Review, Verdict};
use crate::target::KindFilter;

use super::PolicySet;
use super::compiled::CompiledConstraint;
use super::observe::ReviewObserver;

/// A constraint in force, with the code that judges for it. Cloning shares it.
#[derive(Clone, Debug)]
pub struct ConstraintInForce(Arc<CompiledConstraint>);

impl ConstraintInForce {
    /// Returns kind and name.
    pub fn id(&self) -> &ConstraintRef {
        &self.0.id
    }

    /// Returns the metadata of the version in force, which is older than the latest where that was refused.
    pub fn metadata(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    /// Returns pairs of group and kind, one of which every object has that can match.
    pub fn kinds(&self) -> Vec<KindFilter> {
        self.0.criteria().kinds
    }

    /// Returns `deny`, `warn`, `dryrun` or `scoped`, as the constraint has it.
    pub fn enforcement_action(&self) -> &'static str {
        match &self.0.enforcement {
            Enforcement::Everywhere(action) => action.name(),
            Enforcement::Scoped(_) => "scoped",
        }
    }

    /// Returns the actions at an enforcement point.
    pub fn actions(&self, point: EnforcementPoint) -> Vec<Action> {
        self.0.enforcement.at(point)
    }

    /// Returns true if neither constraint nor template has changed between the two, so that their verdicts are the same.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns true if an enforcement point evaluates the constraint.
    pub fn applies(&self, point: EnforcementPoint) -> bool {
        self.0.enforcement.applies(point)
    }

    /// Returns true if the policy reads the inventory.
    pub fn reads_inventory(&self) -> bool {
        self.0.template.reads().next().is_some()
    }

    /// Returns true if a change of the inventory can concern the verdict on every object ([`Dependents::All`]), because
    /// the policy reads parts of it that nothing in its input picks out.
    pub fn reads_whole_kinds(&self) -> bool {
        self.0.template.reads().any(Reads::has_whole)
    }
}

impl PolicySet {
    /// Returns the constraints in force, in order of kind and name.
    pub fn in_force(&self) -> Vec<ConstraintInForce> {
        self.constraints().iter().cloned().map(ConstraintInForce).collect()
    }

    /// Returns the constraint of that kind and name, if it is in force.
    pub fn constraint(&self, id: &ConstraintRef) -> Option<ConstraintInForce> {
        let at = self.constraints().binary_search_by(|constraint| constraint.id.cmp(id)).ok()?;
        self.constraints().get(at).cloned().map(ConstraintInForce)
    }

    /// Judges a review as [`PolicySet::review`] does, by those constraints alone that `wanted` accepts; `observer` receives
    /// the time and the error of each evaluation.
    pub fn review_some(
        &self,
        review: &Review,
        point: EnforcementPoint,
        budget: &Budget,
        wanted: &dyn Fn(&ConstraintRef) -> bool,
        observer: &mut dyn ReviewObserver,
    ) -> Verdict {
        self.review_within(review, point, budget, None, wanted, observer)
    }

    /// Returns the verdicts of a constraint that differ, or may, between the inventories of `older` and of this set.
    pub fn dependents(&self, constraint: &ConstraintInForce, older: &Self) -> Dependents {
        let template = &constraint.0.template;
        let (new, old) = (self.inventory_of(template.target()), older.inventory_of(template.target()));
        let mut found = Dependents::default();
        for reads in template.reads() {
            found.merge(new.dependents(old, reads));
        }
        found
    }

    /// Returns the keys of the values by which a constraint's verdict on a review depends on the inventory, to be compared
    /// with [`Dependents::Keyed`].
    pub fn dependency_keys(&self, constraint: &ConstraintInForce, review: &Review) -> Vec<DependencyKey> {
        let inner = &constraint.0;
        let inventory = self.inventory_of(inner.template.target());
        let case = Case { review, parameters: &inner.parameters, inventory };
        let programs = inner.template.programs().map(|(_, program)| program);
        let mut keys: Vec<_> =
            programs.flat_map(|program: &dyn CompiledPolicy| program.dependency_keys(&case)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
