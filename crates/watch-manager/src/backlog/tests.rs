//! Tests of `replay`: a reader of any slowness ends up with the store, and is told nothing it cannot use.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixture::{gvk, object};
use crate::intents::sort_key;
use crate::store::Change;

// === impl Backlog: for the tests of the crate ===

impl Backlog {
    /// The events that a reader would get, and what the backlog remembers, without the numbers that only grow.
    pub(crate) fn picture(&self) -> String {
        self.picture_of(|_| true)
    }

    /// The part of the picture that concerns the kinds that are meant.
    pub(crate) fn picture_of(&self, is_meant: impl Fn(&GroupVersionKind) -> bool) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let mut kinds: Vec<_> = self.kinds.iter().flatten().filter(|kind| is_meant(&kind.gvk)).collect();
        kinds.sort_by(|a, b| sort_key(&a.gvk).cmp(&sort_key(&b.gvk)));
        for KindQueue { gvk, status, reported, synced, .. } in kinds {
            write!(text, "[{} {status} {reported} {synced}]", gvk.kind).unwrap();
        }
        for item in &self.items {
            let (Content::Status(slot)
            | Content::Synced(slot)
            | Content::Lagged(slot)
            | Content::Object { slot, .. }) = &item.content
            else {
                continue;
            };
            let gvk = &self.kinds[*slot].as_ref().unwrap().gvk;
            if !is_meant(gvk) {
                continue;
            }
            let kind = &gvk.kind;
            match &item.content {
                Content::Hole => {}
                Content::Status(_) => write!(text, " status {kind}").unwrap(),
                Content::Synced(_) => write!(text, " synced {kind}").unwrap(),
                Content::Lagged(_) => write!(text, " lagged {kind}").unwrap(),
                Content::Object { held, gone, object, .. } => {
                    let (uid, version, key) = (object.uid(), object.resource_version(), object.key());
                    write!(text, " {kind} {key} {uid}v{version} {held} {gone}").unwrap();
                }
            }
        }
        text
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered.is_some()
    }

    /// Panics when an item lacks its place in the index, or the index leads to another item.
    pub(crate) fn check(&self) {
        let holes = self.items.iter().filter(|item| matches!(item.content, Content::Hole)).count();
        assert_eq!(holes, self.holes);
        let (mut expected, mut superseded) = (0, 0);
        for (at, item) in (self.first..).zip(&self.items) {
            let (slot, found) = match &item.content {
                Content::Hole => continue,
                Content::Object { slot, id, .. } => {
                    let found = self.kinds[*slot].as_ref().unwrap().objects.get(*id);
                    if found.is_some_and(|last| last > at) && self.ordered.is_some() {
                        superseded += 1;
                        continue;
                    }
                    (slot, found)
                }
                Content::Status(slot) => (slot, self.kinds[*slot].as_ref().unwrap().status_at),
                Content::Synced(slot) => (slot, self.kinds[*slot].as_ref().unwrap().synced_at),
                Content::Lagged(slot) => (slot, self.kinds[*slot].as_ref().unwrap().lagged_at),
            };
            assert_eq!(found, Some(at), "the item of slot {slot} is not where the index says");
            expected += 1;
        }
        let noted = self.kinds.iter().flatten().map(|kind| kind.superseded).sum::<usize>();
        assert_eq!(superseded, noted, "the items with a successor");
        let places = |kind: &KindQueue| {
            let single = [kind.status_at, kind.synced_at, kind.lagged_at];
            kind.objects.values().count() + single.iter().flatten().count()
        };
        assert_eq!(self.kinds.iter().flatten().map(places).sum::<usize>(), expected);
        assert!(self.holes <= HOLES || self.holes * 2 <= self.items.len() + 2, "holes pile up");
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
        EventKind::Lagged => "lagged".to_owned(),
    }
}

fn wanting(kind: &Gvk) -> (Backlog, usize, Epoch) {
    wanting_in(Backlog::default(), kind)
}

fn wanting_in(mut backlog: Backlog, kind: &Gvk) -> (Backlog, usize, Epoch) {
    let (slot, epoch) = want(&mut backlog, kind);
    (backlog, slot, epoch)
}

fn want(backlog: &mut Backlog, kind: &Gvk) -> (usize, Epoch) {
    backlog.want(kind, &Scope::default());
    let stay = &backlog.intents()[kind];
    (stay.slot, stay.epoch)
}

fn added(id: u64, uid: u64, version: u64) -> Change {
    Change::Added { id: ObjectId(id), object: object(&gvk("A"), "a", uid, version) }
}

fn updated(id: u64, uid: u64, version: u64) -> Change {
    let (old, new) = (object(&gvk("A"), "a", uid, version - 1), object(&gvk("A"), "a", uid, version));
    Change::Updated { id: ObjectId(id), old, new }
}

fn deleted(id: u64, uid: u64, version: u64) -> Change {
    Change::deleted(ObjectId(id), &object(&gvk("A"), "a", uid, version))
}

#[track_caller]
fn check_delivery(changes: &[Change], expected: &[&str]) {
    check_delivery_of(Backlog::default(), changes, expected);
}

#[track_caller]
fn check_delivery_of(backlog: Backlog, changes: &[Change], expected: &[&str]) {
    let (mut backlog, slot, epoch) = wanting_in(backlog, &gvk("A"));
    for change in changes {
        backlog.offer(slot, epoch, Instant::now(), change);
        backlog.check();
    }
    assert_eq!(drain(&mut backlog), expected);
    assert!(backlog.is_empty());
}

#[test]
fn a_slow_reader_gets_the_latest_form_once() {
    check_delivery(&[added(1, 1, 1), updated(1, 1, 2)], &["apply 1/2"]);
}

#[test]
fn an_object_that_came_and_went_unseen_is_not_mentioned() {
    check_delivery(&[added(1, 1, 1), deleted(1, 1, 2)], &[]);
}

#[test]
fn the_end_of_a_known_object_comes_before_its_successor() {
    check_delivery(&[deleted(1, 1, 2), added(2, 2, 3)], &["delete 1/2", "apply 2/3"]);
}

#[test]
fn an_object_that_left_the_scope_and_came_back_is_an_update() {
    check_delivery(&[deleted(1, 1, 2), added(1, 1, 3)], &["apply 1/3"]);
}

#[test]
fn a_successor_that_went_unseen_leaves_one_delete() {
    let changes = [deleted(1, 1, 2), added(2, 2, 3), deleted(2, 2, 4), added(3, 3, 5), deleted(3, 3, 6)];
    check_delivery(&changes, &["delete 1/2"]);
}

#[test]
fn synced_follows_the_snapshot_and_is_said_once() {
    let now = Instant::now();
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    backlog.offer(slot, epoch, now, &added(1, 1, 1));
    backlog.offer_synced(slot, epoch, now);
    backlog.offer_synced(slot, epoch, now);
    backlog.offer(slot, epoch, now, &added(2, 2, 2));
    backlog.offer(slot, epoch, now, &updated(1, 1, 3));
    assert_eq!(drain(&mut backlog), ["apply 1/3", "synced", "apply 2/2"]);
}

#[test]
fn an_ordered_backlog_says_the_end_of_each_list_behind_its_objects_and_takes_no_consumption_back() {
    let (kind, now) = (gvk("A"), Instant::now());
    let (mut backlog, slot, epoch) = wanting_in(Backlog::ordered(9), &kind);
    backlog.offer(slot, epoch, now, &added(1, 1, 1));
    backlog.offer_synced(slot, epoch, now);
    backlog.offer(slot, epoch, now, &added(2, 2, 2));
    backlog.offer_synced(slot, epoch, now);
    backlog.check();
    assert_eq!(drain(&mut backlog), ["apply 1/1", "apply 2/2", "synced"]);
    assert!(backlog.acknowledge() && backlog.is_consumed(&kind));
    backlog.offer_synced(slot, epoch, now);
    assert_eq!(drain(&mut backlog), ["synced"]);
    assert!(backlog.is_consumed(&kind), "the snapshot is the first list");
}

#[test]
fn a_kind_that_went_away_is_synced_anew() {
    let now = Instant::now();
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    backlog.offer_synced(slot, epoch, now);
    backlog.unsync(slot, epoch);
    assert_eq!(drain(&mut backlog), Vec::<String>::new());
    backlog.offer_synced(slot, epoch, now);
    assert_eq!(drain(&mut backlog), ["synced"]);
}

#[test]
fn only_the_latest_status_is_said() {
    let now = Instant::now();
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    backlog.offer_status(slot, epoch, now, &GvkStatus::Pending);
    assert!(backlog.is_empty(), "the reader knows that a kind begins as pending");
    backlog.offer_status(slot, epoch, now, &GvkStatus::Listing);
    backlog.offer_status(slot, epoch, now, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), ["status ready"]);
    backlog.offer_status(slot, epoch, now, &GvkStatus::Stale { error: "cut".into() });
    backlog.offer_status(slot, epoch, now, &GvkStatus::Ready);
    assert!(backlog.is_empty(), "the reader did not see that it was ever otherwise");
    backlog.check();
}

#[test]
fn a_status_follows_what_it_is_about() {
    let now = Instant::now();
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    backlog.offer_status(slot, epoch, now, &GvkStatus::Listing);
    backlog.offer(slot, epoch, now, &added(1, 1, 1));
    backlog.offer_synced(slot, epoch, now);
    backlog.offer_status(slot, epoch, now, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), ["apply 1/1", "synced", "status ready"]);
}

#[test]
fn a_removed_kind_is_silent_and_its_former_stay_stays_out() {
    let now = Instant::now();
    let (a, b) = (gvk("A"), gvk("B"));
    let (mut backlog, slot, former) = wanting(&a);
    let (other_slot, other) = want(&mut backlog, &b);
    backlog.offer(slot, former, now, &added(1, 1, 1));
    backlog.offer(other_slot, other, now, &added(1, 2, 2));
    backlog.offer_status(slot, former, now, &GvkStatus::Ready);
    backlog.offer_synced(slot, former, now);
    assert!(backlog.unwant(&a));
    backlog.check();
    assert_eq!(drain(&mut backlog), ["apply 2/2"]);

    let (again, _) = want(&mut backlog, &a);
    assert_eq!(again, slot, "the slot is used again");
    backlog.offer(slot, former, now, &added(1, 1, 1));
    backlog.offer_synced(slot, former, now);
    backlog.offer_status(slot, former, now, &GvkStatus::Ready);
    assert_eq!(drain(&mut backlog), Vec::<String>::new());
}

#[test]
fn a_snapshot_that_was_read_gives_its_room_back() {
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    backlog.reserve(slot, epoch, 10 * KEPT);
    let object = object(&gvk("A"), "a", 1, 1);
    (0..10 * KEPT as u64)
        .for_each(|id| backlog.offer_added(slot, epoch, Instant::now(), ObjectId(id), &object));
    assert!(backlog.items.capacity() >= 10 * KEPT);
    assert_eq!(drain(&mut backlog).len(), 10 * KEPT);
    let index = backlog.kinds[slot].as_ref().unwrap().objects.capacity();
    assert!(backlog.items.capacity() <= KEPT && index <= KEPT, "{} {index}", backlog.items.capacity());
    backlog.offer(slot, epoch, Instant::now(), &added(1, 1, 1));
    backlog.check();
    assert_eq!(drain(&mut backlog), ["apply 1/1"]);
}

#[test]
fn want_only_touches_what_differs() {
    let (a, b, c) = (gvk("A"), gvk("B"), gvk("C"));
    let interest = |gvk: &Gvk| Interest::new((**gvk).clone());
    let mut backlog = Backlog::default();
    want(&mut backlog, &a);
    let before = want(&mut backlog, &b);
    let replaced = backlog.want_only([interest(&b), interest(&c), interest(&c)]);
    assert_eq!(replaced.added, [(*c).clone()]);
    assert_eq!(replaced.removed, [(*a).clone()]);
    assert_eq!(replaced.kept, [(*b).clone()]);
    assert_eq!(want(&mut backlog, &b), before, "a kept kind keeps its stay");
    assert!(backlog.want_only([interest(&b), interest(&c)]).is_empty());
    let narrower = backlog.want_only([interest(&b).namespaces(["n"]), interest(&c)]);
    assert_eq!(narrower.rescoped, [(*b).clone()]);
}

#[test]
fn depth_and_age_are_those_of_the_undelivered_events() {
    let start = Instant::now();
    let at = |seconds| start + std::time::Duration::from_secs(seconds);
    let (mut backlog, slot, epoch) = wanting(&gvk("A"));
    assert_eq!(backlog.stats(), BacklogStats::default());
    backlog.offer(slot, epoch, at(1), &added(1, 1, 1));
    backlog.offer(slot, epoch, at(2), &added(2, 2, 2));
    backlog.offer(slot, epoch, at(3), &updated(2, 2, 3));
    assert_eq!((backlog.stats().depth, backlog.stats().oldest), (2, Some(at(1))));
    backlog.offer(slot, epoch, at(4), &deleted(1, 1, 4));
    assert_eq!((backlog.stats().depth, backlog.stats().oldest), (1, Some(at(2))));
}

#[test]
fn an_ordered_backlog_delivers_every_change() {
    let changes = [added(1, 1, 1), updated(1, 1, 2), deleted(1, 1, 3), added(2, 2, 4)];
    check_delivery_of(Backlog::ordered(2), &changes, &["apply 1/1", "apply 1/2", "delete 1/3", "apply 2/4"]);
}

#[test]
fn an_ordered_backlog_that_is_too_long_says_so_and_keeps_the_last_states() {
    let changes = [
        deleted(1, 1, 1),
        added(2, 2, 2),
        updated(2, 2, 3),
        updated(2, 2, 4),
        added(3, 3, 5),
        deleted(2, 2, 6),
    ];
    check_delivery_of(Backlog::ordered(1), &changes, &["lagged", "delete 1/1", "apply 3/5"]);
}

#[test]
fn an_ordered_backlog_is_ordered_again_after_it_was_read() {
    let (mut backlog, slot, epoch) = wanting_in(Backlog::ordered(0), &gvk("A"));
    let offer = |backlog: &mut Backlog, changes: &[Change]| {
        changes.iter().for_each(|change| backlog.offer(slot, epoch, Instant::now(), change));
    };
    offer(&mut backlog, &[added(1, 1, 1), updated(1, 1, 2)]);
    assert_eq!(drain(&mut backlog), ["lagged", "apply 1/2"]);
    offer(&mut backlog, &[updated(1, 1, 3)]);
    assert_eq!(drain(&mut backlog), ["apply 1/3"]);
    offer(&mut backlog, &[updated(1, 1, 4), updated(1, 1, 5)]);
    assert_eq!(drain(&mut backlog), ["lagged", "apply 1/5"]);
}

#[test]
fn a_removed_kind_leaves_no_ordered_change() {
    let (mut backlog, slot, epoch) = wanting_in(Backlog::ordered(5), &gvk("A"));
    for change in [added(1, 1, 1), updated(1, 1, 2), updated(1, 1, 3)] {
        backlog.offer(slot, epoch, Instant::now(), &change);
    }
    backlog.unwant(&gvk("A"));
    backlog.check();
    assert_eq!(drain(&mut backlog), [""; 0]);
}

#[test]
fn a_snapshot_is_consumed_when_the_reader_comes_back() {
    let kind = gvk("A");
    let (mut backlog, slot, epoch) = wanting(&kind);
    backlog.offer(slot, epoch, Instant::now(), &added(1, 1, 1));
    backlog.offer_synced(slot, epoch, Instant::now());
    for consumed in [false, false] {
        assert_eq!((backlog.acknowledge(), backlog.is_consumed(&kind)), (false, consumed));
        backlog.pop();
    }
    assert!(!backlog.is_consumed(&kind), "the reader has only just got the last event");
    assert!(backlog.acknowledge() && backlog.is_consumed(&kind));
    backlog.unsync(slot, epoch);
    assert!(!backlog.is_consumed(&kind), "the kind went away");
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

fn change_in_words(change: &Change) -> String {
    match change {
        Change::Added { object, .. } | Change::Updated { new: object, .. } => {
            format!("apply {}/{}", object.uid(), object.resource_version())
        }
        Change::Deleted { object, .. } => format!("delete {}/{}", object.uid(), object.resource_version()),
    }
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
        EventKind::Lagged => {}
        other => panic!("{other:?} was not offered"),
    }
}

proptest! {
    #[test]
    fn a_reader_of_any_slowness_ends_up_with_the_store(
        actions in prop::collection::vec(any_action(), 1..400),
        bound in prop::option::of(0..40usize),
    ) {
        let kind = gvk("A");
        let backlog = bound.map_or_else(Backlog::default, Backlog::ordered);
        let (mut backlog, slot, epoch) = wanting_in(backlog, &kind);
        let (mut offered, mut delivered) = (Vec::new(), Vec::new());
        let mut store = crate::store::Store::new(Instant::now());
        let pass = store.begin_list();
        let mut view = View::new();
        let mut uids: HashMap<usize, u64> = HashMap::new();
        for (clock, action) in (1u64..).zip(actions) {
            let changes = match action {
                Action::Put { name, new_uid } => {
                    let uid = *uids.entry(name).and_modify(|uid| if new_uid { *uid = clock }).or_insert(clock);
                    store.apply(object(&kind, &format!("o{name}"), uid, clock), pass)
                }
                Action::Delete(name) => {
                    let deleted = uids.remove(&name).and_then(|uid| store.delete(object(&kind, &format!("o{name}"), uid, clock)));
                    deleted.into_iter().collect()
                }
                Action::Pop => {
                    if let Some(event) = backlog.pop() {
                        fold(&mut view, &event);
                        delivered.push(describe(&event));
                    }
                    Vec::new()
                }
            };
            for change in changes {
                backlog.offer(slot, epoch, Instant::now(), &change);
                offered.push(change_in_words(&change));
            }
            backlog.check();
            // Live objects, and deletes of what the reader holds: nothing else may take room.
            // An object that came and went unseen has two items, one of them with a successor.
            let more = bound.map_or(0, |bound| 2 * bound + 1);
            prop_assert!(backlog.stats().depth <= store.objects().count() + view.len() + more);
        }
        while let Some(event) = backlog.pop() {
            fold(&mut view, &event);
            delivered.push(describe(&event));
        }
        if bound.is_some() && !delivered.contains(&"lagged".to_owned()) {
            prop_assert_eq!(delivered, offered, "an ordered backlog left something out");
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
