//! The source that asks a real API server, through kube's client. Objects are kept as the text that the
//! server sent: `kube::Api` would parse them into trees of several times the size.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectList, Request, Resource, Status};
use kube::discovery::{self, verbs};
use kube::error::DiscoveryError;
use kube::{Client, Error};
use serde_json::value::RawValue;

use super::{Frame, Frames, Listed, Page, Served, Source, SourceError};
use crate::event::Verb;

/// Lists and watches all namespaces through a kube [`Client`].
#[derive(Clone)]
pub struct KubeSource {
    client: Client,
}

// === impl KubeSource ===

impl KubeSource {
    /// Asks through `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Source for KubeSource {
    fn resolve<'a>(&'a self, gvk: &'a GroupVersionKind) -> BoxFuture<'a, Result<Served, SourceError>> {
        async move {
            let (resource, capabilities) = discovery::pinned_kind(&self.client, gvk).await.map_err(sort)?;
            let missing = [(verbs::LIST, Verb::List), (verbs::WATCH, Verb::Watch)]
                .into_iter()
                .find(|(name, _)| !capabilities.supports_operation(name))
                .map(|(_, verb)| verb);
            Ok(Served { resource, missing })
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        resource: &'a ApiResource,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            let params = ListParams {
                limit: page.limit,
                continue_token: page.continue_token.clone(),
                ..ListParams::default()
            };
            let request = endpoint(resource).list(&params).map_err(unavailable)?;
            let list = self.client.request::<ObjectList<Box<RawValue>>>(request).await.map_err(sort)?;
            Ok(Listed {
                items: list.items,
                resource_version: list.metadata.resource_version.unwrap_or_default(),
                continue_token: list.metadata.continue_.filter(|token| !token.is_empty()),
            })
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        resource: &'a ApiResource,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Frames, SourceError>> {
        async move {
            let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
            let params = WatchParams { timeout: Some(seconds), bookmarks: true, ..WatchParams::default() };
            let request = endpoint(resource).watch(&params, version).map_err(unavailable)?;
            let events = self.client.request_events::<Box<RawValue>>(request).await.map_err(sort)?;
            Ok(events.map(frame).boxed())
        }
        .boxed()
    }
}

fn endpoint(resource: &ApiResource) -> Request {
    Request::new(DynamicObject::url_path(resource, None))
}

fn frame(event: Result<WatchEvent<Box<RawValue>>, Error>) -> Result<Frame, SourceError> {
    let event = event.map_err(|error| match error {
        // What kube cannot read as an event it reads as a Status, all of whose fields may be missing. Taken
        // for a failure, one such line would be met again after every reconnection.
        Error::Api(status) if status.code == 0 => SourceError::Undecodable(status),
        other => sort(other),
    })?;
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => Ok(Frame::Applied(object)),
        WatchEvent::Deleted(object) => Ok(Frame::Deleted(object)),
        WatchEvent::Bookmark(bookmark) => Ok(Frame::Bookmark(bookmark.metadata.resource_version)),
        WatchEvent::Error(status) => Err(sort_status(&status)),
    }
}

fn sort(error: Error) -> SourceError {
    match error {
        Error::Api(status) => sort_status(&status),
        Error::Discovery(DiscoveryError::MissingKind(_) | DiscoveryError::MissingApiGroup(_)) => {
            SourceError::NotServed
        }
        Error::SerdeError(error) => SourceError::Undecodable(Box::new(error)),
        other => unavailable(other),
    }
}

fn sort_status(status: &Status) -> SourceError {
    match status.code {
        403 => SourceError::Forbidden(status.message.clone()),
        404 => SourceError::NotServed,
        410 => SourceError::Expired,
        code => SourceError::Unavailable(format!("{} (HTTP {code})", status.message)),
    }
}

/// The message alone: kube's errors repeat their sources in it.
fn unavailable(error: impl std::error::Error) -> SourceError {
    SourceError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests;
