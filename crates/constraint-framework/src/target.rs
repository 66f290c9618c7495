//! Targets, the subjects of policies: a target owns the match schema, the matching and the review's shape.
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

pub use glob::Glob;

pub use admission::{AdmissionTarget, KindRead, RequestError};
pub use crd::{ConstraintCrds, CrdError, CrdErrors, CrdParts};

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

    /// Returns where an object lies in the inventory that referential policies read.
    ///
    /// # Errors
    /// When the object does not say what it is.
    fn inventory_path(&self, object: &Document) -> Result<Vec<String>, InventoryPathError>;
}

/// A compiled `match` block.
pub trait Matcher: fmt::Debug + Send + Sync {
    /// Returns where the objects are that this can match, for the index.
    fn route(&self) -> Route;

    /// Returns true if the review is one for this constraint.
    ///
    /// # Errors
    /// When it cannot be decided. The caller counts that as a violation under the constraint's own action, so
    /// that a constraint never passes because something was missing.
    fn matches(&self, review: &Review) -> Result<bool, MatchError>;
}

/// The places of a constraint's objects: for any object elsewhere, [`Matcher::matches`] is false, and no error.
///
/// An index may ask a matcher about an object that is elsewhere all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Pairs of group and kind, one of which the object has.
    pub kinds: Vec<KindFilter>,
    /// The further conditions on the object.
    pub narrow: Narrow,
}

/// One more criterion of a [`Route`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Narrow {
    /// None.
    Nothing,
    /// The object is called like this, or will be: the API server finishes a `generateName`.
    Name(Glob),
    /// The object has one of these labels.
    Label(Vec<(String, String)>),
    /// The object's namespace, if it has one, matches one of these.
    Namespace(Vec<Glob>),
    /// The object's namespace, if it has one, matches none of these.
    NotNamespace(Vec<Glob>),
}

impl Route {
    /// The route that leads everywhere.
    #[must_use]
    pub fn everywhere() -> Self {
        Self { kinds: vec![KindFilter { group: None, kind: None }], narrow: Narrow::Nothing }
    }
}

/// A pair of group and kind; `None` stands for any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindFilter {
    /// API group, empty for the core group.
    pub group: Option<String>,
    /// Kind.
    pub kind: Option<String>,
}

/// The reason why a match could not be decided. The texts are Gatekeeper's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// A namespace selector, a namespaced object, and its Namespace was not supplied.
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
    /// The target panicked: a defect of the target, which says more on standard error.
    #[error("the target failed: report it with the constraint and the object")]
    TargetFailed,
}

/// An object that cannot be put in the inventory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object has no {0}: give it one before it can be referred to")]
pub struct InventoryPathError(pub &'static str);
