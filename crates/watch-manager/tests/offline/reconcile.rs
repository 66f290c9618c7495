//! The controller for any number of kinds, consumers that work through a snapshot, and ordered registrars.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use watch_manager::{BackoffRange, EventKind, NotReadyError, ReconcileConfig, Reconciled, reconcile_kinds};

use crate::bench::{Bench, describe, gvk, object, until};

/// One outcome in words.
fn words(outcome: &Reconciled<&'static str>) -> String {
    let result = match &outcome.result {
        Ok(_) => "ok",
        Err(error) => error,
    };
    format!("{} {} {result}", outcome.key.gvk.kind, outcome.key.object.name())
}

// --- A controller for any number of kinds.

#[tokio::test(start_paused = true)]
async fn kinds_that_are_added_later_are_reconciled_and_removed_ones_are_not() {
    let bench = Bench::new();
    for kind in ["A", "B"] {
        bench.api.serve(&gvk(kind), "things");
        bench.api.apply(&gvk(kind), object("x")).unwrap();
    }
    let registrar = bench.registrar("controller");
    let _ = registrar.add(gvk("A"));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    let outcomes = reconcile_kinds(&registrar, ReconcileConfig::default(), move |key, object| {
        let state = object.map_or_else(|| "gone".to_owned(), |object| object.resource_version().to_owned());
        log.borrow_mut().push(format!("{} {state}", key.gvk.kind));
        async { Ok::<_, &str>(Some(Duration::from_secs(60))) }
    });
    let mut outcomes = std::pin::pin!(outcomes);
    assert_eq!(words(&outcomes.next().await.unwrap()), "A x ok");
    registrar.replace([gvk("B")]);
    for _ in 0..3 {
        assert_eq!(words(&outcomes.next().await.unwrap()), "B x ok", "a removed kind was reconciled again");
    }
    bench.api.delete(&gvk("B"), Some("default"), "x");
    assert_eq!(words(&outcomes.next().await.unwrap()), "B x ok");
    assert_eq!(seen.borrow().last().unwrap(), "B gone");
    drop(registrar);
    assert!(outcomes.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_that_fails_at_once_for_ever_lets_others_run() {
    let bench = Bench::new();
    let registrar = bench.synced("A", &["x"]).await;
    let _ = registrar.resync(&gvk("A"));
    let mut config = ReconcileConfig::default();
    config.retry = BackoffRange::new(Duration::ZERO, Duration::ZERO);
    let outcomes = reconcile_kinds(&registrar, config, async |_, _| Err::<Option<Duration>, _>("failed"));
    let mut outcomes = std::pin::pin!(outcomes);
    assert_eq!(words(&outcomes.next().await.unwrap()), "A x failed");
    let other = tokio::spawn(async {});
    for _ in 0..1_000 {
        outcomes.next().await.unwrap();
    }
    assert!(other.is_finished());
}

/// Never is not at once.
#[tokio::test(start_paused = true)]
async fn the_longest_debounce_is_not_the_shortest() {
    let bench = Bench::new();
    let registrar = bench.synced("A", &["x"]).await;
    let _ = registrar.resync(&gvk("A"));
    let mut config = ReconcileConfig::default();
    config.debounce = Duration::MAX;
    let outcomes = reconcile_kinds(&registrar, config, async |_, _| Ok::<_, &str>(None));
    let mut outcomes = std::pin::pin!(outcomes);
    assert!(timeout(Duration::from_secs(3_600), outcomes.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_by_one_at_a_time_and_gets_the_last_change() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    for name in ["x", "y", "z"] {
        bench.api.apply(&gvk("A"), object(name)).unwrap();
    }
    let registrar = bench.registrar("controller");
    let _ = registrar.add(gvk("A"));
    let (gate, started, most) =
        (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut config = ReconcileConfig::default();
    config.concurrency = 2;
    let (opened, begun, peak) = (Arc::clone(&gate), Arc::clone(&started), Arc::clone(&most));
    let outcomes = reconcile_kinds(&registrar, config, move |_, _| {
        let (gate, started, most) = (Arc::clone(&gate), Arc::clone(&started), Arc::clone(&most));
        async move {
            most.fetch_max(started.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            gate.acquire().await.unwrap().forget();
            started.fetch_sub(1, Ordering::Relaxed);
            Ok::<_, &str>(None)
        }
    });
    let mut outcomes = std::pin::pin!(outcomes);
    while begun.load(Ordering::Relaxed) < 2 {
        assert!(outcomes.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    bench.api.apply(&gvk("A"), object("x")).unwrap();
    opened.add_permits(10);
    let mut names = Vec::new();
    while names.len() < 4 {
        names.push(outcomes.next().await.unwrap().key.object.name().to_owned());
    }
    names.sort();
    assert!(peak.load(Ordering::Relaxed) <= 2, "more at once than allowed");
    assert!(["x", "y", "z"].iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_reconciliation_is_repeated_with_growing_delays() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    bench.api.apply(&gvk("A"), object("x")).unwrap();
    let registrar = bench.registrar("controller");
    let _ = registrar.add(gvk("A"));
    let outcomes = reconcile_kinds(&registrar, ReconcileConfig::default(), async |_, _| {
        Err::<Option<Duration>, _>("no")
    });
    let mut outcomes = std::pin::pin!(outcomes);
    let begun = tokio::time::Instant::now();
    for _ in 0..5 {
        assert_eq!(words(&outcomes.next().await.unwrap()), "A x no");
    }
    // 1 + 2 + 4 + 8 s at least, and a random part of as much again.
    assert!((15..=31).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

// --- Consumers.

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_consumed_when_its_reader_has_worked_through_it() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    bench.api.apply(&gvk("A"), object("x")).unwrap();
    let mut registrar = bench.registrar("r");
    let handle = registrar.add(gvk("A"));
    handle.ready().await.unwrap();
    assert!(handle.consumed().now_or_never().is_none(), "nothing was read");
    until(&mut registrar, "synced").await;
    assert!(handle.consumed().now_or_never().is_none(), "the reader may still work on the last event");
    until(&mut registrar, "ready").await;
    handle.consumed().now_or_never().expect("the reader came back").unwrap();
    let waiting = handle.consumed();
    registrar.remove(&gvk("A"));
    assert!(matches!(waiting.await, Err(NotReadyError::Removed { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_consumed_with_the_next_call() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    let mut registrar = bench.registrar("r");
    let handle = registrar.add(gvk("A"));
    handle.ready().await.unwrap();
    let batch = registrar.next_batch(100).await;
    assert!(batch.iter().any(|event| event.kind == EventKind::Synced));
    assert!(handle.consumed().now_or_never().is_none());
    // A call that is dropped before it returns an event has come back for more all the same.
    let _ = registrar.next_batch(100).now_or_never();
    handle.consumed().now_or_never().expect("the reader came back").unwrap();
}

// --- Ordered registrars.

#[tokio::test(start_paused = true)]
async fn an_ordered_registrar_gets_every_change_and_a_slow_one_is_told_that_it_lags() {
    let bench = Bench::new();
    bench.api.serve(&gvk("A"), "things");
    let mut audit = bench.manager.ordered_registrar("audit", 3).unwrap();
    let mut slow = bench.manager.ordered_registrar("slow", 2).unwrap();
    let mut usual = bench.registrar("usual");
    for registrar in [&mut audit, &mut slow, &mut usual] {
        let _ = registrar.add(gvk("A"));
        until(registrar, "ready").await;
    }
    let mut expected = Vec::new();
    for _ in 0..4 {
        expected.push(bench.api.apply(&gvk("A"), object("x")).unwrap().to_string());
    }
    let mut versions = Vec::new();
    while versions.len() < 4 {
        if let Some(object) = audit.next().await.unwrap().kind.object() {
            versions.push(object.resource_version().to_owned());
        }
    }
    assert_eq!(versions, expected);
    let events = slow.next_batch(100).await;
    assert_eq!(events.iter().map(describe).collect::<Vec<_>>(), ["Lagged", "apply x"]);
    assert_eq!(usual.backlog().depth, 1);
}
