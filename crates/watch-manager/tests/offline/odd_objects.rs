//! Objects that no API server should send. What cannot be read leaves the stored form, whatever list or event brought it, and
//! what is really gone is deleted all the same; identities and versions that make no sense confuse nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::core::GroupVersionKind;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use watch_manager::source::{
    Freshness, Listed, Page, Served, Source, SourceError, SourceEvent, SourceEvents, WatchTarget,
};
use watch_manager::testing::{FakeApi, Fault};
use watch_manager::{CancellationToken, Registrar, StoreHandle, Verb, WatchManager};

use crate::bench::{config, during, gvk, object, until};

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a watch lives.
const RENEWAL: Duration = Duration::from_secs(600);

/// A server that sends other texts for some objects.
#[derive(Clone, Default)]
struct Odd {
    api: FakeApi,
    /// By name.
    texts: Arc<Mutex<HashMap<String, Value>>>,
}

// === impl Odd ===

impl Odd {
    fn send(&self, name: &str, text: Value) {
        self.texts.lock().unwrap().insert(name.to_owned(), text);
    }

    fn sane(&self) {
        self.texts.lock().unwrap().clear();
    }

    fn garble(&self, raw: Box<RawValue>) -> Box<RawValue> {
        let value: Value = serde_json::from_str(raw.get()).unwrap();
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        self.texts.lock().unwrap().get(name).map_or(raw, |text| to_raw_value(text).unwrap())
    }

    /// A registrar that has received `a` and `b`.
    async fn synced(&self) -> (WatchManager, Registrar, StoreHandle) {
        self.api.serve(&gvk("Thing"), "things");
        for name in ["a", "b"] {
            self.api.apply(&gvk("Thing"), object(name)).unwrap();
        }
        let (manager, driver) = WatchManager::builder_with_source(self.clone()).config(config()).build();
        tokio::spawn(driver.run(CancellationToken::new()));
        let mut registrar = manager.registrar("r").unwrap();
        let handle = registrar.add(gvk("Thing"));
        until(&mut registrar, "ready").await;
        tokio::time::advance(MINUTE).await;
        (manager, registrar, handle.store())
    }

    /// The kind is listed again.
    fn expire(&self) {
        self.api.compact(&gvk("Thing"));
        self.api.interrupt(&gvk("Thing"), Some(Fault::Expired));
    }
}

impl Source for Odd {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        self.api.resolve(gvk, freshness)
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        async move {
            let mut listed = self.api.list(target, page).await?;
            listed.items = listed.items.into_iter().map(|raw| self.garble(raw)).collect();
            Ok(listed)
        }
        .boxed()
    }

    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move {
            let (odd, events) = (self.clone(), self.api.watch(target, version, timeout).await?);
            let garbled = events.map(move |event| {
                Ok(match event? {
                    SourceEvent::Applied(raw) => SourceEvent::Applied(odd.garble(raw)),
                    SourceEvent::Deleted(raw) => SourceEvent::Deleted(odd.garble(raw)),
                    other => other,
                })
            });
            Ok(garbled.boxed())
        }
        .boxed()
    }
}

/// Collects what the registrar is told of objects within this time.
async fn told(registrar: &mut Registrar, time: Duration) -> Vec<String> {
    let mut said = during(registrar, time).await;
    said.retain(|line| line.starts_with("apply") || line.starts_with("delete"));
    said
}

/// Texts of `a` from which its name can be read, and no more that is of use.
fn named() -> [Value; 3] {
    let metadata = |field: &str, value: Value| {
        let mut metadata =
            json!({"name": "a", "namespace": "default", "uid": "uid-1", "resourceVersion": "9"});
        metadata[field] = value;
        json!({"metadata": metadata})
    };
    [metadata("resourceVersion", json!(7)), metadata("uid", json!(5)), metadata("uid", json!(["uid-1"]))]
}

/// Texts that name no object.
fn nameless() -> [Value; 9] {
    [
        json!(null),
        json!(5),
        json!("a"),
        json!([]),
        json!({}),
        json!({"metadata": null}),
        json!({"metadata": {}}),
        json!({"metadata": {"name": 7, "uid": "uid-1"}}),
        json!({"metadata": {"name": "a", "namespace": {}}}),
    ]
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_list_that_cannot_be_read_keeps_its_previous_state() {
    for text in named() {
        let odd = Odd::default();
        let (_manager, mut registrar, store) = odd.synced().await;
        odd.send("a", text.clone());
        odd.expire();
        odd.api.delete(&gvk("Thing"), Some("default"), "b");
        assert_eq!(told(&mut registrar, MINUTE).await, ["delete b"], "{text}");
        assert_eq!((store.len(), store.undecodable()), (1, 1), "{text}");
        assert_eq!(store.get(Some("default"), "a").unwrap().uid(), "uid-1");
        // It can be read again, and is found to have changed.
        odd.sane();
        odd.api.apply(&gvk("Thing"), object("a")).unwrap();
        assert_eq!(told(&mut registrar, MINUTE).await, ["apply a"], "{text}");
        odd.api.delete(&gvk("Thing"), Some("default"), "a");
        assert_eq!(told(&mut registrar, MINUTE).await, ["delete a"], "{text}");
    }
}

/// Any object that such a list lacks may be the one that cannot be read: none is deleted before a list that can be read,
/// which is requested when the watch ends.
#[tokio::test(start_paused = true)]
async fn a_list_with_an_object_without_a_name_deletes_nothing() {
    for text in nameless() {
        let odd = Odd::default();
        let (_manager, mut registrar, store) = odd.synced().await;
        odd.send("a", text.clone());
        odd.expire();
        odd.api.delete(&gvk("Thing"), Some("default"), "b");
        assert_eq!(told(&mut registrar, MINUTE).await, Vec::<String>::new(), "{text}");
        assert_eq!((store.len(), store.undecodable(), store.is_synced()), (2, 1, true), "{text}");
        odd.sane();
        assert_eq!(told(&mut registrar, RENEWAL).await, ["delete b"], "{text}");
        let lists = odd.api.calls(&gvk("Thing"), Verb::List);
        assert_eq!(told(&mut registrar, RENEWAL).await, Vec::<String>::new(), "{text}");
        assert_eq!(odd.api.calls(&gvk("Thing"), Verb::List), lists, "a list that can be read suffices");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_read_changes_nothing_and_a_delete_deletes() {
    for (text, is_named) in
        named().map(|text| (text, true)).into_iter().chain(nameless().map(|it| (it, false)))
    {
        let odd = Odd::default();
        let (_manager, mut registrar, store) = odd.synced().await;
        odd.send("a", text.clone());
        odd.api.apply(&gvk("Thing"), object("a")).unwrap();
        assert_eq!(told(&mut registrar, MINUTE).await, Vec::<String>::new(), "{text}");
        assert_eq!((store.len(), store.undecodable()), (2, 1), "{text}");
        odd.api.delete(&gvk("Thing"), Some("default"), "a");
        let soon = told(&mut registrar, MINUTE).await;
        assert_eq!(soon == ["delete a"], is_named, "{text}: {soon:?}");
        // Which object a delete without a name means, a list shows.
        let later = told(&mut registrar, RENEWAL).await;
        assert_eq!([soon, later].concat(), ["delete a"], "{text}");
        assert_eq!(store.len(), 1);
    }
}

/// The object that was known is gone; of the new one nothing is known.
#[tokio::test(start_paused = true)]
async fn another_object_that_cannot_be_read_has_no_previous_state() {
    let text =
        json!({"metadata": {"name": "a", "namespace": "default", "uid": "uid-9", "resourceVersion": 7}});
    for by_list in [true, false] {
        let odd = Odd::default();
        let (_manager, mut registrar, store) = odd.synced().await;
        odd.send("a", text.clone());
        if by_list {
            odd.expire();
        } else {
            odd.api.apply(&gvk("Thing"), object("a")).unwrap();
        }
        assert_eq!(told(&mut registrar, MINUTE).await, ["delete a"], "by a list: {by_list}");
        assert_eq!((store.len(), store.undecodable()), (1, 1));
    }
}

/// The one case that a real server has: a hook needs the object as a tree, and trees have a limit.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_too_deep_for_the_hook_keeps_its_previous_state() {
    let api = FakeApi::new();
    api.serve(&gvk("Thing"), "things");
    api.apply(&gvk("Thing"), object("a")).unwrap();
    let builder = WatchManager::builder_with_source(api.clone()).config(config()).transform(|_, _| {});
    let (manager, driver) = builder.build();
    tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let store = registrar.add(gvk("Thing")).store();
    until(&mut registrar, "ready").await;
    tokio::time::advance(MINUTE).await;
    let mut deep = object("a");
    deep["spec"] = (0..200).fold(json!(1), |deep, _| json!([deep]));
    api.interrupt(&gvk("Thing"), Some(Fault::Expired));
    api.apply(&gvk("Thing"), deep).unwrap();
    api.compact(&gvk("Thing"));
    assert_eq!(told(&mut registrar, MINUTE).await, Vec::<String>::new());
    assert_eq!((store.len(), store.undecodable()), (1, 1));
    api.delete(&gvk("Thing"), Some("default"), "a");
    assert_eq!(told(&mut registrar, MINUTE).await, ["delete a"]);
}

/// Names are what objects are told apart by.
#[tokio::test(start_paused = true)]
async fn one_uid_under_two_names_is_two_objects() {
    let odd = Odd::default();
    odd.send(
        "b",
        json!({"metadata": {"name": "b", "namespace": "default", "uid": "uid-1", "resourceVersion": "1"}}),
    );
    let (manager, mut registrar, store) = odd.synced().await;
    assert_eq!(store.len(), 2);
    let mut late = manager.registrar("late").unwrap();
    let _ = late.add(gvk("Thing"));
    assert_eq!(told(&mut late, MINUTE).await, ["apply a", "apply b"]);
    odd.api.apply(&gvk("Thing"), object("a")).unwrap();
    assert_eq!(told(&mut registrar, MINUTE).await, ["apply a"]);
    odd.api.delete(&gvk("Thing"), Some("default"), "a");
    for registrar in [&mut registrar, &mut late] {
        assert_eq!(told(registrar, MINUTE).await.last().unwrap(), "delete a");
    }
    assert_eq!(store.state().iter().map(|object| object.name()).collect::<Vec<_>>(), ["b"]);
    odd.expire();
    assert_eq!(told(&mut registrar, MINUTE).await, Vec::<String>::new(), "the list finds the same");
}

/// As two pages of a list that is not consistent might.
#[tokio::test(start_paused = true)]
async fn a_name_that_a_list_has_twice_is_one_object_in_its_last_form() {
    let odd = Odd::default();
    for uid in ["uid-1", "uid-7"] {
        let (_manager, mut registrar, store) = odd.synced().await;
        odd.send(
            "b",
            json!({"metadata": {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": "99"}}),
        );
        odd.expire();
        let told = told(&mut registrar, MINUTE).await;
        let last = if uid == "uid-1" {
            vec!["apply a", "delete b"]
        } else {
            vec!["delete a", "apply a", "delete b"]
        };
        assert_eq!(told, last, "{uid}");
        assert_eq!((store.len(), store.get(Some("default"), "a").unwrap().uid()), (1, uid));
        odd.sane();
    }
}

/// Objects without a uid are one as long as they have one name.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_uid_is_known_by_its_name() {
    let odd = Odd::default();
    let text = |version: &str| json!({"metadata": {"name": "a", "namespace": "default", "resourceVersion": version}});
    odd.send("a", text("1"));
    let (_manager, mut registrar, store) = odd.synced().await;
    assert_eq!(store.get(Some("default"), "a").unwrap().uid(), "");
    odd.send("a", text("2"));
    odd.api.apply(&gvk("Thing"), object("a")).unwrap();
    assert_eq!(told(&mut registrar, MINUTE).await, ["apply a"]);
    odd.api.delete(&gvk("Thing"), Some("default"), "a");
    assert_eq!(told(&mut registrar, MINUTE).await, ["delete a"]);
}

/// The order of arrival counts, as M4 has it: versions are compared for equality only. The watch goes on at the version that
/// came last, and is told the later ones again.
#[tokio::test(start_paused = true)]
async fn a_version_that_goes_backwards_is_a_change_like_any_other() {
    for version in ["1", "0", "not a number", ""] {
        let odd = Odd::default();
        let (_manager, mut registrar, store) = odd.synced().await;
        let text = json!({"metadata": {"name": "a", "namespace": "default", "uid": "uid-1", "resourceVersion": version}});
        odd.send("a", text);
        let served = odd.api.apply(&gvk("Thing"), object("a")).unwrap();
        assert_eq!(told(&mut registrar, Duration::from_secs(5)).await, ["apply a"], "{version:?}");
        assert_eq!(store.get(Some("default"), "a").unwrap().resource_version(), version);
        // The server comes to its senses, and the watch is cut off before a bookmark.
        odd.sane();
        odd.api.interrupt(&gvk("Thing"), Some(Fault::Unavailable));
        odd.api.apply(&gvk("Thing"), object("b")).unwrap();
        let later = told(&mut registrar, RENEWAL).await;
        assert_eq!(later, ["apply a", "apply b"], "{version:?}");
        let kept = store.get(Some("default"), "a").unwrap();
        assert_eq!(kept.resource_version(), served.to_string(), "{version:?}");
        assert!(odd.api.calls(&gvk("Thing"), Verb::Watch) < 20, "{version:?}");
    }
}

/// A watch that is resumed at an old version tells what is known: nothing old follows something new at the end.
#[tokio::test(start_paused = true)]
async fn a_bookmark_that_goes_backwards_ends_with_the_last_state() {
    let api = FakeApi::new();
    api.serve(&gvk("Thing"), "things");
    let version = api.apply(&gvk("Thing"), object("a")).unwrap().to_string();
    let source = Backwards { api: api.clone(), version };
    let (manager, driver) = WatchManager::builder_with_source(source).config(config()).build();
    tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let store = registrar.add(gvk("Thing")).store();
    until(&mut registrar, "ready").await;
    for round in 0..3 {
        let served = api.apply(&gvk("Thing"), object("a")).unwrap();
        tokio::time::sleep(MINUTE).await;
        api.interrupt(&gvk("Thing"), None);
        let told = told(&mut registrar, MINUTE).await;
        assert!(told.iter().all(|line| line == "apply a"), "{round}: {told:?}");
        let kept = store.get(Some("default"), "a").unwrap();
        assert_eq!(kept.resource_version(), served.to_string());
    }
    api.delete(&gvk("Thing"), Some("default"), "a");
    api.interrupt(&gvk("Thing"), None);
    until(&mut registrar, "delete a").await;
    tokio::time::sleep(RENEWAL).await;
    assert!(store.is_empty());
}

/// A server that sends a bookmark of an old version after each event.
#[derive(Clone)]
struct Backwards {
    api: FakeApi,
    version: String,
}

impl Source for Backwards {
    fn resolve<'a>(
        &'a self,
        gvk: &'a GroupVersionKind,
        freshness: Freshness,
    ) -> BoxFuture<'a, Result<Served, SourceError>> {
        self.api.resolve(gvk, freshness)
    }

    fn list<'a>(
        &'a self,
        target: &'a WatchTarget,
        page: &'a Page,
    ) -> BoxFuture<'a, Result<Listed, SourceError>> {
        self.api.list(target, page)
    }

    fn watch<'a>(
        &'a self,
        target: &'a WatchTarget,
        version: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<SourceEvents, SourceError>> {
        async move {
            let events = self.api.watch(target, version, timeout).await?;
            let version = self.version.clone();
            let both = move |event| [event, Ok(SourceEvent::Bookmark(version.clone()))];
            Ok(events.flat_map(move |event| futures::stream::iter(both(event))).boxed())
        }
        .boxed()
    }
}
