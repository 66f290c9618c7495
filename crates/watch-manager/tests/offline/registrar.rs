//! What a consumer can rely on: rosters, snapshots, silence after removal, readers of any slowness, and the
//! end of everything. Time is virtual.

use std::time::Duration;

use crate::bench::{Bench, describe, during, gvk, next, object, until};
use futures::{FutureExt, StreamExt};
use watch_manager::{Error, Readiness, Replaced, Verb};

const MINUTE: Duration = Duration::from_secs(60);

// --- Rosters.

#[tokio::test(start_paused = true)]
async fn the_roster_says_what_a_call_changed() {
    let bench = Bench::new();
    let registrar = bench.registrar("r");
    assert!(registrar.add(gvk("A")));
    assert!(!registrar.add(gvk("A")));
    let replaced = registrar.replace([gvk("B"), gvk("C")]);
    assert_eq!((replaced.added, replaced.removed), (vec![gvk("B"), gvk("C")], vec![gvk("A")]));
    assert_eq!(registrar.replace([gvk("C"), gvk("B")]), Replaced::default());
    assert!(registrar.remove(&gvk("B")));
    assert!(!registrar.remove(&gvk("B")));
    assert_eq!(registrar.status(&gvk("B")), None);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_while_its_registrar_lives() {
    let bench = Bench::new();
    let first = bench.registrar("r");
    assert_eq!(bench.manager.registrar("r").unwrap_err(), Error::DuplicateName { name: "r".to_owned() });
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
    other.add(gvk("Other"));
    other.wait_until(Readiness::is_ready).await.unwrap();
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
    registrar.add(gvk("Gadget"));
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
    late.add(gvk("Gadget"));
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
    second.add(gvk("Gadget"));
    second.wait_until(Readiness::is_ready).await.unwrap();
    let store = bench.store("Gadget");

    first.remove(&gvk("Gadget"));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((bench.api.open_watches(), store.len(), store.is_closed()), (1, 1, false));

    drop(second);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!((bench.api.open_watches(), store.len(), store.is_closed()), (0, 0, true));
    assert!(bench.manager.store(&gvk("Gadget")).is_none());
    assert!(bench.manager.watched().is_empty());
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
    registrar.add(gvk("Gadget"));
    registrar.wait_until(Readiness::is_ready).await.unwrap();
    let value = bench.store("Gadget").get(Some("default"), "a").unwrap().to_value().unwrap();
    assert_eq!((&value["apiVersion"], &value["kind"]), (&"example.com/v1".into(), &"Gadget".into()));
}

// --- Readers.

#[tokio::test(start_paused = true)]
async fn a_reader_that_sleeps_holds_up_nobody_and_wakes_up_to_the_latest() {
    let bench = Bench::new();
    let mut awake = bench.synced("Gadget", &["a"]).await;
    let mut asleep = bench.registrar("asleep");
    asleep.add(gvk("Gadget"));
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

// --- Readiness.

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
    assert!(registrar.readiness().is_ready(), "an empty roster is ready");
    registrar.add(gvk("Gadget"));
    assert_eq!(until(&mut registrar, "apply a").await, ["apply a"]);
    assert!(!registrar.readiness().is_ready(), "one page is not a list");
    registrar.wait_until(Readiness::is_ready).await.unwrap();
    assert_eq!(until(&mut registrar, "synced").await, ["apply b", "apply c", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn who_removes_what_is_waited_for_is_ready() {
    let bench = Bench::new();
    let registrar = bench.registrar("r");
    registrar.add(gvk("Unknown"));
    let (readiness, _) =
        tokio::join!(registrar.wait_until(Readiness::is_ready), async { registrar.remove(&gvk("Unknown")) });
    assert!(readiness.unwrap().is_ready());
}

// --- The end.

#[tokio::test(start_paused = true)]
async fn shutdown_ends_the_driver_the_streams_and_the_stores() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    let store = bench.store("Gadget");
    bench.manager.shutdown();
    bench.driver.await.unwrap();
    assert!(registrar.next().await.is_none());
    assert!(store.is_closed() && store.is_empty());
    assert_eq!(bench.api.open_watches(), 0);
    assert_eq!(bench.manager.registrar("late").unwrap_err(), Error::ShutDown);
    registrar.add(gvk("Other"));
    assert_eq!(registrar.wait_until(Readiness::is_ready).await.unwrap_err(), Error::ShutDown);
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_at_the_end_is_still_delivered() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let registrar = bench.registrar("r");
    registrar.add(gvk("Gadget"));
    registrar.wait_until(Readiness::is_ready).await.unwrap();
    bench.manager.shutdown();
    bench.driver.await.unwrap();
    let said: Vec<_> = registrar.events().map(|event| describe(&event)).collect().await;
    assert!(said.contains(&"apply a".to_owned()) && said.contains(&"synced".to_owned()), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_driver_ends_everything_also_when_it_never_ran() {
    let (manager, driver) =
        watch_manager::WatchManager::builder_with_source(watch_manager::testing::FakeApi::new()).build();
    let mut registrar = manager.registrar("r").unwrap();
    registrar.add(gvk("Gadget"));
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
        registrar.add(kind);
    }
    registrar.wait_until(Readiness::is_ready).await.unwrap();
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
    registrar.add(gvk("Gadget"));
    until(&mut registrar, "apply a").await;
    drop(registrar);
    let mut again = bench.registrar("r");
    again.add(gvk("Gadget"));
    let said = until(&mut again, "synced").await;
    assert_eq!(said.iter().filter(|line| line.starts_with("apply")).count(), 3);
    assert_eq!(bench.manager.watched(), [gvk("Gadget")]);
}
