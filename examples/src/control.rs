//! Shared by the controllers of the patterns: printing errors, retrying, and watching a second kind.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::{Stream, StreamExt, TryFutureExt};
use kube::Resource;
use kube::runtime::Controller;
use kube::runtime::controller::{Action, Error};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use tokio::sync::watch::{self, Receiver};
use tracing::Instrument;
use watch_manager::stream::watcher_events;

use crate::kind::TypeOf;
use crate::output::print_error;
use crate::states::watching;
use crate::{Cluster, trace};

const RETRY: Duration = Duration::from_secs(1);

/// The error that `kube` wants, around the one the demos have.
#[derive(Debug, thiserror::Error)]
#[error("{error}: {cause}", cause = cause(error))]
struct Failed {
    error: anyhow::Error,
}

/// The last error of the chain: of what the API server answers, the message.
fn cause(error: &anyhow::Error) -> String {
    match error.root_cause().downcast_ref() {
        Some(kube::Error::Api(status)) => status.message.clone(),
        _ => error.root_cause().to_string(),
    }
}

/// Runs a controller until its watches end.
///
/// # Errors
///
/// None: it has the type that patterns return.
pub async fn drive<K, C, F>(
    controller: Controller<K>,
    context: C,
    reconcile: impl Fn(Arc<K>, Arc<C>) -> F,
) -> Result<()>
where
    K: Resource<DynamicType: Clone + Debug + Eq + Hash + TypeOf<K> + Unpin>,
    K: Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = Result<Action>> + Send + 'static,
{
    let reconcile = |object: Arc<K>, context| {
        let span = trace::reconcile(object.as_ref());
        // The call is in the span too: what a reconcile does before its first `.await` belongs to it.
        span.in_scope(|| reconcile(object, context)).map_err(|error| Failed { error }).instrument(span)
    };
    let results = controller.run(reconcile, |_, _, _| Action::requeue(RETRY), Arc::new(context));
    let print = |result: Result<_, Error<Failed, _>>| {
        match result {
            // A trigger for an object that is gone by now.
            Ok(_) | Err(Error::ObjectNotFound(_)) => {}
            Err(error) => print_error(format_args!("  {error}")),
        }
        std::future::ready(())
    };
    results.for_each(print).await;
    Ok(())
}

/// The objects of a kind that a controller watches besides its own.
pub struct Watched<K: Resource<DynamicType = ()> + 'static> {
    store: Store<K>,
    listed: Receiver<bool>,
}

// === impl Watched ===

impl<K: Resource<DynamicType = ()> + Clone> Watched<K> {
    /// All objects, once they have been listed.
    ///
    /// # Errors
    ///
    /// When the watch has ended before that.
    pub async fn all(&self) -> Result<Vec<Arc<K>>> {
        // Not `Store::wait_until_ready`: of several callers it wakes only the last, see
        // crates/watch-manager/docs/upstream/kube-store-wait-until-ready.md.
        self.listed.clone().wait_for(|listed| *listed).await?;
        Ok(self.store.state())
    }

    /// The objects that are known now.
    #[must_use]
    pub fn known(&self) -> Vec<Arc<K>> {
        self.store.state()
    }
}

/// A controller of the objects of a kind in the namespace. `watch-manager` watches, and not kube's `watcher`, whose defects
/// `crates/watch-manager/docs/upstream` lists. It ends with the reconciliations that have begun when the process is asked to end.
pub fn controller<K>(cluster: &Cluster, kind: K::DynamicType) -> Controller<K>
where
    K: Resource<DynamicType: Clone + Debug + Eq + Hash + Unpin>,
    K: Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (store, events) = reflected(cluster, kind.clone());
    let changed = events.filter_map(|event| {
        std::future::ready(match event {
            Event::InitApply(object) | Event::Apply(object) => Some(Ok(object)),
            Event::Init | Event::InitDone | Event::Delete(_) => None,
        })
    });
    let asked_to_end = cluster.shutdown.clone().cancelled_owned();
    Controller::for_stream_with(changed, store, kind).graceful_shutdown_on(asked_to_end)
}

/// Watches a kind besides the one that a controller is for: its objects, and each that has changed or was deleted. The
/// objects are updated as the stream is read, so they are up to date when one arrives.
pub fn watched<K>(cluster: &Cluster) -> (Watched<K>, impl Stream<Item = K> + use<K>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Send + Sync + 'static,
{
    let ((store, events), (sender, listed)) = (reflected(cluster, ()), watch::channel(false));
    let touched = events.filter_map(move |event| {
        std::future::ready(match event {
            Event::InitApply(object) | Event::Apply(object) | Event::Delete(object) => Some(object),
            Event::Init => None,
            Event::InitDone => {
                sender.send_replace(true);
                None
            }
        })
    });
    (Watched { store, listed }, touched)
}

/// The objects of a kind in the namespace, and the events that have just changed them.
fn reflected<K>(
    cluster: &Cluster,
    kind: K::DynamicType,
) -> (Store<K>, impl Stream<Item = Event<K>> + Send + use<K>)
where
    K: Resource<DynamicType: Clone + Eq + Hash>,
    K: Clone + DeserializeOwned + Send + Sync + 'static,
{
    let watching = watching(&cluster.client, cluster.interest::<K>(&kind));
    let mut writer = Writer::new(kind);
    let store = writer.as_reader();
    let events = watcher_events(watching);
    let events = events.filter_map(move |event| {
        std::future::ready(match event {
            Ok(event) => {
                writer.apply_watcher_event(&event);
                Some(event)
            }
            Err(error) => {
                print_error(format_args!("  {:#}", anyhow::Error::from(error)));
                None
            }
        })
    });
    (store, events)
}

/// The input of `Controller::reconcile_on`: the objects of `K` that a change of an object of `W` concerns.
pub fn mapped<W, K: Resource<DynamicType = ()>>(
    events: impl Stream<Item = W>,
    concerned: impl Fn(&W) -> Vec<Arc<K>>,
) -> impl Stream<Item = ObjectRef<K>> {
    events.flat_map(move |object| {
        let found: Vec<_> = concerned(&object).iter().map(|it| ObjectRef::from_obj(it.as_ref())).collect();
        futures::stream::iter(found)
    })
}
