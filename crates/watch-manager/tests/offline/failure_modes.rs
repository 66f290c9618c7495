//! The failures that an API server can cause, one test each: kinds come and go, versions expire,
//! connections break, access is refused. Time is virtual.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::bench::{Bench, config, during, gvk, next, object, until};
use kube::client::Body;
use tokio::time::Instant;
use watch_manager::testing::{FakeApi, Fault};
use watch_manager::{CancellationToken, GvkStatus, Verb, WatchManager};

const MINUTE: Duration = Duration::from_secs(60);

// --- The kind comes and goes.

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_starts_by_itself_when_it_is() {
    let bench = Bench::new();
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    assert_eq!(during(&mut registrar, 5 * MINUTE).await, Vec::<String>::new());
    assert_eq!(registrar.status(&gvk("Gadget")), Some(GvkStatus::Pending));
    let looks = bench.api.calls(&gvk("Gadget"), Verb::Discover);
    assert!((5..30).contains(&looks), "looked {looks} times in five minutes");

    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let served = Instant::now();
    assert_eq!(until(&mut registrar, "ready").await, ["apply a", "synced", "ready"]);
    assert!(served.elapsed() <= MINUTE, "a look is due every 30 to 60 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_hint_makes_it_look_at_once() {
    let bench = Bench::new();
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    during(&mut registrar, 5 * MINUTE).await;

    bench.api.serve(&gvk("Gadget"), "gadgets");
    let served = Instant::now();
    bench.manager.rediscover(&gvk("Gadget"));
    assert_eq!(until(&mut registrar, "ready").await, ["synced", "ready"]);
    assert_eq!(served.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_hint_that_comes_too_early_makes_the_next_looks_frequent() {
    let bench = Bench::new();
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    during(&mut registrar, 5 * MINUTE).await;

    bench.manager.rediscover(&gvk("Gadget"));
    during(&mut registrar, Duration::from_secs(2)).await;
    bench.api.serve(&gvk("Gadget"), "gadgets");
    let served = Instant::now();
    until(&mut registrar, "ready").await;
    assert!(served.elapsed() <= Duration::from_secs(4), "{:?}", served.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_kind_loses_its_objects_and_comes_back_under_another_plural() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b"]).await;

    bench.api.unserve(&gvk("Gadget"));
    let mut gone = until(&mut registrar, "pending").await;
    gone.sort();
    assert_eq!(gone, ["delete a", "delete b", "pending"]);
    assert_eq!(bench.names("Gadget"), Vec::<String>::new());
    assert!(!bench.store("Gadget").is_synced());

    bench.api.serve(&gvk("Gadget"), "gizmos");
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    assert_eq!(until(&mut registrar, "ready").await, ["apply a", "synced", "ready"]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_back_while_cut_off_is_listed_anew() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b"]).await;

    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Unavailable));
    bench.api.unserve(&gvk("Gadget"));
    bench.api.serve(&gvk("Gadget"), "things");
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();

    let mut said = until(&mut registrar, "ready").await;
    said.retain(|line| !["stale", "ready"].contains(&line.as_str()));
    said.sort();
    // The new b has another uid: the old one ends before it.
    assert_eq!(said, ["apply b", "delete a", "delete b"]);
    assert_eq!(bench.names("Gadget"), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_404_of_a_served_kind_takes_nothing_away() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    bench.api.fail_next(&gvk("Gadget"), Verb::Watch, Fault::NotFound);
    bench.api.interrupt(&gvk("Gadget"), None);
    assert_eq!(during(&mut registrar, MINUTE).await, Vec::<String>::new());
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    assert_eq!(next(&mut registrar).await, "apply b");
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_the_watch_verb_says_so() {
    let bench = Bench::new();
    bench.api.serve_without(&gvk("Review"), "reviews", Verb::Watch);
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Review"));
    assert_eq!(next(&mut registrar).await, "unwatchable watch");
    assert!(registrar.status(&gvk("Review")).unwrap().is_stuck());
    assert_eq!(bench.api.calls(&gvk("Review"), Verb::List), 0);

    bench.api.serve(&gvk("Review"), "reviews");
    assert_eq!(until(&mut registrar, "ready").await, ["synced", "ready"]);
}

// --- Versions expire.

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_answered_by_a_list_that_tells_the_missed_deletes() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a", "b", "c"]).await;

    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Unavailable));
    bench.api.delete(&gvk("Gadget"), Some("default"), "b");
    bench.api.apply(&gvk("Gadget"), object("d")).unwrap();
    bench.api.compact(&gvk("Gadget"));

    let mut said = until(&mut registrar, "ready").await;
    said.sort();
    said.dedup(); // the state names the error, and there were several
    assert_eq!(said, ["apply d", "delete b", "ready", "stale"]);
    assert_eq!(bench.names("Gadget"), ["a", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_in_mid_watch_is_answered_by_a_list() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Expired));
    assert_eq!(until(&mut registrar, "ready").await, ["stale", "ready"]);
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), 2);
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    assert_eq!(next(&mut registrar).await, "apply b");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_has_always_expired_is_listed_less_and_less() {
    for fault in [Fault::Expired, Fault::ExpiredAtOnce] {
        let bench = Bench::new();
        let mut registrar = bench.synced("Gadget", &["a"]).await;
        bench.api.fail_always(&gvk("Gadget"), Verb::Watch, fault);
        bench.api.interrupt(&gvk("Gadget"), None);
        during(&mut registrar, 5 * MINUTE).await;
        let lists = bench.api.calls(&gvk("Gadget"), Verb::List);
        assert!((5..80).contains(&lists), "{fault:?}: {lists} lists in five minutes");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_that_expire_twice_are_asked_for_in_one_piece() {
    let mut config = config();
    config.page_size = 2;
    let bench = Bench::with(config);
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for name in ["a", "b", "c", "d", "e"] {
        bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
    }
    // Each list takes longer than its pages live.
    bench.api.set_latency(Duration::from_secs(1));
    let api = bench.api.clone();
    let compacting = tokio::spawn(async move {
        let mut every = tokio::time::interval(Duration::from_millis(900));
        loop {
            every.tick().await;
            api.compact(&gvk("Gadget"));
            if api.calls(&gvk("Gadget"), Verb::List) >= 5 {
                return;
            }
        }
    });
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    let said = until(&mut registrar, "synced").await;
    compacting.await.unwrap();
    assert_eq!(said.iter().filter(|line| line.starts_with("apply")).count(), 5);
    // Page, expired page, page, expired page, everything.
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), 5);
}

// --- Connections break.

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_off_starts_over_and_loses_no_delete() {
    let mut config = config();
    config.page_size = 1;
    let bench = Bench::with(config);
    let mut registrar = bench.synced("Gadget", &["a", "b", "c"]).await;
    let lists = bench.api.calls(&gvk("Gadget"), Verb::List);

    bench.api.set_latency(Duration::from_secs(1));
    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Expired));
    bench.api.delete(&gvk("Gadget"), Some("default"), "c");
    // The first page is under way; the second fails.
    while bench.api.calls(&gvk("Gadget"), Verb::List) == lists {
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    bench.api.fail_next(&gvk("Gadget"), Verb::List, Fault::Unavailable);
    let mut said = until(&mut registrar, "ready").await;
    said.dedup(); // the state names the error, and there were two
    assert_eq!(said, ["stale", "delete c", "ready"]);
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List) - lists, 4, "a page, an error, two pages");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_every_watch_at_once_is_not_hammered() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    let before = bench.api.calls(&gvk("Gadget"), Verb::Watch);
    bench.api.fail_always(&gvk("Gadget"), Verb::Watch, Fault::ClosedAtOnce);
    bench.api.interrupt(&gvk("Gadget"), None);
    during(&mut registrar, MINUTE).await;
    let watches = bench.api.calls(&gvk("Gadget"), Verb::Watch) - before;
    assert!((3..20).contains(&watches), "{watches} watches in a minute");

    bench.api.heal(&gvk("Gadget"), Verb::Watch);
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    let said = until(&mut registrar, "apply b").await;
    assert!(said.iter().all(|line| ["stale", "ready", "apply b"].contains(&line.as_str())), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_always_fails_is_asked_for_less_and_less() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.fail_always(&gvk("Gadget"), Verb::List, Fault::Unavailable);
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    assert_eq!(during(&mut registrar, 5 * MINUTE).await, ["degraded"]);
    let lists = bench.api.calls(&gvk("Gadget"), Verb::List);
    assert!((5..80).contains(&lists), "{lists} lists in five minutes");
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_replaced() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.fail_next(&gvk("Gadget"), Verb::Watch, Fault::Silent);
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    until(&mut registrar, "ready").await;
    bench.api.apply(&gvk("Gadget"), object("a")).unwrap();
    let applied = Instant::now();
    assert_eq!(next(&mut registrar).await, "apply a");
    assert_eq!(applied.elapsed(), config().idle_timeout);
}

#[tokio::test(start_paused = true)]
async fn a_kind_with_a_deadline_of_its_own_is_renewed_within_it_and_no_other_is() {
    let (mut config, own) = (config(), Duration::from_secs(20));
    config.idle_timeouts.insert(gvk("Gadget"), own);
    let bench = Bench::with(config);
    let mut gadgets = bench.synced("Gadget", &["a"]).await;
    bench.api.serve(&gvk("Other"), "others");
    let mut others = bench.registrar("others");
    let _ = others.add(gvk("Other"));
    until(&mut others, "ready").await;
    tokio::time::advance(Duration::from_secs(2)).await;
    for registrar in [&mut gadgets, &mut others] {
        assert_eq!(
            during(registrar, 29 * MINUTE).await,
            Vec::<String>::new(),
            "a healthy watch is not renewed in time"
        );
    }
    let watches = ["Gadget", "Other"].map(|kind| bench.api.calls(&gvk(kind), Verb::Watch));
    assert!((3_480 / 16..=1 + 3_480 / 16).contains(&watches[0]), "{watches:?}");
    assert!(watches[1] <= 13, "{watches:?}");

    bench.api.fail_next(&gvk("Gadget"), Verb::Watch, Fault::Silent);
    bench.api.interrupt(&gvk("Gadget"), None);
    while bench.api.calls(&gvk("Gadget"), Verb::Watch) == watches[0] {
        tokio::task::yield_now().await;
    }
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    let applied = Instant::now();
    assert_eq!(next(&mut gadgets).await, "apply b");
    assert_eq!(applied.elapsed(), own);
}

#[tokio::test(start_paused = true)]
async fn an_idle_hour_is_renewed_watches_and_no_event() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    assert_eq!(during(&mut registrar, 60 * MINUTE).await, Vec::<String>::new());
    // One every 290 seconds.
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::Watch), 13);
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::List), 1);
}

#[tokio::test(start_paused = true)]
async fn when_all_watches_break_they_return_a_few_at_a_time_and_without_object_events() {
    let kinds: Vec<_> = (0..100).map(|number| gvk(&format!("Kind{number}"))).collect();
    let mut config = config();
    // Each kind waits for a different time, as without a seed.
    config.jitter_seed = None;
    let bench = Bench::with(config);
    bench.api.set_latency(Duration::from_millis(50));
    let mut registrar = bench.registrar("r");
    for kind in &kinds {
        bench.api.serve(kind, "things");
        bench.api.apply(kind, object("a")).unwrap();
        let _ = registrar.add(kind.clone());
    }
    registrar.wait_until(watch_manager::WatchReadiness::is_ready).await.unwrap();
    while bench.api.open_watches() < kinds.len() {
        next(&mut registrar).await;
    }
    during(&mut registrar, Duration::from_secs(1)).await;
    assert!(bench.api.most_in_flight() <= 32, "sixteen lists and sixteen watches");

    for kind in &kinds {
        bench.api.interrupt(kind, Some(Fault::Unavailable));
    }
    let said = during(&mut registrar, MINUTE).await;
    assert_eq!(bench.api.open_watches(), kinds.len());
    assert!(bench.api.most_in_flight() <= 32);
    assert!(said.iter().all(|line| ["stale", "ready"].contains(&line.as_str())), "{said:?}");
    assert!(kinds.iter().all(|kind| registrar.status(kind) == Some(GvkStatus::Ready)));
}

// --- Access is refused.

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_says_so_is_asked_for_slowly_and_starts_when_allowed() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Secret"), "secrets");
    bench.api.apply(&gvk("Secret"), object("a")).unwrap();
    bench.api.fail_always(&gvk("Secret"), Verb::List, Fault::Forbidden);
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Secret"));
    assert_eq!(during(&mut registrar, 10 * MINUTE).await, ["forbidden list"]);
    assert!(registrar.readiness().is_settled() && !registrar.readiness().is_ready());
    let lists = bench.api.calls(&gvk("Secret"), Verb::List);
    assert!((6..13).contains(&lists), "{lists} lists in ten minutes");

    bench.api.heal(&gvk("Secret"), Verb::List);
    assert_eq!(until(&mut registrar, "ready").await, ["apply a", "synced", "ready"]);
}

#[tokio::test(start_paused = true)]
async fn revoked_access_keeps_what_is_known() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Secret", &["a"]).await;
    bench.api.fail_always(&gvk("Secret"), Verb::Watch, Fault::Forbidden);
    bench.api.interrupt(&gvk("Secret"), None);
    assert_eq!(next(&mut registrar).await, "forbidden watch");
    assert_eq!(bench.names("Secret"), ["a"]);

    // Access returns at an unknown time; a caller that knows may ask at once.
    bench.api.heal(&gvk("Secret"), Verb::Watch);
    let healed = Instant::now();
    bench.manager.rediscover(&gvk("Secret"));
    assert_eq!(until(&mut registrar, "ready").await, ["ready"]);
    assert_eq!(healed.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn one_kind_that_fails_holds_up_no_other() {
    let bench = Bench::new();
    for kind in ["Bad", "Good"] {
        bench.api.serve(&gvk(kind), "things");
        bench.api.apply(&gvk(kind), object("a")).unwrap();
    }
    bench.api.fail_always(&gvk("Bad"), Verb::Discover, Fault::Forbidden);
    let registrar = bench.registrar("r");
    registrar.replace([gvk("Bad"), gvk("Good"), gvk("Unknown")]);
    let readiness = registrar.wait_until(|readiness| readiness.waiting().len() == 2).await.unwrap();
    let waiting: Vec<_> = readiness.waiting().iter().map(|(gvk, _)| gvk.kind.as_str()).collect();
    assert_eq!(waiting, ["Bad", "Unknown"]);
    assert_eq!(registrar.status(&gvk("Unknown")), Some(GvkStatus::Pending));
}

// --- The server sends nonsense.

#[tokio::test(start_paused = true)]
async fn what_is_no_object_is_counted_and_skipped() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    bench.api.send_garbage(&gvk("Gadget"));
    bench.api.apply(&gvk("Gadget"), object("b")).unwrap();
    assert_eq!(next(&mut registrar).await, "apply b");
    assert_eq!(bench.store("Gadget").undecodable(), 1);
    assert_eq!(bench.names("Gadget"), ["a", "b"]);
    assert_eq!(bench.api.calls(&gvk("Gadget"), Verb::Watch), 1);
}

// --- One kind must not affect another.

#[tokio::test(start_paused = true)]
async fn discovery_and_watches_that_hang_have_a_deadline() {
    for verb in [Verb::Discover, Verb::Watch] {
        let bench = Bench::new();
        bench.api.serve(&gvk("Gadget"), "gadgets");
        bench.api.fail_next(&gvk("Gadget"), verb, Fault::Hang);
        let mut registrar = bench.registrar("r");
        let _ = registrar.add(gvk("Gadget"));
        let begun = Instant::now();
        until(&mut registrar, "ready").await;
        assert!(begun.elapsed() <= Duration::from_secs(33), "{verb}: {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_deleted_between_two_pages_takes_the_delivered_objects_with_it() {
    let mut config = config();
    config.page_size = 1;
    let bench = Bench::with(config);
    bench.api.serve(&gvk("Gadget"), "gadgets");
    for name in ["a", "b"] {
        bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
    }
    bench.api.set_latency(Duration::from_secs(1));
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(gvk("Gadget"));
    assert_eq!(next(&mut registrar).await, "apply a");
    bench.api.unserve(&gvk("Gadget"));
    let said = until(&mut registrar, "pending").await;
    assert_eq!(said, ["delete a", "pending"]);
    assert!(bench.store("Gadget").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_recovered_server_is_noticed_by_all_kinds_within_seconds() {
    let bench = Bench::new();
    let kinds: Vec<_> = (0..20).map(|number| gvk(&format!("Kind{number}"))).collect();
    let registrar = bench.registrar("r");
    for kind in &kinds {
        bench.api.serve(kind, "things");
        bench.api.fail_always(kind, Verb::List, Fault::Forbidden);
        let _ = registrar.add(kind.clone());
    }
    // Long enough for delays of minutes.
    tokio::time::sleep(10 * MINUTE).await;
    for kind in &kinds {
        bench.api.heal(kind, Verb::List);
    }
    bench.manager.rediscover(&kinds[0]);
    let begun = Instant::now();
    registrar.wait_until(watch_manager::WatchReadiness::is_ready).await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_seconds_costs_seconds() {
    // A restarting API server answers 403 until its RBAC cache has synced.
    let bench = Bench::new();
    let mut registrar = bench.synced("Gadget", &["a"]).await;
    bench.api.fail_always(&gvk("Gadget"), Verb::Watch, Fault::Forbidden);
    bench.api.interrupt(&gvk("Gadget"), Some(Fault::Unavailable));
    during(&mut registrar, Duration::from_secs(8)).await;
    bench.api.heal(&gvk("Gadget"), Verb::Watch);
    let healed = Instant::now();
    until(&mut registrar, "ready").await;
    assert!(healed.elapsed() <= Duration::from_secs(8), "{:?}", healed.elapsed());
}

// --- The server misbehaves.

#[tokio::test(start_paused = true)]
async fn misbehaving_watches_end_in_the_state_of_the_server() {
    for fault in [
        Fault::Duplicates,
        Fault::Reordered,
        Fault::Bookmarks(1_000),
        Fault::ClosedAfter(1),
        Fault::Truncated,
    ] {
        let bench = Bench::new();
        bench.api.serve(&gvk("Gadget"), "gadgets");
        bench.api.fail_next(&gvk("Gadget"), Verb::Watch, fault);
        let mut registrar = bench.registrar("r");
        let _ = registrar.add(gvk("Gadget"));
        until(&mut registrar, "ready").await;
        for name in ["a", "b", "c"] {
            bench.api.apply(&gvk("Gadget"), object(name)).unwrap();
        }
        bench.api.delete(&gvk("Gadget"), Some("default"), "b");
        during(&mut registrar, 10 * MINUTE).await;
        if fault == Fault::Reordered {
            // Nothing tells a client that events are in the wrong order; a list corrects it.
            bench.api.interrupt(&gvk("Gadget"), Some(Fault::Expired));
            during(&mut registrar, MINUTE).await;
        }
        assert_eq!(bench.names("Gadget"), ["a", "c"], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_says_when_to_come_back() {
    let bench = Bench::new();
    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench.api.fail_next(&gvk("Gadget"), Verb::List, Fault::TooManyRequests { retry_after: 20 });
    let registrar = bench.registrar("r");
    let begun = Instant::now();
    registrar.add(gvk("Gadget")).ready().await.unwrap();
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(20) && waited <= Duration::from_secs(22), "{waited:?}");
}

/// The header may be a date, which kube's client does not read, and the body may name no seconds: the delays are the
/// manager's own, and a date in the far future keeps nothing away.
#[tokio::test(start_paused = true)]
async fn a_busy_server_that_names_a_date_is_asked_after_the_delays_of_the_manager() {
    let api = FakeApi::new();
    api.serve(&gvk("Gadget"), "gadgets");
    api.apply(&gvk("Gadget"), object("a")).unwrap();
    let (server, refusals) = (api.client(), Arc::new(AtomicU32::new(5)));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (server, refusals) = (server.clone(), Arc::clone(&refusals));
        async move {
            let is_list = request.uri().path().ends_with("/gadgets");
            let left = |left: u32| left.checked_sub(1);
            if is_list && refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
                let busy = http::Response::builder()
                    .status(429)
                    .header("Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT");
                return Ok(busy.body(Body::from(b"too many requests".to_vec())).unwrap());
            }
            server.send(request).await
        }
    });
    let client = kube::Client::new(service, "default");
    let (manager, driver) = WatchManager::builder(client).config(config()).build();
    tokio::spawn(driver.run(CancellationToken::new()));
    let registrar = manager.registrar("r").unwrap();
    let begun = Instant::now();
    let handle = registrar.add(gvk("Gadget"));
    handle.ready().await.unwrap();
    let waited = begun.elapsed();
    // Five delays of 0.8 s to 5 s, each at most doubled.
    assert!(waited >= Duration::from_secs(4) && waited <= MINUTE, "{waited:?}");
    assert_eq!(handle.store().len(), 1);
}

// --- Definitions are watched.

fn definitions() -> watch_manager::GroupVersionKind {
    watch_manager::GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_appears_makes_its_kind_start_at_once() {
    let bench = Bench::new();
    bench.api.serve(&definitions(), "customresourcedefinitions");
    let registrar = bench.registrar("r");
    let handle = registrar.add(gvk("Gadget"));
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(bench.manager.watched(), [gvk("Gadget")], "the manager's own interest is not shown");

    bench.api.serve(&gvk("Gadget"), "gadgets");
    bench
        .api
        .apply(&definitions(), serde_json::json!({"metadata": {"name": "gadgets.example.com"}}))
        .unwrap();
    let begun = Instant::now();
    handle.ready().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_preferred_version_is_followed() {
    let bench = Bench::new();
    bench.api.serve(&definitions(), "customresourcedefinitions");
    let (v1, any) = (gvk("Gadget"), watch_manager::GroupVersionKind::gvk("example.com", "", "Gadget"));
    bench.api.serve(&v1, "gadgets");
    bench.api.apply(&v1, object("a")).unwrap();
    let mut registrar = bench.registrar("r");
    let _ = registrar.add(any.clone());
    until(&mut registrar, "ready").await;
    during(&mut registrar, MINUTE).await;
    let version =
        || bench.manager.store(&any).unwrap().get(Some("default"), "a").unwrap().gvk().version.clone();
    assert_eq!(version(), "v1");

    bench.api.set_versions(&v1, &["v2", "v1"]);
    bench
        .api
        .apply(&definitions(), serde_json::json!({"metadata": {"name": "gadgets.example.com"}}))
        .unwrap();
    let said = during(&mut registrar, MINUTE).await;
    assert!(said.contains(&"apply a".to_owned()) && !said.contains(&"delete a".to_owned()), "{said:?}");
    assert_eq!(version(), "v2");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_has_expired_is_a_failure_that_passes() {
    let bench = Bench::new();
    let mut registrar = bench.synced("A", &["x"]).await;
    bench.api.fail_next(&gvk("A"), Verb::Watch, Fault::Status(401));
    bench.api.interrupt(&gvk("A"), None);
    assert_eq!(next(&mut registrar).await, "stale");
    assert_eq!(next(&mut registrar).await, "ready");
    assert_eq!(bench.names("A"), ["x"]);
}
