//! Tests of `store`: whatever is interrupted, the differences add up to the objects.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixture::{gvk, object};

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<_> = store.objects().map(|object| object.name().to_owned()).collect();
    names.sort();
    names
}

fn listed(store: &mut Store, names: &[&str], version: u64) -> Vec<Change> {
    store.begin_list();
    let kind = gvk("A");
    let mut changes: Vec<_> =
        names.iter().filter_map(|name| store.apply(object(&kind, name, 1, version))).collect();
    changes.extend(store.finish_list());
    changes
}

/// A known trap: an index that forgets, when a list starts over, what it has still to delete.
#[test]
fn a_list_that_starts_over_still_deletes_what_is_gone() {
    let mut store = Store::default();
    listed(&mut store, &["a", "b"], 1);
    store.begin_list();
    store.apply(object(&gvk("A"), "a", 1, 1));
    let changes = listed(&mut store, &["a"], 1);
    assert_eq!(changes, [Change::Deleted(object(&gvk("A"), "b", 1, 1))]);
    assert_eq!(names(&store), ["a"]);
}

#[test]
fn a_list_that_brings_nothing_new_is_no_difference() {
    let mut store = Store::default();
    listed(&mut store, &["a", "b"], 1);
    assert_eq!(listed(&mut store, &["b", "a"], 1), []);
}

#[test]
fn another_uid_under_the_same_name_is_another_object() {
    let mut store = Store::default();
    listed(&mut store, &["a"], 1);
    let (old, new) = (object(&gvk("A"), "a", 1, 1), object(&gvk("A"), "a", 2, 5));
    assert_eq!(store.apply(new.clone()), Some(Change::Replaced { old, new }));
}

#[test]
fn a_delete_of_an_unknown_object_is_no_difference() {
    assert_eq!(Store::default().delete(object(&gvk("A"), "a", 1, 1)), None);
}

#[test]
fn a_delete_carries_the_last_form() {
    let mut store = Store::default();
    listed(&mut store, &["a"], 1);
    let last = object(&gvk("A"), "a", 1, 9);
    assert_eq!(store.delete(last.clone()), Some(Change::Deleted(last)));
    assert_eq!(names(&store), Vec::<String>::new());
}

#[test]
fn synced_means_a_complete_list_and_none_under_way() {
    let mut store = Store::default();
    store.begin_list();
    assert!(!store.is_synced());
    store.finish_list();
    assert!(store.is_synced());
    store.begin_list();
    assert!(!store.is_synced());
    store.finish_list();
    store.clear();
    assert!(!store.is_synced());
    store.begin_list();
    assert!(!store.is_synced(), "a kind that came back is not complete before its list is");
}

#[test]
fn a_closed_store_is_empty_and_says_so() {
    let handle = StoreHandle::new();
    listed(&mut handle.write(), &["a"], 1);
    assert_eq!(handle.get(None, "a").unwrap().name(), "a");
    assert_eq!((handle.len(), handle.is_synced(), handle.is_closed()), (1, true, false));
    handle.write().close();
    assert_eq!((handle.len(), handle.is_synced(), handle.is_closed()), (0, false, true));
    assert_eq!(handle.get(None, "a"), None);
}

#[derive(Debug, Clone)]
enum Action {
    BeginList,
    /// The next object of the server's list, in the order of its names.
    ListOne,
    FinishList,
    Apply(usize),
    Delete(usize),
    /// Delete and create under the same name while nobody looked.
    Recreate(usize),
    Clear,
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        2 => Just(Action::BeginList),
        6 => Just(Action::ListOne),
        3 => Just(Action::FinishList),
        3 => (0..4usize).prop_map(Action::Apply),
        2 => (0..4usize).prop_map(Action::Delete),
        2 => (0..4usize).prop_map(Action::Recreate),
        1 => Just(Action::Clear),
    ]
}

/// What somebody who sees only the differences knows: name to (uid, version).
#[derive(Debug, Default, PartialEq, Clone)]
struct Reader(BTreeMap<String, (String, String)>);

impl Reader {
    fn take_in(&mut self, change: &Change) {
        let identity =
            |object: &WatchedObject| (object.uid().to_owned(), object.resource_version().to_owned());
        match change {
            Change::Added(new) => {
                let before = self.0.insert(new.name().to_owned(), identity(new));
                assert_eq!(before, None, "added twice");
            }
            Change::Updated(new) => {
                let before = self.0.insert(new.name().to_owned(), identity(new)).unwrap();
                assert_eq!(before.0, new.uid(), "an update of another object");
                assert_ne!(before.1, new.resource_version(), "an update that changes nothing");
            }
            Change::Deleted(old) => {
                let before = self.0.remove(old.name()).expect("deleted what was not there");
                assert_eq!(before.0, old.uid());
            }
            Change::Replaced { old, new } => {
                self.take_in(&Change::Deleted(old.clone()));
                self.take_in(&Change::Added(new.clone()));
            }
        }
    }

    fn of(store: &Store) -> Self {
        let entry = |object: &Arc<WatchedObject>| {
            (object.name().to_owned(), (object.uid().to_owned(), object.resource_version().to_owned()))
        };
        Self(store.objects().map(entry).collect())
    }
}

proptest! {
    #[test]
    fn differences_add_up_and_a_complete_list_is_the_truth(
        actions in prop::collection::vec(any_action(), 1..60),
    ) {
        let kind = gvk("A");
        let mut server: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut listing: Option<Vec<(String, (u64, u64))>> = None;
        let mut clock = 0;
        let mut store = Store::default();
        let mut reader = Reader::default();
        for action in actions {
            clock += 1;
            let mut changes = Vec::new();
            match action {
                Action::BeginList => {
                    listing = Some(server.clone().into_iter().rev().collect());
                    store.begin_list();
                }
                Action::ListOne => {
                    if let Some((name, (uid, version))) = listing.as_mut().and_then(Vec::pop) {
                        changes.extend(store.apply(object(&kind, &name, uid, version)));
                    }
                }
                Action::FinishList => {
                    // A list is only complete when everything in it has come.
                    if let Some(rest) = listing.take() {
                        for (name, (uid, version)) in rest.into_iter().rev() {
                            changes.extend(store.apply(object(&kind, &name, uid, version)));
                        }
                        changes.extend(store.finish_list());
                    }
                }
                // The server does not change under a list here: a list shows one moment.
                Action::Apply(_) | Action::Delete(_) | Action::Recreate(_) if listing.is_some() => {}
                Action::Apply(name) => {
                    let name = format!("o{name}");
                    let uid = server.get(&name).map_or(clock, |(uid, _)| *uid);
                    server.insert(name.clone(), (uid, clock));
                    changes.extend(store.apply(object(&kind, &name, uid, clock)));
                }
                Action::Delete(name) => {
                    let name = format!("o{name}");
                    if let Some((uid, _)) = server.remove(&name) {
                        changes.extend(store.delete(object(&kind, &name, uid, clock)));
                    }
                }
                Action::Recreate(name) => {
                    server.insert(format!("o{name}"), (clock, clock));
                }
                Action::Clear => {
                    listing = None;
                    changes.extend(store.clear());
                }
            }
            for change in &changes {
                reader.take_in(change);
            }
            prop_assert_eq!(&reader, &Reader::of(&store));
        }
        store.begin_list();
        for (name, (uid, version)) in &server {
            store.apply(object(&kind, name, *uid, *version));
        }
        store.finish_list();
        let truth = server.into_iter().map(|(name, (uid, version))| (name, (uid.to_string(), version.to_string())));
        prop_assert_eq!(Reader::of(&store), Reader(truth.collect()));
    }
}
