//! Kinds beside others whose requests hang, are slow, are refused or flap: what each may cost the others, in time and in
//! requests. Time is virtual.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use watch_manager::testing::Fault;
use watch_manager::{GroupVersionKind, GvkStatus, Registrar, Verb, WatchReadiness};

use crate::bench::{Bench, config, during, gvk, next, object, until};

const MINUTE: Duration = Duration::from_secs(60);
/// Requests of the same class that hang: in the 30 s of a deadline, fourteen places that ten requests leave within 5 s of the last
/// answer and 13 after that, two places of at most 1 s, and four for suspects.
const MOST_IN_FLIGHT: usize = 14 * (10 + 13) + (2 + 4) * 30;

/// Serves kinds of this name with an object each, and asks for them.
fn crowd(bench: &Bench, name: &str, count: usize) -> (Registrar, Vec<GroupVersionKind>) {
    let registrar = bench.registrar(name);
    let kinds: Vec<_> = (0..count).map(|number| gvk(&format!("{name}{number}"))).collect();
    for kind in &kinds {
        bench.api.serve(kind, "things");
        bench.api.apply(kind, object("a")).unwrap();
        let _ = registrar.add(kind.clone());
    }
    (registrar, kinds)
}

fn calls(bench: &Bench, kinds: &[GroupVersionKind], verb: Verb) -> usize {
    kinds.iter().map(|kind| bench.api.calls(kind, verb)).sum()
}

fn count(bench: &Bench, kinds: &[GroupVersionKind], accept: impl Fn(&GvkStatus) -> bool) -> usize {
    kinds.iter().filter(|kind| accept(&bench.manager.status(kind).unwrap())).count()
}

// --- Requests that hang.

/// The README states the bound: a second for each request.
#[tokio::test(start_paused = true)]
async fn a_new_kind_waits_a_second_at_most_for_each_request_beside_any_number_that_hang() {
    for verb in [Verb::Discover, Verb::List, Verb::Watch] {
        for size in [40, 200] {
            for after in [1, 300, 2_500, 29_900, 33_000, 600_000] {
                let bench = Bench::new();
                let mut first = bench.synced("First", &["a"]).await;
                for number in 0..size {
                    bench.api.fail_always(&gvk(&format!("Hanging{number}")), verb, Fault::Hang);
                }
                let _hanging = crowd(&bench, "Hanging", size);
                sleep(Duration::from_millis(after)).await;

                bench.api.serve(&gvk("New"), "news");
                let begun = Instant::now();
                let _ = first.add(gvk("New"));
                until(&mut first, "ready").await;
                let waited = begun.elapsed();
                assert!(waited <= Duration::from_secs(3), "{verb} {size} {after}: new after {waited:?}");

                // A kind that is watched reconnects.
                bench.api.interrupt(&gvk("First"), None);
                bench.api.apply(&gvk("First"), object("b")).unwrap();
                let begun = Instant::now();
                assert_eq!(next(&mut first).await, "apply b");
                let waited = begun.elapsed();
                assert!(waited <= Duration::from_secs(1), "{verb} {size} {after}: again after {waited:?}");
            }
        }
    }
}

/// A kind that hangs cannot be told from others before it is asked for: beside kinds that are asked for in the same moment, a kind has its
/// turn after them. Sixteen places change hands every half second, because discovery was answered at once.
#[tokio::test(start_paused = true)]
async fn kinds_that_are_asked_for_together_with_some_that_hang_have_their_turn() {
    for size in [40, 200] {
        for before in [0, size / 2, size] {
            let bench = Bench::new();
            for name in ["Before", "After"] {
                for number in 0..size {
                    bench.api.fail_always(&gvk(&format!("{name}{number}")), Verb::List, Fault::Hang);
                }
            }
            let _first = crowd(&bench, "Before", before);
            let (healthy, _) = crowd(&bench, "Healthy", 1);
            let _others = crowd(&bench, "After", size - before);
            let begun = Instant::now();
            healthy.wait_until(WatchReadiness::is_ready).await.unwrap();
            let bound = Duration::from_secs(u64::try_from(size).unwrap() / 32 + 1);
            assert!(begun.elapsed() <= bound, "{size}, {before} before it: {:?}", begun.elapsed());
        }
    }
}

/// The README states the bound. It is the same at the front, in the middle and at the end of the line: most places serve it from
/// the front, some from the end.
#[tokio::test(start_paused = true)]
async fn one_kind_among_a_thousand_that_hang_has_its_turn_wherever_it_stands() {
    for verb in [Verb::Discover, Verb::List, Verb::Watch] {
        for before in [0, 500, 850, 1_000] {
            let bench = Bench::new();
            for number in 0..1_000 {
                bench.api.fail_always(&gvk(&format!("Before{number}")), verb, Fault::Hang);
                bench.api.fail_always(&gvk(&format!("After{number}")), verb, Fault::Hang);
            }
            let _before = crowd(&bench, "Before", before);
            let (mut healthy, _) = crowd(&bench, "Healthy", 1);
            let _after = crowd(&bench, "After", 1_000 - before);
            let begun = Instant::now();
            until(&mut healthy, "ready").await;
            let waited = begun.elapsed();
            eprintln!("{verb}, {before} of 1,000 before it: {waited:?}");
            assert!(waited <= Duration::from_secs(1_000 / 9 + 3), "{verb}, {before} before it: {waited:?}");
        }
    }
}

/// As when the conversion webhook of an operator with many kinds does not answer. Each answer shows that the server is well, so
/// those that hang are given up before their deadline.
#[tokio::test(start_paused = true)]
async fn few_kinds_among_many_that_hang_have_their_turn_and_the_requests_in_flight_are_bounded() {
    let bench = Bench::new();
    let mut healthy = Vec::new();
    for group in 0..20 {
        for number in 0..50 {
            bench.api.fail_always(&gvk(&format!("Hanging{group}Of{number}")), Verb::List, Fault::Hang);
        }
    }
    let _hanging: Vec<_> = (0..20)
        .map(|group| {
            healthy.push(crowd(&bench, &format!("Healthy{group}Of"), 1).0);
            crowd(&bench, &format!("Hanging{group}Of"), 50)
        })
        .collect();
    let begun = Instant::now();
    for registrar in &healthy {
        registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    }
    // 1,000 lists, 32 in a second.
    assert!(begun.elapsed() <= Duration::from_secs(36), "{:?}", begun.elapsed());
    sleep(10 * MINUTE).await;
    assert!(bench.api.most_in_flight() <= MOST_IN_FLIGHT, "{}", bench.api.most_in_flight());
}

/// A kind whose request hung once is served after those that hang all the time have had a second each, four at a time.
#[tokio::test(start_paused = true)]
async fn a_kind_that_hung_once_has_its_turn() {
    let bench = Bench::new();
    for number in 0..200 {
        bench.api.fail_always(&gvk(&format!("Hanging{number}")), Verb::List, Fault::Hang);
    }
    bench.api.fail_next(&gvk("Once0"), Verb::List, Fault::Hang);
    let (once, _) = crowd(&bench, "Once", 1);
    let _hanging = crowd(&bench, "Hanging", 200);
    let begun = Instant::now();
    once.wait_until(WatchReadiness::is_ready).await.unwrap();
    // The deadline, a delay of at most 1.6 s, and its turn.
    let bound = config().request_timeout + Duration::from_secs(2 + 200 / 4);
    assert!(begun.elapsed() <= bound, "{:?}", begun.elapsed());
}

/// Requests that hang have a deadline, and those beyond the limit are only those that hang.
#[tokio::test(start_paused = true)]
async fn requests_that_hang_add_up_to_a_bound() {
    let bench = Bench::new();
    for number in 0..1_000 {
        bench.api.fail_always(&gvk(&format!("Hanging{number}")), Verb::List, Fault::Hang);
    }
    let (_hanging, kinds) = crowd(&bench, "Hanging", 1_000);
    sleep(10 * MINUTE).await;
    let status = bench.manager.status(&kinds[0]).unwrap();
    assert!(status.to_string().contains("no answer to list within 30 s"), "{status}");
    assert!(bench.api.most_in_flight() <= MOST_IN_FLIGHT, "{}", bench.api.most_in_flight());
}

// --- A slow server.

/// Deadlines begin with the request: who waits for its place has not failed.
#[tokio::test(start_paused = true)]
async fn a_slow_server_is_asked_once_for_each_kind_and_nothing_fails() {
    for (size, latency) in [(600, 100), (600, 2_000), (300, 12_000)] {
        let bench = Bench::new();
        let latency = Duration::from_millis(latency);
        bench.api.set_latency(latency);
        let (registrar, kinds) = crowd(&bench, "Kind", size);
        let begun = Instant::now();
        let mut failed = 0;
        while !registrar.readiness().is_ready() {
            sleep(Duration::from_secs(1)).await;
            failed += count(&bench, &kinds, |status| matches!(status, GvkStatus::Degraded { .. }));
        }
        // Two answers for each kind, sixteen at a time, and a second to look.
        let bound = latency * u32::try_from(2 * size).unwrap() / 16 + 2 * latency + Duration::from_secs(1);
        assert!(begun.elapsed() <= bound, "{latency:?}: {:?}, not {bound:?}", begun.elapsed());
        assert_eq!(failed, 0);
        for verb in [Verb::Discover, Verb::List] {
            assert_eq!(calls(&bench, &kinds, verb), size, "{verb}, answers after {latency:?}");
        }
    }
}

/// All watches end at once, and the server answers each renewal after a second: who waits for longer than the deadline
/// says so, and keeps its place.
#[tokio::test(start_paused = true)]
async fn renewals_that_wait_for_their_place_are_stale_and_not_failed() {
    let bench = Bench::new();
    let (registrar, kinds) = crowd(&bench, "Kind", 1_000);
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    bench.api.set_latency(Duration::from_secs(1));
    let before = calls(&bench, &kinds, Verb::Watch);
    for kind in &kinds {
        bench.api.interrupt(kind, None);
        bench.api.apply(kind, object("b")).unwrap();
    }
    let begun = Instant::now();
    sleep_until(begun + Duration::from_millis(29_500)).await;
    assert_eq!(count(&bench, &kinds, GvkStatus::is_ready), kinds.len());
    sleep_until(begun + Duration::from_millis(30_500)).await;
    let stale = count(&bench, &kinds, |status| matches!(status, GvkStatus::Stale { .. }));
    assert!((480..540).contains(&stale), "{stale} of those that were not asked in 30 s");
    for kind in &kinds {
        assert_eq!(bench.manager.kind_status(kind).unwrap().attempts, 0, "waiting is not a failure");
    }
    // One second for each sixteen.
    sleep_until(begun + Duration::from_secs(64)).await;
    assert_eq!(count(&bench, &kinds, GvkStatus::is_ready), kinds.len());
    assert!(kinds.iter().all(|kind| bench.names(&kind.kind).len() == 2));
    assert_eq!(calls(&bench, &kinds, Verb::Watch) - before, kinds.len(), "one request each");
}

/// `KindStatus::last_contact` states the bound.
#[tokio::test(start_paused = true)]
async fn when_the_server_freezes_no_kind_says_ready_for_longer_than_its_deadlines() {
    for size in [1, 50, 600] {
        let bench = Bench::new();
        let (registrar, kinds) = crowd(&bench, "Kind", size);
        registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
        sleep(Duration::from_secs(5)).await;
        for kind in &kinds {
            bench.api.fail_always(kind, Verb::Watch, Fault::Silent);
            bench.api.interrupt(kind, None);
        }
        sleep(Duration::from_secs(1)).await;
        for kind in &kinds {
            bench.api.fail_always(kind, Verb::Watch, Fault::Hang);
        }
        let frozen = Instant::now();
        while frozen.elapsed() < 10 * MINUTE {
            sleep(Duration::from_secs(1)).await;
            let (now, bound) = (Instant::now().into_std(), config().idle_timeout + config().request_timeout);
            for kind in &kinds {
                let status = bench.manager.kind_status(kind).unwrap();
                let behind = now - status.last_contact.unwrap();
                assert!(!status.status.is_ready() || behind <= bound, "{size}: ready, {behind:?} behind");
            }
        }
        for kind in &kinds {
            bench.api.heal(kind, Verb::Watch);
            bench.api.apply(kind, object("b")).unwrap();
        }
        let healed = Instant::now();
        while !kinds.iter().all(|kind| bench.names(&kind.kind).len() == 2) {
            sleep(Duration::from_secs(1)).await;
            assert!(healed.elapsed() <= MINUTE, "{size}: not followed a minute after the server is back");
        }
    }
}

// --- Refused and flapping kinds.

/// The lists of a forbidden kind in an hour, beside kinds whose watches live for this time.
async fn lists_of_a_forbidden_kind(flapping: usize, lived: Duration) -> usize {
    let bench = Bench::new();
    let forbidden = gvk("Forbidden");
    bench.api.serve(&forbidden, "forbiddens");
    bench.api.fail_always(&forbidden, Verb::List, Fault::Forbidden);
    let registrar = bench.registrar("forbidden");
    let _ = registrar.add(forbidden.clone());
    if lived.is_zero() {
        for number in 0..flapping {
            bench.api.fail_always(&gvk(&format!("Flapping{number}")), Verb::Watch, Fault::ClosedAtOnce);
        }
    }
    let (_others, kinds) = crowd(&bench, "Flapping", flapping);
    let end = Instant::now() + 70 * MINUTE;
    let mut before = 0;
    while Instant::now() < end {
        sleep(if lived.is_zero() { MINUTE } else { lived }).await;
        if !lived.is_zero() {
            // Broken and back.
            kinds.iter().for_each(|kind| bench.api.interrupt(kind, Some(Fault::Unavailable)));
        }
        if Instant::now() <= end - 60 * MINUTE {
            before = bench.api.calls(&forbidden, Verb::List);
        }
    }
    bench.api.calls(&forbidden, Verb::List) - before
}

#[tokio::test(start_paused = true)]
async fn kinds_that_flap_do_not_make_a_forbidden_one_be_asked_for_more_often() {
    let alone = lists_of_a_forbidden_kind(0, Duration::ZERO).await;
    assert!(alone <= 12, "{alone}");
    for flapping in [1, 10, 100] {
        let beside = lists_of_a_forbidden_kind(flapping, Duration::ZERO).await;
        assert!(beside <= alone + 1, "{beside} beside {flapping} that end at once, {alone} alone");
    }
    for lived in [9, 11, 40] {
        let beside = lists_of_a_forbidden_kind(10, Duration::from_secs(lived)).await;
        assert!(beside <= alone + 13, "{beside} beside watches of {lived} s, {alone} alone");
    }
}

// --- Watches that a server rejects.

/// A server that cannot read the version answers so for ever; the kind is listed.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_rejected_is_answered_by_a_list() {
    for code in [400, 422, 500, 501, 504] {
        let bench = Bench::new();
        let mut registrar = bench.synced("Thing", &["a"]).await;
        bench.api.fail_always(&gvk("Thing"), Verb::Watch, Fault::Status(code));
        bench.api.interrupt(&gvk("Thing"), Some(Fault::Unavailable));
        bench.api.delete(&gvk("Thing"), Some("default"), "a");
        let said = during(&mut registrar, MINUTE).await;
        assert!(said.contains(&"delete a".to_owned()), "{code}: {said:?}");
        assert!(matches!(registrar.status(&gvk("Thing")), Some(GvkStatus::Stale { .. })));
        let before = bench.api.calls(&gvk("Thing"), Verb::List);
        during(&mut registrar, 60 * MINUTE).await;
        let lists = bench.api.calls(&gvk("Thing"), Verb::List) - before;
        assert!((60..=120).contains(&lists), "{code}: {lists} lists in an hour");

        bench.api.heal(&gvk("Thing"), Verb::Watch);
        until(&mut registrar, "ready").await;
    }
}

/// A failure that says nothing about the version costs no list.
#[tokio::test(start_paused = true)]
async fn a_watch_that_cannot_be_opened_now_is_asked_for_again() {
    let busy = Fault::TooManyRequests { retry_after: 1 };
    for fault in [Fault::Status(401), Fault::Forbidden, Fault::Status(502), Fault::Unavailable, busy] {
        let bench = Bench::new();
        let mut registrar = bench.synced("Thing", &["a"]).await;
        bench.api.fail_always(&gvk("Thing"), Verb::Watch, fault);
        bench.api.interrupt(&gvk("Thing"), Some(Fault::Unavailable));
        during(&mut registrar, 10 * MINUTE).await;
        assert_eq!(bench.api.calls(&gvk("Thing"), Verb::List), 1, "{fault:?}");
        bench.api.heal(&gvk("Thing"), Verb::Watch);
        until(&mut registrar, "ready").await;
    }
}

/// A `Retry-After` of 136 years.
#[tokio::test(start_paused = true)]
async fn a_server_that_wants_to_be_left_alone_for_years_is_asked_in_five_minutes() {
    let bench = Bench::new();
    let mut registrar = bench.synced("Thing", &["a"]).await;
    bench.api.fail_next(&gvk("Thing"), Verb::Watch, Fault::TooManyRequests { retry_after: u32::MAX });
    bench.api.interrupt(&gvk("Thing"), None);
    bench.api.apply(&gvk("Thing"), object("b")).unwrap();
    let begun = Instant::now();
    until(&mut registrar, "apply b").await;
    assert_eq!(begun.elapsed(), 5 * MINUTE);
}
