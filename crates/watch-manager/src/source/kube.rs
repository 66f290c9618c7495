//! The source that asks a real API server, through kube's client. Objects are kept as the text that the
//! server sent: `kube::Api` would parse them into trees of several times the size.

use std::borrow::Borrow;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{ListParams, WatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectList, Request, Resource, Status};
use kube::discovery::{self, ApiCapabilities, Scope, verbs};
use kube::error::DiscoveryError;
use kube::{Client, Error};
use serde_json::value::RawValue;

use super::discovery::DiscoveryCache;
use super::{Freshness, Listed, Page, Served, Source, SourceError, SourceEvents, WatchTarget};
use crate::event::Verb;
use crate::interest::Selection;

mod events;

/// Lists and watches through a kube [`Client`].
#[derive(Clone)]
pub struct KubeSource {
    client: Client,
    discovery: DiscoveryCache,
}

// === impl KubeSource ===

impl KubeSource {
    /// Sends its requests through `client`.
    pub fn new(client: Client) -> Self {
        Self { client, discovery: DiscoveryCache::default() }
    }

    /// The aggregated answer, unless the kind was just seen to change or the server has no aggregated discovery:
    /// then the group version is asked for.
    async fn find(
        &self,
        gvk: &GroupVersionKind,
        freshness: Freshness,
    ) -> Result<(ApiResource, ApiCapabilities), SourceError> {
        if freshness == Freshness::Now && !gvk.version.is_empty() {
            self.discovery.forget();
            return discovery::pinned_kind(&self.client, gvk).await.map_err(sort);
        }
        match self.discovery.find(&self.client, gvk, freshness).await {
            Ok(found) => found.ok_or(SourceError::NotServed),
            // The server answered in another format: it has no aggregated discovery.
            Err(error) if matches!(*error, Error::SerdeError(_)) && !gvk.version.is_empty() => {
                discovery::pinned_kind(&self.client, gvk).await.map_err(sort)
            }
            Err(error) => Err(sort(error)),
        }
    }
}

impl Source for KubeSource {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        async move {
            let (resource, capabilities) = self.find(gvk, freshness).await?;
            let missing = [(verbs::LIST, Verb::List), (verbs::WATCH, Verb::Watch)]
                .into_iter()
                .find(|(name, _)| !capabilities.supports_operation(name))
                .map(|(_, verb)| verb);
            let namespaced = capabilities.scope == Scope::Namespaced;
            Ok(Served { missing, ..Served::new(resource, namespaced) })
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            let params = list_params(&target.selection, page);
            let endpoint = endpoint(target);
            let request = match target.selection.metadata_only {
                true => endpoint.list_metadata(&params),
                false => endpoint.list(&params),
            };
            let request = request.map_err(unavailable)?;
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
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move {
            let params = watch_params(&target.selection, timeout);
            let endpoint = endpoint(target);
            let request = match target.selection.metadata_only {
                true => endpoint.watch_metadata(&params, version),
                false => endpoint.watch(&params, version),
            };
            let request = request.map_err(unavailable)?;
            Ok(events::events(self.client.request_stream(request).await.map_err(sort)?))
        }
        .boxed()
    }
}

fn endpoint(target: &WatchTarget) -> Request {
    Request::new(DynamicObject::url_path(&target.resource, target.namespace.as_deref()))
}

fn list_params(selection: &Selection, page: &Page) -> ListParams {
    ListParams {
        limit: page.limit,
        continue_token: page.continue_token.clone(),
        label_selector: labels(selection),
        field_selector: selection.fields.as_deref().map(ToOwned::to_owned),
        ..ListParams::default()
    }
}

fn watch_params(selection: &Selection, timeout: Duration) -> WatchParams {
    WatchParams {
        timeout: Some(u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX)),
        bookmarks: true,
        label_selector: labels(selection),
        field_selector: selection.fields.as_deref().map(ToOwned::to_owned),
        ..WatchParams::default()
    }
}

fn labels(selection: &Selection) -> Option<String> {
    (!selection.labels.selects_all()).then(|| selection.labels.to_string())
}

fn sort(error: impl Borrow<Error>) -> SourceError {
    match error.borrow() {
        Error::Api(status) => sort_status(status),
        Error::Discovery(DiscoveryError::MissingKind(_) | DiscoveryError::MissingApiGroup(_)) => {
            SourceError::NotServed
        }
        Error::SerdeError(error) => SourceError::Undecodable(error.to_string().into()),
        Error::Service(cause) => cut_off("cannot reach the API server", &**cause),
        Error::HyperError(cause) => cut_off("cannot reach the API server", cause),
        other => unavailable(other),
    }
}

/// The failure with its causes, each once. kube's message is the name of the error.
fn cut_off(what: &str, cause: &(dyn std::error::Error + 'static)) -> SourceError {
    let mut text = what.to_owned();
    for cause in events::causes(cause) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    SourceError::Unavailable(text)
}

fn sort_status(status: &Status) -> SourceError {
    SourceError::of_status(status.code, &status.message, retry_after(status))
}

/// The seconds are in the body, beside the header of the same name.
fn retry_after(status: &Status) -> Duration {
    let details = status.details.as_ref();
    Duration::from_secs(details.map(|details| u64::from(details.retry_after_seconds)).unwrap_or_default())
}

/// The message alone: kube's errors repeat their sources in it.
fn unavailable(error: impl std::error::Error) -> SourceError {
    SourceError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests;
