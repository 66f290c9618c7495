//! Tests of `replay`: a reader of any slowness ends up with the store, and is told nothing it cannot use.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixture::{gvk, object};

// === impl Backlog: for the tests of the crate ===

impl Backlog {
    /// What a reader would get, and what the backlog remembers, without the numbers that only grow.
    pub(crate) fn picture(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let mut lanes: Vec<_> = self.lanes.iter().collect();
        lanes.sort_by(|(a, _), (b, _)| sort_key(a).cmp(&sort_key(b)));
        for (gvk, lane) in lanes {
            write!(text, "[{} {} {} {}]", gvk.kind, lane.status, lane.status_told, lane.synced).unwrap();
        }
        for token in self.order.values() {
            match token {
                Token::Status(gvk) => write!(text, " status {}", gvk.kind).unwrap(),
                Token::Synced(gvk) => write!(text, " synced {}", gvk.kind).unwrap(),
                Token::Object(gvk, key) => {
                    let entry = &self.lanes[gvk].objects[key];
                    let version = |object: &Option<Arc<WatchedObject>>| {
                        object
                            .as_ref()
                            .map(|object| format!("{}v{}", object.uid(), object.resource_version()))
                    };
                    let (gone, live) = (version(&entry.gone), version(&entry.live));
                    write!(text, " {} {key} {gone:?} {live:?} {}", gvk.kind, entry.held).unwrap();
                }
            }
        }
        text
    }

    pub(crate) fn is_synced(&self, gvk: &Gvk) -> bool {
        self.lanes.get(gvk).is_some_and(|lane| lane.synced)
    }

    /// Panics when a token lacks its entry or an entry its token.
    pub(crate) fn check(&self) {
        let mut expected: Vec<u64> = self.lanes.values().flat_map(Lane::tokens).collect();
        expected.sort_unstable();
        assert_eq!(self.order.keys().copied().collect::<Vec<_>>(), expected);
        for entry in self.lanes.values().flat_map(|lane| lane.objects.values()) {
            assert!(entry.gone.is_some() || entry.live.is_some(), "an entry with nothing to say");
            assert!(entry.gone.is_none() || entry.held, "the end of what the reader does not hold");
        }
    }
}

fn drain(backlog: &mut Backlog) -> Vec<String> {
    std::iter::from_fn(|| backlog.pop()).map(|event| describe(&event)).collect()
}

fn describe(event: &WatchEvent) -> String {
    match &event.kind {
        EventKind::Applied(object) => format!("apply {}/{}", object.uid(), object.resource_version()),
        EventKind::Deleted(object) => format!("delete {}/{}", object.uid(), object.resource_version()),
        EventKind::Synced => "synced".to_owned(),
        EventKind::Status(status) => format!("status {status}"),
    }
}

fn wanting(kind: &Gvk) -> (Backlog, Epoch) {
    let mut backlog = Backlog::default();
    backlog.want(kind);
    let epoch = backlog.wishes()[kind];
    (backlog, epoch)
}

#[track_caller]
fn check_delivery(changes: &[Change], expected: &[&str]) {
    let kind = gvk("A");
    let (mut backlog, epoch) = wanting(&kind);
    for change in changes {
        backlog.offer(&kind, epoch, change);
        backlog.check();
    }
    assert_eq!(drain(&mut backlog), expected);
    assert!(backlog.is_empty());
}

#[test]
fn a_slow_reader_gets_the_latest_form_once() {
    let kind = gvk("A");
    check_delivery(
        &[Change::Added(object(&kind, "a", 1, 1)), Change::Updated(object(&kind, "a", 1, 2))],
        &["apply 1/2"],
    );
}

#[test]
fn an_object_that_came_and_went_unseen_is_not_mentioned() {
    let kind = gvk("A");
    check_delivery(
        &[Change::Added(object(&kind, "a", 1, 1)), Change::Deleted(object(&kind, "a", 1, 2))],
        &[],
    );
}

#[test]
fn the_end_of_a_known_object_comes_before_its_successor() {
    let kind = gvk("A");
    check_delivery(
        &[Change::Deleted(object(&kind, "a", 1, 2)), Change::Added(object(&kind, "a", 2, 3))],
        &["delete 1/2", "apply 2/3"],
    );
    check_delivery(
        &[Change::Replaced { old: object(&kind, "a", 1, 2), new: object(&kind, "a", 2, 3) }],
        &["delete 1/2", "apply 2/3"],
    );
}

#[test]
fn a_successor_that_went_unseen_leaves_one_delete() {
    let kind = gvk("A");
    check_delivery(
        &[
            Change::Deleted(object(&kind, "a", 1, 2)),
            Change::Added(object(&kind, "a", 2, 3)),
            Change::Replaced { old: object(&kind, "a", 2, 3), new: object(&kind, "a", 3, 4) },
            Change::Deleted(object(&kind, "a", 3, 5)),
        ],
        &["delete 1/2"],
    );
}

#[test]
fn synced_follows_the_snapshot_and_is_said_once() {
    let kind = gvk("A");
    let (mut backlog, epoch) = wanting(&kind);
    backlog.offer(&kind, epoch, &Change::Added(object(&kind, "a", 1, 1)));
    backlog.offer_synced(&kind, epoch);
    backlog.offer_synced(&kind, epoch);
    backlog.offer(&kind, epoch, &Change::Added(object(&kind, "b", 2, 2)));
    backlog.offer(&kind, epoch, &Change::Updated(object(&kind, "a", 1, 3)));
    assert_eq!(drain(&mut backlog), ["apply 1/3", "synced", "apply 2/2"]);
}

#[test]
fn a_kind_that_went_away_is_synced_anew() {
    let kind = gvk("A");
    let (mut backlog, epoch) = wanting(&kind);
    backlog.offer_synced(&kind, epoch);
    backlog.unsync(&kind, epoch);
    assert_eq!(drain(&mut backlog), Vec::<String>::new());
    backlog.offer_synced(&kind, epoch);
    assert_eq!(drain(&mut backlog), ["synced"]);
}

#[test]
fn only_the_latest_status_is_said() {
    let kind = gvk("A");
    let (mut backlog, epoch) = wanting(&kind);
    backlog.offer_status(&kind, epoch, &GvkStatus::Pending);
    assert!(backlog.is_empty(), "the reader knows that a kind begins as pending");
    backlog.offer_status(&kind, epoch, &GvkStatus::Listing);
    backlog.offer_status(&kind, epoch, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), ["status ready"]);
    backlog.offer_status(&kind, epoch, &GvkStatus::Stale { error: "cut".into() });
    backlog.offer_status(&kind, epoch, &GvkStatus::Ready);
    assert!(backlog.is_empty(), "the reader did not see that it was ever otherwise");
    backlog.check();
}

#[test]
fn a_status_follows_what_it_is_about() {
    let kind = gvk("A");
    let (mut backlog, epoch) = wanting(&kind);
    backlog.offer_status(&kind, epoch, &GvkStatus::Listing);
    backlog.offer(&kind, epoch, &Change::Added(object(&kind, "a", 1, 1)));
    backlog.offer_synced(&kind, epoch);
    backlog.offer_status(&kind, epoch, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), ["apply 1/1", "synced", "status ready"]);
}

#[test]
fn a_removed_kind_is_silent_and_its_former_stay_stays_out() {
    let (a, b) = (gvk("A"), gvk("B"));
    let (mut backlog, former) = wanting(&a);
    backlog.want(&b);
    let other = backlog.wishes()[&b];
    backlog.offer(&a, former, &Change::Added(object(&a, "a", 1, 1)));
    backlog.offer(&b, other, &Change::Added(object(&b, "b", 2, 2)));
    backlog.offer_status(&a, former, &GvkStatus::Ready);
    backlog.offer_synced(&a, former);
    assert!(backlog.unwant(&a));
    backlog.check();
    assert_eq!(drain(&mut backlog), ["apply 2/2"]);

    backlog.want(&a);
    backlog.offer(&a, former, &Change::Added(object(&a, "a", 1, 1)));
    backlog.offer_synced(&a, former);
    backlog.offer_status(&a, former, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), Vec::<String>::new());
}

#[test]
fn want_only_touches_what_differs() {
    let (a, b, c) = (gvk("A"), gvk("B"), gvk("C"));
    let mut backlog = Backlog::default();
    backlog.want(&a);
    backlog.want(&b);
    let before = backlog.wishes()[&b];
    let replaced = backlog.want_only([(*b).clone(), (*c).clone(), (*c).clone()]);
    assert_eq!(replaced.added, [(*c).clone()]);
    assert_eq!(replaced.removed, [(*a).clone()]);
    assert_eq!(backlog.wishes()[&b], before, "a kept kind keeps its stay");
    assert_eq!(backlog.want_only([(*b).clone(), (*c).clone()]), Replaced::default());
}

#[derive(Debug, Clone)]
enum Action {
    /// The store gets this object, whatever that means.
    Put {
        name: usize,
        new_uid: bool,
    },
    Delete(usize),
    Pop,
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..4usize, any::<bool>()).prop_map(|(name, new_uid)| Action::Put { name, new_uid }),
        3 => (0..4usize).prop_map(Action::Delete),
        4 => Just(Action::Pop),
    ]
}

type View = BTreeMap<String, (String, u64)>;

/// Folds an event into what the reader holds; panics when it makes no sense to the reader.
fn fold(view: &mut View, event: &WatchEvent) {
    match &event.kind {
        EventKind::Applied(new) => {
            let version = new.resource_version().parse().unwrap();
            if let Some((uid, before)) = view.insert(new.name().to_owned(), (new.uid().to_owned(), version)) {
                assert_eq!(uid, new.uid(), "another object without a delete in between");
                assert!(before < version, "older after newer");
            }
        }
        EventKind::Deleted(old) => {
            let (uid, _) = view.remove(old.name()).expect("a delete of what the reader does not hold");
            assert_eq!(uid, old.uid());
        }
        other => panic!("{other:?} was not offered"),
    }
}

proptest! {
    #[test]
    fn a_reader_of_any_slowness_ends_up_with_the_store(
        actions in prop::collection::vec(any_action(), 1..80),
    ) {
        let kind = gvk("A");
        let (mut backlog, epoch) = wanting(&kind);
        let mut store = crate::store::Store::default();
        let mut view = View::new();
        let mut uids: HashMap<usize, u64> = HashMap::new();
        for (clock, action) in (1u64..).zip(actions) {
            let change = match action {
                Action::Put { name, new_uid } => {
                    let uid = *uids.entry(name).and_modify(|uid| if new_uid { *uid = clock }).or_insert(clock);
                    store.apply(object(&kind, &format!("o{name}"), uid, clock))
                }
                Action::Delete(name) => {
                    uids.remove(&name).and_then(|uid| store.delete(object(&kind, &format!("o{name}"), uid, clock)))
                }
                Action::Pop => {
                    if let Some(event) = backlog.pop() {
                        fold(&mut view, &event);
                    }
                    None
                }
            };
            if let Some(change) = change {
                backlog.offer(&kind, epoch, &change);
            }
            backlog.check();
            // Live objects, and deletes of what the reader holds: nothing else may take room.
            prop_assert!(backlog.order.len() <= store.objects().count() + view.len());
        }
        while let Some(event) = backlog.pop() {
            fold(&mut view, &event);
        }
        let truth: View = store
            .objects()
            .map(|object| {
                let version = object.resource_version().parse().unwrap();
                (object.name().to_owned(), (object.uid().to_owned(), version))
            })
            .collect();
        prop_assert_eq!(view, truth);
    }
}
