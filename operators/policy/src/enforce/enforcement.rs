//! The action of a violated constraint, as logs and Events name it.

use constraint_framework::policyset::{ConstraintInForce, PolicySet};
use constraint_framework::review::{Action, Violation};

/// The action of a violated constraint, in Gatekeeper's words.
pub(super) struct Enforcement {
    /// Its `enforcementAction`.
    pub(super) action: &'static str,
    /// The actions that apply to requests, where that is `scoped`.
    pub(super) scoped: String,
}

impl Enforcement {
    pub(super) fn of(violation: &Violation, policies: &PolicySet) -> Self {
        let constraint = policies.constraint(&violation.constraint);
        let action = constraint.as_ref().map_or("", ConstraintInForce::enforcement_action);
        let names: Vec<_> = violation.actions.iter().map(|action| Action::name(*action)).collect();
        Self { action, scoped: if action == "scoped" { names.join(",") } else { String::new() } }
    }
}
