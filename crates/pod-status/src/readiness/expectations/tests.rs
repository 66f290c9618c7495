//! The properties of readiness, and a model over streams that are interrupted and start again.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn key(name: &str, uid: u32) -> ParentKey {
    ParentKey::new(ParentRef::new("g", "K", name), format!("{name}-{uid}"))
}

fn sealed(policy: GiveUpPolicy) -> (Expectations, SourceId) {
    let mut expectations = Expectations::new(policy);
    let id = expectations.source("things".into());
    expectations.set_missing(id, MissingSemantics::Looser);
    expectations.seal();
    (expectations, id)
}

fn giving_up() -> GiveUpPolicy {
    GiveUpPolicy::default().permanent(OnError::GiveUp).unlistable(OnError::GiveUp)
}

/// Expectations whose first list contains one object, `a`, at generation 2.
fn listed(policy: GiveUpPolicy) -> (Expectations, SourceId) {
    let (mut expectations, id) = sealed(policy);
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 2);
    expectations.list_ends(id);
    (expectations, id)
}

#[track_caller]
fn waits(expectations: &mut Expectations) {
    assert!(!expectations.settle());
    assert!(!expectations.explain().is_empty(), "what is not ready can say why");
}

#[track_caller]
fn is_ready(expectations: &mut Expectations) {
    assert_eq!(expectations.explain(), []);
    assert!(expectations.settle() || expectations.ready);
    assert_eq!(expectations.explain(), []);
}

#[test]
fn nothing_is_ready_before_all_sources_are_declared() {
    let mut expectations = Expectations::new(GiveUpPolicy::default());
    waits(&mut expectations);
    expectations.seal();
    is_ready(&mut expectations);
}

#[test]
fn a_source_that_was_not_listed_is_waited_for() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    waits(&mut expectations);
    expectations.list_begins(id);
    waits(&mut expectations);
    expectations.list_ends(id);
    is_ready(&mut expectations);
}

#[test]
fn every_expectation_must_be_met() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 1);
    expectations.expect(id, &key("b", 0), 1);
    expectations.expect(id, &key("b", 0), 1);
    expectations.list_ends(id);
    expectations.observe(id, &key("a", 0), 1);
    waits(&mut expectations);
    expectations.observe(id, &key("b", 0), 1);
    is_ready(&mut expectations);
}

#[test]
fn an_object_may_be_ingested_before_it_is_expected() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    expectations.observe(id, &key("a", 0), 1);
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 1);
    expectations.list_ends(id);
    is_ready(&mut expectations);
}

#[test]
fn another_object_of_the_name_or_an_older_generation_does_not_count() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.observe(id, &key("a", 1), 5);
    waits(&mut expectations);
    expectations.observe(id, &key("a", 0), 1);
    waits(&mut expectations);
    expectations.observe(id, &key("a", 0), 3);
    is_ready(&mut expectations);
}

#[test]
fn an_early_outcome_of_a_predecessor_does_not_count_either() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    expectations.observe(id, &key("a", 0), 1);
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 1), 1);
    expectations.list_ends(id);
    waits(&mut expectations);
}

#[test]
fn what_is_deleted_is_not_waited_for_and_cannot_be_expected_again() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    expectations.list_begins(id);
    expectations.cancel(id, &key("a", 0));
    expectations.expect(id, &key("a", 0), 1);
    expectations.expect(id, &key("b", 0), 1);
    expectations.list_ends(id);
    assert_eq!(expectations.explain().len(), 1);
    expectations.cancel(id, &key("b", 0));
    is_ready(&mut expectations);
}

#[test]
fn a_late_deletion_of_a_predecessor_cancels_nothing() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.cancel(id, &key("a", 7));
    waits(&mut expectations);
}

#[test]
fn a_recreated_object_takes_the_place_of_the_expected_one() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.expect(id, &key("a", 1), 1);
    expectations.observe(id, &key("a", 0), 2);
    waits(&mut expectations);
    expectations.observe(id, &key("a", 1), 1);
    is_ready(&mut expectations);
}

#[test]
fn what_appears_after_the_list_is_not_waited_for() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.expect(id, &key("later", 0), 1);
    expectations.observe(id, &key("a", 0), 2);
    is_ready(&mut expectations);
}

#[test]
fn ready_is_final_and_holds_no_memory() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.observe(id, &key("a", 0), 2);
    is_ready(&mut expectations);
    let late = expectations.source("late".into());
    expectations.list_begins(late);
    expectations.expect(late, &key("x", 0), 1);
    expectations.list_begins(id);
    expectations.expect(id, &key("y", 0), 1);
    expectations.list_ends(id);
    let child = expectations.child(id, &key("y", 0), "child".into());
    expectations.observe(child, &key("z", 0), 1);
    is_ready(&mut expectations);
    assert!(expectations.sources.is_empty());
}

#[test]
fn a_permanent_failure_is_given_up_or_blocks_as_configured() {
    for (permanent, ready) in [(OnError::GiveUp, true), (OnError::Block, false)] {
        let (mut expectations, id) = listed(GiveUpPolicy { permanent, ..GiveUpPolicy::default() });
        expectations.fail(id, &key("a", 0), 2, ErrorClass::Permanent, "no such function".into());
        assert_eq!(expectations.settle(), ready);
        if !ready {
            assert!(expectations.explain()[0].to_string().ends_with("generation 2: no such function"));
            expectations.observe(id, &key("a", 0), 3);
            is_ready(&mut expectations);
        }
    }
}

#[test]
fn a_permanent_failure_of_an_older_generation_is_not_given_up() {
    let (mut expectations, id) = listed(giving_up());
    expectations.fail(id, &key("a", 0), 1, ErrorClass::Permanent, "old".into());
    waits(&mut expectations);
}

#[test]
fn a_permanent_failure_may_come_before_the_expectation() {
    let (mut expectations, id) = sealed(giving_up());
    expectations.fail(id, &key("a", 0), 1, ErrorClass::Permanent, "broken".into());
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 1);
    expectations.list_ends(id);
    is_ready(&mut expectations);
}

#[test]
fn a_transient_failure_blocks_and_is_explained() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.fail(id, &key("a", 0), 2, ErrorClass::Transient, "timeout".into());
    waits(&mut expectations);
    assert_eq!(expectations.explain()[0].to_string(), "things: K a not ingested at generation 2: timeout");
}

#[test]
fn one_broken_object_does_not_excuse_the_others() {
    let (mut expectations, id) = sealed(giving_up());
    expectations.list_begins(id);
    expectations.expect(id, &key("broken", 0), 1);
    expectations.expect(id, &key("good", 0), 1);
    expectations.list_ends(id);
    expectations.fail(id, &key("broken", 0), 1, ErrorClass::Permanent, "no".into());
    waits(&mut expectations);
    expectations.observe(id, &key("good", 0), 1);
    is_ready(&mut expectations);
}

#[test]
fn an_unlistable_kind_is_given_up_or_blocks_as_configured() {
    for (unlistable, failure, ready) in [
        (OnError::GiveUp, ErrorClass::Permanent, true),
        (OnError::GiveUp, ErrorClass::Transient, false),
        (OnError::Block, ErrorClass::Permanent, false),
    ] {
        let (mut expectations, id) = sealed(GiveUpPolicy::default().unlistable(unlistable));
        expectations.list_fails(id, failure, "the server could not find the resource".into());
        assert_eq!(expectations.settle(), ready);
        let named = if ready { expectations.given_up() } else { expectations.explain() };
        assert_eq!(named[0].to_string(), "things: not listed yet: the server could not find the resource");
    }
}

#[test]
fn by_default_a_list_that_fails_blocks_until_one_succeeds() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    expectations.list_fails(id, ErrorClass::Permanent, "forbidden".into());
    waits(&mut expectations);
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 1);
    expectations.list_ends(id);
    waits(&mut expectations);
    expectations.fail(id, &key("a", 0), 1, ErrorClass::Permanent, "broken".into());
    waits(&mut expectations);
    expectations.observe(id, &key("a", 0), 2);
    is_ready(&mut expectations);
    assert_eq!(expectations.given_up(), []);
}

#[test]
fn what_the_policy_gave_up_is_named_also_when_the_board_is_ready() {
    let (mut expectations, id) = listed(giving_up());
    expectations.fail(id, &key("a", 0), 2, ErrorClass::Permanent, "no such function".into());
    let named = "things: K a not ingested at generation 2: no such function";
    assert_eq!(expectations.given_up()[0].to_string(), named);
    is_ready(&mut expectations);
    assert_eq!(expectations.given_up()[0].to_string(), named);
}

#[test]
fn giving_up_names_what_was_missing() {
    let (mut expectations, _) = listed(GiveUpPolicy::default());
    let missing = expectations.give_up();
    assert_eq!(missing.len(), 1);
    is_ready(&mut expectations);
    assert_eq!(expectations.given_up(), missing);
}

#[test]
fn only_what_makes_a_pod_looser_is_given_up() {
    for missing in [MissingSemantics::Unknown, MissingSemantics::Stricter] {
        let (mut expectations, id) = sealed(giving_up());
        expectations.set_missing(id, missing);
        expectations.list_fails(id, ErrorClass::Permanent, "forbidden".into());
        assert_eq!(expectations.give_up(), []);
        waits(&mut expectations);
        expectations.list_begins(id);
        expectations.expect(id, &key("a", 0), 2);
        expectations.list_ends(id);
        expectations.fail(id, &key("a", 0), 2, ErrorClass::Permanent, "broken".into());
        assert_eq!(expectations.give_up(), []);
        waits(&mut expectations);
        assert_eq!(expectations.given_up(), []);
        expectations.observe(id, &key("a", 0), 2);
        is_ready(&mut expectations);
    }
}

#[test]
fn what_a_source_lacks_is_unknown_unless_it_is_declared() {
    let mut expectations = Expectations::new(giving_up());
    let id = expectations.source("things".into());
    expectations.seal();
    expectations.list_fails(id, ErrorClass::Permanent, "forbidden".into());
    waits(&mut expectations);
}

#[test]
fn giving_up_does_not_replace_what_is_not_declared_yet() {
    let mut expectations = Expectations::new(GiveUpPolicy::default());
    assert_eq!(expectations.give_up(), []);
    waits(&mut expectations);
    let (policies, data) = (expectations.source("policies".into()), expectations.source("data".into()));
    expectations.set_missing(policies, MissingSemantics::Looser);
    expectations.seal();
    waits(&mut expectations);
    expectations.list_begins(data);
    expectations.list_ends(data);
    is_ready(&mut expectations);
}

#[test]
fn the_data_of_a_policy_that_was_given_up_are_waited_for() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    let data = expectations.child(id, &key("a", 0), "data".into());
    assert_eq!(expectations.give_up().len(), 1);
    waits(&mut expectations);
    assert_eq!(expectations.explain()[0].to_string(), "things/a/data: not listed yet");
    expectations.list_begins(data);
    expectations.list_ends(data);
    is_ready(&mut expectations);
    assert_eq!(expectations.given_up().len(), 1);
}

#[test]
fn a_child_is_waited_for_with_its_owner() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    let child = expectations.child(id, &key("a", 0), "constraints".into());
    assert_eq!(expectations.child(id, &key("a", 0), "constraints".into()), child, "declared once");
    expectations.observe(id, &key("a", 0), 2);
    waits(&mut expectations);
    assert_eq!(expectations.explain()[0].to_string(), "things/a/constraints: not listed yet");
    expectations.list_begins(child);
    expectations.expect(child, &key("c", 0), 1);
    expectations.list_ends(child);
    waits(&mut expectations);
    expectations.observe(child, &key("c", 0), 1);
    is_ready(&mut expectations);
}

#[test]
fn a_child_goes_with_its_owner() {
    for deleted in [true, false] {
        let (mut expectations, id) = listed(giving_up());
        let child = expectations.child(id, &key("a", 0), "constraints".into());
        let grandchild = expectations.child(child, &key("c", 0), "more".into());
        if deleted {
            expectations.cancel(id, &key("a", 0));
        } else {
            expectations.fail(id, &key("a", 0), 2, ErrorClass::Permanent, "broken".into());
        }
        expectations.list_fails(grandchild, ErrorClass::Permanent, "gone".into());
        is_ready(&mut expectations);
    }
}

#[test]
fn a_child_of_an_object_that_is_not_expected_is_not_waited_for() {
    let (mut expectations, id) = listed(GiveUpPolicy::default());
    expectations.child(id, &key("later", 0), "constraints".into());
    expectations.observe(id, &key("a", 0), 2);
    is_ready(&mut expectations);
}

#[test]
fn a_child_may_be_declared_before_its_owner_is_expected() {
    let (mut expectations, id) = sealed(GiveUpPolicy::default());
    let child = expectations.child(id, &key("a", 0), "constraints".into());
    expectations.observe(id, &key("a", 0), 2);
    expectations.list_begins(id);
    expectations.expect(id, &key("a", 0), 2);
    expectations.list_ends(id);
    waits(&mut expectations);
    expectations.list_begins(child);
    expectations.list_ends(child);
    is_ready(&mut expectations);
}

/// One source's stream: complete lists, lists that break off, and single events.
#[derive(Clone, Debug)]
enum Event {
    ListBegins,
    Listed { name: u8, uid: u32, generation: i64 },
    ListEnds,
    Deleted { name: u8, uid: u32 },
    Ingested { name: u8, uid: u32, generation: i64 },
    Failed { name: u8, uid: u32, generation: i64 },
}

fn event() -> impl Strategy<Value = Event> {
    let object = || (0..3u8, 0..2u32, 1..3i64);
    prop_oneof![
        2 => Just(Event::ListBegins),
        6 => object().prop_map(|(name, uid, generation)| Event::Listed { name, uid, generation }),
        2 => Just(Event::ListEnds),
        1 => (0..3u8, 0..2u32).prop_map(|(name, uid)| Event::Deleted { name, uid }),
        4 => object().prop_map(|(name, uid, generation)| Event::Ingested { name, uid, generation }),
        1 => object().prop_map(|(name, uid, generation)| Event::Failed { name, uid, generation }),
    ]
}

fn name(number: u8) -> String {
    format!("o{number}")
}

fn play(expectations: &mut Expectations, id: SourceId, event: &Event) {
    match event {
        Event::ListBegins => expectations.list_begins(id),
        Event::Listed { name: n, uid, generation } => {
            expectations.expect(id, &key(&name(*n), *uid), *generation)
        }
        Event::ListEnds => expectations.list_ends(id),
        Event::Deleted { name: n, uid } => expectations.cancel(id, &key(&name(*n), *uid)),
        Event::Ingested { name: n, uid, generation } => {
            expectations.observe(id, &key(&name(*n), *uid), *generation)
        }
        Event::Failed { name: n, uid, generation } => {
            expectations.fail(id, &key(&name(*n), *uid), *generation, ErrorClass::Permanent, "broken".into());
        }
    }
}

/// Plays only what a watch can produce: objects of a list between its beginning and its end, and an object
/// is listed under one uid at a time that is not gone. Outcomes come in the order of the objects.
fn plausible(events: Vec<Event>) -> Vec<Event> {
    let (mut listing, mut gone) = (false, BTreeSet::new());
    let mut current: BTreeMap<u8, u32> = BTreeMap::new();
    let mut ingested: BTreeMap<u8, u32> = BTreeMap::new();
    events
        .into_iter()
        .filter(|event| match event {
            Event::ListBegins => {
                listing = true;
                true
            }
            Event::ListEnds => std::mem::take(&mut listing),
            Event::Listed { name, uid, .. } => {
                let is_current = |known: &u32| known <= uid;
                let fits = !gone.contains(&(*name, *uid))
                    && current.get(name).is_none_or(is_current)
                    && ingested.get(name).is_none_or(is_current);
                if fits && listing {
                    current.insert(*name, *uid);
                }
                fits && listing
            }
            Event::Deleted { name, uid } => {
                let fits = !listing && current.get(name) == Some(uid);
                if fits {
                    gone.insert((*name, *uid));
                }
                fits
            }
            Event::Ingested { name, uid, .. } | Event::Failed { name, uid, .. } => {
                let newest = ingested.entry(*name).or_default();
                *newest = (*newest).max(*uid);
                *newest == *uid
            }
        })
        .collect()
}

/// The reference model of what must be met: the last complete list before readiness, minus what later lists and
/// deletions took away, and without regard to how the expectations stores it.
#[derive(Default)]
struct Model {
    expected: BTreeMap<u8, (u32, i64)>,
    listing: Option<BTreeMap<u8, (u32, i64)>>,
    populated: bool,
    outcomes: Vec<(u8, u32, i64)>,
}

impl Model {
    fn play(&mut self, event: &Event) {
        match event {
            Event::ListBegins => self.listing = Some(BTreeMap::new()),
            Event::Listed { name, uid, generation } => {
                if let Some(listing) = &mut self.listing {
                    listing.insert(*name, (*uid, *generation));
                }
                let known = self.expected.get(name).copied();
                if known.is_some_and(|(known, _)| known != *uid) || (known.is_none() && !self.populated) {
                    self.expected.insert(*name, (*uid, *generation));
                }
            }
            Event::ListEnds => {
                if let Some(listing) = self.listing.take() {
                    self.expected.retain(|name, _| listing.contains_key(name));
                }
                self.populated = true;
            }
            Event::Deleted { name, uid } => {
                if self.expected.get(name).is_some_and(|(known, _)| known == uid) {
                    self.expected.remove(name);
                }
            }
            Event::Ingested { name, uid, generation } | Event::Failed { name, uid, generation } => {
                self.outcomes.push((*name, *uid, *generation));
            }
        }
    }

    fn is_ready(&self) -> bool {
        let met = |(name, (uid, generation)): (&u8, &(u32, i64))| {
            self.outcomes.iter().any(|(n, u, g)| n == name && u == uid && g >= generation)
        };
        self.populated && self.expected.iter().all(met)
    }
}

proptest! {
    #[test]
    fn interrupted_lists_neither_lose_nor_revive_an_expectation(
        events in prop::collection::vec(event(), 0..50)
    ) {
        let (mut expectations, id) = sealed(giving_up());
        let mut model = Model::default();
        for event in plausible(events) {
            play(&mut expectations, id, &event);
            model.play(&event);
            let ready = expectations.settle() || expectations.ready;
            prop_assert_eq!(ready, model.is_ready());
            if ready {
                return Ok(());
            }
        }
    }

    #[test]
    fn explain_is_empty_exactly_when_ready(events in prop::collection::vec(event(), 0..50)) {
        let (mut expectations, id) = sealed(giving_up());
        for event in events {
            play(&mut expectations, id, &event);
            let missing = expectations.explain();
            let ready = expectations.settle() || expectations.ready;
            prop_assert_eq!(missing.is_empty(), ready);
        }
    }

    #[test]
    fn a_stream_that_ends_well_ends_ready(
        events in prop::collection::vec(event(), 0..50),
        ends in prop::collection::vec(0..3u8, 3),
    ) {
        let (mut expectations, id) = sealed(giving_up());
        for event in plausible(events) {
            play(&mut expectations, id, &event);
            expectations.settle();
        }
        // A complete list of three new objects, each of which is ingested, broken for good, or deleted.
        expectations.list_begins(id);
        for number in 0..3 {
            expectations.expect(id, &key(&name(number), 9), 1);
        }
        expectations.list_ends(id);
        for (number, end) in (0..3u8).zip(ends) {
            let object = key(&name(number), 9);
            match end {
                0 => expectations.observe(id, &object, 1),
                1 => expectations.fail(id, &object, 1, ErrorClass::Permanent, "broken".into()),
                _ => expectations.cancel(id, &object),
            }
        }
        is_ready(&mut expectations);
    }
}
