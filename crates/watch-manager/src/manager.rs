//! The entry to the crate: makes the manager and its driver, and hands out registrars and stores.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use kube::core::GroupVersionKind;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backlog::BacklogStats;
use crate::config::Config;
use crate::control::{Alive, Control};
use crate::driver::Run;
use crate::error::Error;
use crate::event::{GvkStatus, KindStatus, WatchEvent};
use crate::interest::Interest;
use crate::object::Transform;
use crate::queue::EventQueue;
use crate::registrar::Registrar;
use crate::source::{KubeSource, Source};
use crate::store::StoreHandle;
use crate::watcher::{Permits, Shared};

/// Changes of [`Builder::watch`] that may have a successor in the queue.
const CHANGES: usize = 1_024;

/// Watches the union of the kinds that its registrars ask for: one watch and one store per kind, however
/// many ask. Cheap to clone.
#[derive(Clone)]
pub struct WatchManager {
    control: Arc<Control>,
    alive: Arc<Alive>,
}

/// Makes a [`WatchManager`] and its driver.
#[must_use = "call `build`"]
pub struct Builder {
    source: Arc<dyn Source>,
    config: Config,
    transform: Option<Transform>,
}

/// The future that does the work. Spawn it, or [`run`](Self::run) it; dropping it stops every watch and ends every
/// stream.
///
/// It ends when [`WatchManager::shutdown`] is called, or when all managers and registrars are dropped.
#[must_use = "nothing is watched until the driver is spawned or polled"]
pub struct Driver(BoxFuture<'static, ()>);

// === impl WatchManager ===

impl WatchManager {
    /// A manager that lists and watches through `client`.
    pub fn builder(client: kube::Client) -> Builder {
        Self::builder_with_source(KubeSource::new(client))
    }

    /// A manager on another source, such as `testing::FakeApi` (feature `test-util`).
    pub fn builder_with_source(source: impl Source) -> Builder {
        Builder { source: Arc::new(source), config: Config::default(), transform: None }
    }

    /// A consumer of this name, without kinds at first.
    ///
    /// # Errors
    /// [`Error::DuplicateName`] while another of this name is alive, [`Error::ShutDown`] after the end of
    /// the driver.
    pub fn registrar(&self, name: &str) -> Result<Registrar, Error> {
        Registrar::register(&self.control, &self.alive, name, EventQueue::default())
    }

    /// A consumer that is given every change of every object in order, and not only the latest: for audit logs and
    /// replication. If more than `bound` of the queued changes of a kind have a later one of the same object behind
    /// them, the changes of each object are merged after all, and
    /// [`EventKind::Lagged`](crate::EventKind::Lagged) is delivered in front of them. No delete and no last state is
    /// lost. Changes that the server itself leaves out, between two lists, are not seen;
    /// [`EventKind::Synced`](crate::EventKind::Synced) follows each list, not only the first.
    ///
    /// # Errors
    /// As [`registrar`](Self::registrar).
    pub fn ordered_registrar(&self, name: &str, bound: usize) -> Result<Registrar, Error> {
        Registrar::register(&self.control, &self.alive, name, EventQueue::ordered(bound))
    }

    /// The objects of a kind that some registrar asked for, from the moment it did. Reading never starts a watch.
    ///
    /// If the kind is only asked for with field selectors, these are the objects of the first selector in alphabetical
    /// order; [`WatchHandle::store`](crate::WatchHandle::store) is the one of an interest.
    pub fn store(&self, gvk: &GroupVersionKind) -> Option<StoreHandle> {
        self.control.stores().of_kind(gvk).into_iter().next()
    }

    /// The state of a kind that some registrar asked for.
    pub fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.store(gvk).map(|store| store.status())
    }

    /// The state of a kind with its time, failed attempts and last sign of life.
    pub fn kind_status(&self, gvk: &GroupVersionKind) -> Option<KindStatus> {
        self.store(gvk).map(|store| store.kind_status())
    }

    /// The kinds that registrars ask for, sorted by group, version and kind.
    pub fn watched(&self) -> Vec<GroupVersionKind> {
        self.control.intended()
    }

    /// The registrars by name with their backlogs: a registrar that stopped reading has an old one.
    pub fn backlogs(&self) -> Vec<(Arc<str>, BacklogStats)> {
        self.control.registrars().into_iter().map(|(name, queue)| (name, queue.stats())).collect()
    }

    /// Writes the gauges that are not kept up to date by themselves: objects of each kind and their bytes, depth and age of each
    /// backlog. Call it before the metrics are scraped.
    #[cfg(feature = "metrics")]
    pub fn record_metrics(&self) {
        for gvk in self.watched() {
            let sizes = self.control.stores().of_kind(&gvk).into_iter().map(|store| store.size());
            crate::telemetry::objects(
                &gvk,
                sizes.fold((0, 0), |(a, b), (c, d)| (a.saturating_add(c), b.saturating_add(d))),
            );
        }
        let now = tokio::time::Instant::now().into_std();
        for (name, stats) in self.backlogs() {
            let age = stats.oldest.map(|oldest| now.saturating_duration_since(oldest));
            crate::telemetry::backlog(&name, stats.depth, age.unwrap_or_default());
        }
    }

    /// Waits until the stores of these kinds are synced, those of their field selectors too. Cancel-safe.
    ///
    /// # Errors
    /// [`Error::Closed`] if no registrar asks for one of them, or the last one leaves it.
    pub async fn wait_until_ready(
        &self,
        gvks: impl IntoIterator<Item = GroupVersionKind>,
    ) -> Result<(), Error> {
        for gvk in gvks {
            let stores = self.control.stores().of_kind(&gvk);
            if stores.is_empty() {
                return Err(Error::Closed);
            }
            for store in stores {
                store.wait_until_ready().await?;
            }
        }
        Ok(())
    }

    /// Discovers the kind at once instead of when the delay is over: for a caller that saw its
    /// CustomResourceDefinition become Established, or access granted. Does nothing for a kind that no registrar
    /// asked for.
    pub fn rediscover(&self, gvk: &GroupVersionKind) {
        self.control.hint(gvk);
    }

    /// Closes the watches that no registrar asks for before their linger time is over.
    pub fn flush(&self) {
        self.control.flush();
    }

    /// Ends the driver. Streams deliver what is queued, then end.
    pub fn shutdown(&self) {
        self.control.end();
    }
}

// === impl Builder ===

impl Builder {
    /// Replaces the default settings.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Changes each object before it is stored, for instance to drop large fields. The object is parsed and written
    /// again, which costs about 20 µs for a Pod. Name, namespace, uid, resourceVersion and labels stay as the server sent them. What is not an
    /// object afterwards is counted as undecodable, and what was known of it stays. No lock is held meanwhile. A panic ends the driver, and with it
    /// every stream and wait.
    pub fn transform(
        mut self,
        transform: impl Fn(&GroupVersionKind, &mut serde_json::Value) + Send + Sync + 'static,
    ) -> Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// The events of one interest, without registrars and without a driver to spawn: for a kind, or a single object,
    /// that one consumer watches for as long as it lives. The manager behind the stream shares nothing with others, so
    /// the selectors of `interest` are the server's in any case.
    ///
    /// Polling the stream does the work; dropping it closes the watch. It does not end by itself. Every change is
    /// delivered, as by an [ordered registrar](WatchManager::ordered_registrar) with a bound of 1,024. The server is
    /// asked only while the stream is polled, so [`EventKind::Status`](crate::EventKind::Status) shows each interruption
    /// before the end of it.
    ///
    /// ```
    /// # use futures::StreamExt;
    /// # use watch_manager::{EventKind, GroupVersionKind, Interest, WatchManager, testing::FakeApi};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let maps = GroupVersionKind::gvk("", "v1", "ConfigMap");
    /// # let api = FakeApi::new();
    /// # api.serve(&maps, "configmaps");
    /// # let client = api.client();
    /// let settings = Interest::new(maps).namespaces(["team-a"]).fields("metadata.name=settings");
    /// let mut events = WatchManager::builder(client).watch(settings);
    /// while let Some(event) = events.next().await {
    ///     match event.kind {
    ///         EventKind::Applied(object) => println!("{}", object.json()),
    ///         EventKind::Synced => break, // no such object, if nothing came before
    ///         _ => {}
    ///     }
    /// }
    /// # }
    /// ```
    pub fn watch(self, interest: impl Into<Interest>) -> BoxStream<'static, WatchEvent> {
        let (manager, driver) = self.build();
        // A new manager has no registrar of this name, and has not ended.
        let registrar = manager.ordered_registrar("watch", CHANGES).ok();
        if let Some(registrar) = &registrar {
            let _ = registrar.add(interest);
        }
        let work = stream::unfold((registrar, driver), async |(registrar, mut driver)| {
            let mut registrar = registrar?;
            let event = tokio::select! {
                biased;
                event = registrar.next() => event,
                () = &mut driver => None,
            }?;
            Some((event, (Some(registrar), driver)))
        });
        work.boxed()
    }

    /// The manager, and the driver to spawn. Nothing happens until the driver is polled.
    pub fn build(self) -> (WatchManager, Driver) {
        let control = Arc::new(Control::default());
        let alive = Arc::new(Alive::new(&control));
        let config = self.config.bounded();
        let shared = Shared {
            source: self.source,
            permits: Arc::new(Permits::new(config.max_concurrent_starts)),
            config: Arc::new(config),
            recovered: Arc::new(Notify::new()),
        };
        let run = Run::new(Arc::clone(&control), shared, self.transform);
        (WatchManager { control, alive }, Driver(run.drive().boxed()))
    }
}

// === impl Driver ===

impl Driver {
    /// Runs until `shutdown` is cancelled, or the driver ends by itself.
    pub async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled_owned(self).await;
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_unpin(context)
    }
}
