//! The immutable set of compiled policies, and the builder that makes the next one.
//!
//! Uses every other module of this crate. An enforcement point is not among them: it holds a set as an `Arc` and calls
//! [`PolicySet::review`].

mod builder;
mod compiled;
mod compiler;
mod contain;
mod disagreement;
mod explain;
mod in_force;
mod index;
mod inventories;
mod observe;
mod place;
mod snapshot;
#[cfg(test)]
mod tests;

pub use builder::PolicySetBuilder;
pub use compiled::CompiledTemplate;
pub use compiler::Compiler;
pub use disagreement::{Disagreement, EngineAnswer};
pub use explain::{Explanation, MatchStep};
pub use in_force::ConstraintInForce;
pub use observe::{ConstraintEvaluation, ConstraintEvaluationError, ReviewObserver};
pub use snapshot::PolicySet;
