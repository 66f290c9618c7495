//! The only seam to an API server: how a kind is served, its objects page by page, its changes. The
//! decisions (when to list, to wait, to look again) are `feed`'s, for every source alike.
//! [`KubeSource`] asks a real server; `testing` holds a server in memory.

mod kube;

use std::error::Error as StdError;
use std::time::Duration;

use ::kube::core::{ApiResource, GroupVersionKind};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::value::RawValue;

pub use self::kube::KubeSource;
use crate::event::Verb;

/// What the manager needs of an API server. Three verbs and no policy: an implementation answers each call
/// once and does not retry.
pub trait Source: Send + Sync + 'static {
    /// How the kind is served now. Nothing may be remembered from earlier calls: a kind can come back with
    /// another plural or scope.
    fn resolve<'a>(&'a self, gvk: &'a GroupVersionKind) -> BoxFuture<'a, Result<Served, SourceError>>;

    /// One page of the kind's objects, as recent as the server has them.
    fn list<'a>(
        &'a self,
        resource: &'a ApiResource,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>>;

    /// The changes after `version`. The server closes the watch after `timeout`.
    fn watch<'a>(
        &'a self,
        resource: &'a ApiResource,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Frames, SourceError>>;
}

/// How a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Its plural, group and version.
    pub resource: ApiResource,
    /// The verb that the server lacks, of those that a watch needs.
    pub missing: Option<Verb>,
}

/// Which part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// At most so many objects; `None` for all at once.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub continue_token: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// The objects as the server wrote them.
    pub items: Vec<Box<RawValue>>,
    /// The state of the server that the whole list shows.
    pub resource_version: String,
    /// Where the next page begins; `None` on the last.
    pub continue_token: Option<String>,
}

/// The changes of an open watch. Ends when the server closes it; dropping it closes it.
pub type Frames = BoxStream<'static, Result<Frame, SourceError>>;

/// One message of a watch.
#[derive(Debug, Clone)]
pub enum Frame {
    /// The object was added or modified.
    Applied(Box<RawValue>),
    /// The object was deleted; its final form.
    Deleted(Box<RawValue>),
    /// Nothing to report up to this version.
    Bookmark(String),
}

/// Why the API server did not answer, told apart by what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Nothing is served there (404, or the kind is missing in its group): ask again how it is served.
    #[error("the kind is not served")]
    NotServed,
    /// This client may not (403): an administrator has to act.
    #[error("{0}")]
    Forbidden(String),
    /// The version or the page is too old (410): list from the beginning.
    #[error("the requested version has expired")]
    Expired,
    /// One message could not be understood; a watch goes on after it.
    #[error("the server sent what Kubernetes does not specify")]
    Undecodable(#[source] Box<dyn StdError + Send + Sync>),
    /// Anything else: try again later.
    #[error("{0}")]
    Unavailable(String),
}
