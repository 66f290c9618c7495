//! The desired state against a model of what is wanted, with writes that succeed, get lost or overlap with changes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::parent::ParentRef;
use crate::readiness::ErrorClass;

/// Room for four entries.
const BYTES: usize = 512;
/// More shards than any of these tests needs.
const SHARDS: u32 = 40;

fn parent(name: u8, uid: u8) -> ParentKey {
    ParentKey::new(ParentRef::new("g", "K", format!("p{name}")), format!("p{name}-u{uid}"))
}

fn outcome(ok: bool) -> Result<(), Vec<PodError>> {
    if ok {
        Ok(())
    } else {
        Err(vec![PodError::new("ingest_error", "broken, for a reason that takes some room")])
    }
}

fn desired() -> DesiredReports {
    DesiredReports::new(Member::new("pod", "i1"), BYTES, OwnReports::default())
}

#[derive(Clone, Debug)]
enum Event {
    Ingested {
        name: u8,
        uid: u8,
        generation: i64,
        ok: bool,
    },
    Removed {
        name: u8,
        uid: u8,
    },
    BeginWrite(usize),
    WriteSucceeds,
    WriteIsLost,
    /// The write is carried out, and its answer is lost.
    AnswerIsLost,
    AnotherClientDeletes(u32),
    Verify,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..7u8, 0..4u8, 0..4i64, any::<bool>())
            .prop_map(|(name, uid, generation, ok)| Event::Ingested { name, uid, generation, ok }),
        1 => (0..7u8, 0..4u8).prop_map(|(name, uid)| Event::Removed { name, uid }),
        4 => (0..4usize).prop_map(Event::BeginWrite),
        4 => Just(Event::WriteSucceeds),
        1 => Just(Event::WriteIsLost),
        1 => Just(Event::AnswerIsLost),
        1 => (0..6u32).prop_map(Event::AnotherClientDeletes),
        1 => Just(Event::Verify),
    ]
}

/// The desired state, the API server, and what a host would say is the truth.
struct World {
    desired: DesiredReports,
    server: BTreeMap<u32, Option<PodReport>>,
    in_flight: Option<Write>,
    wanted: BTreeMap<ParentKey, (i64, bool)>,
    retired: BTreeSet<ParentKey>,
    /// The version of the desired state after the last change of each parent.
    changed: BTreeMap<ParentKey, u64>,
    tampered: bool,
}

impl World {
    fn new() -> Self {
        Self {
            desired: desired(),
            server: BTreeMap::new(),
            in_flight: None,
            wanted: BTreeMap::new(),
            retired: BTreeSet::new(),
            changed: BTreeMap::new(),
            tampered: false,
        }
    }

    fn ingested(&mut self, key: ParentKey, value: (i64, bool)) {
        let known = self.wanted.get(&key);
        if self.retired.contains(&key) || known.is_some_and(|known| *known == value || known.0 > value.0) {
            return;
        }
        self.wanted.insert(key.clone(), value);
        self.changed.insert(key.clone(), self.desired.version());
        // Of the other objects with this name, the one that changed last is kept.
        let others = self.wanted.keys().filter(|other| other.reference == key.reference && **other != key);
        let mut others: Vec<ParentKey> = others.cloned().collect();
        others.sort_by_key(|other| self.changed[other]);
        others.pop();
        for other in others {
            self.removed(other);
        }
    }

    fn removed(&mut self, key: ParentKey) {
        if self.wanted.remove(&key).is_some() {
            self.changed.insert(key.clone(), self.desired.version());
        }
        self.retired.insert(key);
    }

    fn run(&mut self, event: Event) {
        match event {
            Event::Ingested { name, uid, generation, ok } => {
                let key = parent(name, uid);
                self.desired.ingested(&key, generation, outcome(ok), &Value::Null);
                self.ingested(key, (generation, ok));
            }
            Event::Removed { name, uid } => {
                self.desired.removed(&parent(name, uid));
                self.removed(parent(name, uid));
            }
            Event::BeginWrite(choice) => {
                let dirty: Vec<u32> = self.desired.dirty().collect();
                if self.in_flight.is_none() && !dirty.is_empty() {
                    self.in_flight =
                        Some(self.desired.write(dirty[choice.min(dirty.len().saturating_sub(1))]));
                }
            }
            Event::WriteSucceeds => {
                if let Some(write) = self.in_flight.take() {
                    self.store(&write);
                    self.desired.written(&write);
                }
            }
            Event::AnswerIsLost => {
                if let Some(write) = self.in_flight.take() {
                    self.store(&write);
                }
            }
            Event::WriteIsLost => self.in_flight = None,
            Event::AnotherClientDeletes(shard) => self.tampered |= self.server.remove(&shard).is_some(),
            Event::Verify => {
                if self.in_flight.is_none() {
                    self.desired.verify(&self.server.clone());
                }
            }
        }
    }

    fn store(&mut self, write: &Write) {
        match &write.report {
            Some(report) => self.server.insert(write.shard, Some(report.clone())),
            None => self.server.remove(&write.shard),
        };
    }

    /// The stored entries. Of two that an entry has while it moves, the one with the greater number counts.
    fn stored(&self) -> BTreeMap<ParentKey, (i64, bool)> {
        let entries = self.server.values().flatten().flat_map(|report| &report.entries);
        let mut entries: Vec<&Entry> = entries.collect();
        entries.sort_by_key(|entry| entry.sequence);
        let value = |entry: &Entry| (entry.generation, entry.errors.is_empty());
        entries.into_iter().map(|entry| (entry.parent.clone(), value(entry))).collect()
    }

    fn settle(&mut self) {
        self.run(Event::WriteSucceeds);
        while self.desired.dirty().next().is_some() {
            self.run(Event::BeginWrite(0));
            self.run(Event::WriteSucceeds);
        }
    }
}

proptest! {
    #[test]
    fn once_quiet_what_is_stored_is_what_is_wanted(events in prop::collection::vec(event(), 0..80)) {
        let mut world = World::new();
        for event in events {
            world.run(event);
        }
        world.settle();
        world.run(Event::Verify);
        world.settle();
        prop_assert_eq!(world.stored(), world.wanted);
        prop_assert!(world.server.contains_key(&REGISTRATION));
        prop_assert_eq!(world.desired.stored_version(), world.desired.version());
        for report in world.server.values().flatten() {
            prop_assert!(report.entries.len() <= 6, "{} entries in one object", report.entries.len());
        }
    }

    #[test]
    fn what_counts_as_stored_is_stored(events in prop::collection::vec(event(), 0..80)) {
        let mut world = World::new();
        for event in events {
            world.run(event);
            if world.tampered {
                return Ok(());
            }
            let stored = world.stored();
            let until = world.desired.stored_version();
            for (parent, _) in world.changed.iter().filter(|(_, version)| **version <= until) {
                prop_assert_eq!(stored.get(parent), world.wanted.get(parent), "{:?} at {}", parent, until);
            }
            if world.desired.is_registered() {
                prop_assert!(world.server.contains_key(&REGISTRATION));
            }
        }
    }

    #[test]
    fn a_report_never_leads_and_never_goes_back(events in prop::collection::vec(event(), 0..80)) {
        let mut world = World::new();
        let mut confirmed: BTreeSet<(ParentKey, i64, bool)> = BTreeSet::new();
        let mut latest: BTreeMap<ParentKey, i64> = BTreeMap::new();
        for event in events {
            if let Event::Ingested { name, uid, generation, ok } = &event {
                confirmed.insert((parent(*name, *uid), *generation, *ok));
            }
            world.run(event);
            let written = (0..SHARDS).filter_map(|shard| world.desired.write(shard).report);
            for entry in written.flat_map(|report| report.entries) {
                let fact = (entry.parent, entry.generation, entry.errors.is_empty());
                prop_assert!(confirmed.contains(&fact), "{fact:?} was never confirmed");
                let known = latest.insert(fact.0, fact.1);
                prop_assert!(known.is_none_or(|known| known <= fact.1));
            }
        }
    }

    #[test]
    fn saying_the_same_again_writes_nothing(calls in prop::collection::vec((0..5u8, 0..3i64, any::<bool>()), 0..20)) {
        let mut world = World::new();
        for (name, generation, ok) in calls {
            world.run(Event::Ingested { name, uid: 0, generation, ok });
        }
        world.settle();
        for (key, (generation, ok)) in world.wanted.clone() {
            prop_assert!(!world.desired.ingested(&key, generation, outcome(ok), &Value::Null));
        }
        world.run(Event::Verify);
        prop_assert_eq!(world.desired.dirty().count(), 0);
    }
}

#[test]
fn a_late_outcome_of_a_predecessor_does_not_replace_its_successor() {
    let (old, new) = (parent(1, 0), parent(1, 1));
    let mut desired = desired();
    // The predecessor was never reported before: nothing tells which of the two exists, so both are kept.
    desired.ingested(&new, 1, Ok(()), &());
    desired.ingested(&old, 7, Ok(()), &());
    let entries = |desired: &mut DesiredReports| {
        desired.write(1).report.unwrap().entries.into_iter().map(|e| e.parent).collect()
    };
    let kept: BTreeSet<ParentKey> = entries(&mut desired);
    assert_eq!(kept, [old.clone(), new.clone()].into());
    desired.removed(&old);
    assert!(!desired.ingested(&old, 8, Ok(()), &()), "it was removed");
    let kept: BTreeSet<ParentKey> = entries(&mut desired);
    assert_eq!(kept, [new].into());
}

#[test]
fn a_report_that_is_too_large_is_divided_until_it_is_accepted() {
    const ACCEPTED: usize = 700;
    let mut desired = DesiredReports::new(Member::new("pod", "i1"), 100_000, OwnReports::default());
    for name in 0..50 {
        desired.ingested(&parent(name, 0), 1, Ok(()), &json!({"enforced": true, "log": "x".repeat(100)}));
    }
    desired.ingested(&parent(99, 0), 1, Ok(()), &json!({"log": "x".repeat(2000)}));
    let mut stored: BTreeMap<u32, PodReport> = BTreeMap::new();
    let mut refused = 0;
    loop {
        let Some(shard) = desired.dirty().next() else { break };
        let write = desired.write(shard);
        if write.report.as_ref().is_some_and(|report| bounds::length(report) > ACCEPTED) {
            desired.too_large(shard);
            refused += 1;
            assert!(refused < 100, "it never ends");
            continue;
        }
        desired.written(&write);
        if let Some(report) = write.report {
            stored.insert(shard, report);
        }
    }
    let entries: Vec<&Entry> = stored.values().flat_map(|report| &report.entries).collect();
    assert_eq!(entries.len(), 51);
    assert!(entries.iter().all(|entry| entry.errors.is_empty()));
    let short: Vec<&&Entry> = entries.iter().filter(|entry| entry.detail.get("log").is_none()).collect();
    assert_eq!(short.len(), 1, "the entry that is too large alone");
    assert_eq!(short[0].parent, parent(99, 0));
}

/// An API server that refuses reports of more than `accepted` bytes, and has stored these objects.
#[derive(Default)]
struct Narrow {
    stored: BTreeMap<u32, PodReport>,
    refused: usize,
}

impl Narrow {
    /// Carries out all writes. Returns the entry about parent 99.
    fn settle(&mut self, desired: &mut DesiredReports, accepted: usize) -> Entry {
        loop {
            let Some(shard) = desired.dirty().next() else { break };
            let write = desired.write(shard);
            if write.report.as_ref().is_some_and(|report| bounds::length(report) > accepted) {
                desired.too_large(shard);
                self.refused = self.refused.saturating_add(1);
                assert!(self.refused < 100, "it never ends");
                continue;
            }
            desired.written(&write);
            self.stored.remove(&shard);
            self.stored.extend(write.report.map(|report| (shard, report)));
        }
        let entries = self.stored.values().flat_map(|report| &report.entries);
        let about: Vec<&Entry> = entries.filter(|entry| entry.parent == parent(99, 0)).collect();
        assert_eq!(about.len(), 1);
        about[0].clone()
    }

    fn compare(&self, desired: &mut DesiredReports) {
        let found = self.stored.iter().map(|(shard, report)| (*shard, Some(report.clone())));
        desired.verify(&found.collect());
    }
}

#[test]
fn an_entry_that_is_refused_alone_is_shortened_and_whole_again_when_it_is_accepted() {
    let (mut desired, mut server) = (desired(), Narrow::default());
    let detail = json!({"enforced": true, "log": "x".repeat(900)});
    desired.ingested(&parent(99, 0), 1, Ok(()), &detail);
    let short = server.settle(&mut desired, 700);
    assert_eq!((short.errors.len(), &short.detail), (0, &json!({"enforced": true})), "it claims the same");
    assert!(!desired.ingested(&parent(99, 0), 1, Ok(()), &detail), "the same again sends nothing");
    assert_eq!(desired.dirty().count(), 0);
    for _ in 0..3 {
        let before = server.refused;
        server.compare(&mut desired);
        assert_eq!(server.settle(&mut desired, 700).detail, short.detail);
        assert_eq!(server.refused.checked_sub(before), Some(1), "it is tried once in each comparison");
    }
    server.compare(&mut desired);
    assert_eq!(server.settle(&mut desired, 9_000).detail, detail);
    let before = server.refused;
    server.compare(&mut desired);
    assert_eq!((desired.dirty().count(), server.refused), (0, before), "nothing is left to be done");
}

#[test]
fn an_entry_that_is_refused_short_is_an_error_that_stalls_only_when_it_was_tried_again() {
    let (mut desired, mut server) = (desired(), Narrow::default());
    let long = (0..16).map(|_| PodError::new("e", "y".repeat(200))).collect();
    desired.ingested(&parent(99, 0), 1, Err(long), &json!({"enforced": false}));
    let small = server.settle(&mut desired, 350);
    let classes = |entry: &Entry| entry.errors.iter().map(|error| error.class).collect::<Vec<_>>();
    assert_eq!(
        (small.errors[0].code.as_str(), classes(&small)),
        ("report_too_large", vec![ErrorClass::Transient])
    );
    server.compare(&mut desired);
    assert_eq!(classes(&server.settle(&mut desired, 350)), [ErrorClass::Permanent]);
    server.compare(&mut desired);
    let short = server.settle(&mut desired, 700);
    assert_eq!((short.errors.len(), short.errors[0].code.as_str()), (1, "e"));
    assert!(
        short.errors[0]
            .message
            .ends_with("(shortened: the API server refuses the whole report as too large)")
    );
    server.compare(&mut desired);
    assert_eq!(server.settle(&mut desired, 9_000).errors.len(), 16);
    desired.ingested(&parent(99, 0), 2, Ok(()), &());
    assert_eq!(
        classes(&server.settle(&mut desired, 350)),
        [],
        "another outcome is not a former one's replacement"
    );
}

/// A proxy that refuses one small report must not make each later one an object of its own.
#[test]
fn a_small_entry_that_is_refused_alone_does_not_divide_the_others() {
    let mut desired = desired();
    desired.ingested(&parent(99, 0), 1, Ok(()), &());
    desired.too_large(1);
    for name in 0..50 {
        desired.ingested(&parent(name, 0), 1, Ok(()), &());
    }
    let shards = desired.dirty().count();
    assert!(shards < 20, "{shards} objects for 51 small entries");
}

#[test]
fn ten_thousand_parents_are_few_writes_of_bounded_size() {
    let mut desired = DesiredReports::new(Member::default(), 16 * 1024, OwnReports::default());
    for number in 0..10_000u32 {
        let key = ParentKey::new(ParentRef::new("g", "K", number.to_string()), "u");
        desired.ingested(&key, 1, Ok(()), &());
    }
    let shards: Vec<u32> = desired.dirty().collect();
    assert!((30..60).contains(&shards.len()), "{} objects", shards.len());
    let sizes = shards.iter().map(|shard| bounds::length(&desired.write(*shard).report));
    assert!(sizes.max().is_some_and(|bytes| bytes < 20_000));
}

#[test]
fn what_another_run_has_left_is_replaced_or_deleted() {
    let mut desired = desired();
    desired.ingested(&parent(1, 0), 1, Ok(()), &Value::Null);
    let old = |shard| PodReport { pod: Member::new("pod", "i0"), shard, entries: vec![] };
    let found = (0..=3).map(|shard| (shard, Some(old(shard)))).collect();
    desired.verify(&found);
    let writes: Vec<Write> =
        desired.dirty().collect::<Vec<_>>().into_iter().map(|s| desired.write(s)).collect();
    assert_eq!(writes.len(), 4, "the registration and all shards");
    let kept: Vec<&PodReport> = writes.iter().filter_map(|write| write.report.as_ref()).collect();
    assert_eq!(kept.len(), 2, "the registration and the shard with the entry");
    assert!(kept.iter().all(|report| report.pod.incarnation == "i1"));
}

#[test]
fn a_withdrawn_run_deletes_everything_it_has_written() {
    let mut world = World::new();
    world.run(Event::Ingested { name: 1, uid: 0, generation: 1, ok: true });
    world.settle();
    assert_eq!(world.server.len(), 2);
    world.desired.withdraw();
    world.settle();
    assert!(world.server.is_empty());
}

#[test]
fn a_heartbeat_rewrites_the_registration_alone() {
    let mut world = World::new();
    world.run(Event::Ingested { name: 1, uid: 0, generation: 1, ok: true });
    world.settle();
    world.desired.beat();
    assert_eq!(world.desired.dirty().collect::<Vec<_>>(), [REGISTRATION]);
    world.settle();
    world.run(Event::Verify);
    assert_eq!(world.desired.dirty().count(), 0, "the shards do not differ by the heartbeat");
}

#[test]
fn a_failure_without_errors_is_no_success() {
    let mut desired = desired();
    desired.ingested(&parent(0, 0), 1, Err(Vec::new()), &());
    let reports = (1..SHARDS).filter_map(|shard| desired.content(shard));
    let errors: Vec<PodError> =
        reports.flat_map(|report| report.entries).flat_map(|entry| entry.errors).collect();
    assert_eq!(errors, [PodError::without_reason()]);
}
