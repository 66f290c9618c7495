//! The policy set: what is in force, at one moment, for every reader.

use std::sync::Arc;

use serde_json::json;

use crate::driver::{Budget, Case};
use crate::review::{Action, EnforcementPoint, Finding, Review, Verdict, Violation};

use super::Inventory;
use super::compiled::CompiledConstraint;
use super::index::Index;

/// Compiled templates and constraints and the inventory they read. Immutable: a change makes another one.
#[derive(Debug, Default)]
pub struct PolicySet {
    constraints: Vec<Arc<CompiledConstraint>>,
    index: Index,
    inventory: Inventory,
}

impl PolicySet {
    pub(super) fn new(constraints: Vec<Arc<CompiledConstraint>>, inventory: Inventory) -> Self {
        let mut index = Index::default();
        for (position, constraint) in constraints.iter().enumerate() {
            index.insert(position, constraint.matcher.kinds());
        }
        Self { constraints, index, inventory }
    }

    /// Number of constraints in force.
    pub fn len(&self) -> usize {
        self.constraints.len()
    }

    /// Whether nothing is in force.
    pub fn is_empty(&self) -> bool {
        self.constraints.is_empty()
    }

    /// The objects that policies may refer to.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Judges a review for an enforcement point.
    ///
    /// Never fails as a whole: a constraint that cannot be decided, or whose policy fails or exhausts its budget,
    /// is violated, under its own actions and with the reason as the message. The budget is per constraint.
    pub fn review(&self, review: &Review, point: EnforcementPoint, budget: &Budget) -> Verdict {
        let mut violations = Vec::new();
        for position in self.index.candidates(review) {
            let Some(constraint) = self.constraints.get(position) else {
                continue;
            };
            let actions = constraint.enforcement.at(point);
            if !actions.is_empty() && constraint.template.wants(review, point) {
                let findings = self.judge(constraint, review, budget);
                violations
                    .extend(findings.into_iter().map(|finding| violation(constraint, finding, &actions)));
            }
        }
        Verdict::new(violations)
    }

    fn judge(&self, constraint: &CompiledConstraint, review: &Review, budget: &Budget) -> Vec<Finding> {
        match constraint.matcher.matches(review) {
            Ok(false) => Vec::new(),
            Err(error) => vec![undecided(format!("unable to match constraints: {error}"))],
            Ok(true) => {
                let case =
                    Case { review, parameters: &constraint.parameters, inventory: self.inventory.rego() };
                let answer = constraint.template.program().evaluate(&case, budget);
                answer.unwrap_or_else(|error| vec![undecided(error.to_string())])
            }
        }
    }
}

fn undecided(message: String) -> Finding {
    Finding { message, details: json!({}) }
}

fn violation(constraint: &CompiledConstraint, finding: Finding, actions: &[Action]) -> Violation {
    Violation {
        constraint: constraint.id.clone(),
        message: finding.message,
        details: finding.details,
        actions: actions.to_vec(),
    }
}
