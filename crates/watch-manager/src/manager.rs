//! The entry to the crate: makes the manager and its driver, and hands out registrars and stores.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
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

/// The work of a [`WatchManager`]: every request, store and stream depends on it. [`run`](Self::run) it, on a task of its own or
/// beside other futures. Dropping it stops every watch and ends every stream.
#[must_use = "nothing is watched until the driver runs"]
pub struct WatchDriver(BoxFuture<'static, ()>);

// === impl WatchManager ===

impl WatchManager {
    /// Returns a manager that lists and watches through `client`.
    pub fn builder(client: kube::Client) -> Builder {
        Self::builder_with_source(KubeSource::new(client))
    }

    /// Returns a manager on another source, such as `testing::FakeApi` (feature `test-util`).
    pub fn builder_with_source(source: impl Source) -> Builder {
        Builder { source: Arc::new(source), config: Config::default(), transform: None }
    }

    /// Returns a consumer of this name, without kinds at first.
    ///
    /// # Errors
    /// [`Error::DuplicateName`] while another of this name is alive, [`Error::ShutDown`] after the end of
    /// the driver.
    pub fn registrar(&self, name: &str) -> Result<Registrar, Error> {
        Registrar::register(&self.control, &self.alive, name, EventQueue::default())
    }

    /// Returns a consumer that is given every change of every object in order, and not only the latest: for audit logs and
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

    /// Returns the objects of a kind that some registrar asked for, from the moment it did. Reading never starts a watch.
    ///
    /// If the kind is only asked for with field selectors, these are the objects of the first selector in alphabetical
    /// order; [`WatchHandle::store`](crate::WatchHandle::store) is the one of an interest.
    pub fn store(&self, gvk: &GroupVersionKind) -> Option<StoreHandle> {
        self.control.stores().of_kind(gvk).into_iter().next()
    }

    /// Returns the state of a kind that some registrar asked for.
    pub fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.store(gvk).map(|store| store.status())
    }

    /// Returns the state of a kind with its time, failed attempts and last sign of life.
    pub fn kind_status(&self, gvk: &GroupVersionKind) -> Option<KindStatus> {
        self.store(gvk).map(|store| store.kind_status())
    }

    /// Returns the kinds that registrars ask for, sorted by group, version and kind.
    pub fn watched(&self) -> Vec<GroupVersionKind> {
        self.control.intended()
    }

    /// Returns the registrars by name with their backlogs: a registrar that stopped reading has an old one.
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

    /// Waits until the stores of these kinds are synced, those of their field selectors too.
    ///
    /// # Guarantees
    /// - It is cancel-safe, and any number of callers may wait.
    /// - Each store was synced at some time during the call; one that has synced early may list again meanwhile.
    ///
    /// # Assumptions
    /// The driver runs. There is no deadline: a kind that is not served is not synced until it is.
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

    /// Returns the events of one interest, without registrars and without a driver to run: for a kind, or a single object,
    /// that one consumer watches for as long as it lives. The manager behind the stream shares nothing with others, so
    /// the selectors of `interest` are the server's in any case.
    ///
    /// # Guarantees
    /// - Every change is delivered, as by an [ordered registrar](WatchManager::ordered_registrar) with a bound of 1,024.
    /// - [`EventKind::Status`](crate::EventKind::Status) shows each interruption before the end of it.
    /// - The stream does not end by itself; dropping it closes the watch.
    ///
    /// # Assumptions
    /// The stream is polled all the time, also while an event is worked on: polling does the work, and the server is asked only
    /// meanwhile.
    ///
    #[cfg_attr(feature = "test-util", doc = "```")]
    #[cfg_attr(not(feature = "test-util"), doc = "```ignore")]
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
        let work = stream::unfold(
            (registrar, driver),
            async |(registrar, mut driver): (Option<Registrar>, WatchDriver)| {
                let mut registrar = registrar?;
                let event = tokio::select! {
                    biased;
                    event = registrar.next() => event,
                    () = &mut driver.0 => None,
                }?;
                Some((event, (Some(registrar), driver)))
            },
        );
        work.boxed()
    }

    /// Returns the manager, and the driver to run. Nothing is requested until the driver runs.
    pub fn build(self) -> (WatchManager, WatchDriver) {
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
        (WatchManager { control, alive }, WatchDriver(Box::pin(run.drive())))
    }
}

// === impl WatchDriver ===

impl WatchDriver {
    /// Lists, watches and delivers until `shutdown` is cancelled, or until all managers and registrars are dropped.
    ///
    /// # Guarantees
    /// - It spawns nothing. It returns with the next poll after the cancellation, and waits for no request: watches and requests
    ///   in flight are dropped.
    /// - Dropping the future at any point has the same effect as the cancellation.
    /// - Afterwards no call hangs: streams deliver what is queued, then end; stores are empty and [`Closed`]; waits return
    ///   [`NotReadyError::ShutDown`] or [`Error::Closed`]; no registrar can be made.
    ///
    /// # Assumptions
    /// It runs on a tokio runtime with time enabled, and for a [`KubeSource`] also with I/O. It is polled without long breaks:
    /// timeouts and the age of a kind's last contact count the time in which it is not.
    ///
    /// # Panics
    /// If the function of [`Builder::transform`] panics.
    ///
    /// [`Closed`]: crate::GvkStatus::Closed
    /// [`NotReadyError::ShutDown`]: crate::NotReadyError::ShutDown
    pub async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled_owned(self.0).await;
    }
}
