//! An exhaustive check of the coordinated rollout: every interleaving of a few pods, aggregators and updates.
//!
//! `model` holds the states and steps, `explore` visits all of them, this file lists the variants. The pods
//! and the aggregator decide with the crate's own [`pod_status::Activation`] and [`pod_status::may_activate`];
//! the rest is their environment. Each unsafe variant changes one rule and must be caught: a checker that
//! catches nothing proves nothing.
//!
//! `cargo test -p pod-status --test activation -- --nocapture` prints the number of states. States that
//! cannot be told apart are merged (`model/reduce.rs`). The largest configurations are ignored, because they
//! take minutes: `cargo test -p pod-status --test activation -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
// In an integration test every module is private to the binary.
#![allow(unreachable_pub)]

use std::collections::HashSet;

use proptest::prelude::*;

mod explore;
mod giving_up;
mod model;

use explore::{Outcome, World, explore};
use model::{Bootstrap, Members, Precondition, Property, State, Variant};

/// One pod that serves and one that joins; one aggregator; one death.
const SMALL: Variant = Variant {
    members: Members::RegisteredFirst,
    bootstrap: Bootstrap::Hold,
    stale_list: false,
    precondition: Precondition::Decided,
    aggregators: 1,
    partitions: 0,
    fence: false,
    drops_partitioned: false,
    stuck: false,
    serving: 1,
    has_unregistered: false,
    counts_unregistered: true,
    deaths: 1,
};

const TWO: Variant = Variant { serving: 2, ..SMALL };

fn run(name: &str, variant: Variant, wanted: &[Property]) -> Outcome<Property> {
    let outcome = explore(State::first(variant), &variant, wanted);
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
fn the_protocol_holds_with_two_aggregators() {
    holds("two aggregators", Variant { aggregators: 2, deaths: 0, ..SMALL });
}

#[test]
fn the_protocol_holds_with_two_pods_that_serve() {
    holds("two pods that serve", TWO);
}

#[test]
fn the_protocol_holds_with_two_pods_that_serve_a_partition_and_a_pod_that_hangs() {
    let faults = Variant { serving: 2, partitions: 1, fence: true, stuck: true, ..SMALL };
    holds("two pods that serve, a partition, a pod that hangs", faults);
}

#[test]
#[ignore = "minutes; the guide has the command and the figures"]
fn the_protocol_holds_with_two_pods_that_serve_and_two_aggregators() {
    let variant = Variant { serving: 2, aggregators: 2, deaths: 0, ..SMALL };
    holds("two pods that serve, two aggregators", variant);
}

#[test]
#[ignore = "minutes; the guide has the command and the figures"]
fn the_protocol_holds_with_two_aggregators_a_partition_and_a_pod_that_hangs() {
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

/// The goal is out of reach as long as it lives.
#[test]
fn waiting_for_a_pod_that_does_not_register_is_safe() {
    let outcome = run("a pod that does not register", Variant { has_unregistered: true, ..TWO }, &[]);
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.trace);
    assert_ne!(outcome.blocked, 0);
}

#[test]
fn overlooking_a_pod_that_does_not_register_is_caught() {
    let variant = Variant { has_unregistered: true, counts_unregistered: false, ..TWO };
    is_caught("a pod that does not register is overlooked", variant, &[Property::A, Property::B]);
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
    let variant = Variant { precondition: Precondition::Nothing, aggregators: 2, deaths: 0, ..SMALL };
    is_caught("two aggregators without a precondition", variant, &[Property::C]);
}

/// Aggregator 0 decides on version 1 to activate generation 1. Generation 2 arrives and is activated by aggregator 1.
/// Aggregator 0 reads the version again, only to write over it, and activates generation 1.
#[test]
fn a_precondition_that_is_fresher_than_the_decision_is_caught() {
    let variant = Variant { precondition: Precondition::Fresher, aggregators: 2, deaths: 0, ..SMALL };
    is_caught("two aggregators with a fresher precondition", variant, &[Property::C]);
}

#[test]
fn forgetting_a_partitioned_pod_without_a_fence_is_caught() {
    let variant = Variant { partitions: 1, drops_partitioned: true, deaths: 0, ..SMALL };
    is_caught("a partitioned pod is dropped", variant, &[Property::A, Property::B]);
}

/// Returns what can happen next, as the checker sees it; a step that changes nothing is not one.
fn reduced_steps(state: &State, variant: Variant) -> HashSet<State> {
    let reduced = state.clone().reduced(variant);
    let mut next: HashSet<State> =
        state.unreduced_steps(variant).into_iter().map(|(_, next)| next.reduced(variant)).collect();
    next.remove(&reduced);
    next
}

/// A state and the one that stands for it have the same promises, and can be left for the same states.
fn stands_for(reduced: &State, state: &State, rules: Variant) -> Result<(), TestCaseError> {
    let facts = |state: &State| (state.violation(&rules), state.is_goal(), state.is_alive());
    prop_assert_eq!(facts(state), facts(reduced));
    if state.violation(&rules).is_none() {
        prop_assert_eq!(reduced_steps(state, rules), reduced_steps(reduced, rules));
    }
    Ok(())
}

const EVERYTHING: Variant =
    Variant { serving: 2, aggregators: 2, partitions: 1, fence: true, stuck: true, ..SMALL };

/// The variants of this file, with the size and the faults of `all`.
fn every_variant(all: Variant) -> Vec<Variant> {
    vec![
        all,
        Variant { members: Members::AllPods, ..all },
        Variant { members: Members::CachedPods, ..all },
        Variant { members: Members::ReadyPods, ..all },
        Variant { members: Members::RegisteredLast, ..all },
        Variant { bootstrap: Bootstrap::Loose, ..all },
        Variant { bootstrap: Bootstrap::Early, ..all },
        Variant { stale_list: true, ..all },
        Variant { has_unregistered: true, ..all },
        Variant { has_unregistered: true, counts_unregistered: false, ..all },
        Variant { precondition: Precondition::Nothing, ..all },
        Variant { precondition: Precondition::Fresher, ..all },
        Variant { fence: false, drops_partitioned: true, ..all },
    ]
}

/// Every step out of the states that few steps lead to.
#[test]
fn states_that_are_merged_after_few_steps_cannot_be_told_apart() {
    for rules in every_variant(Variant { partitions: 1, fence: true, ..SMALL }) {
        let mut states = vec![State::first(rules).reduced(rules)];
        let mut seen: HashSet<State> = states.iter().cloned().collect();
        for next in 0..1_500 {
            if states[next].violation(&rules).is_some() {
                continue;
            }
            let steps = states[next].unreduced_steps(rules);
            for (_, state) in steps {
                let reduced = state.clone().reduced(rules);
                stands_for(&reduced, &state, rules).unwrap();
                if seen.insert(reduced.clone()) {
                    states.push(reduced);
                }
            }
        }
    }
}

proptest! {
    /// The same on random ways through states that are not reduced, in a larger cluster.
    #[test]
    fn states_that_are_merged_cannot_be_told_apart(
        rules in prop::sample::select(every_variant(EVERYTHING)),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
    ) {
        let mut state = State::first(rules);
        for choice in choices {
            stands_for(&state.clone().reduced(rules), &state, rules)?;
            if state.violation(&rules).is_some() {
                break;
            }
            let mut steps = state.unreduced_steps(rules);
            if steps.is_empty() {
                break;
            }
            state = steps.swap_remove(choice.index(steps.len())).1;
        }
    }
}
