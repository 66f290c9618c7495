//! An exhaustive check of the coordinated rollout: every interleaving of a few pods, aggregators and updates.
//!
//! `model` holds the states and steps, `explore` visits all of them, this file lists the variants. The pods
//! and the aggregator decide with the crate's own [`pod_status::Activation`] and [`pod_status::may_activate`];
//! the rest is their environment. Each unsafe variant changes one rule and must be caught: a checker that
//! catches nothing proves nothing.
//!
//! `cargo test -p pod-status --test activation -- --nocapture` prints the number of states.
//! `ACTIVATION_FULL=1` adds the large configurations (several million states, a few minutes in release mode).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

mod explore;
mod model;

use explore::{Outcome, explore};
use model::{Bootstrap, Members, Property, Variant};

/// One pod that serves and one that joins; one aggregator; one death.
const SMALL: Variant = Variant {
    members: Members::RegisteredFirst,
    bootstrap: Bootstrap::Hold,
    stale_list: false,
    precondition: true,
    aggregators: 1,
    partitions: 0,
    fence: false,
    drops_partitioned: false,
    stuck: false,
    serving: 1,
    deaths: 1,
};

fn run(name: &str, variant: Variant, wanted: &[Property]) -> Outcome {
    let outcome = explore(variant, wanted);
    println!(
        "{name}: {} states, violated {:?} after {} steps, {} from which the goal is out of reach",
        outcome.states,
        outcome.violations,
        outcome.trace.len(),
        outcome.blocked
    );
    outcome
}

/// The promises hold, and the goal can be reached from every state.
fn holds(name: &str, variant: Variant) {
    let outcome = run(name, variant, &[]);
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.trace);
    assert_eq!(outcome.blocked, 0, "{:#?}", outcome.trace);
}

fn is_caught(name: &str, variant: Variant, violated: &[Property]) {
    let outcome = run(name, variant, violated);
    for property in violated {
        assert!(outcome.violations.contains(property), "{property:?} holds: nothing was caught");
    }
    assert!(!outcome.trace.is_empty());
}

#[test]
fn the_protocol_holds() {
    holds("registered first", SMALL);
    holds("a pod that hangs while it starts", Variant { stuck: true, ..SMALL });
    holds("a partition with a fence", Variant { partitions: 1, fence: true, deaths: 0, ..SMALL });
}

#[test]
fn the_protocol_holds_with_more_of_everything() {
    if std::env::var_os("ACTIVATION_FULL").is_none() {
        return println!("set ACTIVATION_FULL=1 for the large configurations");
    }
    holds("two pods that serve", Variant { serving: 2, ..SMALL });
    let faults = Variant { aggregators: 2, partitions: 1, fence: true, stuck: true, ..SMALL };
    holds("two aggregators, a partition, a pod that hangs", faults);
}

#[test]
fn waiting_for_every_pod_is_safe_and_one_that_hangs_blocks_for_ever() {
    let outcome =
        run("all pods", Variant { members: Members::AllPods, stuck: true, deaths: 0, ..SMALL }, &[]);
    assert!(outcome.violations.is_empty());
    assert_ne!(outcome.blocked, 0);
}

#[test]
fn waiting_for_a_partitioned_pod_is_safe_and_blocks() {
    let outcome = run("a partition without a fence", Variant { partitions: 1, deaths: 0, ..SMALL }, &[]);
    assert!(outcome.violations.is_empty());
    assert_ne!(outcome.blocked, 0);
}

#[test]
fn counting_only_ready_pods_is_caught() {
    is_caught("ready pods", Variant { members: Members::ReadyPods, ..SMALL }, &[Property::A, Property::B]);
}

#[test]
fn counting_pods_in_a_cache_is_caught() {
    let variant = Variant { members: Members::CachedPods, ..SMALL };
    is_caught("pods in a cache", variant, &[Property::A, Property::B]);
}

#[test]
fn registering_after_the_first_list_is_caught() {
    let variant = Variant { members: Members::RegisteredLast, ..SMALL };
    is_caught("registered last", variant, &[Property::A, Property::B]);
}

#[test]
fn a_first_list_that_may_be_stale_is_caught() {
    is_caught("stale first list", Variant { stale_list: true, ..SMALL }, &[Property::A, Property::B]);
}

#[test]
fn a_joining_pod_that_enforces_early_is_caught() {
    is_caught("early", Variant { bootstrap: Bootstrap::Early, ..SMALL }, &[Property::A]);
}

#[test]
fn a_joining_pod_that_serves_before_it_enforces_is_caught() {
    is_caught("loose", Variant { bootstrap: Bootstrap::Loose, ..SMALL }, &[Property::B]);
}

#[test]
fn two_aggregators_without_a_precondition_are_caught() {
    let variant = Variant { precondition: false, aggregators: 2, deaths: 0, ..SMALL };
    is_caught("two aggregators without a precondition", variant, &[Property::C]);
}

#[test]
fn forgetting_a_partitioned_pod_without_a_fence_is_caught() {
    let variant = Variant { partitions: 1, drops_partitioned: true, deaths: 0, ..SMALL };
    is_caught("a partitioned pod is dropped", variant, &[Property::A, Property::B]);
}
