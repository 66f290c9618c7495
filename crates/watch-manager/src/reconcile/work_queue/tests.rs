//! Tests of `work_queue`: no object is under way twice, and the last state of each is reconciled.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::fixture::{gvk, object};
use crate::object::{ObjectKey, WatchedObject};

type State = Option<Arc<WatchedObject>>;

const DELAYS: BackoffRange = BackoffRange { min: Duration::from_secs(1), max: Duration::from_secs(8) };

fn key(name: &str) -> ReconcileKey {
    ReconcileKey { gvk: gvk("A"), object: ObjectKey::new(Some("default"), name) }
}

fn state(name: &str, version: u64) -> State {
    Some(object(&gvk("A"), name, 1, version))
}

fn version(state: &State) -> Option<u64> {
    state.as_ref().map(|object| object.resource_version().parse().unwrap())
}

#[test]
fn changes_within_the_debounce_are_one() {
    let mut queue = WorkQueue::new(Duration::from_secs(2), DELAYS);
    let now = Instant::now();
    queue.change(now, key("a"), state("a", 1));
    let later = now.checked_add(Duration::from_secs(1)).unwrap();
    queue.change(later, key("a"), state("a", 2));
    assert_eq!(queue.take(later), None);
    let due = queue.next_due().unwrap();
    assert_eq!(due.duration_since(now), Duration::from_secs(2), "a later change prolonged the wait");
    let (_, taken) = queue.take(due).unwrap();
    assert_eq!(version(&taken), Some(2));
}

#[test]
fn a_change_meanwhile_makes_it_due_again() {
    let mut queue = WorkQueue::new(Duration::ZERO, DELAYS);
    let now = Instant::now();
    queue.change(now, key("a"), state("a", 1));
    queue.take(now).unwrap();
    queue.change(now, key("a"), None);
    assert_eq!(queue.take(now), None, "it is under way");
    queue.succeed(now, &key("a"), None);
    assert_eq!(queue.take(now), Some((key("a"), None)));
    queue.succeed(now, &key("a"), None);
    assert!(queue.entries.is_empty() && queue.keys.is_empty());
}

#[test]
fn failures_wait_longer_and_longer_until_a_change() {
    let mut queue = WorkQueue::new(Duration::ZERO, DELAYS);
    let mut now = Instant::now();
    queue.change(now, key("a"), state("a", 1));
    let mut delays = Vec::new();
    for _ in 0..3 {
        queue.take(now).unwrap();
        delays.push(queue.fail(now, &key("a")));
        now = queue.next_due().unwrap();
    }
    assert!(delays.iter().zip([1, 2, 4]).all(|(delay, seconds)| *delay >= Duration::from_secs(seconds)));
    queue.take(now).unwrap();
    queue.fail(now, &key("a"));
    queue.change(now, key("a"), state("a", 2));
    assert!(queue.take(now).is_some(), "a change must not wait for the retry");
}

#[derive(Debug, Clone)]
enum Action {
    Change(usize, bool),
    Take,
    Finish(bool, Option<u8>),
    Advance(u8),
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (0..3_usize, any::<bool>()).prop_map(|(name, exists)| Action::Change(name, exists)),
        Just(Action::Take),
        (any::<bool>(), prop::option::of(0..5_u8)).prop_map(|(ok, again)| Action::Finish(ok, again)),
        (0..3_u8).prop_map(Action::Advance),
    ]
}

proptest! {
    #[test]
    fn the_last_state_of_each_object_is_reconciled(
        actions in prop::collection::vec(any_action(), 1..200), debounce in 0..3_u64,
    ) {
        let names = ["a", "b", "c"];
        let mut queue = WorkQueue::new(Duration::from_secs(debounce), DELAYS);
        let mut now = Instant::now();
        let mut under_way: Vec<(ReconcileKey, State)> = Vec::new();
        let mut latest: HashMap<ReconcileKey, State> = HashMap::new();
        let mut done: HashMap<ReconcileKey, State> = HashMap::new();
        for (clock, action) in (1_u64..).zip(actions) {
            match action {
                Action::Change(name, exists) => {
                    let state = exists.then(|| state(names[name], clock)).flatten();
                    latest.insert(key(names[name]), state.clone());
                    queue.change(now, key(names[name]), state);
                }
                Action::Take => under_way.extend(queue.take(now)),
                Action::Finish(ok, again) => if let Some((key, state)) = under_way.pop() {
                    if ok {
                        queue.succeed(now, &key, again.map(|seconds| Duration::from_secs(seconds.into())));
                        done.insert(key, state);
                    } else {
                        queue.fail(now, &key);
                    }
                },
                Action::Advance(seconds) => now = now.checked_add(Duration::from_secs(seconds.into())).unwrap(),
            }
            let keys: HashSet<_> = under_way.iter().map(|(key, _)| key).collect();
            prop_assert_eq!(keys.len(), under_way.len(), "an object is under way twice");
        }
        loop {
            while let Some((key, state)) = under_way.pop() {
                queue.succeed(now, &key, None);
                done.insert(key, state);
            }
            let Some(due) = queue.next_due() else { break };
            now = now.max(due);
            under_way.extend(queue.take(now));
        }
        prop_assert_eq!(done, latest);
        prop_assert!(queue.entries.is_empty() && queue.keys.is_empty());
    }
}
