//! One shared watch per resource, for ducks that several parts of a process read.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::ApiResource;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use thiserror::Error;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::{DuckType, Projected};

/// The longest wait for the first list of a resource.
const DEADLINE: Duration = Duration::from_secs(30);

/// Stores of one duck, one per resource, each fed by one watch.
///
/// The first caller who asks for a resource starts its watch; callers who ask at the same time wait for the same
/// start. A resource that does not exist fails at once, because one list comes before the watch. A failed start is
/// not kept: the next caller tries again.
///
/// ```no_run
/// # async fn example(client: kube::Client, deployments: kube::core::ApiResource) -> Result<(), Box<dyn std::error::Error>> {
/// use duck_types::{DuckStores, ready::Conditions};
///
/// let stores = DuckStores::<Conditions>::new(client);
/// for object in stores.get(&deployments).await?.state() {
///     println!("{:?}", object.view());
/// }
/// stores.shut_down().await;
/// # Ok(())
/// # }
/// ```
pub struct DuckStores<T: DuckType + Clone + Debug + Send + Sync + 'static> {
    client: Client,
    cells: Mutex<HashMap<ApiResource, Cell<T>>>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    // Stops the watches of stores that are dropped without `shut_down`.
    _guard: DropGuard,
}

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
    /// The API server did not answer.
    #[error("no list of {plural} within {} s", DEADLINE.as_secs())]
    Deadline {
        /// The plural of the resource.
        plural: String,
    },
    /// The stores were shut down.
    #[error("the stores are shut down")]
    ShutDown,
}

impl<T: DuckType + Clone + Debug + Send + Sync + 'static> DuckStores<T> {
    /// Stores without a watch yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let shutdown = CancellationToken::new();
        let guard = shutdown.clone().drop_guard();
        let (cells, tasks) = (Mutex::default(), TaskTracker::new());
        Self { client, cells, tasks, shutdown, _guard: guard }
    }

    /// The store of a resource, filled. It watches all namespaces.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the next call tries again.
    pub async fn get(&self, resource: &ApiResource) -> Result<Store<Projected<T>>, StoreError> {
        if self.shutdown.is_cancelled() {
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
        // A watch that fails is repeated with growing delays; the store keeps the last state until then.
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let events = reflector::reflector(writer, watch)
            .take_until(stop.cancelled_owned())
            .take_until(self.shutdown.clone().cancelled_owned());
        self.tasks.spawn(events.for_each(|_| std::future::ready(())));
        match timeout(DEADLINE, store.wait_until_ready()).await {
            Ok(Ok(())) => {
                guard.disarm();
                Ok(store)
            }
            Ok(Err(_)) => Err(StoreError::ShutDown),
            Err(_) => Err(StoreError::Deadline { plural }),
        }
    }

    /// Stops all watches and waits for their end. Stores that were handed out keep their last state.
    pub async fn shut_down(&self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
