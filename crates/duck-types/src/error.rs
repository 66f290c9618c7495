//! Every way in which this crate says no. Violations of a contract are not errors: see [`crate::check_crd`].

use thiserror::Error;

/// Why a duck could not be read or written.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DuckError {
    /// The object does not have the sub-tree.
    #[error("{duck} is absent: {path} does not exist below {}", root_or(at))]
    Absent {
        /// [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer to where the sub-tree should be.
        path: String,
        /// Pointer to the longest part of the path that exists; empty for the object itself.
        at: String,
    },
    /// The sub-tree, or something on the way to it, is `null`.
    #[error("{duck} is null at {at}")]
    Null {
        /// [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer to the null.
        at: String,
    },
    /// The sub-tree is there but has another shape.
    #[error("{duck} does not have the expected shape at {pointer}: {message}")]
    Mismatch {
        /// [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer, from the root of the object, to the offending value.
        pointer: String,
        /// What was expected there, in serde's words.
        message: String,
    },
    /// The edited duck has no JSON form, for example because of a map with keys that are not strings.
    #[error("{duck} cannot be written as JSON: {message}")]
    Unwritable {
        /// [`crate::DuckType::NAME`].
        duck: &'static str,
        /// What serde_json said.
        message: String,
    },
    /// The object lacks the identity a patch needs; it was not read from an API server.
    #[error("the object has no metadata.{field}: patch objects that were read from the API server")]
    Anonymous {
        /// The missing metadata field.
        field: &'static str,
    },
}

impl DuckError {
    /// Whether there is nothing to read, as opposed to something unreadable.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Absent { .. } | Self::Null { .. })
    }
}

fn root_or(at: &str) -> &str {
    if at.is_empty() { "the root of the object" } else { at }
}

/// Why a text is not a [`crate::DuckPath`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// A duck is a proper part of an object.
    #[error("a duck path names at least one field, such as /status")]
    Empty,
    /// RFC 6901: every segment is introduced by a slash.
    #[error("a duck path starts with a slash, such as /status/conditions")]
    NoSlash,
    /// RFC 6901: a tilde is written `~0` and a slash inside a name `~1`.
    #[error("segment {segment:?} has a tilde that is followed by neither 0 nor 1")]
    Escape {
        /// The segment as written.
        segment: String,
    },
    /// `apiVersion`, `kind` and `metadata` identify the object and are typed by every client already.
    #[error("a duck path cannot lead into {field}, which identifies the object")]
    Identity {
        /// The first segment.
        field: String,
    },
}
