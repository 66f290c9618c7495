//! Edits that were overtaken by another client.

use std::fmt;

use kube::core::DynamicObject;
use serde_json::Value;

use crate::DuckType;
use crate::diff::{DuckDiff, Identity};
use crate::error::DuckError;
use crate::patch::{ValueChange, changes};
use crate::projection::project;
use crate::view::root;

/// The reason why an edit no longer applies: another client wrote the object after it was read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StaleError {
    /// The object was written. Read it again and repeat the edit.
    Changed {
        /// The differences below the paths of the duck; empty if only other parts changed.
        changes: Vec<ValueChange>,
    },
    /// The object was deleted, and another one has its name.
    Recreated,
    /// The object was deleted.
    Deleted,
}

impl StaleError {
    pub(crate) fn between<T: DuckType>(
        read: &Identity,
        observed: &Value,
        current: &DynamicObject,
    ) -> Result<Option<Self>, DuckError> {
        let now = Identity::of(current);
        if now.uid != read.uid {
            return Ok(Some(Self::Recreated));
        }
        let changes = changes(observed, &project(T::NAME, T::PLACE.paths(), &*root::<T>(current)?)?);
        Ok((now.version != read.version || !changes.is_empty()).then_some(Self::Changed { changes }))
    }
}

impl DuckDiff {
    /// Compares the object that was read with its `current` state, and returns what another client changed, if
    /// anything: then this edit is stale and must be made again.
    ///
    /// # Errors
    ///
    /// [`DuckError::Mismatch`] if the paths of the duck lead through something else than objects now.
    pub fn stale<T: DuckType>(&self, current: &DynamicObject) -> Result<Option<StaleError>, DuckError> {
        StaleError::between::<T>(&self.identity, &self.observed, current)
    }

    /// As [`DuckDiff::stale`], after the first of two patches gave `yaml`.
    #[cfg(feature = "client")]
    pub(crate) fn stale_after<T: DuckType>(
        &self,
        written: &DynamicObject,
        current: &DynamicObject,
    ) -> Result<Option<StaleError>, DuckError> {
        let observed = project(T::NAME, T::PLACE.paths(), &*root::<T>(written)?)?;
        StaleError::between::<T>(&Identity::of(written), &observed, current)
    }
}

impl fmt::Display for StaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { changes } if changes.is_empty() => {
                f.write_str("another client wrote the object, but not this part of it")
            }
            Self::Changed { changes } => {
                let pointers: Vec<&str> = changes.iter().map(|change| change.pointer.as_str()).collect();
                write!(f, "another client wrote {}", pointers.join(", "))
            }
            Self::Recreated => f.write_str("the object was deleted and created again"),
            Self::Deleted => f.write_str("the object was deleted"),
        }
    }
}

impl std::error::Error for StaleError {}
