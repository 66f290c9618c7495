//! What a registrar receives, and what state the watch of one kind is in. Made by `switchboard`, queued by
//! `replay`; nothing here knows how an event travels.

use std::fmt;
use std::sync::Arc;

use kube::core::GroupVersionKind;

use crate::object::WatchedObject;

/// Something happened to a kind that the registrar asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchEvent {
    /// The kind, as it was asked for.
    pub gvk: GroupVersionKind,
    /// What happened.
    pub kind: EventKind,
}

/// What happened to a kind.
///
/// A slow reader gets the latest state of an object and not every state between, but never loses an object
/// or a delete it has to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The object exists in this form: it is new, or it changed.
    Applied(Arc<WatchedObject>),
    /// The object is gone; this is its last known form. Delivered once, and only for an object that was
    /// delivered as [`Applied`](Self::Applied). A new object of the same name is a delete and an apply.
    Deleted(Arc<WatchedObject>),
    /// Every object that existed when the kind was listed has been delivered. Once after the kind was
    /// asked for, and once more whenever the kind ceased to be served and came back.
    Synced,
    /// The watch changed state.
    Status(GvkStatus),
}

/// The state of the watch of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GvkStatus {
    /// The API server does not serve the kind, or was not asked yet. It starts by itself when it is served.
    #[default]
    Pending,
    /// The objects are being listed.
    Listing,
    /// Listed and watched: the store follows the server.
    Ready,
    /// Was complete, and is cut off from the server now. The store keeps what it had.
    Stale {
        /// What the last attempt met.
        error: Arc<str>,
    },
    /// Was never complete, and the attempts fail.
    Degraded {
        /// What the last attempt met.
        error: Arc<str>,
    },
    /// The server refuses this client. The store keeps what it had; retried slowly.
    Forbidden {
        /// What is refused.
        verb: Verb,
        /// The server's words.
        error: Arc<str>,
    },
    /// The server serves the kind without a verb that a watch needs. Looked at again slowly.
    Unwatchable {
        /// The verb that is missing.
        verb: Verb,
    },
}

/// What the manager asks of an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Ask how the kind is served.
    Discover,
    /// List its objects.
    List,
    /// Follow their changes.
    Watch,
}

// === impl GvkStatus ===

impl GvkStatus {
    /// The store is complete and follows the server.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Only an administrator can help: access or the kind's definition has to change.
    pub fn is_stuck(&self) -> bool {
        matches!(self, Self::Forbidden { .. } | Self::Unwatchable { .. })
    }
}

impl fmt::Display for GvkStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("not served yet"),
            Self::Listing => f.write_str("listing"),
            Self::Ready => f.write_str("ready"),
            Self::Stale { error } => write!(f, "stale: {error}"),
            Self::Degraded { error } => write!(f, "cannot start: {error}"),
            Self::Forbidden { verb, error } => write!(f, "{verb} is forbidden: {error}"),
            Self::Unwatchable { verb } => write!(f, "the server does not offer {verb}"),
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discover => "discovery",
            Self::List => "list",
            Self::Watch => "watch",
        })
    }
}
