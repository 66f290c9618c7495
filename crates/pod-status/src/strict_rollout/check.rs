//! An exhaustive check of the strict rollout: every interleaving of pods, aggregators, updates and the passing of time.
//!
//! S: a pod judges by no older generation than any pod has judged by before. B: what is recorded as enforced is what every pod
//! judges by that answers. C: activations never go back. Pods decide by [`Turn`] and [`is_fresh`] of the crate.
//!
//! Time passes in ticks. All times are relative to now, which is 0, so that states which differ in nothing else are the same.
//!
//! | tick | with a fence of 1 and a lead of 2 | the pod's `from`, `to` | it judges by |
//! |---|---|---|---|
//! | 0 | reads: no activation | | 0 |
//! | 1 | reads: generation 1 is activated, written at 0 at the earliest | 1, 2 | 0 |
//! | 2 | reads again | 0, 1 | refuses: another pod may have switched, or not |
//! | 3 | reads again | -1, 0 | 1 |
//!
//! `cargo test -p pod-status --lib strict -- --nocapture` prints the number of states.

#![allow(clippy::arithmetic_side_effects)]

use super::{Announced, Turn, is_fresh};

#[path = "../../tests/activation/explore.rs"]
#[allow(unreachable_pub, clippy::indexing_slicing)]
mod explore;

use explore::{Outcome, World, explore};

/// The fence, in ticks.
const FENCE: i64 = 1;
const LAST: i64 = 2;
const PODS: usize = 2;

/// The rules. Each unsafe variant changes one.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Longer than the fence.
    lead: i64,
    /// A pod answers only when its last read is not older than the fence.
    is_fenced: bool,
    /// A pod waits for the lead when it learns of an activation that is not settled.
    waits: bool,
    /// As `waits`, for an activation in the first read of a pod.
    joining_waits: bool,
    /// A pod refuses while it does not know whether others have switched.
    pauses: bool,
    /// A read shows what was written before it.
    is_consistent: bool,
    /// An activation is settled when all pods have switched.
    settles_late: bool,
    /// The next generation is activated when the last one is settled.
    in_turn: bool,
    /// Writes are made over what was decided on.
    precondition: bool,
    /// True if a decision is written over what was read later.
    keeps_plan: bool,
    aggregators: usize,
    serving: usize,
    deaths: u8,
    /// The number of updates.
    updates: i64,
}

const SMALL: Rules = Rules {
    lead: FENCE + 1,
    is_fenced: true,
    waits: true,
    joining_waits: true,
    pauses: true,
    is_consistent: true,
    settles_late: true,
    in_turn: true,
    precondition: true,
    keeps_plan: false,
    aggregators: 1,
    serving: 1,
    deaths: 1,
    updates: LAST,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    S,
    B,
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Absent,
    Starting,
    Registered,
    Listed,
    Ready,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pod {
    phase: Phase,
    /// The generation up to which its watch has come.
    spec: i64,
    compiled: [bool; LAST as usize + 1],
    read: Option<i64>,
    turn: Option<Turn>,
    /// The generations that it has reported as ingested and as enforced.
    reported: (i64, i64),
}

impl Pod {
    /// The generation by which it would judge.
    fn in_force(&self, rules: &Rules) -> Option<i64> {
        let fence = if rules.is_fenced { FENCE } else { i64::MAX / 2 };
        if !is_fresh(self.read, 0, fence) {
            return None;
        }
        let generation = self.turn.map_or(Ok(None), |turn| turn.in_force(0)).ok()?.unwrap_or_default();
        (generation == 0 || self.compiled[generation as usize]).then_some(generation)
    }

    fn judges(&self, rules: &Rules) -> Option<i64> {
        self.in_force(rules).filter(|_| self.phase == Phase::Ready)
    }

    fn read(&mut self, found: Option<Announced>, rules: &Rules) {
        if let Some(found) = found {
            // `settled`: every pod has switched, so this one switches at once. The unsafe variants take that for granted.
            let is_trusted = !rules.waits || (!rules.joining_waits && self.read.is_none());
            let announced = Announced { settled: found.settled || is_trusted, ..found };
            let turn = match self.turn {
                Some(turn) if turn.generation > found.generation => turn,
                Some(turn) if turn.generation == found.generation => turn.seen_again(announced, 0),
                known => Turn::new(announced, known, self.read, 0, rules.lead),
            };
            // Without the pause it goes on with the old generation until it switches, when others have switched already.
            let from = if rules.pauses { turn.from } else { turn.from.map(|_| turn.to) };
            self.turn = Some(Turn { from, ..turn });
        }
        self.read = Some(0);
    }

    /// Later by one tick. What is long ago is as long ago as it matters.
    fn tick(&mut self, rules: &Rules) {
        self.read = self.read.map(|read| (read - 1).max(-rules.lead - 1));
        if let Some(turn) = &mut self.turn {
            turn.from = turn.from.map(|from| (from - 1).max(-1));
            turn.to = (turn.to - 1).max(-1);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Aggregator {
    /// The activation that it has read last, and the ticks since it read that first.
    seen: Option<Announced>,
    age: i64,
    /// The activation that it is about to write over what it has seen.
    plan: Option<Announced>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    spec: i64,
    stored: Option<Announced>,
    /// The activation stored before that, for a read that is not consistent.
    before: Option<Announced>,
    pods: [Pod; PODS],
    aggregators: Vec<Aggregator>,
    /// The newest generation that any pod has judged by.
    judged: i64,
    recorded: i64,
    /// The number of updates that there will be.
    last: i64,
    went_back: bool,
    deaths: u8,
}

impl State {
    fn first(rules: &Rules) -> Self {
        let pod = Pod {
            phase: Phase::Absent,
            spec: 0,
            compiled: [false; LAST as usize + 1],
            read: None,
            turn: None,
            reported: (0, 0),
        };
        let mut pods = [pod; PODS];
        pods[..rules.serving].fill(Pod { phase: Phase::Ready, read: Some(0), ..pod });
        Self {
            spec: 0,
            stored: None,
            before: None,
            pods,
            aggregators: vec![Aggregator { seen: None, age: 0, plan: None }; rules.aggregators],
            judged: 0,
            recorded: 0,
            last: rules.updates,
            went_back: false,
            deaths: rules.deaths,
        }
    }

    /// The reports of the pods that are waited for: registered, and not dropped after the lead without a sign of life.
    fn members(&self, rules: &Rules) -> Vec<(i64, i64)> {
        // With the fence 1 and the lead 2, a pod that read 1 tick ago may still judge; after 2 it refuses, and is dropped.
        let is_member = |pod: &&Pod| {
            let is_registered = matches!(pod.phase, Phase::Registered | Phase::Listed | Phase::Ready);
            is_registered && pod.read.is_none_or(|read| read > -rules.lead)
        };
        self.pods.iter().filter(is_member).map(|pod| pod.reported).collect()
    }

    fn step(&self, rules: &Rules, name: String, change: impl FnOnce(&mut Self)) -> (String, Self) {
        let mut state = self.clone();
        change(&mut state);
        let newest = state.pods.iter().filter_map(|pod| pod.judges(rules)).max();
        state.judged = state.judged.max(newest.unwrap_or_default());
        (name, state)
    }

    fn pod_steps(&self, index: usize, rules: &Rules, steps: &mut Vec<(String, Self)>) {
        let pod = self.pods[index];
        let mut step = |name: &str, change: &dyn Fn(&mut Pod)| {
            steps.push(
                self.step(rules, format!("pod {index} {name}"), |state| change(&mut state.pods[index])),
            );
        };
        match pod.phase {
            Phase::Absent => step("starts", &|pod| pod.phase = Phase::Starting),
            Phase::Starting => step("registers", &|pod| pod.phase = Phase::Registered),
            Phase::Registered => step("lists", &|pod| {
                pod.phase = Phase::Listed;
                pod.spec = self.spec;
            }),
            Phase::Listed | Phase::Ready => {
                if pod.spec < self.spec {
                    step("watches", &|pod| pod.spec += 1);
                }
                if pod.spec > 0 && !pod.compiled[pod.spec as usize] {
                    step("compiles", &|pod| pod.compiled[pod.spec as usize] = true);
                }
                let newest = (0..=LAST).rev().find(|g| pod.compiled[*g as usize]).unwrap_or_default();
                let facts = (newest, pod.in_force(rules).unwrap_or(pod.reported.1));
                if facts != pod.reported {
                    step("reports", &|pod| pod.reported = facts);
                }
                let has_ingested = pod.spec == 0 || pod.compiled[pod.spec as usize];
                if pod.phase == Phase::Listed && has_ingested && pod.in_force(rules).is_some() {
                    step("is ready", &|pod| pod.phase = Phase::Ready);
                }
            }
            Phase::Gone => return,
        }
        if matches!(pod.phase, Phase::Registered | Phase::Listed | Phase::Ready) {
            step("reads", &|pod| pod.read(self.stored, rules));
            if !rules.is_consistent {
                step("reads what was", &|pod| pod.read(self.before, rules));
            }
        }
        if self.deaths > 0 && pod.phase != Phase::Absent {
            let name = format!("pod {index} dies");
            steps.push(self.step(rules, name, |state| {
                state.deaths -= 1;
                state.pods[index].phase = Phase::Gone;
            }));
        }
    }

    /// Returns what an aggregator that has seen the stored activation for `age` ticks would write.
    fn plans(&self, age: i64, rules: &Rules) -> Vec<Announced> {
        let members = self.members(rules);
        let all = |is: &dyn Fn(&(i64, i64)) -> bool| !members.is_empty() && members.iter().all(is);
        let mut plans = Vec::new();
        // Generation 1 is activated, then settled, and only then is 2 activated: a pod knows two generations at most, the one
        // before the activation and the activated one.
        let mut is_free = true;
        if let Some(stored) = self.stored.filter(|stored| !stored.settled) {
            is_free = !rules.in_turn;
            // After two leads every pod that is left has switched: one for the last to read it, one for that read to count.
            if age >= 2 * rules.lead || all(&|reported| reported.1 >= stored.generation) {
                plans.push(Announced { settled: true, ..stored });
            }
        }
        let newest = self.stored.map_or(0, |stored| stored.generation);
        if is_free && self.spec > newest && all(&|reported| reported.0 == self.spec) {
            plans.push(Announced { generation: self.spec, settled: !rules.settles_late, late: false });
        }
        plans
    }

    fn aggregator_steps(&self, index: usize, rules: &Rules, steps: &mut Vec<(String, Self)>) {
        let known = self.aggregators[index];
        let mut step = |name: String, change: &dyn Fn(&mut Self)| {
            steps.push(self.step(rules, format!("aggregator {index} {name}"), change));
        };
        // Two aggregators: one plans generation 2 over 1 and stops; the other activates and settles 2. Then the first may not
        // write any more, because what it has seen is not what is stored.
        let is_new = known.seen != self.stored;
        if is_new {
            step("looks".into(), &|state| {
                // The plan was made from what was seen before, so it goes with it.
                let plan = known.plan.filter(|_| rules.keeps_plan || !rules.precondition);
                state.aggregators[index] = Aggregator { seen: self.stored, age: 0, plan };
            });
        } else {
            for plan in self.plans(known.age, rules) {
                if known.plan != Some(plan) {
                    step(format!("plans {plan:?}"), &|state| state.aggregators[index].plan = Some(plan));
                }
            }
        }
        if let Some(plan) = known.plan.filter(|_| !rules.precondition || !is_new) {
            step(format!("writes {plan:?}"), &|state| {
                let old = state.stored;
                state.went_back |= old.is_some_and(|old| old.generation > plan.generation);
                (state.before, state.stored) = (if rules.is_consistent { None } else { old }, Some(plan));
                state.aggregators[index] = Aggregator { seen: Some(plan), age: 0, plan: None };
            });
        }
        if let Some(stored) = self.stored.filter(|stored| stored.generation > self.recorded) {
            let members = self.members(rules);
            if !members.is_empty() && members.iter().all(|reported| reported.1 >= stored.generation) {
                step("records".into(), &|state| state.recorded = stored.generation);
            }
        }
    }
}

impl World for State {
    type Rules = Rules;
    type Property = Property;

    fn steps(&self, rules: &Rules) -> Vec<(String, Self)> {
        let mut steps = Vec::new();
        // Ages stop at the largest that makes a difference: without that there would be a new state with each tick, for ever.
        steps.push(self.step(rules, "tick".into(), |state| {
            state.pods.iter_mut().for_each(|pod| pod.tick(rules));
            for aggregator in &mut state.aggregators {
                aggregator.age = (aggregator.age + 1).min(2 * rules.lead);
            }
        }));
        if self.spec < rules.updates {
            steps.push(self.step(rules, format!("update to {}", self.spec + 1), |state| state.spec += 1));
        }
        for index in 0..PODS {
            self.pod_steps(index, rules, &mut steps);
        }
        for index in 0..self.aggregators.len() {
            self.aggregator_steps(index, rules, &mut steps);
        }
        steps
    }

    fn violation(&self, rules: &Rules) -> Option<Property> {
        // S, without the pause: pod 0 switches to 1 at its `to`; pod 1, which read later, judges by 0 until its own, one tick later.
        let judge = || self.pods.iter().filter_map(|pod| pod.judges(rules));
        if judge().any(|generation| generation < self.judged) {
            return Some(Property::S);
        }
        if judge().any(|generation| generation < self.recorded) {
            return Some(Property::B);
        }
        self.went_back.then_some(Property::C)
    }

    fn is_goal(&self) -> bool {
        self.stored == Some(Announced { generation: self.last, settled: true, late: false })
            && self.recorded == self.last
    }

    fn is_alive(&self) -> bool {
        self.pods.iter().any(|pod| pod.phase == Phase::Ready)
    }
}

fn run(name: &str, rules: Rules, wanted: &[Property]) -> Outcome<Property> {
    let outcome = explore(State::first(&rules), &rules, wanted);
    let (states, violations, steps) = (outcome.states, &outcome.violations, outcome.trace.len());
    println!(
        "{name}: {states} states, violated {violations:?} after {steps} steps, {} blocked",
        outcome.blocked
    );
    outcome
}

fn holds(name: &str, rules: Rules) {
    let outcome = run(name, rules, &[]);
    assert!(outcome.violations.is_empty(), "{:#?}", outcome.trace);
    assert_eq!(outcome.blocked, 0, "{:#?}", outcome.trace);
}

#[test]
fn the_strict_rollout_holds_while_pods_join_and_leave() {
    holds("a pod that serves, one that joins", Rules { updates: 1, ..SMALL });
    holds("two pods that serve", Rules { serving: 2, updates: 1, ..SMALL });
}

#[test]
fn the_strict_rollout_holds_with_two_aggregators() {
    holds(
        "two aggregators, two pods that serve",
        Rules { aggregators: 2, serving: 2, updates: 1, deaths: 0, ..SMALL },
    );
}

#[test]
#[ignore = "millions of states: gigabytes of memory; the guide has the command and the figures"]
fn the_strict_rollout_holds_with_two_updates_and_with_two_aggregators_while_a_pod_joins() {
    holds("two aggregators", Rules { aggregators: 2, updates: 1, deaths: 0, ..SMALL });
    holds("two updates", Rules { deaths: 0, ..SMALL });
}

#[test]
fn every_unsafe_variant_of_the_strict_rollout_is_caught() {
    let variants = [
        ("a lead no longer than the fence", Rules { lead: FENCE, ..SMALL }, Property::S),
        ("a pod that answers without a recent read", Rules { is_fenced: false, ..SMALL }, Property::S),
        ("a pod that switches when it sees the activation", Rules { waits: false, ..SMALL }, Property::S),
        ("a pod that joins and does not wait", Rules { joining_waits: false, ..SMALL }, Property::S),
        ("a pod that does not pause", Rules { pauses: false, ..SMALL }, Property::S),
        ("reads that are not consistent", Rules { is_consistent: false, ..SMALL }, Property::S),
        ("settled at once", Rules { settles_late: false, ..SMALL }, Property::S),
        (
            "the next before the last is settled",
            Rules { in_turn: false, serving: 2, deaths: 0, ..SMALL },
            Property::S,
        ),
        ("no precondition", Rules { precondition: false, aggregators: 2, ..SMALL }, Property::C),
        ("a fresher precondition", Rules { keeps_plan: true, aggregators: 2, ..SMALL }, Property::C),
    ];
    for (name, rules, property) in variants {
        let caught = run(name, rules, &[property]).violations.contains(&property);
        assert!(caught, "{name}: {property:?} holds");
    }
}
