//! Tests of `dispatcher`: every interleaving of what registrars, readers, watches and a server can do, up to a
//! depth. The watches are the real state machines of `watcher`, the server answers page by page and is withdrawn,
//! redefined, compacted and cut off at every point.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

mod server;
mod world;

use std::collections::HashSet;

use self::world::{Action, Actors, Limits, World};

/// Walks breadth-first from a world, checking every state that it meets; returns their number.
fn explore(name: &str, start: World, depth: usize) -> usize {
    let (mut seen, mut converged) = (HashSet::new(), HashSet::new());
    seen.insert(start.fingerprint());
    let mut edge = vec![start];
    for level in 0..depth {
        eprintln!("{name}, depth {level}: {} states", seen.len());
        let mut next = Vec::new();
        for world in &edge {
            for action in world.possible() {
                let mut after = world.fork();
                after.act(&action);
                if seen.insert(after.fingerprint()) {
                    after.check(&mut converged);
                    next.push(after);
                }
            }
        }
        edge = next;
    }
    eprintln!("{name}, depth {depth}: {} states", seen.len());
    seen.len()
}

/// A longer run goes deeper.
fn depth(default: isize) -> usize {
    let extra: isize = std::env::var("WATCH_MANAGER_EXTRA_DEPTH").map_or(0, |text| text.parse().unwrap());
    usize::try_from(default + extra).unwrap()
}

/// Two registrars ask for both kinds; each kind has three objects, and its first page is requested next.
fn two_by_two_by_three(actors: Actors, disturbances: u64) -> World {
    let limits =
        Limits { registrars: 2, kinds: 2, names: 3, changes: 5, actors, disturbances, ordered: None };
    let mut world = World::new(&limits);
    for kind in 0..2 {
        (0..3).for_each(|name| world.act(&Action::Put(kind, name)));
    }
    for registrar in 0..2 {
        world.act(&Action::Make(registrar));
        (0..2).for_each(|kind| world.act(&Action::Add(registrar, kind)));
        world.act(&Action::Grant(registrar));
    }
    (0..2).for_each(|kind| world.act(&Action::Answer(kind)));
    world.settled()
}

#[test]
fn two_registrars_two_kinds_and_three_objects_with_a_server_that_fails_between_all_pages() {
    let states = explore("server", two_by_two_by_three(Actors::Server, u64::MAX), depth(6));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

#[test]
fn two_registrars_two_kinds_and_three_objects_with_registrars_that_come_and_go() {
    let states = explore("registrars", two_by_two_by_three(Actors::Registrars, u64::MAX), depth(6));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// A call, a change of a server or a failure (two in a longer run), in every order and between all steps of registrars,
/// readers, watches and pages. Without that limit there would be some hundred million states.
#[test]
fn two_registrars_two_kinds_and_three_objects_with_everything_at_once() {
    let disturbances = std::env::var("WATCH_MANAGER_DISTURBANCES").map_or(1, |text| text.parse().unwrap());
    let start = two_by_two_by_three(Actors::All, disturbances).without_checks_of_actions();
    let states = explore("all", start, depth(8));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

#[test]
fn everything_at_once_from_nothing() {
    let limits = Limits {
        registrars: 2,
        kinds: 1,
        names: 1,
        changes: 3,
        actors: Actors::All,
        disturbances: u64::MAX,
        ordered: None,
    };
    let states = explore("everything", World::new(&limits), depth(9));
    assert!(states > 1_000, "only {states} states: the model has stopped moving");
}

/// Long runs through the large world, by a seed.
mod long {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            std::env::var("WATCH_MANAGER_CASES").map_or(8, |text| text.parse().unwrap())
        ))]
        #[test]
        fn random_walks_of_two_hundred_steps(
            choices in proptest::collection::vec(any::<u32>(), 200),
            ordered in proptest::option::of(0..3_usize),
        ) {
            let limits = Limits { registrars: 2, kinds: 2, names: 3, changes: 1_000, actors: Actors::All, disturbances: u64::MAX, ordered };
            let (mut world, mut converged) = (World::new(&limits), HashSet::new());
            for choice in choices {
                let actions = world.possible();
                world.act(&actions[choice as usize % actions.len()]);
                world.check(&mut converged);
            }
        }
    }
}
