//! Tests of `switchboard`: every interleaving of what registrars, readers and a server can do, up to a
//! depth. Two registrars and a small world find whatever a bigger one would: no rule of the switchboard
//! counts beyond "another one".

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

mod world;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use self::world::{Limits, World};

/// Walks breadth-first from the empty world, checking every state that it meets; how many there were.
fn explore(limits: &Limits, depth: usize) -> usize {
    let mut seen = HashSet::new();
    let mut edge = vec![World::new(limits)];
    seen.insert(fingerprint(&edge[0]));
    for _ in 0..depth {
        let mut next = Vec::new();
        for world in &edge {
            for action in world.possible() {
                let mut after = world.fork();
                after.act(&action);
                if seen.insert(fingerprint(&after)) {
                    after.check();
                    next.push(after);
                }
            }
        }
        edge = next;
    }
    eprintln!("{limits:?}, depth {depth}: {} states", seen.len());
    seen.len()
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.picture().hash(&mut hasher);
    hasher.finish()
}

/// A soak run goes deeper.
fn depth(default: usize) -> usize {
    let extra = std::env::var("WATCH_MANAGER_EXTRA_DEPTH").map_or(0, |text| text.parse().unwrap());
    default + extra
}

#[test]
fn two_registrars_and_two_kinds_in_every_order() {
    let limits = Limits { registrars: 2, kinds: 2, names: 1, versions: 2 };
    let states = explore(&limits, depth(10));
    assert!(states > 10_000, "only {states} states: the model has stopped moving");
}

#[test]
fn two_registrars_and_two_objects_in_every_order() {
    let limits = Limits { registrars: 2, kinds: 1, names: 2, versions: 2 };
    let states = explore(&limits, depth(11));
    assert!(states > 10_000, "only {states} states: the model has stopped moving");
}

#[test]
fn one_reader_and_one_object_far_and_deep() {
    let limits = Limits { registrars: 1, kinds: 1, names: 1, versions: 3 };
    let states = explore(&limits, depth(17));
    assert!(states > 10_000, "only {states} states: the model has stopped moving");
}
