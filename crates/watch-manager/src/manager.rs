//! Runs everything: one future, the driver, owns the switchboard and the watches and takes one command at a
//! time. Handles reach it through `inbox` only. It spawns nothing: who builds a manager spawns its driver,
//! and dropping the driver drops every watch.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{AbortHandle, Abortable, BoxStream, SelectAll};
use futures::{FutureExt, StreamExt, stream};
use kube::core::GroupVersionKind;
use tokio::sync::{Notify, Semaphore};

use crate::config::Config;
use crate::error::Error;
use crate::event::GvkStatus;
use crate::feed::{Feed, Supply};
use crate::inbox::{Inbox, Requests};
use crate::registrar::Registrar;
use crate::roster::Gvk;
use crate::source::{KubeSource, Source};
use crate::store::StoreHandle;
use crate::switchboard::{Command, Effect, Incarnation, Step, Switchboard};

/// Watches the union of the kinds that its registrars ask for: one watch and one store per kind, however
/// many ask. Cheap to clone.
#[derive(Clone)]
pub struct WatchManager {
    inbox: Arc<Inbox>,
    alive: Arc<Alive>,
}

/// Makes a [`WatchManager`] and its driver.
#[must_use = "call `build`"]
pub struct Builder {
    source: Arc<dyn Source>,
    config: Config,
}

/// The future that does the work. Spawn it; dropping it stops every watch and ends every stream.
///
/// It ends when [`WatchManager::shutdown`] is called, or when all managers and registrars are dropped.
pub type Driver = BoxFuture<'static, ()>;

/// Held by every handle; when the last goes, the driver ends.
pub(crate) struct Alive {
    inbox: Arc<Inbox>,
}

// === impl WatchManager ===

impl WatchManager {
    /// A manager that lists and watches through `client`, in all namespaces.
    pub fn builder(client: kube::Client) -> Builder {
        Self::builder_with_source(KubeSource::new(client))
    }

    /// A manager on another source, such as `testing::FakeApi` (feature `test-util`).
    pub fn builder_with_source(source: impl Source) -> Builder {
        Builder { source: Arc::new(source), config: Config::default() }
    }

    /// A consumer of this name, with an empty roster.
    ///
    /// # Errors
    /// [`Error::DuplicateName`] while another of this name is alive, [`Error::ShutDown`] after the end of
    /// the driver.
    pub fn registrar(&self, name: &str) -> Result<Registrar, Error> {
        Registrar::enrol(&self.inbox, &self.alive, name)
    }

    /// The objects of a kind that some registrar asked for. Reading never starts a watch.
    pub fn store(&self, gvk: &GroupVersionKind) -> Option<StoreHandle> {
        self.inbox.store(gvk)
    }

    /// The state of a kind that some registrar asked for.
    pub fn status(&self, gvk: &GroupVersionKind) -> Option<GvkStatus> {
        self.store(gvk).map(|store| store.status())
    }

    /// The kinds that some registrar asked for, in no particular order.
    pub fn watched(&self) -> Vec<GroupVersionKind> {
        self.inbox.watched().iter().map(|gvk| (**gvk).clone()).collect()
    }

    /// The kind may be served now: look at once instead of when the delay is over. For a caller that saw a
    /// CustomResourceDefinition become Established. Does nothing for a kind that nobody asked for.
    pub fn rediscover(&self, gvk: &GroupVersionKind) {
        self.inbox.hint(gvk);
    }

    /// Ends the driver. Streams deliver what is queued, then end.
    pub fn shutdown(&self) {
        self.inbox.end();
    }
}

// === impl Builder ===

impl Builder {
    /// Replaces the default settings.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The manager, and the driver to spawn. Nothing happens until the driver is polled.
    pub fn build(self) -> (WatchManager, Driver) {
        let inbox = Arc::new(Inbox::default());
        let alive = Arc::new(Alive { inbox: Arc::clone(&inbox) });
        let run = Run {
            closing: Closing { inbox: Arc::clone(&inbox) },
            supply: Supply {
                source: self.source,
                starts: Arc::new(Semaphore::new(self.config.max_concurrent_starts.max(1))),
                config: Arc::new(self.config),
            },
            switchboard: Switchboard::default(),
            feeds: SelectAll::new(),
            running: HashMap::new(),
        };
        (WatchManager { inbox, alive }, run.drive().boxed())
    }
}

// === impl Alive ===

impl Drop for Alive {
    fn drop(&mut self) {
        self.inbox.end();
    }
}

/// Tells the handles when the driver ends, and also when it is dropped, polled or not.
struct Closing {
    inbox: Arc<Inbox>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

type Steps = Abortable<BoxStream<'static, (Gvk, Incarnation, Step)>>;

/// The state of the driver.
struct Run {
    supply: Supply,
    switchboard: Switchboard,
    feeds: SelectAll<Steps>,
    running: HashMap<Gvk, Running>,
    /// Last, so that the watches are gone when the streams end.
    closing: Closing,
}

struct Running {
    stop: AbortHandle,
    hint: Arc<Notify>,
}

// === impl Run ===

impl Run {
    async fn drive(mut self) {
        let inbox = Arc::clone(&self.closing.inbox);
        loop {
            tokio::select! {
                // Wishes first: what is removed need not be worked on.
                biased;
                () = inbox.rung() => {
                    let requests = inbox.take();
                    if requests.over {
                        return;
                    }
                    self.grant(requests);
                }
                Some((gvk, incarnation, step)) = self.feeds.next() => {
                    self.command(Command::Step(gvk, incarnation, step));
                }
            }
            // A long list must not keep other tasks of the runtime's thread waiting.
            tokio::task::consume_budget().await;
        }
    }

    fn grant(&mut self, requests: Requests) {
        for id in requests.dropped {
            self.command(Command::Drop(id));
        }
        for (id, mailbox) in requests.wishes {
            self.command(Command::Wish(id, mailbox));
        }
        for gvk in requests.hints {
            if let Some(running) = self.running.get(&gvk) {
                running.hint.notify_one();
            }
        }
    }

    fn command(&mut self, command: Command) {
        for effect in self.switchboard.run(command) {
            match effect {
                Effect::Start(gvk, incarnation, store) => self.start(gvk, incarnation, store),
                Effect::Stop(gvk) => self.stop(&gvk),
            }
        }
    }

    fn start(&mut self, gvk: Gvk, incarnation: Incarnation, store: StoreHandle) {
        let hint = Arc::new(Notify::new());
        let feed = Feed::new(self.supply.clone(), Arc::clone(&gvk), Arc::clone(&hint));
        let key = Arc::clone(&gvk);
        let steps = stream::unfold(feed, move |mut feed| {
            let key = Arc::clone(&key);
            async move {
                let step = feed.step().await;
                Some(((key, incarnation, step), feed))
            }
        });
        let (steps, stop) = stream::abortable(steps.boxed());
        self.feeds.push(steps);
        self.running.insert(Arc::clone(&gvk), Running { stop, hint });
        self.closing.inbox.publish(gvk, store);
    }

    fn stop(&mut self, gvk: &Gvk) {
        if let Some(running) = self.running.remove(gvk) {
            running.stop.abort();
        }
        self.closing.inbox.withdraw(gvk);
    }
}
