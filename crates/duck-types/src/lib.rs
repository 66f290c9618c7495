//! Reads and writes a typed sub-tree of an unstructured Kubernetes resource, and leaves the rest alone.
//!
//! ```
//! use duck_types::{view, DuckPath, DuckType};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Match {
//!     kinds: Vec<String>,
//! }
//!
//! impl DuckType for Match {
//!     const NAME: &'static str = "Match";
//!     fn path() -> DuckPath {
//!         DuckPath::spec().child("match")
//!     }
//! }
//!
//! // Any kind that carries `spec.match` in this shape is a Match; nothing else about it is known here.
//! let constraint = serde_json::json!({"kind": "K8sRequiredLabels", "spec": {"match": {"kinds": ["Pod"]}}});
//! assert_eq!(view::<Match>(&constraint)?.kinds, ["Pod"]);
//! # Ok::<(), duck_types::DuckError>(())
//! ```
//!
//! A *duck* is a sub-tree with a known shape inside an object whose kind is not known at compile time.
//! [`Duck`] is such an object: it goes through [`kube::Api`] and `kube::runtime` like any resource, never
//! fails to deserialise because of its sub-tree, and says when asked ([`Duck::view`]) whether the sub-tree
//! is absent, null or of another shape. [`Duck::edit`] yields a [`DuckDiff`]: patches that touch nothing
//! outside the sub-tree. [`check_crd`] compares a contract with what a CustomResourceDefinition serves.
//!
//! Not here: watching (the kinds a process watches are its own business) and typed metadata
//! (every client has that already).

mod check;
mod diff;
mod duck;
mod error;
mod path;
mod view;

pub use check::{FieldSpec, FieldType, Violation, check_crd};
pub use diff::{DuckDiff, ServerSideApply};
pub use duck::Duck;
pub use error::{DuckError, PathError};
pub use path::{DuckPath, Endpoint};
pub use view::{view, view_ref};

/// A typed sub-tree that objects of many kinds carry at the same path.
///
/// Fields that the type does not name are ignored when reading and preserved when writing.
pub trait DuckType: serde::de::DeserializeOwned {
    /// What errors call this duck: the name of the role, such as `Match` or `Addressable`.
    const NAME: &'static str;

    /// Where the sub-tree is.
    fn path() -> DuckPath;
}
