//! The events that a registrar receives, and the states of the watch of a kind. `dispatcher` makes them, `backlog`
//! queues them.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use kube::core::GroupVersionKind;

use crate::object::WatchedObject;

/// A change of a kind that the registrar asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// The kind, as it was asked for.
    pub gvk: Arc<GroupVersionKind>,
    /// The change: an object that came, changed or went, or a new state of the watch.
    pub kind: EventKind,
    /// The stay of the kind among the registrar's kinds. Another number than in the event before means that the kind was
    /// removed and added again, or asked for in another scope: a new snapshot begins, and what is known of its objects
    /// from before is void.
    pub epoch: u64,
}

/// The change of a kind.
///
/// A slow reader gets the latest state of an object and not every state between, but never loses an object
/// or a delete of an object that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The object was created or modified; this is its current form.
    Applied(Arc<WatchedObject>),
    /// The object was deleted; this is its last known form. Delivered once, and only for an object that was
    /// delivered as [`Applied`](Self::Applied). A new object of the same name is a delete and an apply.
    Deleted(Arc<WatchedObject>),
    /// Every object that existed when the kind was listed has been delivered. Once after the kind was
    /// asked for, and once more whenever the kind ceased to be served and came back. An
    /// [ordered](crate::WatchManager::ordered_registrar) registrar is given it after every list, because what happened
    /// before a list was perhaps not delivered step by step.
    Synced,
    /// The watch changed state.
    Status(GvkStatus),
    /// The registrar's backlog is [ordered](crate::WatchManager::ordered_registrar) and was too long: of the changes
    /// that follow, only the latest of each object is delivered, until the queued ones are read.
    Lagged,
}

/// The state of the watch of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GvkStatus {
    /// The API server does not serve the kind, or was not asked yet. The watch starts when it is served.
    #[default]
    Pending,
    /// The objects are being listed.
    Listing,
    /// Listed and watched: the store follows the server.
    Ready,
    /// Was complete, and is cut off from the server now. The store keeps what it had.
    #[non_exhaustive]
    Stale {
        /// The error of the last attempt.
        error: Arc<str>,
    },
    /// Was never complete, and the attempts fail.
    #[non_exhaustive]
    Degraded {
        /// The error of the last attempt.
        error: Arc<str>,
    },
    /// The server refuses this client (403). The store keeps what it had.
    #[non_exhaustive]
    Forbidden {
        /// The request that is refused.
        verb: Verb,
        /// The server's message.
        error: Arc<str>,
    },
    /// The server serves the kind without a verb that a watch needs.
    #[non_exhaustive]
    Unwatchable {
        /// The verb that is missing.
        verb: Verb,
    },
    /// The kind is cluster-scoped and was asked for in certain namespaces: ask for it without namespaces.
    NotNamespaced,
    /// Nothing follows the server any more: the driver has ended, or, for a store, the last registrar has left the kind.
    /// Not an event: a stream ends instead.
    Closed,
}

/// The state of a kind, since when, and how it got there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindStatus {
    /// The state.
    pub status: GvkStatus,
    /// The time when the kind entered this state. A new error message is not a new state.
    pub since: Instant,
    /// Failed attempts since the watch was last ready or asked for.
    pub attempts: u32,
    /// The time when the server last sent anything for the kind: a page of a list, an event or a bookmark. `None` if it
    /// never did. A [`Ready`](GvkStatus::Ready) kind is at most `Config::idle_timeout` and one request deadline behind
    /// it.
    pub last_contact: Option<Instant>,
}

/// A request of the manager to an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verb {
    /// Ask how the kind is served.
    Discover,
    /// List its objects.
    List,
    /// Follow their changes.
    Watch,
}

// === impl WatchEvent ===

impl WatchEvent {
    /// Makes an event of epoch 0, for tests of code that consumes events.
    pub fn new(gvk: impl Into<Arc<GroupVersionKind>>, kind: EventKind) -> Self {
        Self { gvk: gvk.into(), kind, epoch: 0 }
    }
}

// === impl GvkStatus ===

impl GvkStatus {
    /// Returns true if the store is complete and follows the server.
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Returns true if an administrator has to change access or the definition of the kind.
    pub fn is_stuck(&self) -> bool {
        matches!(self, Self::Forbidden { .. } | Self::Unwatchable { .. } | Self::NotNamespaced)
    }

    /// The status that stands for the parts of a scope: the worst.
    pub(crate) fn worst<'a>(statuses: impl Iterator<Item = &'a Self>) -> Self {
        statuses.max_by_key(|status| status.severity()).cloned().unwrap_or_default()
    }

    fn severity(&self) -> u8 {
        match self {
            Self::Ready => 0,
            Self::Stale { .. } => 1,
            Self::Listing => 2,
            Self::Pending => 3,
            Self::Degraded { .. } => 4,
            Self::NotNamespaced => 5,
            Self::Unwatchable { .. } => 6,
            Self::Forbidden { .. } => 7,
            Self::Closed => 8,
        }
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
            Self::NotNamespaced => f.write_str("the kind is cluster-scoped: ask for it without namespaces"),
            Self::Closed => f.write_str("not watched any more"),
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
