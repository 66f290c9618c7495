//! Every call of the public interface while the driver ends, and after: each returns, and says what is so. Time is virtual.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::timeout;
use watch_manager::{
    Error, GroupVersionKind, GvkStatus, Interest, NotReadyError, ReconcileConfig, Registrar, StoreHandle,
    WatchHandle, WatchManager, WatchReadiness, reconcile_kinds,
};

use crate::bench::{Bench, gvk, object};

/// The ways in which a driver ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// It has ended when the calls come.
    Over,
    /// It was told to end, and has not noticed yet.
    Told,
    /// Its task is aborted in the middle of its work.
    Aborted,
}

/// Longer than anything that waits may take.
async fn within<T>(what: &str, end: End, future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(100 * 60), future).await.unwrap_or_else(|_| panic!("{what} hangs, {end:?}"))
}

fn former() -> GroupVersionKind {
    gvk("Thing")
}

#[tokio::test(start_paused = true)]
async fn no_call_hangs_while_the_driver_ends_or_after() {
    for end in [End::Over, End::Told, End::Aborted] {
        let bench = Bench::new();
        bench.api.serve(&gvk("Other"), "others");
        bench.api.apply(&gvk("Other"), object("a")).unwrap();
        let mut registrar = bench.synced("Thing", &["a"]).await;
        let (store, handle) = (bench.store("Thing"), registrar.handle(&former()).unwrap());
        assert!(registrar.readiness().is_ready() && store.status().is_ready());
        match end {
            End::Over => {
                bench.shutdown.cancel();
                bench.driver.await.unwrap();
            }
            End::Told => bench.shutdown.cancel(),
            End::Aborted => {
                bench.driver.abort();
                let _ = bench.driver.await;
            }
        }
        let other = registrar.add(gvk("Other"));
        within("a store that was read before", end, async {
            while !store.is_closed() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        what_was_ready_is_closed(&registrar, &handle, &store).await;
        assert_eq!(other.status(), Some(GvkStatus::Closed), "asked for before the end was noticed, {end:?}");
        kinds_are_asked_for(&registrar, end).await;
        the_manager_is_asked(&bench.manager, end).await;
        events_end(&mut registrar, end).await;
    }
}

/// A policy engine that asks after the end must not be told that it knows everything.
async fn what_was_ready_is_closed(registrar: &Registrar, handle: &WatchHandle, store: &StoreHandle) {
    assert_eq!(store.wait_until_ready().await, Err(Error::Closed));
    assert!(!store.is_synced() && store.is_empty());
    assert_eq!((store.status(), store.kind_status().status), (GvkStatus::Closed, GvkStatus::Closed));
    assert_eq!(store.kind_status().since, tokio::time::Instant::now().into_std());
    assert_eq!(registrar.status(&former()), Some(GvkStatus::Closed));
    assert_eq!(handle.status(), Some(GvkStatus::Closed));
    assert_eq!(
        (handle.ready().await, handle.consumed().await),
        (Err(NotReadyError::ShutDown), Err(NotReadyError::ShutDown))
    );
    let readiness = registrar.readiness();
    assert!(readiness.is_closed() && !readiness.is_ready() && !readiness.is_settled());
    assert!(readiness.waiting().contains(&(former(), GvkStatus::Closed)));
    assert_eq!(registrar.wait_until(WatchReadiness::is_ready).await.unwrap_err(), Error::ShutDown);
    assert!(registrar.wait_until(WatchReadiness::is_closed).await.is_ok());
}

async fn kinds_are_asked_for(registrar: &Registrar, end: End) {
    let other = registrar.add(gvk("Other"));
    let ready = within("ready", end, other.ready()).await;
    let consumed = within("consumed", end, other.consumed()).await;
    assert_eq!((ready, consumed), (Err(NotReadyError::ShutDown), Err(NotReadyError::ShutDown)), "{end:?}");
    assert_eq!(other.ready_within(Duration::from_secs(1)).await, Err(NotReadyError::ShutDown));
    assert!(other.store().is_closed() && other.store().is_empty(), "{end:?}");
    let waited = within("the store of a handle", end, other.store().wait_until_ready()).await;
    assert_eq!(waited, Err(Error::Closed));

    let again = registrar.add(Interest::new(former()).metadata_only());
    assert_eq!(within("a former kind", end, again.ready()).await, Err(NotReadyError::ShutDown));
    let handle = registrar.handle(&former()).unwrap();
    assert_eq!(within("a former kind", end, handle.ready()).await, Err(NotReadyError::ShutDown));
    assert!(handle.store().is_closed());

    assert_eq!(registrar.replace([gvk("Other"), gvk("Third")]).added, [gvk("Third")]);
    assert_eq!(registrar.status(&gvk("Third")), Some(GvkStatus::Closed));
    assert!(registrar.remove(&gvk("Third")));
    let waited = within("wait_until", end, registrar.wait_until(WatchReadiness::is_ready)).await;
    assert_eq!(waited.unwrap_err(), Error::ShutDown);
    assert!(!registrar.readiness().is_ready());
}

async fn the_manager_is_asked(manager: &WatchManager, end: End) {
    for kind in [gvk("Other"), former(), gvk("Third"), gvk("Unknown")] {
        assert!(manager.store(&kind).is_none() && manager.status(&kind).is_none(), "{kind:?}, {end:?}");
        assert!(manager.kind_status(&kind).is_none());
        let waited = within("wait_until_ready", end, manager.wait_until_ready([kind.clone()])).await;
        assert_eq!(waited, Err(Error::Closed));
        manager.rediscover(&kind);
    }
    assert_eq!(manager.registrar("late").unwrap_err(), Error::ShutDown);
    assert_eq!(manager.ordered_registrar("late", 1).unwrap_err(), Error::ShutDown);
    manager.flush();
    assert_eq!((manager.watched(), manager.backlogs().len()), (vec![gvk("Other")], 1));
    #[cfg(feature = "metrics")]
    manager.record_metrics();
}

async fn events_end(registrar: &mut Registrar, end: End) {
    let outcomes =
        reconcile_kinds(registrar, ReconcileConfig::default(), async |_, _| Ok::<_, std::io::Error>(None));
    within("reconcile_kinds", end, outcomes.for_each(async |_| {})).await;
    within("events", end, registrar.events().for_each(async |_| {})).await;
    assert_eq!(within("next", end, registrar.next()).await, None);
    assert!(within("next_batch", end, registrar.next_batch(10)).await.is_empty());
}

/// Calls from other threads in the moment in which the driver ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_the_moment_of_the_end_does_not_hang() {
    for _ in 0..200 {
        let bench = Bench::new();
        bench.api.serve(&former(), "things");
        let registrar = bench.registrar("r");
        let adding = tokio::spawn(async move {
            let handle = registrar.add(former());
            let waits = (handle.ready().await, handle.store().wait_until_ready().await);
            (registrar, waits)
        });
        bench.shutdown.cancel();
        let (registrar, (ready, synced)) = adding.await.unwrap();
        // It was ready before the end, or says that it is not.
        assert!(matches!(ready, Ok(()) | Err(NotReadyError::ShutDown)), "{ready:?}");
        assert!(matches!(synced, Ok(()) | Err(Error::Closed)), "{synced:?}");
        bench.driver.await.unwrap();
        assert!(registrar.add(gvk("Later")).store().is_closed());
    }
}
