//! A violation, before and after it is tied to a constraint.

use serde_json::Value;

use crate::api::ConstraintRef;

use super::Action;

/// A violation that a policy reports: a message for people, details for machines.
#[derive(Clone, Debug, PartialEq)]
pub struct RawViolation {
    /// The policy's message.
    pub message: String,
    /// The details that the policy adds, `{}` where it adds nothing; `None` from a language without details, as CEL is,
    /// and where the policy could not be asked. A policy in Rego that fails has null details.
    pub details: Option<Value>,
}

/// A violation of one constraint, with its actions at the enforcement point of the review.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The constraint that is violated.
    pub constraint: ConstraintRef,
    /// The policy's message, or why the constraint could not be decided.
    pub message: String,
    /// Details for machines; `None` where there are none, see [`RawViolation::details`].
    pub details: Option<Value>,
    /// The actions; never empty. More than one for a constraint scoped that way.
    pub actions: Vec<Action>,
}
