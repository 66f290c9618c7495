//! The only seam to an API server: how a kind is served, its objects page by page, its changes. The
//! decisions (when to list, to wait, to discover again) are `watcher`'s, for every source alike.
//! [`KubeSource`] asks a real server; `testing` holds a server in memory.

mod discovery;
mod kube;

use std::error::Error as StdError;
use std::time::Duration;

use ::kube::core::{ApiResource, GroupVersionKind};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;

pub use self::kube::KubeSource;
use crate::event::Verb;
use crate::interest::Selection;

/// The manager's view of an API server. Three verbs and no policy: an implementation answers each call
/// once and does not retry. The manager drops the future of a call at its deadline, and when no registrar needs the answer any
/// more: that must be safe at every await.
///
/// # Errors
/// The variant of [`SourceError`] decides what the manager does next; a call that failed is repeated with back-off.
pub trait Source: Send + Sync + 'static {
    /// Resolves how the kind is served now. An empty version stands for the version that the server prefers.
    ///
    /// With [`Freshness::Recent`] an answer may be up to a second old; with [`Freshness::Now`] it must come from a
    /// request that was sent after the call: the kind has just been found to be gone, or to be defined.
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>>;

    /// Returns one page of the objects, as recent as the server has them.
    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>>;

    /// Opens a watch of the changes after `version`. The server closes it after `timeout`.
    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>>;
}

/// The required age of an answer to discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Freshness {
    /// At most a second old, so that many kinds share one request.
    Recent,
    /// From a request sent after the call.
    Now,
}

/// The version, scope and verbs with which a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Its plural, group and version.
    pub resource: ApiResource,
    /// True if its objects are in namespaces.
    pub namespaced: bool,
    /// The verb that the server lacks, of those that a watch needs.
    pub missing: Option<Verb>,
}

/// The objects that are listed and watched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchTarget {
    /// The plural, group and version.
    pub resource: ApiResource,
    /// The namespace; `None` for all.
    pub namespace: Option<Box<str>>,
    /// The selectors.
    pub selection: Selection,
}

/// The part of a list that is requested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Page {
    /// At most so many objects; `None` for all at once.
    pub limit: Option<u32>,
    /// The token of the end of the previous page.
    pub continue_token: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Listed {
    /// The objects as the server wrote them.
    pub items: Vec<Box<RawValue>>,
    /// The state of the server that the whole list shows.
    pub resource_version: String,
    /// The token of the next page; `None` on the last.
    pub continue_token: Option<String>,
}

/// The changes of an open watch. Ends when the server closes it; dropping it closes it.
pub type SourceEvents = BoxStream<'static, Result<SourceEvent, SourceError>>;

/// One message of a watch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SourceEvent {
    /// The object was added or modified.
    Applied(Box<RawValue>),
    /// The object was deleted; its final form.
    Deleted(Box<RawValue>),
    /// Nothing to report up to this version.
    Bookmark(String),
}

/// A failed request, by what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Nothing is served there (404, or the kind is missing in its group): discover again.
    #[error("the kind is not served")]
    NotServed,
    /// This client may not (403): an administrator has to act.
    #[error("{0}")]
    Forbidden(String),
    /// The version or the page is too old (410): list from the beginning.
    #[error("the requested version has expired")]
    Expired,
    /// One message could not be decoded; a watch goes on after it.
    #[error("the server sent a message that Kubernetes does not specify")]
    Undecodable(#[source] Box<dyn StdError + Send + Sync>),
    /// The server is too busy (429) and names the time to ask again.
    #[error("{message}")]
    Busy {
        /// The server's message.
        message: String,
        /// Its `Retry-After`.
        retry_after: Duration,
    },
    /// The server answered that it cannot do this (400, 500, 504 and the like). To a watch, the version may be the reason:
    /// list again.
    #[error("{0}")]
    Rejected(String),
    /// The server cannot be reached, or not now (503): try again later.
    #[error("{0}")]
    Unavailable(String),
}

// === impl SourceError ===

impl SourceError {
    /// Classifies an HTTP status. `retry_after` counts for 429 only.
    pub fn of_status(code: u16, message: &str, retry_after: Duration) -> Self {
        let text = || format!("{message} (HTTP {code})");
        match code {
            403 => Self::Forbidden(message.to_owned()),
            404 => Self::NotServed,
            410 => Self::Expired,
            429 => Self::Busy { message: text(), retry_after },
            // An expired token, a proxy without its server, and a server that starts are no answer about a version.
            401 | 502 | 503 => Self::Unavailable(text()),
            _ => Self::Rejected(text()),
        }
    }
}

// === impl Served ===

impl Served {
    /// Describes a kind that can be listed and watched.
    pub fn new(resource: ApiResource, namespaced: bool) -> Self {
        Self { resource, namespaced, missing: None }
    }
}

// === impl WatchTarget ===

impl WatchTarget {
    /// Selects all objects in all namespaces.
    pub fn all(resource: ApiResource) -> Self {
        Self { resource, namespace: None, selection: Selection::default() }
    }
}

// === impl Page ===

impl Page {
    /// Requests the first page of at most `limit` objects.
    pub fn first(limit: Option<u32>) -> Self {
        Self { limit, continue_token: None }
    }
}

// === impl Listed ===

impl Listed {
    /// Creates the last page of a list.
    pub fn last(items: Vec<Box<RawValue>>, resource_version: impl Into<String>) -> Self {
        Self { items, resource_version: resource_version.into(), continue_token: None }
    }
}
