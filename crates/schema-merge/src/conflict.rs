//! The reasons why fragments could not be merged: [`MergeError`], one per thing to fix.
//!
//! Each names the place in the merged schema and all fragments involved. Diagnostics about a single schema are
//! `diagnostic.rs`.

use std::str::FromStr;

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::path::{MountPath, SchemaPath};

/// One side of a conflict: a fragment and its value of the keyword.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictSide {
    /// The fragment's origin.
    pub origin: String,
    /// The value of the keyword; `None` when the fragment describes the node without it.
    pub value: Option<Value>,
}

/// One reason why fragments do not merge into one structural schema.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The text is not a mount path.
    #[error("mount path {text:?} is not a JSON pointer: start with '/' and write '~' as ~0 and '/' as ~1")]
    MountPath {
        /// The text as given.
        text: String,
    },
    /// A fragment is nested or large beyond the bounds of [`crate::SchemaLimits`].
    #[error("{origin}: the schema mounted at {at:?} is too large: {detail}", at = .at.to_string())]
    TooLarge {
        /// The name of the fragment.
        origin: String,
        /// The place where it is mounted.
        at: MountPath,
        /// The bound that was crossed.
        detail: String,
    },
    /// A fragment, or a node that several fragments describe, is not a JSON object.
    #[error("{at}: {origin}: a schema is a JSON object, found {found}")]
    NotASchema {
        /// The place in the merged schema.
        at: SchemaPath,
        /// The name of the fragment.
        origin: String,
        /// The JSON type that was found.
        found: &'static str,
    },
    /// A fragment describes something other than an object where an object is expected.
    #[error(
        "{at}: {origin}: the mounted schema must have type object, has {found}; allow any type in the mount policy if a {found} is meant"
    )]
    NotAnObject {
        /// The place in the merged schema.
        at: SchemaPath,
        /// The name of the fragment.
        origin: String,
        /// The type it has instead.
        found: String,
    },
    /// A fragment touches a property that belongs to the API machinery or to the host.
    #[error("{at}: {origin}: {property:?} is reserved; the host must grant it to this origin first")]
    Reserved {
        /// The place in the merged schema.
        at: SchemaPath,
        /// The name of the fragment.
        origin: String,
        /// The reserved property of the resource.
        property: String,
    },
    /// A fragment adds a property below a parent that the host has sealed.
    #[error("{at}: {origin}: {parent:?} is sealed and {property:?} is not among its listed children", parent = .parent.to_string())]
    Sealed {
        /// The place in the merged schema.
        at: SchemaPath,
        /// The name of the fragment.
        origin: String,
        /// The sealed parent.
        parent: MountPath,
        /// The property that is not listed.
        property: String,
    },
    /// A fragment contributes at or below an exclusive mount of another one.
    #[error("{at}: {other_origin} contributes here, but {exclusive_origin} is mounted exclusively at {exclusive_mount:?}; mount both shared or move one", exclusive_mount = .exclusive_mount.to_string())]
    Exclusive {
        /// The place in the merged schema.
        at: SchemaPath,
        /// The origin that is mounted exclusively.
        exclusive_origin: String,
        /// The exclusive mount.
        exclusive_mount: MountPath,
        /// The origin that contributes as well.
        other_origin: String,
    },
    /// Two fragments say different things about the same keyword of the same node.
    #[error("{at}: {keyword} differs: {} and {}", side(.left), side(.right))]
    Conflict {
        /// The node in the merged schema.
        at: SchemaPath,
        /// The keyword.
        keyword: String,
        /// One side.
        left: Box<ConflictSide>,
        /// The other side.
        right: Box<ConflictSide>,
    },
    /// Together the fragments accept nothing. The API server would not notice.
    #[error("{at}: {detail}, so that no value is valid; contributed by {}", .origins.join(", "))]
    Unsatisfiable {
        /// The node in the merged schema.
        at: SchemaPath,
        /// The keywords that contradict each other.
        detail: String,
        /// The origins of all fragments that describe the node.
        origins: Vec<String>,
    },
    /// A fragment is mounted below something that cannot have properties.
    #[error(
        "{at}: {origin} is mounted below this node, which {parent} declares as {found}; only a plain object has properties"
    )]
    NotAParent {
        /// The node in the merged schema.
        at: SchemaPath,
        /// The name of the fragment whose mount needs an object here.
        origin: String,
        /// The contributor that declared something else.
        parent: String,
        /// The declaration.
        found: String,
    },
    /// The default that the mount policy asks for is not acceptable.
    #[error("{at}: {origin}: the mount default is refused: {reason}")]
    MountDefault {
        /// The node in the merged schema.
        at: SchemaPath,
        /// The name of the fragment.
        origin: String,
        /// The defect.
        reason: String,
    },
    /// The merged schema would be refused, or silently changed, by the API server.
    #[error("{diagnostic} (from {})", .origins.join(", "))]
    NotStructural {
        /// The server's diagnostic.
        diagnostic: Box<Diagnostic>,
        /// The fragments the place belongs to.
        origins: Vec<String>,
    },
}

impl MergeError {
    /// Returns a stable word for the kind of error, for programs and for sorting.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MountPath { .. } => "mount-path",
            Self::TooLarge { .. } => "too-large",
            Self::NotASchema { .. } => "not-a-schema",
            Self::NotAnObject { .. } => "not-an-object",
            Self::Reserved { .. } => "reserved",
            Self::Sealed { .. } => "sealed",
            Self::Exclusive { .. } => "exclusive",
            Self::Conflict { .. } => "conflict",
            Self::Unsatisfiable { .. } => "unsatisfiable",
            Self::NotAParent { .. } => "not-a-parent",
            Self::MountDefault { .. } => "mount-default",
            Self::NotStructural { .. } => "not-structural",
        }
    }

    /// Returns the place in the merged schema; the root for errors that have none.
    #[must_use]
    pub fn path(&self) -> SchemaPath {
        match self {
            Self::MountPath { .. } => SchemaPath::root(),
            Self::TooLarge { at, .. } => at.schema_path(),
            Self::NotASchema { at, .. }
            | Self::NotAnObject { at, .. }
            | Self::Reserved { at, .. }
            | Self::Sealed { at, .. }
            | Self::Exclusive { at, .. }
            | Self::Unsatisfiable { at, .. }
            | Self::NotAParent { at, .. }
            | Self::MountDefault { at, .. } => at.clone(),
            Self::Conflict { at, keyword, .. } => at.clone().child(keyword.clone()),
            Self::NotStructural { diagnostic, .. } => diagnostic.path.clone(),
        }
    }

    /// Returns the origins of all fragments involved, sorted.
    #[must_use]
    pub fn origins(&self) -> Vec<&str> {
        let mut origins: Vec<&str> = match self {
            Self::MountPath { .. } => Vec::new(),
            Self::TooLarge { origin, .. }
            | Self::NotASchema { origin, .. }
            | Self::NotAnObject { origin, .. }
            | Self::Reserved { origin, .. }
            | Self::Sealed { origin, .. }
            | Self::MountDefault { origin, .. } => vec![origin],
            Self::Exclusive { exclusive_origin, other_origin, .. } => vec![exclusive_origin, other_origin],
            Self::Conflict { left, right, .. } => vec![&left.origin, &right.origin],
            Self::NotAParent { origin, parent, .. } => vec![origin, parent],
            Self::Unsatisfiable { origins, .. } | Self::NotStructural { origins, .. } => {
                origins.iter().map(String::as_str).collect()
            }
        };
        origins.sort_unstable();
        origins.dedup();
        origins
    }

    /// Sorts by place, kind and text, and drops repetitions: the order no longer depends on who came first.
    pub(crate) fn settle(errors: &mut Vec<Self>) {
        errors.sort_by_cached_key(|error| (error.path().pointer(), error.code(), error.to_string()));
        errors.dedup();
    }
}

impl FromStr for MountPath {
    type Err = MergeError;

    /// Reads a JSON pointer of property names; `""` is the root.
    ///
    /// # Errors
    /// [`MergeError::MountPath`] when the text does not start with `/` or holds a bad `~` escape.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of_pointer(text).ok_or_else(|| MergeError::MountPath { text: text.to_owned() })
    }
}

fn side(side: &ConflictSide) -> String {
    match &side.value {
        Some(value) => format!("{} says {value}", side.origin),
        None => format!("{} leaves it out", side.origin),
    }
}
