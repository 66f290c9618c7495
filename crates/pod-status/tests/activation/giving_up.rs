//! An exhaustive check of a pod that joins, gives up a broken policy, and serves without it: no status may call the policy
//! enforced then. The aggregator decides by the crate's own [`aggregate`]; the rest is its environment.
//!
//! One pod enforces the policy. Another registers, and ingests the policy or gives it up, with an entry for it or without:
//! a constraint whose template it cannot ingest, it does not even list. The aggregator reads reports, counts, reads the policy
//! and writes, and dies or loses its Lease at any moment; a write that it has sent arrives later. It knows the policy by the
//! reports, until the first pod is gone and its reports are collected, or when its own host has announced it: a host lists
//! the policies at any moment after the aggregator has begun.

use std::cell::RefCell;
use std::collections::HashMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::{
    Decision, Entry, Member, Parent, ParentKey, ParentRef, PodError, Reported, Shape, aggregate,
};
use serde_json::Value;

use crate::explore::{Outcome, World, explore};

/// A pod that has given up something serves when…
#[derive(Clone, Copy, Debug, PartialEq)]
enum Serves {
    AtOnce,
    /// … its failures are stored.
    Stored,
    /// … and an aggregator has acknowledged them.
    Acknowledged,
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    serves: Serves,
    /// An aggregator acknowledges what it has seen, in place of what it has decided about.
    acknowledges_at_sight: bool,
    /// An aggregator acknowledges what it has decided by reports from before the pod said that it lacks something.
    takes_old_reports: bool,
    /// The registration says that the pod has given up something.
    says_incomplete: bool,
    /// It does so before the failure is stored.
    says_first: bool,
    /// A write fails if the policy was written since it was read.
    precondition: bool,
    /// An aggregator acknowledges only after its host has announced every policy.
    waits_for_announcements: bool,
}

const RULES: Rules = Rules {
    serves: Serves::Acknowledged,
    acknowledges_at_sight: false,
    takes_old_reports: false,
    says_incomplete: true,
    says_first: false,
    precondition: true,
    waits_for_announcements: true,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Absent,
    Registered,
    Ingested,
    /// And has an entry for it.
    GivenUp(bool),
    Serving,
    /// Without the policy.
    ServingWithout,
}

/// The report that a pod has stored about the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stored {
    Nothing,
    Good,
    Failed,
}

/// The facts that the aggregator has read, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Reading {
    /// With the fact that the pod has given up something, if it was said, and that the first pod's reports are there.
    reports: Option<(Stored, bool, bool)>,
    count: Option<Counted>,
    /// The status, and whether it has not been written since.
    status: Option<(String, bool)>,
}

/// The members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Counted {
    first: bool,
    pod: bool,
    /// The pod says that it lacks something.
    incomplete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    status: String,
    /// The pod that has enforced the policy from the beginning is there.
    first: bool,
    pod: Phase,
    stored: Stored,
    incomplete: bool,
    acknowledged: bool,
    /// The host of the aggregator has announced the policy.
    announced: bool,
    reading: Reading,
    may_acknowledge: bool,
    /// A write of an aggregator that has lost its Lease, and whether it is still over the newest version.
    late: Option<(String, bool)>,
    losses: u8,
}

fn key() -> ParentKey {
    ParentKey::new(ParentRef::new("test", "Policy", "p"), "uid")
}

fn member(id: &str, incomplete: bool) -> Member {
    let mut member = Member::new(id, "i").operations(["webhook"]);
    member.incomplete = incomplete;
    member
}

/// A decision by what was read: the status, the members, whether the first pod has reported, and what the other has.
type Question = (String, Counted, bool, Stored);

thread_local! {
    /// There are few different decisions, and very many states in which one is made.
    static DECIDED: RefCell<HashMap<Question, Option<String>>> = RefCell::default();
}

fn decided(status: &str, counted: Counted, first: bool, reports: Stored) -> Option<String> {
    let question = (status.to_owned(), counted, first, reports);
    let known = DECIDED.with_borrow(|known| known.get(&question).cloned());
    known.unwrap_or_else(|| {
        let answer = decide(status, counted, first, reports);
        DECIDED.with_borrow_mut(|known| known.insert(question, answer.clone()));
        answer
    })
}

/// The status after a decision; nothing if it is right.
fn decide(status: &str, counted: Counted, first: bool, reports: Stored) -> Option<String> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("test", "v1", "Policy"));
    let shape = Shape::new(resource, "uid").enforced_by(["webhook"]);
    let parent = Parent::new(key(), 1).with_status(serde_json::from_str(status).unwrap());
    let mut members = Vec::new();
    members.extend(counted.first.then(|| member("a", false)));
    members.extend(counted.pod.then(|| member("b", counted.incomplete)));
    let mut reported = Vec::new();
    reported.extend(first.then(|| Reported::new(member("a", false), Entry::new(key(), 1))));
    let errors = match reports {
        Stored::Nothing => None,
        Stored::Good => Some(Vec::new()),
        Stored::Failed => Some(vec![PodError::new("compile", "no such function")]),
    };
    reported
        .extend(errors.map(|errors| Reported::new(member("b", false), Entry::new(key(), 1).errors(errors))));
    match aggregate(&shape, &parent, &members, &reported, &Time(Timestamp::UNIX_EPOCH)) {
        Decision::Write(status) => Some(Value::Object(status).to_string()),
        _ => None,
    }
}

fn claims_enforced(status: &str) -> bool {
    let status: Value = serde_json::from_str(status).unwrap();
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Enforced" && condition["status"] == "True")
}

impl World for State {
    type Rules = Rules;
    type Property = ();

    fn violation(&self, _: &Rules) -> Option<()> {
        (self.pod == Phase::ServingWithout && claims_enforced(&self.status)).then_some(())
    }

    fn is_goal(&self) -> bool {
        matches!(self.pod, Phase::Serving | Phase::ServingWithout)
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn steps(&self, rules: &Rules) -> Vec<(String, Self)> {
        let mut steps = Vec::new();
        self.pod_steps(*rules, &mut steps);
        self.aggregator_steps(*rules, &mut steps);
        steps
    }
}

type Steps = Vec<(String, State)>;

impl State {
    /// The policy is known to be enforced by the pod that is there, or nothing has been said yet.
    fn first(is_proven: bool) -> Self {
        let alone = Counted { first: true, pod: false, incomplete: false };
        let proof = decided("null", alone, true, Stored::Nothing).filter(|_| is_proven);
        Self {
            status: proof.unwrap_or_else(|| "null".to_owned()),
            first: true,
            pod: Phase::Absent,
            stored: Stored::Nothing,
            incomplete: false,
            acknowledged: false,
            announced: false,
            reading: Reading::default(),
            may_acknowledge: false,
            late: None,
            losses: 2,
        }
    }

    fn step(&self, steps: &mut Steps, name: &str, change: impl FnOnce(&mut Self)) {
        let mut state = self.clone();
        change(&mut state);
        steps.push((name.to_owned(), state));
    }

    fn pod_steps(&self, rules: Rules, steps: &mut Steps) {
        if self.first {
            self.step(steps, "the first pod is gone, and its reports", |state| state.first = false);
        }
        match self.pod {
            Phase::Absent => self.step(steps, "registers", |state| state.pod = Phase::Registered),
            Phase::Registered => {
                self.step(steps, "ingests", |state| state.pod = Phase::Ingested);
                for entry in [true, false] {
                    self.step(steps, "gives up", |state| state.pod = Phase::GivenUp(entry));
                }
            }
            Phase::Ingested => {
                self.step(steps, "serves", |state| state.pod = Phase::Serving);
                self.report(steps);
                // A template that it needs has changed meanwhile.
                self.step(steps, "gives up", |state| state.pod = Phase::GivenUp(true));
            }
            Phase::Serving => self.report(steps),
            Phase::GivenUp(entry) => {
                let says = self.incomplete || !rules.says_incomplete;
                let has_failed = !entry || self.stored == Stored::Failed;
                let is_stored = says && has_failed;
                if !says && (has_failed || rules.says_first) {
                    self.step(steps, "stores that it lacks something", |state| state.incomplete = true);
                }
                if !has_failed && (says || !rules.says_first) {
                    self.step(steps, "stores the failure", |state| state.stored = Stored::Failed);
                }
                let may_serve = match rules.serves {
                    Serves::AtOnce => true,
                    Serves::Stored => is_stored,
                    Serves::Acknowledged => is_stored && self.acknowledged,
                };
                if may_serve {
                    self.step(steps, "serves without", |state| state.pod = Phase::ServingWithout);
                }
            }
            _ => {}
        }
    }

    fn report(&self, steps: &mut Steps) {
        if self.stored == Stored::Nothing {
            self.step(steps, "reports", |state| state.stored = Stored::Good);
        }
    }

    fn aggregator_steps(&self, rules: Rules, steps: &mut Steps) {
        let Reading { reports, count, .. } = &self.reading;
        if !self.announced {
            self.step(steps, "the host announces the policy", |state| state.announced = true);
        }
        self.step(steps, "reads the reports", |state| {
            let read = (state.stored, state.incomplete, state.first);
            state.reading = Reading { reports: Some(read), ..Reading::default() };
        });
        if reports.is_some() {
            let now =
                Counted { first: self.first, pod: self.pod != Phase::Absent, incomplete: self.incomplete };
            self.step(steps, "counts", |state| {
                state.reading.count = Some(now);
                state.reading.status = None;
                state.may_acknowledge |= now.incomplete && rules.acknowledges_at_sight;
            });
        }
        if let (Some((stored, says, first)), Some(count)) = (*reports, *count) {
            let says = says || rules.takes_old_reports;
            let acknowledges = count.incomplete && says && (self.announced || !rules.waits_for_announcements);
            if self.announced || first || stored != Stored::Nothing {
                self.step(steps, "reads the policy", |state| {
                    state.reading.status = Some((state.status.clone(), true));
                });
                self.decision(rules, self.decided(count, first, stored), acknowledges, steps);
            } else {
                self.step(steps, "knows no policy to decide about", |state| {
                    state.reading = Reading::default();
                    state.may_acknowledge |= acknowledges;
                });
            }
        }
        if self.losses > 0 {
            self.step(steps, "loses its Lease", Self::lose);
        }
        if self.may_acknowledge && !self.acknowledged {
            self.step(steps, "acknowledges", |state| state.acknowledged = true);
        }
        if let Some((status, is_newest)) = &self.late {
            self.step(steps, "a late write arrives", |state| {
                state.late = None;
                if *is_newest || !rules.precondition {
                    state.write(status.clone());
                }
            });
        }
    }

    fn decided(&self, count: Counted, first: bool, stored: Stored) -> Option<String> {
        let (status, _) = self.reading.status.as_ref()?;
        decided(status, count, first, stored)
    }

    /// The decision about the policy as it was read.
    fn decision(&self, rules: Rules, decided: Option<String>, acknowledges: bool, steps: &mut Steps) {
        let Some((_, is_newest)) = &self.reading.status else { return };
        self.step(steps, "decides", |state| {
            state.reading = Reading::default();
            match decided.clone().filter(|_| *is_newest || !rules.precondition) {
                Some(status) => state.write(status),
                // It is decided again.
                None if decided.is_some() => return,
                None => {}
            }
            state.may_acknowledge |= acknowledges;
        });
        if let Some(status) = decided.filter(|_| self.losses > 0) {
            self.step(steps, "loses its Lease with a write on its way", |state| {
                state.lose();
                state.late = Some((status, *is_newest));
            });
        }
    }

    fn lose(&mut self) {
        self.losses -= 1;
        // The next one is in another process.
        self.announced = false;
        self.reading = Reading::default();
        self.may_acknowledge = false;
    }

    fn write(&mut self, status: String) {
        self.status = status;
        for (_, is_newest) in self.late.iter_mut().chain(&mut self.reading.status) {
            *is_newest = false;
        }
    }
}

/// Explores everything; an unsafe variant only until it is caught.
fn run(name: &str, rules: Rules, wanted: &[()]) -> Vec<Outcome<()>> {
    let outcomes = [true, false].map(|is_proven| explore(State::first(is_proven), &rules, wanted));
    let states: usize = outcomes.iter().map(|outcome| outcome.states).sum();
    let violated = outcomes.iter().filter(|outcome| !outcome.violations.is_empty()).count();
    let steps = outcomes
        .iter()
        .filter(|outcome| !outcome.violations.is_empty())
        .map(|outcome| outcome.trace.len())
        .min();
    println!("{name}: {states} states, a lie from {violated} of two beginnings, after {steps:?} steps");
    outcomes.into()
}

#[test]
fn a_pod_that_gives_up_a_policy_serves_when_no_status_calls_it_enforced() {
    for outcome in run("acknowledged", RULES, &[]) {
        assert!(outcome.violations.is_empty(), "{:#?}", outcome.trace);
        assert_eq!(outcome.blocked, 0, "{:#?}", outcome.trace);
    }
}

#[test]
fn a_pod_that_serves_too_early_is_caught() {
    let variants = [
        ("at once", Rules { serves: Serves::AtOnce, ..RULES }),
        ("when its failures are stored", Rules { serves: Serves::Stored, ..RULES }),
        ("acknowledged when it is seen", Rules { acknowledges_at_sight: true, ..RULES }),
        ("acknowledged by old reports", Rules { takes_old_reports: true, ..RULES }),
        ("it is said before the failure is stored", Rules { says_first: true, ..RULES }),
        ("before every policy is announced", Rules { waits_for_announcements: false, ..RULES }),
    ];
    for (name, rules) in variants {
        assert!(
            run(name, rules, &[()]).iter().any(|outcome| !outcome.violations.is_empty()),
            "{name} was not caught"
        );
    }
}

#[test]
fn an_aggregator_that_writes_over_another_is_caught_when_a_pod_gives_up() {
    let outcomes = run("no precondition", Rules { precondition: false, ..RULES }, &[()]);
    assert!(outcomes.iter().any(|outcome| !outcome.violations.is_empty()));
}

/// Without the word that it lacks something, a pod without an entry is taken for one that has not come so far.
#[test]
fn a_pod_that_does_not_say_that_it_lacks_something_is_not_acknowledged() {
    let stored = Rules { says_incomplete: false, serves: Serves::Stored, ..RULES };
    assert!(run("not said", stored, &[()]).iter().any(|outcome| !outcome.violations.is_empty()));
    let outcomes = run("not said, and waits", Rules { says_incomplete: false, ..RULES }, &[]);
    assert!(outcomes.iter().all(|outcome| outcome.violations.is_empty() && outcome.blocked > 0));
}
