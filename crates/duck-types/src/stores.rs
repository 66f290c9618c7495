//! One shared watch per resource, for ducks that several parts of a process read.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::ApiResource;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use thiserror::Error;
use tokio::sync::{OnceCell, mpsc};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{DuckType, Projected};

/// The longest wait for the first list of a resource.
const DEADLINE: Duration = Duration::from_secs(30);

/// Stores of one duck, one per resource, each fed by one watch. They come with the [`DuckStoresDriver`] that does the work.
///
/// The first caller who asks for a resource starts its watch; callers who ask at the same time wait for the same
/// start. A resource that does not exist fails at once, because one list comes before the watch. A failed start is
/// not kept: the next caller tries again.
///
/// ```no_run
/// # async fn example(client: kube::Client, deployments: kube::core::ApiResource) -> Result<(), Box<dyn std::error::Error>> {
/// use duck_types::{CancellationToken, DuckStores, ready::Conditions};
///
/// let (stores, driver) = DuckStores::<Conditions>::new(client);
/// let shutdown = CancellationToken::new();
/// let driver = tokio::spawn(driver.run(shutdown.clone()));
/// for object in stores.get(&deployments).await?.state() {
///     println!("{:?}", object.view());
/// }
/// shutdown.cancel();
/// driver.await?;
/// # Ok(())
/// # }
/// ```
pub struct DuckStores<T: DuckType + Clone + Debug + Send + Sync + 'static> {
    client: Client,
    cells: Mutex<HashMap<ApiResource, Cell<T>>>,
    watches: mpsc::Sender<Work>,
    /// Parent of the tokens that stop the watches.
    stop: CancellationToken,
    // Stops the watches when the stores are dropped.
    _guard: DropGuard,
}

/// The watches of [`DuckStores`].
#[must_use = "no store is filled until the driver runs"]
pub struct DuckStoresDriver(BoxFuture<'static, ()>);

/// Feeds one store until its watch is stopped.
type Work = BoxFuture<'static, ()>;

type Cell<T> = Arc<OnceCell<Store<Projected<T>>>>;

/// The reason why a store has not started.
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum StoreError {
    /// The resource does not exist, or cannot be listed.
    #[error("could not list {plural}")]
    List {
        /// The plural of the resource.
        plural: String,
        /// The answer of the API server.
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("no list of {plural} within {} s", DEADLINE.as_secs())]
    Deadline {
        /// The plural of the resource.
        plural: String,
    },
    /// The driver has ended.
    #[error("the stores are shut down")]
    ShutDown,
}

impl<T: DuckType + Clone + Debug + Send + Sync + 'static> DuckStores<T> {
    /// Returns stores without a watch yet, and the driver to run.
    pub fn new(client: Client) -> (Self, DuckStoresDriver) {
        let (watches, mut work) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let work = stream::poll_fn(move |context| work.poll_recv(context));
        let driver = DuckStoresDriver(work.for_each_concurrent(None, |work: Work| work).boxed());
        (Self { client, cells: Mutex::default(), watches, stop, _guard: guard }, driver)
    }

    /// Returns the store of a resource in all namespaces, filled.
    ///
    /// # Guarantees
    /// - A resource has one watch, however many callers ask for it at the same time or later.
    /// - It is cancel-safe. If the caller that starts the watch is dropped, the watch stops, and the next caller starts another.
    /// - A watch that fails is repeated with growing delays; until then the store keeps the last state. After the end of the
    ///   driver a store that was handed out keeps it for good.
    ///
    /// # Assumptions
    /// The driver runs meanwhile. If it is not polled, the wait ends with [`StoreError::Deadline`].
    ///
    /// # Errors
    /// - [`StoreError::List`] if the resource does not exist or cannot be listed. The next call tries again.
    /// - [`StoreError::Deadline`] if the API server has not answered within 30 s, or the objects are not there within another
    ///   30 s. The next call tries again.
    /// - [`StoreError::ShutDown`] if the driver has ended.
    pub async fn get(&self, resource: &ApiResource) -> Result<Store<Projected<T>>, StoreError> {
        if self.watches.is_closed() {
            return Err(StoreError::ShutDown);
        }
        let cell = {
            let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(resource.clone()).or_default())
        };
        cell.get_or_try_init(|| self.start(resource)).await.cloned()
    }

    async fn start(&self, resource: &ApiResource) -> Result<Store<Projected<T>>, StoreError> {
        let plural = resource.plural.clone();
        let api = Api::<Projected<T>>::all_with(self.client.clone(), resource);
        let one = ListParams::default().limit(1);
        match timeout(DEADLINE, api.list_metadata(&one)).await {
            Ok(Ok(_)) => {}
            Ok(Err(source)) => return Err(StoreError::List { plural, source: Box::new(source) }),
            Err(_) => return Err(StoreError::Deadline { plural }),
        }
        let writer = reflector::store::Writer::new(resource.clone());
        let store = writer.as_reader();
        let watch = watcher(api, watcher::Config::default()).default_backoff();
        let stop = self.stop.child_token();
        let guard = stop.clone().drop_guard();
        let events = reflector::reflector(writer, watch).take_until(stop.cancelled_owned());
        let work = events.for_each(|_| std::future::ready(())).boxed();
        let filled = async {
            self.watches.send(work).await.map_err(|_| StoreError::ShutDown)?;
            store.wait_until_ready().await.map_err(|_| StoreError::ShutDown)
        };
        timeout(DEADLINE, filled).await.map_err(|_| StoreError::Deadline { plural })??;
        guard.disarm();
        Ok(store)
    }
}

impl DuckStoresDriver {
    /// Fills the stores and follows their watches until `shutdown` is cancelled, or until the stores are dropped.
    ///
    /// # Guarantees
    /// - It spawns nothing. It returns with the next poll after the cancellation, and waits for no request: watches and requests
    ///   in flight are dropped.
    /// - Dropping the future at any point has the same effect as the cancellation.
    /// - Afterwards [`DuckStores::get`] fails with [`StoreError::ShutDown`]; stores that were handed out keep their last state.
    ///
    /// # Assumptions
    /// It runs on a tokio runtime with I/O and time enabled.
    pub async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled_owned(self.0).await;
    }
}

#[cfg(test)]
mod tests;
