//! Targets, the subjects of policies: a target has the match schema, the matching, and builds reviews.
//!
//! Knows no policy language and no enforcement point.

mod admission;
mod crd;
mod glob;
mod matcher;
mod selector;

use std::fmt;

use serde_json::Value;

use crate::api::FieldErrors;
use crate::review::{Document, Review};

pub use glob::Glob;

pub use admission::{AdmissionTarget, KindRead, RequestError};
pub use crd::{ConstraintCrds, CrdError, CrdErrors, CrdParts};

/// A kind of thing that policies judge, such as the admission requests of Kubernetes.
pub trait Target: fmt::Debug + Send + Sync {
    /// Returns the name that templates use, such as `admission.k8s.gatekeeper.sh`.
    fn name(&self) -> &str;

    /// Returns the schema of `spec.match` in this target's constraints.
    fn match_schema(&self) -> Value;

    /// Compiles a constraint's `match` block; `None` matches everything.
    ///
    /// # Errors
    /// Every error in the block, with pointers from the constraint's root.
    fn matcher(&self, spec: Option<&Value>) -> Result<Box<dyn Matcher>, FieldErrors>;

    /// Returns the path of an object in the inventory that referential policies read, from its root.
    ///
    /// # Errors
    /// The object lacks a field of its identity: `apiVersion`, `kind` or `metadata.name`.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError>;
}

/// A compiled `match` block.
pub trait Matcher: fmt::Debug + Send + Sync {
    /// Returns criteria that every object meets which the block can match, for the index.
    fn criteria(&self) -> MatchCriteria;

    /// Returns true if the block matches the review.
    ///
    /// # Errors
    /// When it cannot be decided. The caller counts that as a violation under the constraint's own action, so
    /// that a constraint never passes because something was missing.
    fn matches(&self, review: &Review) -> Result<bool, MatchError>;
}

/// Criteria that all objects of a constraint meet. For any other object [`Matcher::matches`] returns `Ok(false)`.
///
/// An index may call [`Matcher::matches`] for an object that does not meet them all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchCriteria {
    /// Pairs of group and kind, one of which the object has.
    pub kinds: Vec<KindFilter>,
    /// The further condition on the object.
    pub criterion: Criterion,
}

/// The further condition of a [`MatchCriteria`] on its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// No further condition.
    None,
    /// The object's name matches, or its `generateName` can become a name that does.
    Name(Glob),
    /// The object has one of these labels.
    Label(Vec<(String, String)>),
    /// The object's namespace, if it has one, matches one of these.
    Namespace(Vec<Glob>),
    /// The object's namespace, if it has one, matches none of these.
    NotNamespace(Vec<Glob>),
}

impl MatchCriteria {
    /// Returns the criteria of a constraint that can match any object.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { kinds: vec![KindFilter { group: None, kind: None }], criterion: Criterion::None }
    }
}

/// A pair of group and kind; `None` stands for any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindFilter {
    /// API group; empty for the core group, `None` for any.
    pub group: Option<String>,
    /// Kind, in CamelCase; `None` for any.
    pub kind: Option<String>,
}

/// The reason why a match could not be decided. The texts are Gatekeeper's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// A namespace selector is to match a namespaced object whose Namespace was not supplied.
    #[error(
        "error matching the requested object: {object} :failed to run Match criteria: namespace selector for namespace-scoped object but missing Namespace"
    )]
    NamespaceUnknown {
        /// The object's name.
        object: String,
    },
    /// `match.source` is set and the enforcement point does not know where the object came from.
    #[error(
        "error matching the requested object: {object} :failed to run Match criteria: source field not specified for resource {object}"
    )]
    SourceUnknown {
        /// The object's name.
        object: String,
    },
    /// The review holds no object at all.
    #[error("invalid request object: neither object nor old object are defined")]
    NoObject,
    /// The target panicked: a defect of the target, whose message is on standard error.
    #[error("the target failed: report it with the constraint and the object")]
    TargetFailed,
}

/// The error that an object cannot be put in the inventory: the field that it lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object has no {0}: give it one before it can be referred to")]
pub struct InventoryPathError(pub &'static str);
