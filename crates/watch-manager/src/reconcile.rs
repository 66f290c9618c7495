//! A controller for any number of kinds: one reconciler, called for each object that changes, never twice at a time for
//! the same object, with debounce, retries and a limit on concurrency.
//!
//! `kube::runtime::Controller` has one kind, and its triggers are fixed when it starts.
//!
#![cfg_attr(feature = "test-util", doc = "```")]
#![cfg_attr(not(feature = "test-util"), doc = "```ignore")]
//! # use futures::StreamExt;
//! # use watch_manager::{reconcile_kinds, testing::FakeApi, GroupVersionKind, ReconcileConfig, WatchManager};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), watch_manager::Error> {
//! # let api = FakeApi::new();
//! # let lamps = GroupVersionKind::gvk("example.com", "v1", "Lamp");
//! # api.serve(&lamps, "lamps");
//! # api.apply(&lamps, serde_json::json!({"metadata": {"name": "desk"}}));
//! # let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
//! # let driver = tokio::spawn(driver.run(Default::default()));
//! let registrar = manager.registrar("controller")?;
//! registrar.replace([lamps]);
//! let outcomes = reconcile_kinds(&registrar, ReconcileConfig::default(), async |key, object| {
//!     match object {
//!         Some(object) => println!("{} {} is at {}", key.gvk.kind, key.object, object.resource_version()),
//!         None => println!("{} {} was deleted", key.gvk.kind, key.object),
//!     }
//!     Ok::<_, std::io::Error>(None) // or the time after which to come again
//! });
//! let mut outcomes = std::pin::pin!(outcomes);
//! let first = outcomes.next().await.expect("the registrar is alive");
//! assert_eq!(first.key.object.name(), "desk");
//! # Ok(())
//! # }
//! ```

mod work_queue;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::core::GroupVersionKind;
use tokio::time::{Instant, sleep_until};

use self::work_queue::WorkQueue;
use crate::config::{BackoffRange, FOREVER};
use crate::event::{EventKind, WatchEvent};
use crate::intents::Epoch;
use crate::object::{ObjectKey, WatchedObject};
use crate::queue::EventQueue;
use crate::registrar::Registrar;

/// The object of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReconcileKey {
    /// The kind, as it was asked for.
    pub gvk: Arc<GroupVersionKind>,
    /// Namespace and name.
    pub object: ObjectKey,
}

/// Settings of [`reconcile_kinds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReconcileConfig {
    /// The time between a change and its reconciliation, in which further changes of the object are merged. Default 0.
    pub debounce: Duration,
    /// Reconciliations under way at once; at least one. Default 16.
    pub concurrency: usize,
    /// The delays after a failure, for each object. Default 1 s growing to 5 min.
    pub retry: BackoffRange,
}

/// The end of a reconciliation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reconciled<E> {
    /// The object.
    pub key: ReconcileKey,
    /// The time after which the object is reconciled again, if the reconciler asked for that; or its error. After an
    /// error, the object is reconciled again by itself.
    pub result: Result<Option<Duration>, E>,
}

// === impl ReconcileConfig ===

impl Default for ReconcileConfig {
    fn default() -> Self {
        let retry = BackoffRange { min: Duration::from_secs(1), max: Duration::from_secs(300) };
        Self { debounce: Duration::ZERO, concurrency: 16, retry }
    }
}

/// Calls `reconcile` for every object of the registrar's kinds when it changes, with its latest form, or `None` after its
/// delete. Kinds may be added and removed meanwhile; an object of a removed kind is not retried, and is not reported if it
/// is deleted before the kind is added again.
///
/// Returns the outcomes. Reconciliations run while that stream is polled.
///
/// # Guarantees
/// - An object has at most one reconciliation under way, and the config bounds their number. A change meanwhile is reconciled after
///   it, once.
/// - After an error the object is reconciled again, with growing delays, until it succeeds or its kind is removed.
/// - The stream ends when the registrar is dropped, or the driver has ended, and nothing is under way. Dropping it drops the
///   reconciliations under way.
///
/// # Assumptions
/// - It takes the events of the registrar: no other reader may. [`WatchHandle::consumed`](crate::WatchHandle::consumed) then means
///   that the objects were taken in, not that they were reconciled.
/// - `reconcile` ends, or is idempotent when it is dropped: it has no deadline.
pub fn reconcile_kinds<F, Fut, E>(
    registrar: &Registrar,
    config: ReconcileConfig,
    reconcile: F,
) -> impl Stream<Item = Reconciled<E>> + use<F, Fut, E>
where
    F: FnMut(ReconcileKey, Option<Arc<WatchedObject>>) -> Fut,
    Fut: Future<Output = Result<Option<Duration>, E>> + Send + 'static,
    E: Send + 'static,
{
    let runner = Runner {
        queue: WorkQueue::new(config.debounce.min(FOREVER), config.retry.bounded()),
        concurrency: config.concurrency.max(1),
        events: Some(registrar.events().boxed()),
        kinds: Arc::clone(registrar.queue()),
        under_way: FuturesUnordered::new(),
        reconcile,
    };
    stream::unfold(runner, async |mut runner| Some((runner.next().await?, runner)))
}

/// An object, or `None` if it was deleted, with the stay of its kind in which that was reported.
type State = (Epoch, Option<Arc<WatchedObject>>);

/// The state of the stream.
struct Runner<F, E> {
    queue: WorkQueue<State>,
    concurrency: usize,
    /// `None` when they have ended.
    events: Option<BoxStream<'static, WatchEvent>>,
    kinds: Arc<EventQueue>,
    under_way: FuturesUnordered<BoxFuture<'static, Reconciled<E>>>,
    reconcile: F,
}

// === impl Runner ===

impl<F, Fut, E> Runner<F, E>
where
    F: FnMut(ReconcileKey, Option<Arc<WatchedObject>>) -> Fut,
    Fut: Future<Output = Result<Option<Duration>, E>> + Send + 'static,
    E: Send + 'static,
{
    async fn next(&mut self) -> Option<Reconciled<E>> {
        loop {
            // A reconciler that always ends at once must not keep other tasks of the thread waiting.
            tokio::task::consume_budget().await;
            self.start();
            if self.events.is_none() && self.under_way.is_empty() {
                return None;
            }
            let due = self.queue.next_due().filter(|_| self.under_way.len() < self.concurrency);
            tokio::select! {
                Some(outcome) = self.under_way.next() => {
                    self.finish(&outcome);
                    return Some(outcome);
                }
                event = next_event(&mut self.events) => match event {
                    Some(event) => self.take_in(event),
                    None => self.events = None,
                },
                () = until(due) => {}
            }
        }
    }

    /// Starts what is due.
    fn start(&mut self) {
        while self.events.is_some() && self.under_way.len() < self.concurrency {
            let now = Instant::now().into_std();
            let Some((key, (epoch, object))) = self.queue.take(now) else { return };
            // The kind was removed since, or removed and added again.
            if self.epoch(&key.gvk) != Some(epoch) {
                self.queue.succeed(now, &key, None);
                continue;
            }
            let result = (self.reconcile)(key.clone(), object);
            self.under_way.push(result.map(|result| Reconciled { key, result }).boxed());
        }
    }

    fn take_in(&mut self, event: WatchEvent) {
        let (object, state) = match event.kind {
            EventKind::Applied(object) => (object.key().clone(), Some(object)),
            EventKind::Deleted(object) => (object.key().clone(), None),
            _ => return,
        };
        let state = (Epoch(event.epoch), state);
        self.queue.change(Instant::now().into_std(), ReconcileKey { gvk: event.gvk, object }, state);
    }

    /// The stay of the kind among the registrar's kinds.
    fn epoch(&self, gvk: &GroupVersionKind) -> Option<Epoch> {
        self.kinds.look(|backlog| backlog.epoch(gvk))
    }

    fn finish(&mut self, outcome: &Reconciled<E>) {
        let now = Instant::now().into_std();
        match &outcome.result {
            Ok(again) => self.queue.succeed(now, &outcome.key, *again),
            Err(_) => {
                self.queue.fail(now, &outcome.key);
            }
        }
    }
}

/// The next event; waits for ever after the end.
async fn next_event(events: &mut Option<BoxStream<'static, WatchEvent>>) -> Option<WatchEvent> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

async fn until(due: Option<std::time::Instant>) {
    match due {
        Some(due) => sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::WatchManager;
    use crate::fixture::{gvk, object};
    use crate::testing::FakeApi;

    /// Another thread may remove a kind and add it again between the read of an event and what follows.
    #[tokio::test]
    async fn an_event_of_a_former_stay_is_not_reconciled_in_the_present_one() {
        let (manager, _driver) = WatchManager::builder_with_source(FakeApi::new()).build();
        let registrar = manager.registrar("r").unwrap();
        let kind = gvk("A");
        let _ = registrar.add((*kind).clone());
        let former = registrar.queue().look(|backlog| backlog.epoch(&kind)).unwrap();
        registrar.remove(&kind);
        let _ = registrar.add((*kind).clone());
        let config = ReconcileConfig::default();
        let mut runner = Runner {
            queue: WorkQueue::new(config.debounce, config.retry),
            concurrency: config.concurrency,
            events: Some(registrar.events().boxed()),
            kinds: Arc::clone(registrar.queue()),
            under_way: FuturesUnordered::new(),
            reconcile: |_, _| async { Ok::<_, Infallible>(None) },
        };
        let gone = EventKind::Applied(object(&kind, "gone", 1, 1));
        runner.take_in(WatchEvent { epoch: former.0, ..WatchEvent::new(kind, gone) });
        runner.start();
        assert!(runner.under_way.is_empty());
    }
}
