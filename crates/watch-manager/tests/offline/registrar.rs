//! The promises to a consumer: kinds, snapshots, silence after removal, readers of any slowness, readiness and
//! shutdown. Time is virtual.

use std::time::Duration;

use crate::bench::{Bench, describe, during, gvk, next, object, until};
use futures::{FutureExt, StreamExt};
use watch_manager::testing::FakeApi;
use watch_manager::{Error, GvkStatus, Interest, NotReadyError, Verb, WatchManager, WatchReadiness};

const MINUTE: Duration = Duration::from_secs(60);

// --- Kinds.

#[tokio::test(start_paused = true)]
async fn a_call_returns_what_it_changed() {
    let bench = Bench::new();
    let registrar = bench.registrar("r");
    let _ = registrar.add(gvk("A"));
    let handle = registrar.handle(&gvk("A")).unwrap();
    let _ = registrar.add(gvk("A"));
    assert_eq!(handle.status(), Some(watch_manager::GvkStatus::Pending), "the same stay");
    let replaced = registrar.replace([gvk("B"), gvk("C")]);
    assert_eq!((replaced.added, replaced.removed), (vec![gvk("B"), gvk("C")], vec![gvk("A")]));
    assert_eq!(handle.status(), None);
    let replaced = registrar.replace([gvk("C"), gvk("B")]);
    assert!(replaced.is_empty());
    assert_eq!(replaced.kept, [gvk("B"), gvk("C")]);
    let part = |namespace: &str| Interest::new(gvk("B")).namespaces([namespace]);
    let replaced = registrar.replace([part("n"), gvk("C").into(), part("m")]);
    assert_eq!((&replaced.repeated, &replaced.rescoped), (&vec![gvk("B")], &vec![gvk("B")]));
    let replaced = registrar.replace([gvk("C").into(), part("m")]);
    assert!(replaced.is_empty() && replaced.repeated.is_empty(), "the last one counted");
    assert!(registrar.remove(&gvk("B")));
    assert!(!registrar.remove(&gvk("B")));
    assert_eq!(registrar.status(&gvk("B")), None);
}

/// For the driver, which has taken neither call yet, the first registrar leaves before the second joins.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_handed_over_to_another_registrar_goes_on() {
    for dropped in [false, true] {
        let bench = Bench::new();
        let first = bench.synced("A", &["a"]).await;
        let second = bench.registrar("second");
        let first = if dropped {
            drop(first);
            None
        } else {
            first.remove(&gvk("A"));
            Some(first)
        };
        let handle = second.add(gvk("A"));
        let store = handle.store();
        assert_eq!(store.wait_until_ready().await, Ok(()), "dropped: {dropped}");
        assert_eq!(bench.manager.wait_until_ready([gvk("A")]).await, Ok(()));
        handle.ready().await.unwrap();
        assert!(!store.is_closed() && bench.names("A") == ["a"]);
        assert_eq!(bench.api.calls(&gvk("A"), Verb::List), 1, "the watch goes on");
        drop((first, second));
        tokio::time::sleep(MINUTE).await;
        assert!(store.is_closed() && bench.api.open_watches() == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_while_its_registrar_lives() {
    let bench = Bench::new();
    let first = bench.registrar("r");
    let taken = bench.manager.registrar("r").unwrap_err();
    assert!(matches!(&taken, Error::DuplicateName { name, .. } if name == "r"), "{taken}");
    drop(first);
    assert_eq!(bench.registrar("r").name(), "r");
}

#[tokio::test(start_paused = true)]
async fn a_kept_kind_notices_nothing_and_a_removed_one_is_silent() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Kept", &["a"]).await;
    bench.api.serve(&gvk("Other"), "others");
    bench.api.apply(&gvk("Other"), object("o")).unwrap();
    registrar.replace([gvk("Kept"), gvk("Other")]);
    assert_eq!(until(&mut registrar, "ready").await, ["apply o", "synced", "ready"]);
    assert_eq!(bench.api.calls(&gvk("Kept"), Verb::Watch), 1);

    // Events are waiting when the kind is removed.
    bench.api.apply(&gvk("Other"), object("p")).unwrap();
    let other = bench.manager.registrar("other").unwrap();
    let _ = other.add(gvk("Other"));
    other.wait_until(WatchReadiness::is_ready).await.unwrap();
    assert!(bench.store("Other").get(Some("default"), "p").is_some());
    registrar.remove(&gvk("Other"));
    bench.api.apply(&gvk("Other"), object("q")).unwrap();
    assert_eq!(during(&mut registrar, MINUTE).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn removing_and_adding_again_replays_everything_without_a_new_watch() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b"]).await;
    registrar.remove(&gvk("Gadget"));
    let _ = registrar.add(gvk("Gadget"));
    let mut said = until(&mut registrar, "ready").await;
    said.sort();
    assert_eq!(said, ["apply a", "apply b", "ready", "synced"]);
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::Watch), 1);
}

// --- Many registrars, one watch.

#[tokio::test(start_paused = true)]
async fn a_late_registrar_gets_the_snapshot_and_then_the_changes_from_the_one_watch() {
    let bench = Bench::new();
    let mut first = bench.synced("Gadget", &["a", "b"]).await;
    let mut late = bench.registrar("late");
    let _ = late.add(gvk("Gadget"));
    let mut said = until(&mut late, "ready").await;
    let end = said.split_off(2);
    said.sort();
    assert_eq!(said, ["apply a", "apply b"]);
    assert_eq!(end, ["synced", "ready"]);

    bench.api.delete(&gvk("Gadget"), Some("default"), "a");
    assert_eq!(next(&mut late).await, "delete a");
    assert_eq!(next(&mut first).await, "delete a");
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::Watch), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_to_leave_ends_the_watch_and_closes_the_store() {
    let bench = Bench::new();
    let first = bench.synced("Gadget", &["a"]).await;
    let second = bench.registrar("second");
    let _ = second.add(gvk("Gadget"));
    second.wait_until(WatchReadiness::is_ready).await.unwrap();
    let store = bench.store("Gadget");

    first.remove(&gvk("Gadget"));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((bench.api.open_watches(), store.len(), store.is_closed()), (1, 1, false));

    drop(second);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((bench.api.open_watches(), store.len(), store.is_closed()), (0, 0, true));
    assert_eq!((store.status(), store.is_synced()), (GvkStatus::Closed, false));
    assert!(bench.manager.store(&gvk("Gadget")).is_none());
    assert!(bench.manager.watched().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_delivered_again_on_request_and_the_server_is_not_asked() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b"]).await;
    let former = registrar.handle(&gvk("Gadget")).unwrap();
    let handle = registrar.resync(&gvk("Gadget")).unwrap();
    assert!(matches!(former.ready().await, Err(NotReadyError::Removed { .. })));
    assert_eq!(until(&mut registrar, "ready").await, ["apply a", "apply b", "synced", "ready"]);
    handle.ready().await.unwrap();
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), 1);
    assert!(registrar.resync(&gvk("Other")).is_none());
    assert_eq!(bench.manager.watched(), [gvk("Gadget")]);
}

/// A registrar that joins a large kind is given it in portions. What happens meanwhile reaches it and the others in order.
#[tokio::test(start_paused = true)]
async fn a_late_registrar_of_a_large_kind_lets_others_have_their_turn() {
    let bench = Bench::new();
    let kind = gvk("Gadget");
    bench.api.serve(&kind, "gadgets");
    let name = |number: usize| format!("o-{number:05}");
    for number in 0..5_000 {
        bench.api.apply(&kind, object(&name(number))).unwrap();
    }
    let mut first = bench.registrar("first");
    first.add(kind.clone()).ready().await.unwrap();
    until(&mut first, "ready").await;
    let mut late = bench.registrar("late");
    let handle = late.add(kind.clone());
    bench.api.apply(&kind, object(&name(4_998))).unwrap();
    bench.api.delete(&kind, Some("default"), &name(4_999));
    bench.api.apply(&kind, object(&name(5_000))).unwrap();
    let told = [next(&mut first).await, next(&mut first).await, next(&mut first).await];
    assert_eq!(told, ["apply o-04998", "delete o-04999", "apply o-05000"]);
    handle.ready().await.unwrap();
    let said = until(&mut late, "ready").await;
    let mut expected: Vec<_> = (0..=5_000)
        .filter(|number| *number != 4_999)
        .map(|number| format!("apply {}", name(number)))
        .collect();
    let end = said.len() - 2;
    assert_eq!(said[end..], ["synced", "ready"]);
    let place = |line: &str| said.iter().position(|said| said == line).unwrap();
    assert!(place("apply o-05000") < place("apply o-04000"), "others waited for a whole snapshot");
    let mut applied = said[..end].to_vec();
    // One that is new has no turn to wait for.
    applied.sort();
    expected.sort();
    assert_eq!(applied, expected, "each once, and nothing of what was deleted before its turn");
}

#[tokio::test(start_paused = true)]
async fn a_registrar_that_leaves_in_the_middle_of_a_large_snapshot_is_given_no_more() {
    let bench = Bench::new();
    let kind = gvk("Gadget");
    bench.api.serve(&kind, "gadgets");
    for number in 0..3_000 {
        bench.api.apply(&kind, object(&format!("o-{number}"))).unwrap();
    }
    let first = bench.registrar("first");
    first.add(kind.clone()).ready().await.unwrap();
    let mut late = bench.registrar("late");
    for _ in 0..3 {
        let _ = late.add(kind.clone());
        while late.backlog().depth == 0 {
            tokio::task::yield_now().await;
        }
        assert!(late.remove(&kind));
        assert_eq!(late.backlog().depth, 0);
    }
    assert_eq!(during(&mut late, Duration::from_secs(5)).await, Vec::<String>::new());
    late.add(kind.clone()).ready().await.unwrap();
    assert_eq!(until(&mut late, "ready").await.len(), 3_000 + 2);
}

#[tokio::test(start_paused = true)]
async fn reading_starts_no_watch() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    assert!(bench.manager.store(&gvk("Gadget")).is_none());
    assert_eq!(bench.manager.status(&gvk("Gadget")), None);
    bench.manager.rediscover(&gvk("Gadget"));
    tokio::time::advance(MINUTE).await;
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::Discover), 0);
}

#[tokio::test(start_paused = true)]
async fn the_kind_on_an_object_is_the_kind_that_was_asked_for() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    let value = bench.store("Gadget").get(Some("default"), "a").unwrap().to_value().unwrap();
    assert_eq!((&value["apiVersion"], &value["kind"]), (&"example.com/v1".into(), &"Gadget".into()));
}

// --- Readers.

#[tokio::test(start_paused = true)]
async fn a_reader_that_sleeps_holds_up_no_other_and_wakes_up_to_the_latest() {
    let bench = Bench::new();
    let mut awake = bench.synced("Gadget", &["a"]).await;
    let mut asleep = bench.registrar("asleep");
    let _ = asleep.add(gvk("Gadget"));
    until(&mut asleep, "ready").await;

    for round in 0..500 {
        bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
        bench.api.apply(&gvk("Gadget"), object(&format!("short-lived-{round}"))).unwrap();
        bench.api.delete(&gvk("Gadget"), Some("default"), &format!("short-lived-{round}"));
        if round % 50 == 0 {
            assert!(!during(&mut awake, Duration::from_millis(1)).await.is_empty());
        }
    }
    during(&mut awake, Duration::from_millis(1)).await;
    let latest = bench.store("Gadget").get(Some("default"), "a").unwrap();
    let event = asleep.next().await.unwrap();
    assert_eq!(describe(&event), "apply a");
    let watch_manager::EventKind::Applied(object) = event.kind else { unreachable!() };
    assert_eq!(object, latest);
    assert_eq!(during(&mut asleep, MINUTE).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_next_takes_no_event_with_it() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &[]).await;
    for name in ["a", "b", "c"] {
        assert!(registrar.next().now_or_never().is_none(), "nothing has happened");
        bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
    }
    assert_eq!(during(&mut registrar, MINUTE).await, ["apply a", "apply b", "apply c"]);
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_registrar_share_its_events() {
    let bench = Bench::new();
    let registrar = bench.synced("Gadget", &[]).await;
    let mut streams = [registrar.events(), registrar.events()];
    let [left, right] = &mut streams;
    let both = async { tokio::join!(left.next(), right.next()) };
    let changes = async {
        bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
        bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    };
    let ((left, right), ()) = tokio::join!(both, changes);
    let mut said = [describe(&left.unwrap()), describe(&right.unwrap())];
    said.sort();
    assert_eq!(said, ["apply a", "apply b"]);

    drop(registrar);
    for mut stream in streams {
        assert!(stream.next().await.is_none(), "a stream outlived its registrar");
    }
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_wakes_every_stream_that_can_have_a_part_of_it() {
    let bench = Bench::new();
    let _first = bench.synced("Gadget", &["a", "b"]).await;
    let late = bench.registrar("late");
    let (mut left, mut right) = (late.events(), late.events());
    let both = async { tokio::join!(left.next(), right.next()) };
    let (both, _) = tokio::join!(tokio::time::timeout(MINUTE, both), async { late.add(gvk("Gadget")) });
    let (left, right) = both.expect("a stream slept through its part");
    let mut said = [describe(&left.unwrap()), describe(&right.unwrap())];
    said.sort();
    assert_eq!(said, ["apply a", "apply b"]);
}

// --- WatchReadiness.

#[tokio::test(start_paused = true)]
async fn readiness_waits_for_the_complete_list() {
    let mut config = crate::bench::config();
    config.page_size = 1;
    let bench = Bench::with(config);
    bench.api.set_latency(Duration::from_secs(1));
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for name in ["a", "b", "c"] {
        bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
    }
    let mut registrar = bench.registrar("r");
    assert!(registrar.readiness().is_ready(), "a registrar without kinds is ready");
    let _ = registrar.add(gvk("Gadget"));
    assert_eq!(until(&mut registrar, "apply a").await, ["apply a"]);
    assert!(!registrar.readiness().is_ready(), "one page is not a list");
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    assert_eq!(until(&mut registrar, "synced").await, ["apply b", "apply c", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn who_removes_what_is_waited_for_is_ready() {
    let bench = Bench::new();
    let registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Unknown"));
    let (readiness, _) = tokio::join!(registrar.wait_until(WatchReadiness::is_ready), async {
        registrar.remove(&gvk("Unknown"))
    });
    assert!(readiness.unwrap().is_ready());
}

// --- The end.

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_driver_the_streams_and_the_stores() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    let store = bench.store("Gadget");
    bench.shutdown.cancel();
    bench.driver.await.unwrap();
    assert!(registrar.next().await.is_none());
    assert!(store.is_closed() && store.is_empty());
    assert_eq!(bench.api.open_watches(), 0);
    assert_eq!(bench.manager.registrar("late").unwrap_err(), Error::ShutDown);
    let _ = registrar.add(gvk("Other"));
    assert_eq!(registrar.wait_until(WatchReadiness::is_ready).await.unwrap_err(), Error::ShutDown);
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_at_the_end_is_still_delivered() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    bench.shutdown.cancel();
    bench.driver.await.unwrap();
    let said: Vec<_> = registrar.events().map(|event| describe(&event)).collect().await;
    assert!(said.contains(&"apply a".to_owned()) && said.contains(&"synced".to_owned()), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_driver_ends_everything_also_when_it_never_ran() {
    let (manager, driver) =
        watch_manager::WatchManager::builder_with_source(watch_manager::testing::FakeApi::new()).build();
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(gvk("Gadget"));
    drop(driver);
    assert!(registrar.next().await.is_none());
    assert_eq!(manager.registrar("late").unwrap_err(), Error::ShutDown);
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_with_the_last_handle_and_leaves_no_task() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let bench = Bench::new();
    let clone = bench.manager.clone();
    let registrar = bench.registrar("r");
    for number in 0..50 {
        let kind = gvk(&format!("Kind{number}"));
        bench.api.serve(&kind, "things");
        let _ = registrar.add(kind);
    }
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(bench.api.open_watches(), 50);
    assert_eq!(tasks(), before + 1, "fifty watches are one task");

    drop(bench.manager);
    drop(clone);
    tokio::time::advance(MINUTE).await;
    assert!(!bench.driver.is_finished(), "a registrar is a handle too");
    drop(registrar);
    bench.driver.await.unwrap();
    assert_eq!((tasks(), bench.api.open_watches()), (before, 0));
}

#[tokio::test(start_paused = true)]
async fn a_registrar_dropped_in_mid_replay_is_gone() {
    let mut config = crate::bench::config();
    config.page_size = 1;
    let bench = Bench::with(config);
    bench.api.set_latency(Duration::from_secs(1));
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for name in ["a", "b", "c"] {
        bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
    }
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    until(&mut registrar, "apply a").await;
    drop(registrar);
    let mut again = bench.registrar("r");
    let _ = again.add(gvk("Gadget"));
    let said = until(&mut again, "synced").await;
    assert_eq!(said.iter().filter(|line| line.starts_with("apply")).count(), 3);
    assert_eq!(bench.manager.watched(), [gvk("Gadget")]);
}

// --- Handles, stores and scopes.

#[tokio::test(start_paused = true)]
async fn a_handle_has_a_store_at_once_and_waits_until_it_is_complete() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let registrar = bench.registrar("r");
    let handle = registrar.add(gvk("Gadget"));
    assert!(handle.store().is_empty());
    assert_eq!(bench.manager.kind_status(&gvk("Gadget")).unwrap().attempts, 0);
    handle.ready().await.unwrap();
    let store = handle.store();
    assert_eq!((store.len(), store.find(|object| object.name() == "a").is_some()), (1, true));
    bench.manager.wait_until_ready([gvk("Gadget")]).await.unwrap();

    registrar.remove(&gvk("Gadget"));
    assert!(matches!(handle.ready().await, Err(NotReadyError::Removed { .. })));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(handle.store().is_closed());
    assert_eq!(bench.manager.wait_until_ready([gvk("Gadget")]).await, Err(Error::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_handle_gives_up_with_the_state_of_the_kind() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.fail_always(&gvk("Gadget"), Verb::List, watch_manager::testing::Fault::Status(500));
    let registrar = bench.registrar("r");
    let error = registrar.add(gvk("Gadget")).ready_within(MINUTE).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Gadget is not ready in time: cannot start: by order of the test (HTTP 500)"
    );
    let status = bench.manager.kind_status(&gvk("Gadget")).unwrap();
    let lasted = tokio::time::Instant::now().into_std() - status.since;
    assert!(status.attempts > 5 && lasted > MINUTE / 2, "{status:?}");
    assert_eq!(status.last_contact, None);
}

fn labelled(name: &str, namespace: &str, app: &str) -> serde_json::Value {
    serde_json::json!({"metadata": {"name": name, "namespace": namespace, "labels": {"app": app}}})
}

fn app(value: &str) -> kube::core::Selector {
    kube::core::Expression::Equal("app".to_owned(), value.to_owned()).into()
}

#[tokio::test(start_paused = true)]
async fn registrars_with_different_selectors_share_a_watch_and_receive_their_parts() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for (name, namespace, app) in [("a", "n", "x"), ("b", "n", "y"), ("c", "m", "x")] {
        bench.api.apply(&gvk("Gadget"), labelled(name, namespace, app)).unwrap();
    }
    let mut narrow = bench.registrar("narrow");
    let _ = narrow.add(Interest::new(gvk("Gadget")).labels(app("x")));
    let mut said = until(&mut narrow, "ready").await;
    said.retain(|line| line.starts_with("apply"));
    said.sort();
    assert_eq!(said, ["apply a", "apply c"]);
    assert_eq!(bench.store("Gadget").len(), 2, "the server selects for a single registrar");

    let wide = bench.registrar("wide");
    wide.add(gvk("Gadget")).ready().await.unwrap();
    assert_eq!(bench.store("Gadget").len(), 3);
    assert_eq!(during(&mut narrow, MINUTE).await.into_iter().filter(|line| line.contains(' ')).count(), 0);
    assert_eq!(bench.api.open_watches(), 1);

    // An object that leaves the part is deleted for it, one that enters is applied.
    bench.api.apply(&gvk("Gadget"), labelled("a", "n", "y")).unwrap();
    assert_eq!(next(&mut narrow).await, "delete a");
    bench.api.apply(&gvk("Gadget"), labelled("b", "n", "x")).unwrap();
    assert_eq!(next(&mut narrow).await, "apply b");
    bench.api.delete(&gvk("Gadget"), Some("n"), "a");
    assert_eq!(during(&mut narrow, MINUTE).await, Vec::<String>::new());

    drop(wide);
    assert_eq!(during(&mut narrow, MINUTE).await.into_iter().filter(|line| line.contains(' ')).count(), 0);
    assert_eq!(bench.names("Gadget"), ["b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_have_a_watch_each_and_one_of_all_replaces_them() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for (name, namespace) in [("a", "n"), ("b", "m"), ("c", "o")] {
        bench.api.apply(&gvk("Gadget"), labelled(name, namespace, "x")).unwrap();
    }
    let mut some = bench.registrar("some");
    let _ = some.add(Interest::new(gvk("Gadget")).namespaces(["n", "m"]));
    let mut said = until(&mut some, "synced").await;
    said.retain(|line| line.starts_with("apply"));
    said.sort();
    assert_eq!(said, ["apply a", "apply b"]);
    until(&mut some, "ready").await;
    during(&mut some, MINUTE).await;
    assert_eq!(bench.api.open_watches(), 2);

    let all = bench.registrar("all");
    all.add(gvk("Gadget")).ready().await.unwrap();
    assert_eq!(during(&mut some, MINUTE).await.into_iter().filter(|line| line.contains(' ')).count(), 0);
    assert_eq!((bench.api.open_watches(), bench.names("Gadget").len()), (1, 3));
    drop(all);
    during(&mut some, MINUTE).await;
    assert_eq!((bench.api.open_watches(), bench.names("Gadget")), (2, vec!["a".to_owned(), "b".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn metadata_suffices_until_a_registrar_wants_the_objects() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let registrar = bench.registrar("metadata");
    registrar.add(Interest::new(gvk("Gadget")).metadata_only()).ready().await.unwrap();
    let read = || bench.store("Gadget").get(Some("default"), "a").unwrap().to_value().unwrap();
    assert_eq!((&read()["kind"], read().get("spec")), (&"Gadget".into(), None));
}

#[tokio::test(start_paused = true)]
async fn one_interest_is_watched_without_a_driver_and_until_the_stream_is_dropped() {
    let api = FakeApi::new();
    api.serve(&gvk("Gadget"), "gadgets");
    api.apply(&gvk("Gadget"), object("a")).unwrap();
    api.apply(&gvk("Gadget"), object("b")).unwrap();
    let builder = WatchManager::builder_with_source(api.clone()).config(crate::bench::config());
    let mut events = builder.watch(Interest::new(gvk("Gadget")).fields("metadata.name=a"));
    let mut said = Vec::new();
    while said.last().is_none_or(|last| last != "ready") {
        said.push(describe(&events.next().await.unwrap()));
    }
    said.retain(|line| line != "listing");
    assert_eq!(said, ["apply a", "synced", "ready"]);

    api.delete(&gvk("Gadget"), Some("default"), "b");
    api.delete(&gvk("Gadget"), Some("default"), "a");
    assert_eq!(describe(&events.next().await.unwrap()), "delete a");
    assert_eq!(api.open_watches(), 1);

    // What came and went while the client was cut off is unknown, and the end of the new list says that it happened.
    api.compact(&gvk("Gadget"));
    api.interrupt(&gvk("Gadget"), None);
    let mut said = Vec::new();
    while said.last().is_none_or(|last| last != "synced") {
        said.push(describe(&events.next().await.unwrap()));
    }
    drop(events);
    assert_eq!(api.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_lingers_for_a_registrar_that_returns() {
    let mut config = crate::bench::config();
    config.linger = Duration::from_secs(30);
    let bench = Bench::with(config);
    let registrar = bench.synced("Gadget", &["a"]).await;
    drop(registrar);
    tokio::time::advance(Duration::from_secs(20)).await;
    let again = bench.registrar("again");
    again.add(gvk("Gadget")).ready().await.unwrap();
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), 1, "the watch was still there");

    drop(again);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!((bench.api.open_watches(), bench.manager.store(&gvk("Gadget")).is_none()), (0, true));

    let last = bench.registrar("last");
    last.add(gvk("Gadget")).ready().await.unwrap();
    drop(last);
    tokio::time::advance(Duration::from_millis(1)).await;
    bench.manager.flush();
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(bench.api.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_registrar_shows_in_depth_and_age() {
    let bench = Bench::new();
    let _reader = bench.synced("Gadget", &["a", "b"]).await;
    let stalled = bench.registrar("stalled");
    stalled.add(gvk("Gadget")).ready().await.unwrap();
    tokio::time::advance(MINUTE).await;
    let backlogs = bench.manager.backlogs();
    let (_, stats) = backlogs.iter().find(|(name, _)| &**name == "stalled").unwrap();
    assert_eq!(stats.depth, 4, "two objects, synced, ready");
    assert!(stats.oldest.is_some());
    assert_eq!(stalled.backlog(), *stats);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_what_is_queued() {
    let bench = Bench::new();
    let _first = bench.synced("Gadget", &["a", "b", "c"]).await;
    let mut late = bench.registrar("late");
    late.add(gvk("Gadget")).ready().await.unwrap();
    assert_eq!(late.next_batch(2).await.len(), 2);
    assert_eq!(late.next_batch(100).await.len(), 3, "an object, synced, ready");
}
