//! Errors of calls. The answers of an API server are `source`'s [`SourceError`]; the state of a kind is a
//! [`GvkStatus`], because it passes and is not a failure of a call.
//!
//! [`SourceError`]: crate::source::SourceError
//! [`GvkStatus`]: crate::event::GvkStatus

use std::sync::Arc;

use kube::core::GroupVersionKind;

use crate::event::GvkStatus;
use crate::object::ObjectKey;

/// The reason why a call of a registrar or of the manager failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A registrar of this name is alive. Use another name, or drop the first registrar: its name is free
    /// as soon as the drop returns.
    #[error("a registrar named {name:?} already exists: drop it first, or choose another name")]
    #[non_exhaustive]
    DuplicateName {
        /// The name that is taken.
        name: String,
    },
    /// The driver has ended: it was shut down or dropped. Build a new manager.
    #[error("the watch manager has shut down: build a new one")]
    ShutDown,
    /// The last registrar has left the kind.
    #[error("the kind is not watched any more: ask for it with a registrar")]
    Closed,
}

/// An object does not have the shape of the type that it is read as. What the consumer knows of it is out of date.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("the {} {key} does not have the shape of the type that it is read as", gvk.kind)]
pub struct ObjectDecodeError {
    /// The kind, as it was asked for.
    pub gvk: Arc<GroupVersionKind>,
    /// The object.
    pub key: ObjectKey,
    /// It does not exist any more: a consumer that holds an earlier form has to let go of it.
    pub deleted: bool,
    /// The field that differs.
    pub source: serde_json::Error,
}

/// A kind is not ready.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReadyError {
    /// The time is over; the kind is in this state.
    #[error("{kind} is not ready in time: {status}")]
    #[non_exhaustive]
    TimedOut {
        /// The kind.
        kind: String,
        /// Its state.
        status: GvkStatus,
    },
    /// The registrar does not ask for the kind any more.
    #[error("{kind} was removed from the registrar")]
    #[non_exhaustive]
    Removed {
        /// The kind.
        kind: String,
    },
    /// The driver has ended.
    #[error("the watch manager has shut down: build a new one")]
    ShutDown,
}
