//! Tests of `permits`: who has the next place, and that no place is lost.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use futures::FutureExt;
use proptest::prelude::*;

use super::*;

#[tokio::test(start_paused = true)]
async fn most_places_go_to_the_oldest_and_some_to_the_newest() {
    let queue = PermitQueue::new(1, 1, HOLD);
    let (first, second) = (queue.acquire().await, queue.acquire().await);
    assert_eq!((first.place, second.place), (Place::Oldest, Place::Newest));
    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(queue.acquire())).collect();
    waiting.iter_mut().for_each(|waiting| assert!(waiting.now_or_never().is_none()));
    drop((first, second));
    let granted: Vec<_> =
        waiting.iter_mut().map(|waiting| waiting.now_or_never().map(|permit| permit.place)).collect();
    // The permits that were granted are dropped at once, so the next ones are granted in turn.
    assert_eq!(granted[0], Some(Place::Oldest));
    assert_eq!(granted[3], Some(Place::Newest));
}

/// Requests that are answered after this time.
async fn answered(permits: &Permits, after: Duration) {
    let answer = permits.run(Class::Start, sleep(after), |()| true).await;
    assert_eq!(answer, Some(()));
}

/// The number of requests that are sent within `time` if none is answered.
async fn sent_within(permits: &Arc<Permits>, time: Duration) -> usize {
    let sent = Arc::new(Mutex::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let (permits, sent) = (Arc::clone(permits), Arc::clone(&sent));
        tasks.spawn(async move {
            let request = async {
                *sent.lock().unwrap() += 1;
                std::future::pending::<()>().await;
            };
            permits.run(Class::Start, request, |()| true).await
        });
    }
    sleep(time).await;
    let count = sent.lock().unwrap();
    *count
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_slowly_is_asked_no_more_at_once_than_there_are_places() {
    let permits = Arc::new(Permits::new(16));
    answered(&permits, Duration::from_secs(2)).await;
    // Two places change hands each second.
    assert_eq!(sent_within(&permits, Duration::from_millis(4_900)).await, 16 + 2 * 4);
}

/// Nine requests in a second: nothing shows which of them hang, and what hangs adds up as where others are answered.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_asked_more_slowly() {
    let permits = Arc::new(Permits::new(16));
    assert_eq!(sent_within(&permits, Duration::from_millis(29_900)).await, 14 * 15 + 2 * 30);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_fast_is_not_waited_for_and_not_for_long_after_it_fell_silent() {
    let permits = Arc::new(Permits::new(16));
    answered(&permits, Duration::from_millis(20)).await;
    assert_eq!(sent_within(&permits, Duration::from_millis(1_900)).await, 16 * 4);
    let permits = Arc::new(Permits::new(16));
    answered(&permits, Duration::from_millis(20)).await;
    // Half a second each for five seconds, then two, and for two of the places one.
    let sent = sent_within(&permits, Duration::from_millis(9_900)).await;
    assert_eq!(sent, 16 * 10 + 14 * 3 + 2 * 5);
}

/// One slow answer counts at once, and many fast ones are needed to forget it.
#[tokio::test(start_paused = true)]
async fn the_slower_answers_decide_how_long_one_waits() {
    let permits = Permits::new(16);
    let hold = || permits.starts.lock().hold();
    assert_eq!(hold(), SILENT_HOLD);
    answered(&permits, Duration::from_millis(10)).await;
    assert_eq!(hold(), LEAST_HOLD);
    answered(&permits, Duration::from_millis(400)).await;
    assert_eq!(hold(), Duration::from_millis(3_200));
    for _ in 0..4 {
        answered(&permits, Duration::from_millis(10)).await;
    }
    assert!(hold() > Duration::from_millis(1_500), "{:?}", hold());
    for _ in 0..20 {
        answered(&permits, Duration::from_millis(10)).await;
    }
    assert_eq!(hold(), LEAST_HOLD);
    sleep(HOLD).await;
    assert_eq!(hold(), SILENT_HOLD, "an old answer says nothing");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_overtaken_is_given_up_only_while_others_wait() {
    for others in [false, true] {
        let permits = Arc::new(Permits::new(1));
        answered(&permits, Duration::from_millis(1)).await;
        let run = |time: Duration| {
            let permits = Arc::clone(&permits);
            // The time begins with the request, not when it is made.
            let request = async move { sleep(time).await };
            tokio::spawn(async move { permits.run(Class::Start, request, |()| true).await })
        };
        let begun = Instant::now();
        let hanging = run(Duration::from_secs(20));
        sleep(Duration::from_millis(1)).await;
        let waiting: Vec<_> = (0..200).filter(|_| others).map(|_| run(Duration::from_millis(50))).collect();
        assert_eq!(hanging.await.unwrap().is_none(), others);
        let waited = begun.elapsed();
        assert!(
            !others || waited >= LEAST_HOLD * GIVE_UP && waited <= LEAST_HOLD * (GIVE_UP + 1),
            "{waited:?}"
        );
        for other in waiting {
            assert_eq!(other.await.unwrap(), Some(()));
        }
    }
}

/// A step of one of those that need a place.
#[derive(Debug, Clone, Copy)]
enum Move {
    Come,
    /// Gives up, or leaves its place, by its number.
    Go(usize),
    Look(usize),
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => Just(Move::Come),
        2 => (0_usize..50).prop_map(Move::Go),
        2 => (0_usize..50).prop_map(Move::Look),
    ]
}

proptest! {
    /// Requests come, give up and leave in any order: no more places are taken than there are, and when all have gone, all
    /// are free and none is remembered.
    #[test]
    fn no_place_is_lost_or_made_up(
        moves in proptest::collection::vec(any_move(), 1..200),
        free in 0_usize..3,
        free_for_newest in 0_usize..3,
    ) {
        let queue = PermitQueue::new(free, free_for_newest, HOLD);
        let mut waiting: Vec<std::pin::Pin<Box<dyn Future<Output = Permit>>>> = Vec::new();
        let mut taken: Vec<Permit> = Vec::new();
        for next in moves {
            match next {
                Move::Come => {
                    let queue = Arc::clone(&queue);
                    waiting.push(Box::pin(async move { queue.acquire().await }));
                    if let Some(permit) = waiting.last_mut().and_then(|last| last.now_or_never()) {
                        waiting.pop();
                        taken.push(permit);
                    }
                }
                Move::Go(number) if number % 2 == 0 && !waiting.is_empty() => {
                    drop(waiting.remove(number % waiting.len()));
                }
                Move::Go(number) if !taken.is_empty() => drop(taken.remove(number % taken.len())),
                Move::Look(number) if !waiting.is_empty() => {
                    let place = number % waiting.len();
                    if let Some(permit) = waiting[place].as_mut().now_or_never() {
                        drop(waiting.remove(place));
                        taken.push(permit);
                    }
                }
                Move::Go(_) | Move::Look(_) => {}
            }
            prop_assert!(taken.len() <= free + free_for_newest);
        }
        drop((waiting, taken));
        let state = queue.lock();
        prop_assert_eq!((state.free, state.free_for_newest, state.waiting.len()), (free, free_for_newest, 0));
    }
}
