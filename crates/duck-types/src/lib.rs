//! Reads and writes a typed sub-tree of an unstructured Kubernetes resource, and leaves the rest alone.
//!
//! ```
//! use duck_types::{view, DuckType};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, DuckType)]
//! #[duck(path = "/spec/match")]
//! struct Match {
//!     kinds: Vec<String>,
//! }
//!
//! // Any kind that carries `spec.match` in this shape is a Match; nothing else about it is known here.
//! let constraint = serde_json::json!({"kind": "K8sRequiredLabels", "spec": {"match": {"kinds": ["Pod"]}}});
//! assert_eq!(view::<Match>(&constraint)?.kinds, ["Pod"]);
//! # Ok::<(), duck_types::DuckError>(())
//! ```
//!
//! A *duck* is a sub-tree with a known shape inside an object whose kind is not known at compile time.
//! [`Duck`] is such an object: it goes through `kube::Api` and `kube::runtime` like any resource, never
//! fails to deserialise because of its sub-tree, and reports when asked ([`Duck::view`]) that the sub-tree
//! is absent, null or of another shape. [`Duck::edit`] yields a [`DuckDiff`]: patches that touch nothing
//! outside the sub-tree.
//!
//! | module or type | content |
//! |---|---|
//! | [`Duck`], [`DuckDiff`], [`StaleError`] | reading, editing, and edits that were overtaken |
//! | [`Projected`], [`DuckStreamExt`] | the duck's paths only, in memory; ducks over any stream |
//! | [`contract`] | versions of a contract, their discovery, and checks of CustomResourceDefinitions |
//! | [`ready`] | conditions, addressables, scale, pod templates, owners and finalizers |
//! | [`rbac`] | aggregated roles for consumers and providers |
//! | `client` (feature) | `Duck::apply`, which sends an edit, and discovery in a cluster |
//! | `runtime` (feature) | `DuckStores`, one shared watch per resource |
//!
//! Not here: typed access to the identity of an object (every client has that already).

mod conform;
pub mod contract;
#[cfg(doctest)]
mod derive;
mod diff;
mod duck;
mod edit;
mod error;
mod patch;
mod path;
mod projected;
mod projection;
pub mod rbac;
pub mod ready;
#[cfg(feature = "client")]
mod send;
mod stale;
#[cfg(feature = "runtime")]
mod stores;
mod stream;
mod target;
mod view;

pub use conform::verify_type;
pub use diff::{DuckDiff, DuckPatch};
pub use duck::Duck;
pub use duck_types_derive::DuckType;
pub use error::{DuckError, PathError};
pub use patch::{PatchPrecondition, ValueChange};
pub use path::{DuckPath, Endpoint};
pub use projected::Projected;
#[cfg(feature = "client")]
pub use send::{ApplyError, FieldConflict, Write};
pub use stale::StaleError;
#[cfg(feature = "runtime")]
pub use stores::{DuckStores, DuckStoresDriver, StoreError};
pub use stream::{DuckObject, DuckStreamExt, MalformedError, StreamError, read_duck};
#[cfg(feature = "runtime")]
pub use tokio_util::sync::CancellationToken;
pub use view::{view, view_ref};

/// The programs of the README compile.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// A typed part of an object that objects of many kinds carry at the same place.
///
/// Fields that the type does not name are ignored when reading and preserved when writing.
///
/// It is usually derived:
///
/// ```
/// use duck_types::{Duck, DuckType};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize, PartialEq, DuckType)]
/// #[duck(path = "/spec/ports", list_map("", "port"))]
/// #[serde(transparent)]
/// struct Ports(Vec<Port>);
///
/// #[derive(Deserialize, Serialize, PartialEq)]
/// struct Port {
///     port: u16,
/// }
///
/// // Several paths: the type has the shape of the object.
/// #[derive(Deserialize, DuckType)]
/// #[duck(name = "Source", paths("/spec/sink", "/status/sinkUri"))]
/// struct SourceDuck {
///     spec: Sink,
/// }
///
/// #[derive(Deserialize)]
/// struct Sink {
///     sink: String,
/// }
///
/// assert_eq!(SourceDuck::NAME, "Source");
/// ```
pub trait DuckType: serde::de::DeserializeOwned {
    /// The name of the role in messages, such as `Match` or `Addressable`.
    const NAME: &'static str;

    /// The place of the part.
    const PLACE: Place;

    /// The lists that are maps (`x-kubernetes-list-type: map`): an edit addresses their elements by key.
    const LIST_MAPS: &'static [ListMap] = &[];
}

/// The place of a duck in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// One sub-tree. The type describes the value there.
    At(DuckPath),
    /// Several sub-trees, such as a part of `spec` and a part of `status`. The type has the shape of the object,
    /// of which it sees these paths only.
    Across(&'static [DuckPath]),
}

impl Place {
    /// Returns the paths of the sub-trees.
    #[must_use]
    pub fn paths(&self) -> &[DuckPath] {
        match self {
            Self::At(path) => std::slice::from_ref(path),
            Self::Across(paths) => paths,
        }
    }
}

/// A list whose elements are identified by the values of some of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListMap {
    /// Pointer from the duck to the list, with `*` for the elements of lists on the way; empty for the duck itself.
    pub path: &'static str,
    /// The names of the fields.
    pub keys: &'static [&'static str],
}
