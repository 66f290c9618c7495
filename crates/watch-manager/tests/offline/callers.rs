//! Callers who take the types at their word: extreme settings, kinds that cannot exist, hooks that call back or panic, and
//! handles that are dropped while others wait for them.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::timeout;
use watch_manager::testing::{FakeApi, Fault};
use watch_manager::{
    BackoffRange, CancellationToken, Config, Error, GroupVersionKind, Interest, NotReadyError, RateLimit,
    Registrar, Verb, WatchManager, WatchReadiness,
};

use crate::bench::{Bench, config, during, gvk, object, until};

const MINUTE: Duration = Duration::from_secs(60);

/// Changes a setting, and its name for the message of a failure.
type Setting = (&'static str, fn(&mut Config));

/// A call of a registrar.
type Call = fn(&WatchManager, &Registrar);

/// "Never" and "at once" are values of a duration. A kind becomes ready whatever they are set to, follows the server, and the
/// server is not asked all the time.
#[tokio::test(start_paused = true)]
async fn a_setting_of_zero_or_of_the_longest_time_keeps_no_kind_from_being_followed() {
    let settings: [Setting; 17] = [
        ("no start at all", |config| config.max_concurrent_starts = 0),
        ("any number of starts", |config| config.max_concurrent_starts = usize::MAX),
        ("pages of any size", |config| config.page_size = 0),
        ("pages of the largest size", |config| config.page_size = u32::MAX),
        ("no deadline", |config| config.request_timeout = Duration::ZERO),
        ("watches as long as the server likes", |config| config.watch_timeout = Duration::ZERO),
        ("no end of silence", |config| config.idle_timeout = Duration::ZERO),
        ("answers for ever", |config| config.request_timeout = Duration::MAX),
        ("watches for ever", |config| config.watch_timeout = Duration::MAX),
        ("silence for ever", |config| config.idle_timeout = Duration::MAX),
        ("linger for ever", |config| config.linger = Duration::MAX),
        ("retry at once", |config| config.retry = BackoffRange::new(Duration::ZERO, Duration::ZERO)),
        ("the shortest above the longest", |config| {
            config.retry = BackoffRange::new(5 * MINUTE, Duration::ZERO)
        }),
        ("no burst", |config| config.requests = RateLimit::new(0, Duration::from_secs(1))),
        ("any burst", |config| config.requests = RateLimit::new(u32::MAX, Duration::MAX)),
        ("any burst of pages", |config| config.pages = RateLimit::new(u32::MAX, Duration::MAX)),
        ("looks for ever", |config| config.discovery = BackoffRange::new(Duration::MAX, Duration::MAX)),
    ];
    for (name, set) in settings {
        for over_http in [false, true] {
            let mut config = config();
            set(&mut config);
            let bench = if over_http { Bench::over_http(config) } else { Bench::with(config) };
            bench.api.serve(&gvk("Gadget"), "gadgets");
            bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
            let mut registrar = bench.registrar("r");
            let handle = registrar.add(gvk("Gadget"));
            handle.ready_within(MINUTE).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            during(&mut registrar, MINUTE).await;
            let calls = || {
                [Verb::Discover, Verb::List, Verb::Watch].map(|verb| bench.api.calls(&gvk("Gadget"), verb))
            };
            let before: usize = calls().iter().sum();
            let said = during(&mut registrar, 20 * MINUTE).await;
            assert!(said.is_empty(), "{name}: {said:?}");
            let asked = calls().iter().sum::<usize>() - before;
            assert!(asked <= 20, "{name}: {asked} requests in twenty quiet minutes");
            bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
            until(&mut registrar, "apply b").await;
            assert_eq!(bench.names("Gadget"), ["a", "b"], "{name}");
            drop(registrar);
            bench.shutdown.cancel();
            bench.driver.await.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// A limit of one request for ever is one: no overflow makes it none.
#[tokio::test(start_paused = true)]
async fn the_longest_delay_is_not_the_shortest() {
    let settings: [Setting; 2] = [
        ("retry", |config| config.retry = BackoffRange::new(Duration::MAX, Duration::MAX)),
        ("limit", |config| config.requests = RateLimit::new(3, Duration::MAX)),
    ];
    for (name, set) in settings {
        let mut config = config();
        set(&mut config);
        let bench = Bench::with(config);
        bench.api.serve(&gvk("Gadget"), "gadgets");
        bench.api.fail_always(&gvk("Gadget"), Verb::List, Fault::Unavailable);
        let registrar = bench.registrar("r");
        let handle = registrar.add(gvk("Gadget"));
        assert!(handle.ready_within(24 * 60 * MINUTE).await.is_err());
        let lists = bench.api.calls(&gvk("Gadget"), Verb::List);
        assert!(lists <= 3, "{name}: {lists} lists in a day");
    }
}

/// A name that no server has is a kind that is not served.
#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_exist_is_pending() {
    let bench = Bench::over_http(config());
    let registrar = bench.registrar("r");
    let odd = ["", " ", "/", "..", "a b", "Gädget", "%2e", "?watch=1", "#", "\u{0}", "\n"];
    let mut handles = Vec::new();
    for name in odd {
        handles.push(registrar.add(GroupVersionKind::gvk(name, "v1", "A")));
        handles.push(registrar.add(GroupVersionKind::gvk("example.com", name, "A")));
        handles.push(registrar.add(GroupVersionKind::gvk("example.com", "v1", name)));
        handles
            .push(registrar.add(Interest::new(GroupVersionKind::gvk(name, name, name)).namespaces([name])));
    }
    tokio::time::sleep(10 * MINUTE).await;
    for handle in handles {
        let status = handle.status().unwrap();
        assert!(!status.is_ready() && handle.store().is_empty(), "{:?}: {status}", handle.gvk());
    }
    // Nothing of that is in the way of what exists.
    bench.api.serve(&gvk("Gadget"), "gadgets");
    registrar.add(gvk("Gadget")).ready_within(MINUTE).await.unwrap();
}

/// The hook runs without a lock: it may do whatever its caller may.
#[tokio::test(start_paused = true)]
async fn a_hook_that_calls_the_manager_back_is_served() {
    let api = FakeApi::new();
    for kind in ["Gadget", "Other"] {
        api.serve(&gvk(kind), &kind.to_lowercase());
        api.apply(&gvk(kind), object("a")).unwrap();
    }
    let own: Arc<OnceLock<WatchManager>> = Arc::default();
    let held: Arc<Mutex<Vec<Registrar>>> = Arc::default();
    let (manager, taken) = (Arc::clone(&own), Arc::clone(&held));
    let transform = move |kind: &GroupVersionKind, _: &mut serde_json::Value| {
        let manager = manager.get().unwrap();
        let _ = (manager.store(kind).map(|store| store.state()), manager.watched(), manager.backlogs());
        if *kind == gvk("Gadget") {
            let another = manager.registrar("another").unwrap();
            let _ = another.add(gvk("Other"));
            taken.lock().unwrap().push(another);
        } else {
            // The registrar that asked for what is read here.
            taken.lock().unwrap().clear();
        }
        manager.rediscover(kind);
        manager.flush();
    };
    let (manager, driver) =
        WatchManager::builder_with_source(api.clone()).config(config()).transform(transform).build();
    assert!(own.set(manager.clone()).is_ok());
    tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(gvk("Gadget"));
    until(&mut registrar, "ready").await;
    tokio::time::sleep(MINUTE).await;
    assert!(held.lock().unwrap().is_empty() && manager.store(&gvk("Other")).is_none());
    assert_eq!((manager.watched(), api.open_watches()), (vec![gvk("Gadget")], 1));
}

/// The list of kinds may be lazy and the condition may look further: neither runs under the registrar's lock. A call that
/// waits for itself blocks its thread, so each has one that may be left behind.
#[test]
fn what_a_registrar_calls_may_call_it_back() {
    let calls: [(&str, Call); 2] = [
        ("replace", |manager, registrar| {
            let is_new = |kind: &GroupVersionKind| {
                registrar.status(kind).is_none() && !manager.watched().contains(kind)
            };
            registrar.replace([gvk("A"), gvk("B")].into_iter().filter(is_new));
        }),
        ("wait_until", |manager, registrar| {
            let all = |_: &WatchReadiness| {
                registrar.readiness().waiting().is_empty() && manager.watched().is_empty()
            };
            registrar.wait_until(all).now_or_never().unwrap().unwrap();
        }),
    ];
    for (name, call) in calls {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let (manager, _driver) = WatchManager::builder_with_source(FakeApi::new()).build();
            call(&manager, &manager.registrar("r").unwrap());
            done.send(()).unwrap();
        });
        assert!(is_done.recv_timeout(MINUTE).is_ok(), "{name} does not return");
    }
}

/// The driver panics with it, as the task that polls it shows, and leaves nobody waiting.
#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_ends_the_driver_and_every_wait() {
    let api = FakeApi::new();
    for kind in ["Gadget", "Other"] {
        api.serve(&gvk(kind), &kind.to_lowercase());
    }
    let transform = |_: &GroupVersionKind, _: &mut serde_json::Value| panic!("by order of the test");
    let (manager, driver) =
        WatchManager::builder_with_source(api.clone()).config(config()).transform(transform).build();
    let driver = tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let other = registrar.add(gvk("Other"));
    other.ready().await.unwrap();
    api.apply(&gvk("Gadget"), object("a")).unwrap();
    let handle = registrar.add(gvk("Gadget"));
    assert!(matches!(handle.ready().await, Err(NotReadyError::ShutDown)));
    assert!(driver.await.unwrap_err().is_panic());
    assert!(other.store().is_closed() && other.store().wait_until_ready().await.is_err());
    while timeout(MINUTE, registrar.next()).await.unwrap().is_some() {}
    assert!(matches!(manager.registrar("another"), Err(Error::ShutDown)));
}

/// Everything that waits for a registrar or its kinds ends when it is dropped, in every phase of a watch.
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_registrar_that_is_dropped_ends_with_an_error() {
    for verb in [Verb::Discover, Verb::List, Verb::Watch] {
        let bench = Bench::new();
        bench.api.serve(&gvk("Gadget"), "gadgets");
        bench.api.fail_always(&gvk("Gadget"), verb, Fault::Hang);
        let registrar = bench.registrar("r");
        let handle = registrar.add(gvk("Gadget"));
        let store = handle.store();
        let waits = [
            tokio::spawn({
                let store = store.clone();
                async move { store.wait_until_ready().await.is_ok() }
            }),
            tokio::spawn({
                let (manager, kinds) = (bench.manager.clone(), [gvk("Gadget")]);
                async move { manager.wait_until_ready(kinds).await.is_ok() }
            }),
            tokio::spawn(async move { handle.ready().await.is_ok() && handle.consumed().await.is_ok() }),
        ];
        let mut events = registrar.events();
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(registrar);
        for (number, wait) in waits.into_iter().enumerate() {
            let done = timeout(MINUTE, wait)
                .await
                .unwrap_or_else(|_| panic!("{verb}: wait {number} hangs"))
                .unwrap();
            // Before the watch, the list is complete.
            assert!(!done || verb == Verb::Watch, "{verb}: {number}");
        }
        use futures::StreamExt;
        while timeout(MINUTE, events.next())
            .await
            .unwrap_or_else(|_| panic!("{verb}: the stream hangs"))
            .is_some()
        {}
        assert!(store.is_closed() && store.is_empty(), "{verb}");
        assert_eq!(bench.api.open_watches(), 0, "{verb}");
    }
}

/// Managers share a server and nothing else, names included.
#[tokio::test(start_paused = true)]
async fn several_managers_of_one_client_do_not_know_each_other() {
    let api = FakeApi::new();
    api.serve(&gvk("Gadget"), "gadgets");
    api.apply(&gvk("Gadget"), object("a")).unwrap();
    let client = api.client();
    let mut managers: Vec<_> = (0..5)
        .map(|_| {
            let (manager, driver) = WatchManager::builder(client.clone()).config(config()).build();
            let registrar = manager.registrar("the same").unwrap();
            let _ = registrar.add(gvk("Gadget"));
            let shutdown = CancellationToken::new();
            (manager, registrar, tokio::spawn(driver.run(shutdown.clone())), shutdown)
        })
        .collect();
    for (_, registrar, _, _) in &mut managers {
        until(registrar, "ready").await;
    }
    assert_eq!(api.open_watches(), 5);
    // One ends, one loses its driver, one its registrar, one its manager.
    managers[0].3.cancel();
    managers[1].2.abort();
    let (manager, registrar, _driver, _) = managers.pop().unwrap();
    drop(registrar);
    let (last, mut registrar, _, _) = managers.pop().unwrap();
    drop(last);
    tokio::time::sleep(MINUTE).await;
    api.apply(&gvk("Gadget"), object("b")).unwrap();
    assert_eq!(during(&mut registrar, MINUTE).await, ["apply b"]);
    assert_eq!(during(&mut managers[2].1, MINUTE).await, ["apply b"]);
    for ended in [0, 1] {
        assert!(managers[ended].1.next().now_or_never().is_some_and(|event| event.is_none()));
    }
    assert!(manager.store(&gvk("Gadget")).is_none());
    assert_eq!(api.open_watches(), 2);
}
