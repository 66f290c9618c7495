//! The ledger against a model of what is wanted, with writes that succeed, get lost or overlap with changes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SHARDS: u32 = 3;

fn parent(name: u8, uid: u8) -> ParentKey {
    let reference =
        ParentRef { group: "g".into(), kind: "K".into(), namespace: None, name: format!("p{name}") };
    ParentKey { reference, uid: format!("u{uid}") }
}

fn outcome(ok: bool) -> Result<(), Vec<PodError>> {
    if ok { Ok(()) } else { Err(vec![PodError { message: "broken".into(), ..PodError::default() }]) }
}

fn ledger() -> Ledger {
    Ledger::new(Member { id: "pod".into(), incarnation: "i1".into(), ..Member::default() }, SHARDS)
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
    SomebodyDeletes(u32),
    Verify,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..5u8, 0..2u8, 0..4i64, any::<bool>())
            .prop_map(|(name, uid, generation, ok)| Event::Ingested { name, uid, generation, ok }),
        2 => (0..5u8, 0..2u8).prop_map(|(name, uid)| Event::Removed { name, uid }),
        4 => (0..4usize).prop_map(Event::BeginWrite),
        4 => Just(Event::WriteSucceeds),
        1 => Just(Event::WriteIsLost),
        1 => Just(Event::AnswerIsLost),
        1 => (0..=SHARDS).prop_map(Event::SomebodyDeletes),
        1 => Just(Event::Verify),
    ]
}

/// The ledger, the API server, and what a host would say is the truth.
struct World {
    ledger: Ledger,
    server: BTreeMap<u32, Option<PodReport>>,
    in_flight: Option<Write>,
    wanted: BTreeMap<ParentRef, (String, i64, bool)>,
    /// The version of the ledger after the last change of each parent.
    changed: BTreeMap<ParentRef, u64>,
    tampered: bool,
}

impl World {
    fn new() -> Self {
        let (server, wanted, changed) = <(BTreeMap<_, _>, BTreeMap<_, _>, BTreeMap<_, _>)>::default();
        Self { ledger: ledger(), server, in_flight: None, wanted, changed, tampered: false }
    }

    fn run(&mut self, event: Event) {
        match event {
            Event::Ingested { name, uid, generation, ok } => {
                let key = parent(name, uid);
                self.ledger.ingested(&key, generation, outcome(ok), Value::Null);
                let late = self
                    .wanted
                    .get(&key.reference)
                    .is_some_and(|(uid, newer, _)| *uid == key.uid && *newer > generation);
                if !late {
                    let value = (key.uid, generation, ok);
                    if self.wanted.insert(key.reference.clone(), value.clone()) != Some(value) {
                        self.changed.insert(key.reference, self.ledger.version());
                    }
                }
            }
            Event::Removed { name, uid } => {
                let key = parent(name, uid);
                self.ledger.removed(&key);
                if self.wanted.get(&key.reference).is_some_and(|(uid, ..)| *uid == key.uid) {
                    self.wanted.remove(&key.reference);
                    self.changed.insert(key.reference, self.ledger.version());
                }
            }
            Event::BeginWrite(choice) => {
                let dirty: Vec<u32> = self.ledger.dirty().collect();
                if self.in_flight.is_none() && !dirty.is_empty() {
                    self.in_flight =
                        Some(self.ledger.write(dirty[choice.min(dirty.len().saturating_sub(1))]));
                }
            }
            Event::WriteSucceeds => {
                if let Some(write) = self.in_flight.take() {
                    self.store(&write);
                    self.ledger.written(&write);
                }
            }
            Event::AnswerIsLost => {
                if let Some(write) = self.in_flight.take() {
                    self.store(&write);
                }
            }
            Event::WriteIsLost => self.in_flight = None,
            Event::SomebodyDeletes(shard) => self.tampered |= self.server.remove(&shard).is_some(),
            Event::Verify => {
                if self.in_flight.is_none() {
                    self.ledger.verify(&self.server.clone());
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

    fn stored(&self) -> BTreeMap<ParentRef, (String, i64, bool)> {
        let entries = self.server.values().flatten().flat_map(|report| &report.entries);
        entries
            .map(|entry| {
                let value = (entry.parent.uid.clone(), entry.generation, entry.errors.is_empty());
                (entry.parent.reference.clone(), value)
            })
            .collect()
    }

    fn settle(&mut self) {
        self.run(Event::WriteSucceeds);
        while self.ledger.dirty().next().is_some() {
            self.run(Event::BeginWrite(0));
            self.run(Event::WriteSucceeds);
        }
    }
}

proptest! {
    #[test]
    fn once_quiet_what_is_stored_is_what_is_wanted(events in prop::collection::vec(event(), 0..60)) {
        let mut world = World::new();
        for event in events {
            world.run(event);
        }
        world.settle();
        world.run(Event::Verify);
        world.settle();
        prop_assert_eq!(world.stored(), world.wanted);
        prop_assert!(world.server.contains_key(&REGISTRATION));
        prop_assert_eq!(world.ledger.stored_version(), world.ledger.version());
    }

    #[test]
    fn what_counts_as_stored_is_stored(events in prop::collection::vec(event(), 0..60)) {
        let mut world = World::new();
        for event in events {
            world.run(event);
            if world.tampered {
                return Ok(());
            }
            let stored = world.stored();
            let until = world.ledger.stored_version();
            for (parent, _) in world.changed.iter().filter(|(_, version)| **version <= until) {
                prop_assert_eq!(stored.get(parent), world.wanted.get(parent), "{:?} at {}", parent, until);
            }
            if world.ledger.is_registered() {
                prop_assert!(world.server.contains_key(&REGISTRATION));
            }
        }
    }

    #[test]
    fn a_report_never_leads_and_never_goes_back(events in prop::collection::vec(event(), 0..60)) {
        let mut world = World::new();
        let mut confirmed: BTreeSet<(ParentRef, String, i64, bool)> = BTreeSet::new();
        let mut latest: BTreeMap<(ParentRef, String), i64> = BTreeMap::new();
        for event in events {
            match &event {
                Event::Ingested { name, uid, generation, ok } => {
                    let key = parent(*name, *uid);
                    confirmed.insert((key.reference, key.uid, *generation, *ok));
                }
                Event::Removed { name, uid } => {
                    let key = parent(*name, *uid);
                    latest.remove(&(key.reference, key.uid));
                }
                _ => {}
            }
            let content: Vec<Entry> =
                (0..=SHARDS).filter_map(|shard| world.ledger.write(shard).report).flat_map(|r| r.entries).collect();
            world.run(event);
            for entry in content {
                let ParentKey { reference, uid } = entry.parent;
                let fact = (reference.clone(), uid.clone(), entry.generation, entry.errors.is_empty());
                prop_assert!(confirmed.contains(&fact), "{fact:?} was never confirmed");
            }
            // A uid does not come back in a cluster; when it does here, it counts as a new object.
            latest.retain(|(reference, uid), _| world.wanted.get(reference).is_none_or(|(now, ..)| now == uid));
            for (reference, (uid, generation, _)) in &world.wanted {
                let known = latest.insert((reference.clone(), uid.clone()), *generation);
                prop_assert!(known.is_none_or(|known| known <= *generation));
            }
        }
    }

    #[test]
    fn saying_the_same_again_writes_nothing(calls in prop::collection::vec((0..5u8, 0..3i64, any::<bool>()), 0..20)) {
        let mut world = World::new();
        let mut last = BTreeMap::new();
        for (name, generation, ok) in calls {
            world.run(Event::Ingested { name, uid: 0, generation, ok });
            last = world.wanted.clone();
        }
        world.settle();
        for (reference, (uid, generation, ok)) in last {
            let key = ParentKey { reference, uid };
            prop_assert!(!world.ledger.ingested(&key, generation, outcome(ok), Value::Null));
        }
        world.run(Event::Verify);
        prop_assert_eq!(world.ledger.dirty().count(), 0);
    }
}

#[test]
fn ten_thousand_parents_are_as_many_writes_as_shards() {
    let mut ledger = Ledger::new(Member::default(), 157);
    for number in 0..10_000u32 {
        let mut key = parent(0, 0);
        key.reference.name = number.to_string();
        ledger.ingested(&key, 1, Ok(()), Value::Null);
    }
    assert_eq!(ledger.dirty().count(), 158);
    let largest = (1..=157).filter_map(|shard| ledger.write(shard).report).map(|r| r.entries.len()).max();
    assert!(largest.is_some_and(|entries| entries < 130), "{largest:?} entries in one shard, 64 on average");
}

#[test]
fn what_another_run_has_left_is_replaced_or_deleted() {
    let mut ledger = ledger();
    ledger.ingested(&parent(1, 0), 1, Ok(()), Value::Null);
    let old = |shard| PodReport {
        pod: Member { id: "pod".into(), incarnation: "i0".into(), ..Member::default() },
        shard,
        entries: vec![],
    };
    let found = (0..=SHARDS).map(|shard| (shard, Some(old(shard)))).collect();
    ledger.verify(&found);
    let writes: Vec<Write> =
        ledger.dirty().collect::<Vec<_>>().into_iter().map(|s| ledger.write(s)).collect();
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
    world.ledger.withdraw();
    world.settle();
    assert!(world.server.is_empty());
}

#[test]
fn a_heartbeat_rewrites_the_registration_alone() {
    let mut world = World::new();
    world.run(Event::Ingested { name: 1, uid: 0, generation: 1, ok: true });
    world.settle();
    world.ledger.beat();
    assert_eq!(world.ledger.dirty().collect::<Vec<_>>(), [REGISTRATION]);
    world.settle();
    world.run(Event::Verify);
    assert_eq!(world.ledger.dirty().count(), 0, "the shards do not differ by the heartbeat");
}

#[test]
fn errors_are_cut_to_what_a_report_holds() {
    let long = "ä".repeat(300);
    let errors = vec![PodError { message: long, ..PodError::default() }; 40];
    let mut ledger = ledger();
    ledger.ingested(&parent(1, 0), 1, Err(errors), json!({"enforced": false}));
    let reports: Vec<PodReport> = (1..=SHARDS).filter_map(|shard| ledger.write(shard).report).collect();
    let entry = &reports[0].entries[0];
    assert_eq!(entry.errors.len(), 16);
    assert!(entry.errors.iter().all(|error| error.message.len() <= 256 && error.message.ends_with('…')));
}

#[test]
fn a_detail_that_is_no_object_is_left_out() {
    let mut ledger = ledger();
    ledger.ingested(&parent(1, 0), 1, Ok(()), json!([1]));
    let reports: Vec<PodReport> = (1..=SHARDS).filter_map(|shard| ledger.write(shard).report).collect();
    assert_eq!(reports[0].entries[0].detail, Value::Null);
}
