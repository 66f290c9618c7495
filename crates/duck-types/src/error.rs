//! The errors of reading and writing a duck. Violations of a contract are not errors: see [`crate::check_crd`].

use serde_json::Value;
use thiserror::Error;

/// The reason why a duck cannot be read or written.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DuckError {
    /// The object does not have the sub-tree.
    #[error("{duck} is absent: {path} does not exist below {}", root_or(at))]
    Absent {
        /// The duck, by its [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer to where the sub-tree should be.
        path: String,
        /// Pointer to the longest part of the path that exists; empty for the object itself.
        at: String,
    },
    /// The sub-tree, or something on the way to it, is `null`.
    #[error("{duck} is null at {at}")]
    Null {
        /// The duck, by its [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer to the null.
        at: String,
    },
    /// The sub-tree is there but has another shape.
    #[error("{duck} does not have the expected shape at {pointer}: {message}")]
    Mismatch {
        /// The duck, by its [`crate::DuckType::NAME`].
        duck: &'static str,
        /// Pointer, from the root of the object, to the value of another shape.
        pointer: String,
        /// The expectation, in serde's words.
        message: String,
    },
    /// The edited duck has no JSON form that reads back, or that this kind of patch can carry.
    #[error("{duck} cannot be written: {message}")]
    Unwritable {
        /// The duck, by its [`crate::DuckType::NAME`].
        duck: &'static str,
        /// The reason.
        message: String,
    },
    /// A value that holds floats or nulls has changed and the patch is not to test the resourceVersion: the API server
    /// compares numbers as text, and fails on nulls in lists, so a `test` of the value could fail for no reason.
    #[error("{pointer} holds floats or nulls, which a patch cannot test: test the resourceVersion instead")]
    Untestable {
        /// Pointer to the value.
        pointer: String,
    },
    /// A duck of the metadata is converted and cannot be borrowed from.
    #[error("{duck} cannot be borrowed: use view() for ducks of the metadata")]
    NotBorrowed {
        /// The duck, by its [`crate::DuckType::NAME`].
        duck: &'static str,
    },
    /// The object lacks the identity a patch needs; it was not read from an API server.
    #[error("the object has no metadata.{field}: patch objects that were read from the API server")]
    MissingIdentity {
        /// The missing metadata field.
        field: &'static str,
    },
}

impl DuckError {
    /// The value at `pointer` is not an object.
    pub(crate) fn not_an_object(duck: &'static str, pointer: String, found: &Value) -> Self {
        Self::Mismatch { duck, pointer, message: format!("expected an object, found {}", type_name(found)) }
    }

    /// Returns true if there is nothing to read, as opposed to something unreadable.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Absent { .. } | Self::Null { .. })
    }
}

/// The JSON name of the type of a value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn root_or(at: &str) -> &str {
    if at.is_empty() { "the root of the object" } else { at }
}

/// The reason why a string is not a [`crate::DuckPath`].
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
    #[error("{path:?} has a tilde that is followed by neither 0 nor 1")]
    Escape {
        /// The path as written.
        path: String,
    },
    /// `apiVersion`, `kind` and most of `metadata` identify the object or belong to the API server.
    #[error(
        "a duck path cannot lead into {path}: of the identity only metadata.labels, annotations, finalizers \
         and ownerReferences can be a duck"
    )]
    Identity {
        /// The path as written.
        path: String,
    },
}
