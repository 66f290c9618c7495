//! Tests of `store`: whatever is interrupted, the differences add up to the objects.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test, as it should")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixture::{gvk, object};
use crate::intents::StoreKey;

fn empty() -> Store {
    Store::new(Instant::now())
}

fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<_> = store.objects().map(|object| object.name().to_owned()).collect();
    names.sort();
    names
}

fn listed(store: &mut Store, names: &[&str], version: u64) -> Vec<Change> {
    let pass = store.begin_list();
    let kind = gvk("A");
    let mut changes: Vec<_> =
        names.iter().flat_map(|name| store.apply(object(&kind, name, 1, version), pass)).collect();
    changes.extend(store.finish_list(|_| true, pass));
    changes
}

/// A change without the number of the object: `added`, `updated` or `deleted`, uid, version.
fn words(changes: &[Change]) -> Vec<String> {
    let word = |change: &Change| match change {
        Change::Added { object, .. } => format!("added {}/{}", object.uid(), object.resource_version()),
        Change::Updated { new, .. } => format!("updated {}/{}", new.uid(), new.resource_version()),
        Change::Deleted { object, .. } => format!("deleted {}/{}", object.uid(), object.resource_version()),
    };
    changes.iter().map(word).collect()
}

/// A known trap: an index that forgets, when a list starts over, what it has still to delete.
#[test]
fn a_list_that_starts_over_still_deletes_what_is_gone() {
    let mut store = empty();
    listed(&mut store, &["a", "b"], 1);
    let pass = store.begin_list();
    store.apply(object(&gvk("A"), "a", 1, 1), pass);
    let changes = listed(&mut store, &["a"], 1);
    assert_eq!(words(&changes), ["deleted 1/1"]);
    assert_eq!(names(&store), ["a"]);
}

#[test]
fn a_list_that_brings_nothing_new_is_no_difference() {
    let mut store = empty();
    listed(&mut store, &["a", "b"], 1);
    assert_eq!(listed(&mut store, &["b", "a"], 1), []);
}

#[test]
fn another_uid_under_the_same_name_is_another_object() {
    let mut store = empty();
    listed(&mut store, &["a"], 1);
    let pass = store.begin_list();
    let changes = store.apply(object(&gvk("A"), "a", 2, 5), pass);
    assert_eq!(words(&changes), ["deleted 1/1", "added 2/5"]);
}

#[test]
fn the_same_version_in_another_api_version_is_an_update() {
    let mut store = empty();
    listed(&mut store, &["a"], 1);
    let other = Arc::new(kube::core::GroupVersionKind::gvk("example.com", "v2", "A"));
    let pass = store.begin_list();
    assert_eq!(words(&store.apply(object(&other, "a", 1, 1), pass)), ["updated 1/1"]);
}

#[test]
fn a_delete_of_an_unknown_object_is_no_difference() {
    assert_eq!(empty().delete(object(&gvk("A"), "a", 1, 1)), None);
}

#[test]
fn a_delete_carries_the_final_form_and_the_one_before() {
    let mut store = empty();
    listed(&mut store, &["a"], 1);
    let last = object(&gvk("A"), "a", 1, 9);
    let Some(Change::Deleted { old, object, .. }) = store.delete(last.clone()) else { panic!("no delete") };
    assert_eq!((object, old.resource_version()), (last, "1"));
    assert_eq!(names(&store), Vec::<String>::new());
}

#[test]
fn lists_of_two_namespaces_do_not_delete_each_others_objects() {
    let in_namespace = |namespace: &str, name: &str| {
        let json = serde_json::json!({"metadata": {"name": name, "namespace": namespace, "uid": "1"}});
        Arc::new(WatchedObject::from_value(&gvk("A"), &json).unwrap())
    };
    let (a, b): (Part, Part) = (Some("a".into()), Some("b".into()));
    let mut store = empty();
    let (pass_a, pass_b) = (store.begin_list(), store.begin_list());
    store.apply(in_namespace("a", "x"), pass_a);
    store.apply(in_namespace("b", "y"), pass_b);
    assert_eq!(store.finish_list(|key| is_in(key, &b), pass_b), []);
    assert_eq!(store.finish_list(|key| is_in(key, &a), pass_a), []);
    let pass = store.begin_list();
    assert_eq!(store.finish_list(|key| is_in(key, &a), pass).len(), 1);
    assert_eq!(names(&store), ["y"]);
    assert_eq!(store.retain([&a].into_iter()).len(), 1);
}

#[test]
fn a_status_of_the_same_kind_keeps_its_time() {
    let start = Instant::now();
    let later = start + std::time::Duration::from_secs(5);
    let stale = |error: &str| GvkStatus::Stale { error: error.into() };
    let mut store = Store::new(start);
    store.set_status(stale("one"), 1, later);
    store.set_status(stale("two"), 2, later + std::time::Duration::from_secs(5));
    assert_eq!((store.status.since, store.status.attempts), (later, 2));
    assert_eq!(store.status.status, stale("two"));
}

#[test]
fn a_closed_store_is_empty_and_says_so() {
    let stores = Stores::default();
    let key = |kind| StoreKey { gvk: gvk(kind), fields: None };
    let handle = stores.open(&key("A"));
    listed(&mut handle.write(), &["a"], 1);
    assert_eq!(handle.get(None, "a").unwrap().name(), "a");
    assert_eq!((handle.len(), handle.is_closed()), (1, false));
    stores.close(&key("A"));
    assert_eq!((handle.len(), handle.is_closed()), (0, true));
    assert_eq!(handle.get(None, "a"), None);
    assert!(!stores.open(&key("A")).is_closed(), "another store");
}

#[derive(Debug, Clone)]
enum Action {
    BeginList,
    /// The next object of the server's list, in the order of its names.
    ListOne,
    FinishList,
    Apply(usize),
    Delete(usize),
    /// Delete and create under the same name while not watched.
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

/// The objects of a reader of the differences: name to (uid, version).
#[derive(Debug, Default, PartialEq, Clone)]
struct Reader(BTreeMap<String, (String, String)>);

impl Reader {
    fn take_in(&mut self, change: &Change) {
        let identity =
            |object: &WatchedObject| (object.uid().to_owned(), object.resource_version().to_owned());
        match change {
            Change::Added { object: new, .. } => {
                let before = self.0.insert(new.name().to_owned(), identity(new));
                assert_eq!(before, None, "added twice");
            }
            Change::Updated { new, .. } => {
                let before = self.0.insert(new.name().to_owned(), identity(new)).unwrap();
                assert_eq!(before.0, new.uid(), "an update of another object");
                assert_ne!(before.1, new.resource_version(), "an update that changes nothing");
            }
            Change::Deleted { object: old, .. } => {
                let before = self.0.remove(old.name()).expect("deleted what was not there");
                assert_eq!(before.0, old.uid());
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
        let mut store = empty();
        let mut pass = store.begin_list();
        let mut reader = Reader::default();
        for action in actions {
            clock += 1;
            let mut changes = Vec::new();
            match action {
                Action::BeginList => {
                    listing = Some(server.clone().into_iter().rev().collect());
                    pass = store.begin_list();
                }
                Action::ListOne => {
                    if let Some((name, (uid, version))) = listing.as_mut().and_then(Vec::pop) {
                        changes.extend(store.apply(object(&kind, &name, uid, version), pass));
                    }
                }
                Action::FinishList => {
                    // A list is only complete when everything in it has come.
                    if let Some(rest) = listing.take() {
                        for (name, (uid, version)) in rest.into_iter().rev() {
                            changes.extend(store.apply(object(&kind, &name, uid, version), pass));
                        }
                        changes.extend(store.finish_list(|_| true, pass));
                    }
                }
                // The server does not change under a list here: a list shows one moment.
                Action::Apply(_) | Action::Delete(_) | Action::Recreate(_) if listing.is_some() => {}
                Action::Apply(name) => {
                    let name = format!("o{name}");
                    let uid = server.get(&name).map_or(clock, |(uid, _)| *uid);
                    server.insert(name.clone(), (uid, clock));
                    changes.extend(store.apply(object(&kind, &name, uid, clock), pass));
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
                    changes.extend(store.clear(|_| true));
                }
            }
            for change in &changes {
                reader.take_in(change);
            }
            prop_assert_eq!(&reader, &Reader::of(&store));
        }
        let pass = store.begin_list();
        for (name, (uid, version)) in &server {
            store.apply(object(&kind, name, *uid, *version), pass);
        }
        store.finish_list(|_| true, pass);
        let truth = server.into_iter().map(|(name, (uid, version))| (name, (uid.to_string(), version.to_string())));
        prop_assert_eq!(Reader::of(&store), Reader(truth.collect()));
    }
}

/// A predicate may take long, and read the store: the driver must not wait for it.
#[test]
fn a_predicate_is_called_without_the_lock() {
    let store = Stores::default().open(&StoreKey { gvk: gvk("A"), fields: None });
    listed(&mut store.write(), &["a"], 1);
    let is_free = |_: &WatchedObject| {
        let (writer, (sender, written)) = (store.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || sender.send(writer.write().len()));
        written.recv_timeout(std::time::Duration::from_secs(5)).is_ok()
    };
    assert!(store.find(is_free).is_some());
    assert_eq!(store.state_filter(is_free).len(), 1);
}
