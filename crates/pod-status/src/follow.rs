//! A list of a collection and then its changes, for as long as the caller polls.
//!
//! kube's `watcher` with its default back-off restarts the back-off with every attempt to list, repeats an
//! HTTP 410 at the start of a watch for ever, and reads a silent connection for 295 seconds. Here every
//! request has a deadline, the delay grows until an event arrives, a 410 causes a new list, and a watch that
//! is silent for longer than the server promised is opened again where it ended.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep_until, timeout};

use crate::pace::{Retry, answered};
use crate::reason::reason;

/// The server ends a watch after this many seconds.
const WATCH_SECONDS: u32 = 30;
/// A watch without any event, its end included, for this long is a dead connection.
const SILENCE: Duration = Duration::from_secs(40);
/// A watch that ends earlier counts as failed: a server that closes every watch at once is not asked faster.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);
/// The age of the copy is measured this often while nothing comes.
const MEASURED: Duration = Duration::from_secs(5);
/// Objects in one answer.
const PAGE: u32 = 500;

/// One step of a collection.
#[derive(Debug)]
pub(crate) enum Event<K> {
    /// A list begins. Objects that it does not contain are gone.
    Begin,
    /// An object of the list.
    Found(K),
    /// The list is complete.
    End,
    /// An object was created or changed.
    Applied(K),
    /// An object was deleted.
    Deleted(K),
}

/// Follows the objects of a kind that `params` selects. Never ends; failures are logged and retried.
pub(crate) fn follow<K>(
    kind: &str,
    api: Api<K>,
    params: ListParams,
) -> impl Stream<Item = Event<K>> + Send + use<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let follower = Follower {
        api,
        kind: kind.to_owned(),
        answered_at: Instant::now(),
        params: params.limit(PAGE),
        version: None,
        watch: None,
        queue: VecDeque::new(),
        retry: Retry::new(),
        retry_at: Instant::now(),
    };
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await;
        Some((event, follower))
    })
}

struct Open<K> {
    events: BoxStream<'static, kube::Result<WatchEvent<K>>>,
    since: Instant,
}

struct Follower<K> {
    api: Api<K>,
    kind: String,
    /// The last answer or event.
    answered_at: Instant,
    params: ListParams,
    /// Where the next watch begins; nothing before a list is complete.
    version: Option<String>,
    watch: Option<Open<K>>,
    queue: VecDeque<Event<K>>,
    retry: Retry,
    retry_at: Instant,
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Follower<K> {
    async fn next(&mut self) -> Event<K> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return event;
            }
            let (kind, answered_at) = (self.kind.clone(), self.answered_at);
            match measured(&kind, answered_at, self.advance()).await {
                Ok(()) => self.answered_at = Instant::now(),
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
        let page = answered(self.api.list(&self.params)).await;
        let page = page.inspect_err(|_| self.params.continue_token = None)?;
        if self.params.continue_token.is_none() {
            self.queue.push_back(Event::Begin);
        }
        self.queue.extend(page.items.into_iter().map(Event::Found));
        self.params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if self.params.continue_token.is_none() {
            self.version = Some(page.metadata.resource_version.unwrap_or_default());
            self.queue.push_back(Event::End);
        }
        Ok(())
    }

    async fn open(&mut self, version: &str) -> kube::Result<()> {
        let mut params = WatchParams::default().timeout(WATCH_SECONDS);
        params.label_selector.clone_from(&self.params.label_selector);
        params.field_selector.clone_from(&self.params.field_selector);
        let events = answered(self.api.watch(&params, version)).await?.boxed();
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
                self.queue.push_back(Event::Applied(object));
            }
            WatchEvent::Deleted(object) => {
                self.version = object.resource_version().or(self.version.take());
                self.queue.push_back(Event::Deleted(object));
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

/// Completes `step`, and meanwhile measures how old the copy of the objects may be.
async fn measured<T>(kind: &str, answered_at: Instant, step: impl Future<Output = T>) -> T {
    let mut step = pin!(step);
    loop {
        let gauge = metrics::gauge!("pod_status_watch_staleness_seconds", "kind" => kind.to_owned());
        gauge.set(answered_at.elapsed().as_secs_f64());
        if let Ok(done) = timeout(MEASURED, &mut step).await {
            return done;
        }
    }
}

#[cfg(test)]
mod tests;
