//! The ledger in a world with a server, a watch that lags, lists that take their time, and policies that change at any
//! moment between; compared with judging everything afresh.
#![expect(clippy::arithmetic_side_effects, reason = "small numbers; a test may overflow loudly")]

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::audit::place::AuditedKind;

const NAMES: [&str; 2] = ["x", "y"];

fn kind(stay: u64) -> Kind {
    let (group, version, kind) = (String::new(), "v1".to_owned(), "Thing".to_owned());
    Arc::new(AuditedKind { group, version, kind, namespaced: true, stay })
}

fn id(number: usize) -> ConstraintRef {
    ConstraintRef { kind: "K".to_owned(), name: number.to_string() }
}

/// A policy: which contents violate it depends on its revision and, where it reads it, on the inventory.
#[derive(Clone, Copy, Debug)]
struct Policy {
    revision: u64,
    reads: Reads,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    Nothing,
    Whole,
    Keyed,
}

#[derive(Clone, Debug)]
struct Set {
    epoch: Epoch,
    policies: [Option<Policy>; 2],
    /// Violations come from objects whose content is in here.
    inventory: [bool; 3],
    exempt: bool,
}

impl Set {
    fn violations(&self, content: u64, scope: &Scope) -> Vec<(ConstraintRef, String)> {
        let mut found = Vec::new();
        for (number, policy) in self.policies.iter().enumerate() {
            let Some(policy) = policy.filter(|_| scope.includes(&id(number)) && !self.exempt) else {
                continue;
            };
            let known = self.inventory[usize::try_from(content).unwrap()];
            let violated = match policy.reads {
                Reads::Nothing => (content + policy.revision).is_multiple_of(2),
                Reads::Keyed => known,
                Reads::Whole => self.inventory[0] != known,
            };
            if violated {
                found.push((id(number), format!("{content} by {}", policy.revision)));
            }
        }
        found
    }

    fn judge(&self, content: u64, scope: Scope) -> Judged {
        let keyed = |(number, policy): (usize, &Option<Policy>)| {
            let reads = policy.is_some_and(|policy| policy.reads == Reads::Keyed);
            (reads && scope.includes(&id(number))).then(|| (id(number), content))
        };
        let keys = self.policies.iter().enumerate().filter_map(keyed).collect();
        Judged { epoch: self.epoch, violations: self.violations(content, &scope), keys, scope }
    }
}

#[derive(Clone, Debug)]
enum Item {
    Watched(Place, Version, Judged),
    Gone(Place),
    Listed(Place, Version, Judged, bool),
    Read(Place),
    Examined(Place, Suspicion, Option<(Version, Judged)>),
    KindListed(Kind),
    PassEnded(Pass, bool),
}

#[derive(Clone, Debug)]
enum Change {
    Applied(usize, u64, u64),
    Gone(usize),
    Synced,
}

/// One list under way: what the server had when it began.
#[derive(Clone, Debug)]
struct Listing {
    pass: Pass,
    left: Vec<(usize, u64, u64)>,
}

#[derive(Clone, Debug)]
struct World {
    /// Content and version by name.
    objects: [Option<(u64, u64)>; 2],
    versions: u64,
    set: Set,
    kind: Kind,
    /// The changes that the watch has not delivered.
    watch: VecDeque<Change>,
    listing: Option<Listing>,
    /// Judged, and not taken yet: the driver keeps the order.
    pipeline: VecDeque<Item>,
    ledger: Ledger,
    stays: u64,
    /// The watch has not delivered something, and never will.
    lost: bool,
    /// A suspect was read while the watch was behind: what it is about to deliver may count as drift.
    hasty: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(usize, u64),
    Remove(usize),
    Policy(usize, u64, Reads),
    NoPolicy(usize),
    Inventory(usize),
    Exempt,
    Deliver,
    Begin,
    Page,
    Break,
    Fetch,
    Take,
    Recreate,
    Namespace,
    Verify,
    Examine,
    Lose,
}

impl World {
    fn new() -> Self {
        let set = Set { epoch: Epoch::default(), policies: [None; 2], inventory: [false; 3], exempt: false };
        let mut world = Self {
            objects: [Some((0, 1)), None],
            versions: 1,
            set,
            kind: kind(0),
            watch: VecDeque::new(),
            listing: None,
            pipeline: VecDeque::new(),
            ledger: Ledger::default(),
            stays: 0,
            lost: false,
            hasty: false,
        };
        world.enter();
        world
    }

    /// The kind is watched from here on.
    fn enter(&mut self) {
        self.ledger.set_kinds(&BTreeSet::from([self.kind.clone()]));
        self.redefine();
        for (name, object) in self.objects.iter().enumerate() {
            self.watch.extend(object.map(|(content, version)| Change::Applied(name, content, version)));
        }
        self.watch.push_back(Change::Synced);
    }

    fn redefine(&mut self) {
        let definition = |(number, policy): (usize, Policy)| Definition {
            id: id(number),
            uid: "u".to_owned(),
            generation: 1,
            revision: policy.revision,
            action: "deny",
            actions: vec!["deny"],
            kinds: BTreeSet::from([self.kind.clone()]),
            reads_whole_kinds: policy.reads == Reads::Whole,
        };
        let policies = self.set.policies.iter().enumerate().filter_map(|(n, policy)| Some((n, (*policy)?)));
        let definitions = policies.map(definition).collect();
        self.set.epoch = self.ledger.set_constraints(definitions);
    }

    fn place(&self, name: usize) -> Place {
        Place::of(&self.kind, "n", NAMES[name])
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Put(name, content) => {
                self.versions += 1;
                self.objects[name] = Some((content, self.versions));
                self.watch.push_back(Change::Applied(name, content, self.versions));
            }
            Step::Remove(name) => {
                if self.objects[name].take().is_some() {
                    self.watch.push_back(Change::Gone(name));
                }
            }
            Step::Policy(number, revision, reads) => {
                self.set.policies[number] = Some(Policy { revision, reads });
                self.redefine();
            }
            Step::NoPolicy(number) => {
                self.set.policies[number] = None;
                self.redefine();
            }
            Step::Inventory(content) => self.change_inventory(content),
            Step::Exempt => {
                self.set.exempt ^= true;
                self.set.epoch = self.ledger.outdate_all();
            }
            Step::Deliver => self.deliver(),
            Step::Begin => self.begin(),
            Step::Page => self.page(),
            Step::Break => {
                if let Some(Listing { pass, .. }) = self.listing.take() {
                    self.pipeline.push_back(Item::PassEnded(pass, false));
                }
            }
            Step::Fetch => self.fetch(),
            Step::Take => self.take(),
            Step::Recreate => {
                self.stays += 1;
                self.kind = kind(self.stays);
                (self.objects, self.listing) = ([None; 2], None);
                self.watch.clear();
                self.enter();
            }
            Step::Namespace => self.ledger.outdate_namespace("n"),
            Step::Verify => self.ledger.verify(),
            Step::Examine => self.examine(),
            Step::Lose => {
                if let Some(Change::Applied(..) | Change::Gone(_)) = self.watch.front() {
                    self.watch.pop_front();
                    self.lost = true;
                }
            }
        }
    }

    fn change_inventory(&mut self, content: usize) {
        self.set.inventory[content] ^= true;
        self.redefine();
        for (number, policy) in self.set.policies.iter().enumerate() {
            let dependents = match policy.map(|policy| policy.reads) {
                Some(Reads::Whole) => Dependents::All,
                Some(Reads::Keyed) => Dependents::Keyed([content as u64].into()),
                _ => continue,
            };
            self.ledger.outdate(&id(number), &dependents);
        }
    }

    fn deliver(&mut self) {
        let Some(change) = self.watch.pop_front() else { return };
        self.pipeline.push_back(match change {
            Change::Applied(name, content, version) => {
                let judged = self.set.judge(content, Scope::All);
                Item::Watched(self.place(name), Version::from(version.to_string().as_str()), judged)
            }
            Change::Gone(name) => Item::Gone(self.place(name)),
            Change::Synced => Item::KindListed(self.kind.clone()),
        });
    }

    fn begin(&mut self) {
        if self.listing.is_none()
            && let Some(pass) = self.ledger.next_pass(true, |_| true)
        {
            let exists = |(name, object): (usize, &Option<(u64, u64)>)| object.map(|(c, v)| (name, c, v));
            let left = self.objects.iter().enumerate().filter_map(exists).collect();
            self.listing = Some(Listing { pass, left });
        }
    }

    fn page(&mut self) {
        let Some(mut listing) = self.listing.take() else { return };
        let Some((name, content, version)) = listing.left.pop() else {
            return self.pipeline.push_back(Item::PassEnded(listing.pass, true));
        };
        let judged = self.set.judge(content, listing.pass.scope.clone());
        let version = Version::from(version.to_string().as_str());
        self.pipeline.push_back(Item::Listed(self.place(name), version, judged, listing.pass.verifies));
        self.listing = Some(listing);
    }

    /// A read of one object, which the inventory made outdated.
    fn fetch(&mut self) {
        for place in self.ledger.take_outdated() {
            let name = NAMES.iter().position(|name| **name == *place.name()).unwrap();
            if let Some((content, version)) = self.objects[name] {
                let judged = self.set.judge(content, Scope::All);
                let version = Version::from(version.to_string().as_str());
                self.pipeline.push_back(Item::Listed(place.clone(), version, judged, false));
            }
            self.pipeline.push_back(Item::Read(place));
        }
    }

    /// Reads of the suspects.
    fn examine(&mut self) {
        self.hasty |= !self.watch.is_empty() || !self.pipeline.is_empty();
        for (place, suspicion) in self.ledger.take_suspects(1) {
            let name = NAMES.iter().position(|name| **name == *place.name()).unwrap();
            let found = self.objects[name].filter(|_| place.kind == self.kind).map(|(content, version)| {
                (Version::from(version.to_string().as_str()), self.set.judge(content, Scope::All))
            });
            self.pipeline.push_back(Item::Examined(place, suspicion, found));
        }
    }

    fn take(&mut self) {
        let epoch = |item: &Item| match item {
            Item::Watched(_, _, judged)
            | Item::Listed(_, _, judged, _)
            | Item::Examined(_, _, Some((_, judged))) => Some(judged.epoch),
            _ => None,
        };
        let oldest = self.pipeline.iter().filter_map(epoch).min();
        self.ledger.forget_before(oldest.unwrap_or(self.set.epoch));
        match self.pipeline.pop_front() {
            None => {}
            Some(Item::Watched(place, version, judged)) => self.ledger.observed(&place, version, &judged),
            Some(Item::Gone(place)) => self.ledger.deleted(&place),
            Some(Item::Listed(place, version, judged, verifies)) => {
                self.ledger.confirmed(&place, version, &judged, verifies);
            }
            Some(Item::Read(place)) => self.ledger.read_ended(&place),
            Some(Item::Examined(place, suspicion, found)) => self.ledger.examined(&place, suspicion, found),
            Some(Item::KindListed(kind)) => self.ledger.kind_listed(&kind),
            Some(Item::PassEnded(pass, complete)) => self.ledger.pass_ended(&pass, complete),
        }
    }

    /// Nothing changes any more, and everything that is due is done; after something was lost, so is a verification.
    fn settle(&mut self) {
        self.calm();
        if self.lost {
            self.ledger.verify();
            self.calm();
        }
    }

    fn calm(&mut self) {
        for _ in 0..100 {
            let idle = self.watch.is_empty() && self.pipeline.is_empty() && self.ledger.outdated.is_empty();
            self.step(Step::Begin);
            if idle && self.listing.is_none() {
                if !self.ledger.has_suspects() {
                    return;
                }
                self.step(Step::Examine);
            }
            for step in [Step::Deliver, Step::Fetch, Step::Page, Step::Take] {
                self.step(step);
            }
        }
        panic!("it never ends: {self:?}");
    }

    /// The violations by constraint, judged afresh.
    fn expected(&self, number: usize) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (name, object) in self.objects.iter().enumerate() {
            let violations = object.map(|(content, _)| self.set.violations(content, &Scope::All));
            let of = violations.into_iter().flatten().filter(|(constraint, _)| *constraint == id(number));
            found.extend(of.map(|(_, message)| (NAMES[name].to_owned(), message)));
        }
        found
    }

    fn check(&mut self) {
        for number in 0..2 {
            let expected = self.expected(number);
            let report = self.ledger.report(&id(number), 10);
            assert_eq!(report.is_some(), self.set.policies[number].is_some(), "{number}: {self:?}");
            let Some(report) = report else { continue };
            let shown: Vec<_> = report
                .shown
                .iter()
                .map(|(place, message)| (place.name().to_owned(), message.clone()))
                .collect();
            assert_eq!((shown, report.total), (expected.clone(), expected.len()), "{number}: {self:?}");
        }
        let existing = self.objects.iter().flatten().count();
        assert_eq!(self.ledger.objects(), existing, "{self:?}");
        let lags = self.lost || self.hasty;
        assert!(lags || self.ledger.drift() == 0, "it finds nothing that the watch did not tell: {self:?}");
    }
}

const STEPS: [Step; 15] = [
    Step::Put(0, 0),
    Step::Put(0, 1),
    Step::Put(1, 1),
    Step::Remove(0),
    Step::Policy(0, 1, Reads::Nothing),
    Step::Policy(0, 2, Reads::Keyed),
    Step::NoPolicy(0),
    Step::Inventory(1),
    Step::Deliver,
    Step::Begin,
    Step::Page,
    Step::Fetch,
    Step::Take,
    Step::Recreate,
    Step::Lose,
];

/// Every sequence of steps of that length leads, when nothing changes any more, to what judging afresh gives. From a
/// kind that is listed and a constraint that is settled, so that the steps are spent on what is interesting.
fn explore(world: &World, depth: usize, explored: &mut usize) {
    let mut settled = world.clone();
    settled.settle();
    settled.check();
    *explored += 1;
    if depth > 0 {
        for step in STEPS {
            let mut next = world.clone();
            next.step(step);
            explore(&next, depth - 1, explored);
        }
    }
}

#[test]
fn whatever_happens_in_whatever_order_the_end_is_what_judging_afresh_gives() {
    let mut explored = 0;
    for reads in [Reads::Nothing, Reads::Keyed] {
        let mut world = World::new();
        world.step(Step::Policy(0, 0, reads));
        world.settle();
        explore(&world, 4, &mut explored);
    }
    assert_eq!(explored, 2 * (1 + 15 + 15 * 15 + 15 * 15 * 15 + 15 * 15 * 15 * 15));
}

fn steps() -> impl Strategy<Value = Step> {
    let reads = prop_oneof![Just(Reads::Nothing), Just(Reads::Whole), Just(Reads::Keyed)];
    prop_oneof![
        3 => (0..2_usize, 0..3_u64).prop_map(|(name, content)| Step::Put(name, content)),
        1 => (0..2_usize).prop_map(Step::Remove),
        2 => (0..2_usize, 0..4_u64, reads).prop_map(|(n, revision, reads)| Step::Policy(n, revision * 4 + match reads {
            Reads::Nothing => 0, Reads::Whole => 1, Reads::Keyed => 2 }, reads)),
        1 => (0..2_usize).prop_map(Step::NoPolicy),
        2 => (0..3_usize).prop_map(Step::Inventory),
        1 => Just(Step::Exempt),
        6 => Just(Step::Deliver),
        3 => Just(Step::Begin),
        5 => Just(Step::Page),
        1 => Just(Step::Break),
        2 => Just(Step::Fetch),
        8 => Just(Step::Take),
        1 => Just(Step::Recreate),
        1 => Just(Step::Namespace),
        1 => Just(Step::Verify),
        1 => Just(Step::Examine),
        1 => Just(Step::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn long_histories_end_as_judging_afresh(steps in prop::collection::vec(steps(), 0..80)) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.step(*step));
        world.settle();
        world.check();
    }
}

#[test]
fn news_are_what_has_changed_since_the_constraint_was_first_judged() {
    let mut world = World::new();
    world.step(Step::Put(1, 1));
    world.step(Step::Policy(0, 1, Reads::Nothing));
    world.settle();
    assert_eq!(world.ledger.take_changes(), [], "what existed before is reported in one sum");
    world.step(Step::Put(1, 2));
    world.step(Step::Put(0, 1));
    world.settle();
    let changes: Vec<_> = world.ledger.take_changes();
    let changes: Vec<_> =
        changes.iter().map(|change| (change.place.name(), change.message.as_str(), change.is_new)).collect();
    assert_eq!(changes, [("y", "1 by 1", false), ("x", "1 by 1", true)]);
}

#[test]
fn a_kind_that_cannot_be_listed_is_named_and_keeps_the_others_from_nothing() {
    let mut world = World::new();
    world.ledger.set_unavailable(&kind(0), Some("list is forbidden"));
    world.step(Step::Policy(0, 0, Reads::Nothing));
    assert_eq!(world.ledger.take_changed(), [id(0)]);
    let report = world.ledger.report(&id(0), 1).unwrap();
    assert_eq!(&*report.missing[0].reason, "list is forbidden");
    world.settle();
    assert_eq!(world.ledger.take_changed(), [id(0)]);
    assert_eq!(world.ledger.report(&id(0), 1).unwrap().missing, []);
}

/// Begins a pass over everything, or over one namespace, and ends it with so many objects that cannot be read.
fn pass_with_unreadable(world: &mut World, due: Step, unreadable: usize) {
    world.step(due);
    let mut pass = world.ledger.next_pass(true, |_| true).unwrap();
    pass.unreadable = unreadable;
    world.ledger.pass_ended(&pass, true);
}

fn missing(world: &World) -> Vec<String> {
    let report = world.ledger.report(&id(0), 1).unwrap();
    report.missing.iter().map(|missing| missing.reason.to_string()).collect()
}

#[test]
fn a_kind_of_which_objects_cannot_be_read_is_named_and_waited_for_all_the_same() {
    let mut world = World::new();
    world.step(Step::Policy(0, 0, Reads::Nothing));
    world.settle();
    world.ledger.take_changed();
    pass_with_unreadable(&mut world, Step::Verify, 1);
    assert_eq!(missing(&world), ["list: 1 objects cannot be read"]);
    assert_eq!(world.ledger.take_changed(), [id(0)]);
    world.step(Step::Policy(0, 1, Reads::Nothing));
    assert!(!world.ledger.is_settled(), "the new policy has judged nothing");
    assert_eq!((world.ledger.take_changed(), world.ledger.report(&id(0), 1)), (Vec::new(), None));
}

#[test]
fn only_a_pass_over_all_namespaces_changes_how_many_objects_cannot_be_read() {
    let mut world = World::new();
    world.step(Step::Policy(0, 0, Reads::Nothing));
    world.settle();
    pass_with_unreadable(&mut world, Step::Namespace, 1);
    assert_eq!(missing(&world), [""; 0], "the others were not listed");
    pass_with_unreadable(&mut world, Step::Verify, 2);
    let named = ["list: 2 objects cannot be read"];
    assert_eq!(missing(&world), named);
    pass_with_unreadable(&mut world, Step::Namespace, 0);
    assert_eq!(missing(&world), named);
    world.ledger.set_unavailable(&kind(0), Some("list is forbidden"));
    assert_eq!(missing(&world), ["list is forbidden"]);
    world.ledger.set_unavailable(&kind(0), None);
    assert_eq!(missing(&world), named);
    pass_with_unreadable(&mut world, Step::Verify, 0);
    assert_eq!(missing(&world), [""; 0]);
}

#[test]
fn nothing_is_settled_before_the_constraints_are_known() {
    let mut ledger = Ledger::default();
    assert!(!ledger.is_settled(), "reports would be deleted");
    ledger.set_constraints(Vec::new());
    assert!(ledger.is_settled());
}

#[test]
fn a_verification_finds_what_the_watch_never_delivered_and_counts_each_once() {
    let lost: [(&[Step], &[&str]); 4] = [
        (&[Step::Remove(0)], &[]),
        (&[Step::Put(1, 0)], &["x", "y"]),
        (&[Step::Put(0, 1)], &[]),
        (&[Step::Remove(0), Step::Put(0, 0)], &["x"]),
    ];
    for (steps, violate) in lost {
        let mut world = World::new();
        world.step(Step::Policy(0, 0, Reads::Nothing));
        world.settle();
        steps.iter().for_each(|step| world.step(*step));
        steps.iter().for_each(|_| world.step(Step::Lose));
        world.calm();
        let before = world.ledger.report(&id(0), 10).unwrap();
        assert_eq!((before.total, world.ledger.drift()), (1, 0), "only a verification can know: {steps:?}");
        world.settle();
        let report = world.ledger.report(&id(0), 10).unwrap();
        let names: Vec<_> = report.shown.iter().map(|(place, _)| place.name()).collect();
        assert_eq!((names.as_slice(), world.ledger.drift()), (violate, 1), "{steps:?}");
    }
}

#[test]
fn what_the_watch_is_about_to_deliver_is_no_drift() {
    let mut world = World::new();
    world.step(Step::Policy(0, 0, Reads::Nothing));
    world.settle();
    for step in [
        Step::Remove(0),
        Step::Put(1, 0),
        Step::Verify,
        Step::Begin,
        Step::Page,
        Step::Page,
        Step::Take,
        Step::Take,
    ] {
        world.step(step);
    }
    assert!(world.ledger.has_suspects() && world.watch.len() == 2, "{world:?}");
    world.settle();
    world.check();
}
