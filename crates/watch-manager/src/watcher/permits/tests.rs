//! Tests of `permits`: who has the next place, and that no place is lost.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use futures::FutureExt;
use proptest::prelude::*;

use super::*;

#[tokio::test(start_paused = true)]
async fn most_places_go_to_the_oldest_and_some_to_the_newest() {
    let lane = Lane::new(1, 1, HOLD);
    let (first, second) = (lane.acquire().await, lane.acquire().await);
    assert_eq!((first.place, second.place), (Place::Oldest, Place::Newest));
    let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(lane.acquire())).collect();
    waiting.iter_mut().for_each(|waiting| assert!(waiting.now_or_never().is_none()));
    drop((first, second));
    let granted: Vec<_> =
        waiting.iter_mut().map(|waiting| waiting.now_or_never().map(|permit| permit.place)).collect();
    // The permits that were granted are dropped at once, so the next ones are granted in turn.
    assert_eq!(granted[0], Some(Place::Oldest));
    assert_eq!(granted[3], Some(Place::Newest));
}

/// What one of those who need a place does.
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
    /// Whoever comes, gives up or leaves in any order: no more places are taken than there are, and when all have gone, all
    /// are free and nobody is remembered.
    #[test]
    fn no_place_is_lost_or_made_up(
        moves in proptest::collection::vec(any_move(), 1..200),
        free in 0_usize..3,
        free_for_newest in 0_usize..3,
    ) {
        let lane = Lane::new(free, free_for_newest, HOLD);
        let mut waiting: Vec<std::pin::Pin<Box<dyn Future<Output = Permit>>>> = Vec::new();
        let mut taken: Vec<Permit> = Vec::new();
        for next in moves {
            match next {
                Move::Come => {
                    let lane = Arc::clone(&lane);
                    waiting.push(Box::pin(async move { lane.acquire().await }));
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
        let state = lane.lock();
        prop_assert_eq!((state.free, state.free_for_newest, state.waiting.len()), (free, free_for_newest, 0));
    }
}
