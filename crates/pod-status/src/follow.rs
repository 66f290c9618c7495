//! The objects of a collection and then their changes, from requests of this crate's own or from a host that watches
//! already. For both, the age of what is known is measured here.

mod requests;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use tokio::time::{Instant, timeout};

/// The age of the copy is measured this often while nothing comes.
const MEASURED: Duration = Duration::from_secs(5);

/// A source of changes from watches of the host, so that a process has one watch of a kind. Without it this crate lists and
/// watches by itself.
///
/// ```
/// use futures::stream::{self, BoxStream, StreamExt};
/// use pod_status::{Follow, Followed, FollowSelection};
///
/// /// A host in whose cluster there is nothing.
/// #[derive(Debug)]
/// struct Nothing;
///
/// impl Follow for Nothing {
///     fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed> {
///         println!("{} in {}", selection.resource.kind, selection.namespace);
///         stream::iter([Followed::Begin, Followed::End]).chain(stream::pending()).boxed()
///     }
/// }
/// ```
pub trait Follow: Debug + Send + Sync + 'static {
    /// Returns the objects of a selection, then every change of one, in the server's order: a change that is left out because a
    /// later one followed could be another client's. The stream retries failures by itself and yields nothing
    /// meanwhile. Polled until it is dropped; one that ends leaves what it has yielded, the age of which grows.
    fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed>;
}

/// The objects that are followed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FollowSelection {
    /// The kind of the objects.
    pub resource: ApiResource,
    /// The namespace of the objects.
    pub namespace: String,
    /// The labels that the objects must have.
    pub labels: BTreeMap<String, String>,
    /// A field selector, in the API server's syntax.
    pub fields: Option<String>,
    /// True if only their metadata is read.
    pub metadata_only: bool,
}

/// One step of a collection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Followed {
    /// A list begins. Objects that it does not contain are gone.
    Begin,
    /// An object of the list.
    Found(DynamicObject),
    /// The list is complete.
    End,
    /// An object was created or changed.
    Applied(DynamicObject),
    /// An object was deleted, or has left the selection.
    Deleted(DynamicObject),
    /// The server has answered, without a change. The age of what is known is the time since the last step,
    /// so a stream that is connected yields this twice a minute or so.
    Alive,
}

/// The source of changes.
#[derive(Clone)]
pub(crate) struct Changes {
    client: kube::Client,
    host: Option<Arc<dyn Follow>>,
}

// === impl FollowSelection ===

impl FollowSelection {
    /// Selects all objects of a kind in a namespace.
    pub fn new(resource: ApiResource, namespace: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            labels: BTreeMap::new(),
            fields: None,
            metadata_only: false,
        }
    }

    pub(crate) fn label(mut self, key: &str, value: String) -> Self {
        self.labels.insert(key.to_owned(), value);
        self
    }

    pub(crate) fn fields(mut self, selector: &str) -> Self {
        self.fields = Some(selector.to_owned());
        self
    }

    pub(crate) fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

// === impl Changes ===

impl Changes {
    /// From the streams of `host`; from requests of `client` if there is none.
    pub(crate) fn new(client: kube::Client, host: Option<Arc<dyn Follow>>) -> Self {
        Self { client, host }
    }

    /// Follows the objects of a selection. Never ends, and never yields [`Followed::Alive`].
    pub(crate) fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed> {
        let steps = match &self.host {
            Some(host) => host.follow(selection),
            None => requests::follow(self.client.clone(), selection),
        };
        measured(selection.resource.kind.clone(), steps).boxed()
    }
}

/// Measures the time since the last step, also while there is none.
fn measured(kind: String, steps: BoxStream<'static, Followed>) -> impl Stream<Item = Followed> + Send {
    stream::unfold((kind, steps, Instant::now()), |(kind, mut steps, mut heard_at)| async move {
        loop {
            let age = metrics::gauge!("pod_status_watch_staleness_seconds", "kind" => kind.clone());
            age.set(heard_at.elapsed().as_secs_f64());
            match timeout(MEASURED, steps.next()).await {
                Ok(Some(Followed::Alive)) => heard_at = Instant::now(),
                Ok(Some(step)) => return Some((step, (kind, steps, Instant::now()))),
                Ok(None) => {
                    tracing::error!(kind, "a stream of the host has ended; what it yielded is out of date");
                    steps = stream::pending().boxed();
                }
                Err(_) => {}
            }
        }
    })
}

#[cfg(test)]
mod tests;
