//! A list of a collection and then its changes, by requests of this crate's own.
//!
//! kube's `watcher` with its default back-off restarts the back-off with every attempt to list, repeats an
//! HTTP 410 at the start of a watch for ever, and reads a silent connection for 295 seconds. Here every
//! request has a deadline, the delay grows until an event arrives, a 410 causes a new list, and a watch that
//! is silent for longer than the server promised is opened again where it ended.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::core::PartialObjectMeta;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until, timeout};

use super::{FollowSelection, Followed};
use crate::pace::{Retry, answered_patiently};
use crate::reason::reason;

/// The server ends a watch after this many seconds.
const WATCH_SECONDS: u32 = 30;
/// A watch without any event, its end included, for this long is a dead connection.
const SILENCE: Duration = Duration::from_secs(40);
/// A watch that ends earlier counts as failed: a server that closes every watch at once is not asked faster.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// Objects in one answer.
const PAGE: u32 = 500;

/// Follows the objects of a selection. Never ends; failures are logged and retried.
pub(super) fn follow(client: kube::Client, selection: &FollowSelection) -> BoxStream<'static, Followed> {
    let (resource, namespace) = (&selection.resource, &selection.namespace);
    if selection.metadata_only {
        let whole = |object: PartialObjectMeta<DynamicObject>| DynamicObject {
            types: object.types,
            metadata: object.metadata,
            data: serde_json::Value::Null,
        };
        return Follower::start(Api::namespaced_with(client, namespace, resource), selection, whole);
    }
    Follower::start(Api::namespaced_with(client, namespace, resource), selection, |object| object)
}

struct Open<K> {
    events: BoxStream<'static, kube::Result<WatchEvent<K>>>,
    since: Instant,
}

struct Follower<K> {
    api: Api<K>,
    kind: String,
    whole: fn(K) -> DynamicObject,
    params: ListParams,
    /// The version at which the next watch begins; `None` before a list is complete.
    version: Option<String>,
    watch: Option<Open<K>>,
    queue: VecDeque<Followed>,
    retry: Retry,
    retry_at: Instant,
}

impl<K> Follower<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    fn start(
        api: Api<K>,
        selection: &FollowSelection,
        whole: fn(K) -> DynamicObject,
    ) -> BoxStream<'static, Followed> {
        let mut params = ListParams::default().limit(PAGE);
        let labels = selection.labels.iter().map(|(key, value)| format!("{key}={value}"));
        params.label_selector = Some(labels.collect::<Vec<_>>().join(",")).filter(|text| !text.is_empty());
        params.field_selector.clone_from(&selection.fields);
        let follower = Self {
            api,
            kind: selection.resource.kind.clone(),
            whole,
            params,
            version: None,
            watch: None,
            queue: VecDeque::new(),
            retry: Retry::new(),
            retry_at: Instant::now(),
        };
        let steps = stream::unfold(follower, |mut follower| async move {
            let step = follower.next().await;
            Some((step, follower))
        });
        steps.boxed()
    }

    async fn next(&mut self) -> Followed {
        loop {
            if let Some(step) = self.queue.pop_front() {
                return step;
            }
            match self.advance().await {
                Ok(()) => self.queue.extend(self.queue.is_empty().then_some(Followed::Alive)),
                Err(error) => self.failed(&error),
            }
        }
    }

    async fn advance(&mut self) -> kube::Result<()> {
        sleep_until(self.retry_at).await;
        if self.watch.is_some() {
            return self.read().await;
        }
        match self.version.clone() {
            None => self.list().await,
            Some(version) => self.open(&version).await,
        }
    }

    /// Reads one page. Pages after the first continue the list that `params` names.
    async fn list(&mut self) -> kube::Result<()> {
        let page = answered_patiently(|| self.api.list(&self.params)).await;
        let page = page.inspect_err(|_| self.params.continue_token = None)?;
        if self.params.continue_token.is_none() {
            self.queue.push_back(Followed::Begin);
        }
        let whole = self.whole;
        self.queue.extend(page.items.into_iter().map(|object| Followed::Found(whole(object))));
        self.params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if self.params.continue_token.is_none() {
            self.version = Some(page.metadata.resource_version.unwrap_or_default());
            self.queue.push_back(Followed::End);
        }
        Ok(())
    }

    async fn open(&mut self, version: &str) -> kube::Result<()> {
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.label_selector.clone_from(&self.params.label_selector);
        params.field_selector.clone_from(&self.params.field_selector);
        let events = answered_patiently(|| self.api.watch(&params, version)).await?.boxed();
        self.watch = Some(Open { events, since: Instant::now() });
        Ok(())
    }

    async fn read(&mut self) -> kube::Result<()> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let since = watch.since;
        match timeout(SILENCE, watch.events.next()).await {
            Ok(Some(Ok(event))) => return self.note(event),
            Ok(Some(Err(error))) => {
                self.watch = None;
                return Err(error);
            }
            Ok(None) if since.elapsed() < SHORTEST_WATCH => self.wait(),
            Ok(None) => {}
            Err(elapsed) => {
                self.watch = None;
                return Err(kube::Error::Service(elapsed.into()));
            }
        }
        self.watch = None;
        Ok(())
    }

    fn note(&mut self, event: WatchEvent<K>) -> kube::Result<()> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.queue.push_back(Followed::Applied((self.whole)(object)));
            }
            WatchEvent::Deleted(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.queue.push_back(Followed::Deleted((self.whole)(object)));
            }
            WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
            WatchEvent::Error(status) => {
                self.watch = None;
                return Err(kube::Error::Api(status));
            }
        }
        self.retry.reset();
        Ok(())
    }

    fn failed(&mut self, error: &kube::Error) {
        if matches!(error, kube::Error::Api(status) if status.code == 410) {
            self.version = None;
        }
        let delay = self.retry.after(error);
        let (kind, reason) = (&self.kind, reason(error));
        tracing::warn!(kind, reason, ?delay, "cannot list or watch, will retry");
        self.retry_at = Instant::now().checked_add(delay).unwrap_or(self.retry_at);
    }

    fn wait(&mut self) {
        let delay = self.retry.next_delay();
        self.retry_at = Instant::now().checked_add(delay).unwrap_or(self.retry_at);
    }
}
