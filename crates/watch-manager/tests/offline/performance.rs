//! Performance goals as behaviour: counts of requests, wake-ups, copies and queued events. None of
//! these tests looks at a clock that a busy machine could delay; time is virtual. The figures are in `watch-benchmarks`.

use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;
use watch_manager::testing::{FakeApi, Fault};
use watch_manager::{CancellationToken, GroupVersionKind, Verb, WatchManager, WatchReadiness};

use crate::bench::{Bench, config, during, gvk, next, object, until};

const MINUTE: Duration = Duration::from_secs(60);

/// Counts the polls of a future.
struct Counted<F>(Pin<Box<F>>, Arc<AtomicUsize>);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.as_mut().poll(context)
    }
}

/// Counts the wake-ups of a task.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

// --- F16: streaming lists.

/// A server that never ends a streaming list (kubernetes#140902) cannot keep a kind from becoming ready, because none is
/// asked for and nothing waits for a bookmark: time stands still here, and `FakeApi` sends its first after a minute.
#[tokio::test(start_paused = true)]
async fn f16_no_streaming_list_is_asked_for_and_no_bookmark_waited_for() {
    let maps = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let api = FakeApi::new();
    api.serve(&maps, "configmaps");
    api.apply(&maps, object("a")).unwrap();
    let (inner, queries) = (api.client(), Arc::<Mutex<Vec<String>>>::default());
    let seen = queries.clone();
    let client = Client::new(
        tower::service_fn(move |request: http::Request<Body>| {
            seen.lock().unwrap().extend(request.uri().query().map(str::to_owned));
            let inner = inner.clone();
            async move { inner.send(request).await }
        }),
        "default",
    );
    let (manager, driver) = WatchManager::builder(client).config(config()).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut registrar = manager.registrar("r").unwrap();
    let begun = Instant::now();
    let _ = registrar.add(maps.clone());
    assert_eq!(until(&mut registrar, "ready").await, ["apply a", "synced", "ready"]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    api.compact(&maps);
    api.interrupt(&maps, Some(Fault::Expired));
    until(&mut registrar, "ready").await;
    let queries = queries.lock().unwrap().clone();
    assert!(queries.iter().filter(|query| query.contains("watch=")).count() >= 2, "{queries:?}");
    assert!(!queries.iter().any(|query| query.contains("sendInitialEvents")), "{queries:?}");
    shutdown.cancel();
    driver.await.unwrap();
}

// --- P1: memory.

#[tokio::test(start_paused = true)]
async fn p1_an_object_is_kept_once_for_all_registrars_as_its_text_without_managed_fields() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    let fields = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:text": {}}}}]);
    let text = "x".repeat(1_000);
    let gadget = json!({"metadata": {"name": "a", "managedFields": fields}, "spec": {"text": text}});
    bench.api.apply(&gvk("Gadget"), gadget).unwrap();
    let (one, two) = (bench.registrar("one"), bench.registrar("two"));
    let mut given = Vec::new();
    for registrar in [&one, &two] {
        let _ = registrar.add(gvk("Gadget"));
        let mut objects = registrar.events().filter_map(|event| ready(event.kind.object().cloned()));
        given.push(objects.next().await.unwrap());
    }
    let stored = bench.store("Gadget").get(None, "a").unwrap();
    assert!(given.iter().all(|object| Arc::ptr_eq(object, &stored)), "an object was copied");
    assert!(!stored.json().contains("managedFields"));
    assert!(stored.json().len() < text.len() + 300, "{} bytes", stored.json().len());
}

#[tokio::test(start_paused = true)]
async fn p1_a_list_that_is_repeated_keeps_the_objects_that_it_finds_unchanged() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b"]).await;
    let before = bench.store("Gadget").get(Some("default"), "a").unwrap();
    let lists = bench.api.calls(&gvk("Gadget"), Verb::List);
    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Expired));
    assert_eq!(until(&mut registrar, "ready").await, ["stale", "ready"], "nothing changed");
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), lists + 1);
    let after = bench.store("Gadget").get(Some("default"), "a").unwrap();
    assert!(Arc::ptr_eq(&before, &after), "the list made a second copy");
}

// --- P2: scale.

#[tokio::test(start_paused = true)]
async fn p2_many_kinds_start_with_one_list_and_one_watch_each_and_a_bounded_number_at_once() {
    let bench = Bench::new();
    let kinds: Vec<_> = (0..1_000).map(|number| gvk(&format!("Kind{number}"))).collect();
    kinds.iter().for_each(|kind| bench.api.serve(kind, &kind.kind.to_lowercase()));
    let registrars = ["one", "two", "three"].map(|name| bench.registrar(name));
    for registrar in &registrars {
        registrar.replace(kinds.iter().cloned());
    }
    for registrar in &registrars {
        registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for kind in &kinds {
        let calls = [Verb::List, Verb::Watch].map(|verb| bench.api.calls(kind, verb));
        assert_eq!(calls, [1, 1], "{kind:?}");
    }
    assert!(bench.api.most_in_flight() <= 32, "{} requests at once", bench.api.most_in_flight());
}

#[tokio::test(start_paused = true)]
async fn p2_a_manager_whose_server_is_silent_does_not_wake() {
    let api = FakeApi::new();
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).config(config()).build();
    let polls = Arc::<AtomicUsize>::default();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(Counted(Box::pin(driver.run(shutdown.clone())), polls.clone()));
    let registrar = manager.registrar("r").unwrap();
    for number in 0..50 {
        let kind = gvk(&format!("Kind{number}"));
        api.serve(&kind, "things");
        let _ = registrar.add(kind);
    }
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = polls.load(Ordering::Relaxed);
    // An API server, and this one, sends a bookmark after about a minute.
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(polls.load(Ordering::Relaxed), before);
    shutdown.cancel();
    driver.await.unwrap();
}

// --- P3: latency.

#[tokio::test(start_paused = true)]
async fn p3_a_new_kind_waits_for_its_requests_only_and_a_late_join_for_none() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    bench.api.set_latency(Duration::from_secs(1));
    let (mut first, mut late) = (bench.registrar("first"), bench.registrar("late"));
    let begun = Instant::now();
    let _ = first.add(gvk("Gadget"));
    assert_eq!(next(&mut first).await, "apply a");
    assert_eq!(begun.elapsed(), Duration::from_secs(2), "a discovery and a list");
    until(&mut first, "ready").await;

    let begun = Instant::now();
    let _ = late.add(gvk("Gadget"));
    assert_eq!(until(&mut late, "ready").await, ["apply a", "synced", "ready"]);
    assert_eq!(begun.elapsed(), Duration::ZERO);

    first.remove(&gvk("Gadget"));
    late.remove(&gvk("Gadget"));
    while bench.api.open_watches() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "a removed kind is released at once");
}

// --- P4: fan-out.

#[tokio::test(start_paused = true)]
async fn p4_a_change_wakes_the_registrars_of_its_kind_and_no_other() {
    let bench = Bench::new();
    for kind in ["A", "B"] {
        bench.api.serve(&gvk(kind), "things");
    }
    let (mut a, mut b) = (bench.registrar("a"), bench.registrar("b"));
    let _ = a.add(gvk("A"));
    let _ = b.add(gvk("B"));
    for registrar in [&mut a, &mut b] {
        until(registrar, "ready").await;
        during(registrar, MINUTE / 2).await;
    }
    let wakes: [Arc<Wakes>; 2] = Default::default();
    let (mut next_of_a, mut next_of_b) = (pin!(a.next()), pin!(b.next()));
    let wakers = [0, 1].map(|index| Waker::from(wakes[index].clone()));
    assert!(next_of_a.poll_unpin(&mut Context::from_waker(&wakers[0])).is_pending());
    assert!(next_of_b.poll_unpin(&mut Context::from_waker(&wakers[1])).is_pending());
    bench.api.apply(&gvk("A"), object("x")).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!([0, 1].map(|index| wakes[index].0.load(Ordering::Relaxed)), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn p4_a_stalled_registrar_delays_no_other_and_queues_each_object_once() {
    let bench = Bench::new();
    let mut reader = bench.synced("Gadget", &["a", "b"]).await;
    let stalled = bench.registrar("stalled");
    stalled.add(gvk("Gadget")).ready().await.unwrap();
    let begun = Instant::now();
    for round in 0..500 {
        let mut gadget = object("a");
        gadget["spec"]["round"] = round.into();
        bench.api.apply(&gvk("Gadget"), gadget).unwrap();
        assert_eq!(next(&mut reader).await, "apply a");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "the reader had to wait");
    // Two objects, the end of the snapshot and the status.
    assert_eq!(stalled.backlog().depth, 4);
}
