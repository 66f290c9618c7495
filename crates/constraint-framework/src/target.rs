//! What is judged: a target owns the match schema, the matching and the review's shape.
//!
//! Knows nothing of policy languages and of who asks.

mod admission;
mod crd;
mod glob;
mod matcher;
mod selector;

use std::fmt;

use serde_json::Value;

use crate::api::FieldErrors;
use crate::review::{Document, Review};

pub use admission::{AdmissionTarget, RequestError};
pub use crd::{CrdError, CrdParts, constraint_crd};

/// A kind of thing that policies judge, such as the admission requests of Kubernetes.
pub trait Target: fmt::Debug + Send + Sync {
    /// The name that templates use, such as `admission.k8s.gatekeeper.sh`.
    fn name(&self) -> &str;

    /// The schema of `spec.match` in this target's constraints.
    fn match_schema(&self) -> Value;

    /// Compiles a constraint's `match` block; `None` matches everything.
    ///
    /// # Errors
    /// Every mistake in the block, with pointers from the constraint's root.
    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors>;

    /// Where an object lies in the inventory that referential policies read.
    ///
    /// # Errors
    /// When the object does not say what it is.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError>;
}

/// A compiled `match` block.
pub trait Matcher: fmt::Debug + Send + Sync {
    /// Group and kind pairs outside of which [`Matcher::matches`] is never true; `None` in a pair means any.
    fn kinds(&self) -> Vec<KindFilter>;

    /// Whether the review is one for this constraint.
    ///
    /// # Errors
    /// When it cannot be decided. The caller counts that as a violation under the constraint's own action, so
    /// that a constraint never passes because something was missing.
    fn matches(&self, review: &Review) -> Result<bool, MatchError>;
}

/// A pair of group and kind; `None` stands for any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindFilter {
    /// API group, empty for the core group.
    pub group: Option<String>,
    /// Kind.
    pub kind: Option<String>,
}

/// Why a match could not be decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// A namespace selector, a namespaced object, and nobody supplied its Namespace.
    #[error("namespace selector for namespace-scoped object but missing Namespace {0:?}")]
    NamespaceUnknown(String),
    /// `match.source` is set and the enforcement point does not know where the object came from.
    #[error("source field not specified for resource {0:?}")]
    SourceUnknown(String),
    /// The review holds no object at all.
    #[error("neither object nor old object are defined")]
    NoObject,
}

/// An object that cannot be put in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object has no {0}: give it one before it can be referred to")]
pub struct InventoryPathError(pub &'static str);
