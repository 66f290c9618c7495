//! The server in memory as a `kube::Client`, as a controller under test uses it.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, DynamicObject};
use kube::discovery::{self, Discovery};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use serde_json::json;
use watch_manager::testing::{FakeApi, Fault, SourceCall};
use watch_manager::{CancellationToken, GroupVersionKind, Verb, WatchManager, WatchReadiness};

use crate::bench::config;

fn maps() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "ConfigMap")
}

fn server() -> (FakeApi, Api<ConfigMap>) {
    let api = FakeApi::new();
    api.serve(&maps(), "configmaps");
    let maps = Api::namespaced(api.client(), "default");
    (api, maps)
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": value}})).unwrap()
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn objects_are_created_read_replaced_patched_and_deleted() {
    let (_api, maps) = server();
    let created = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    assert!(created.uid().is_some() && created.namespace().as_deref() == Some("default"));
    assert_eq!(code(maps.create(&PostParams::default(), &map("a", "1")).await.unwrap_err()), 409);

    let mut changed = maps.get("a").await.unwrap();
    changed.data = map("a", "2").data;
    let replaced = maps.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    let conflict = maps.replace("a", &PostParams::default(), &changed).await.unwrap_err();
    assert_eq!(code(conflict), 409, "the version is old");

    let patch = Patch::Merge(json!({"data": {"other": "3"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.data.unwrap().len(), 2);
    assert_eq!(patched.metadata.uid, created.metadata.uid);
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(maps.get("a").await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn a_json_patch_tests_what_it_changes() {
    let (_api, maps) = server();
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let patch = |wanted: &str| {
        let patch = json!([{"op": "test", "path": "/data/key", "value": wanted},
            {"op": "add", "path": "/data/list~1of", "value": "2"}, {"op": "remove", "path": "/data/key"}]);
        Patch::Json::<()>(serde_json::from_value(patch).unwrap())
    };
    assert_eq!(code(maps.patch("a", &PatchParams::default(), &patch("other")).await.unwrap_err()), 422);
    let patched = maps.patch("a", &PatchParams::default(), &patch("1")).await.unwrap();
    assert_eq!(json!(patched.data), json!({"list/of": "2"}));
    let version = json!([{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}]);
    let version = Patch::Json::<()>(serde_json::from_value(version).unwrap());
    assert_eq!(code(maps.patch("a", &PatchParams::default(), &version).await.unwrap_err()), 409);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_and_stores_nothing() {
    let (_api, maps) = server();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    assert_eq!(maps.create(&dry, &map("a", "1")).await.unwrap().data, map("a", "1").data);
    assert_eq!(code(maps.get("a").await.unwrap_err()), 404);
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"key": "2"}}));
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    assert_eq!(maps.patch("a", &params, &patch).await.unwrap().data, map("a", "2").data);
    maps.delete("a", &DeleteParams { dry_run: true, ..DeleteParams::default() }).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data, map("a", "1").data);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_keeps_to_its_preconditions() {
    let (_api, maps) = server();
    let old = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"key": "2"}}));
    let new = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let at = |object: &ConfigMap, uid: Option<String>| {
        let preconditions = Preconditions { uid, resource_version: object.resource_version() };
        DeleteParams::default().preconditions(preconditions)
    };
    assert_eq!(code(maps.delete("a", &at(&old, None)).await.unwrap_err()), 409);
    assert_eq!(code(maps.delete("a", &at(&new, Some("other".to_owned()))).await.unwrap_err()), 409);
    maps.delete("a", &at(&new, new.uid())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_selected_objects_are_listed_and_deleted() {
    let (api, maps) = server();
    let labelled = |name: &str, tier: &str| json!({"metadata": {"name": name, "namespace": "default", "labels": {"tier": tier, tier: "yes"}}});
    for (name, tier) in [("a", "web"), ("b", "db"), ("c", "cache")] {
        api.apply(&self::maps(), labelled(name, tier));
    }
    for (selector, wanted) in [
        ("tier in (web, db)", vec!["a", "b"]),
        ("tier notin (web),!cache", vec!["b"]),
        ("tier!=db,tier", vec!["a", "c"]),
        ("web==yes", vec!["a"]),
        ("!tier", vec![]),
    ] {
        let found = maps.list(&ListParams::default().labels(selector)).await.unwrap();
        let found: Vec<_> = found.items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(found, wanted, "{selector}");
    }
    let of_two = ListParams::default().labels("tier in (web,db)");
    maps.delete_collection(&DeleteParams::default(), &of_two).await.unwrap();
    let left = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
}

/// After a truncated answer the write has been made, and the controller cannot know.
#[tokio::test(start_paused = true)]
async fn reads_and_writes_meet_the_faults_of_their_verbs() {
    let (api, maps) = server();
    let gvk = self::maps();
    api.fail_next(&gvk, SourceCall::Write, Fault::Status(409));
    api.fail_next(&gvk, SourceCall::Write, Fault::Truncated);
    api.fail_next(&gvk, SourceCall::Get, Fault::Unavailable);
    let params = PostParams::default();
    assert_eq!(code(maps.create(&params, &map("a", "1")).await.unwrap_err()), 409);
    let lost = maps.create(&params, &map("a", "1")).await.unwrap_err();
    assert!(matches!(lost, kube::Error::SerdeError(_)), "{lost:?}");
    assert_eq!(code(maps.get("a").await.unwrap_err()), 503);
    assert_eq!(maps.get("a").await.unwrap().data, map("a", "1").data, "it was made");
    assert_eq!((api.calls(&gvk, SourceCall::Write), api.calls(&gvk, SourceCall::Get)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_side_apply_creates_and_changes() {
    let (_api, maps) = server();
    let apply = |value: &str| {
        Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a"}, "data": {"key": value}}))
    };
    let params = PatchParams::apply("test").force();
    let created = maps.patch("a", &params, &apply("1")).await.unwrap();
    let changed = maps.patch("a", &params, &apply("2")).await.unwrap();
    assert_eq!(created.uid(), changed.uid());
    assert_eq!(changed.data.unwrap()["key"], "2");
}

#[tokio::test(start_paused = true)]
async fn the_status_is_a_subresource_and_does_not_change_the_generation() {
    let api = FakeApi::new();
    let gvk = GroupVersionKind::gvk("example.com", "v1", "Gadget");
    api.serve(&gvk, "gadgets");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "gadgets");
    let gadgets: Api<DynamicObject> = Api::namespaced_with(api.client(), "default", &resource);
    let new = DynamicObject::new("a", &resource).data(json!({"spec": {"size": 1}}));
    assert_eq!(gadgets.create(&PostParams::default(), &new).await.unwrap().metadata.generation, Some(1));

    let status = Patch::Merge(json!({"status": {"ready": true}, "spec": {"size": 9}}));
    let patched = gadgets.patch_status("a", &PatchParams::default(), &status).await.unwrap();
    assert_eq!((&patched.data["spec"]["size"], patched.metadata.generation), (&json!(1), Some(1)));
    let spec = Patch::Merge(json!({"spec": {"size": 2}}));
    let patched = gadgets.patch("a", &PatchParams::default(), &spec).await.unwrap();
    assert_eq!((&patched.data["status"]["ready"], patched.metadata.generation), (&json!(true), Some(2)));
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_they_are_gone() {
    let (_api, maps) = server();
    let mut held = map("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    maps.create(&PostParams::default(), &held).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get("a").await.unwrap().metadata.deletion_timestamp.is_some());
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("a", &PatchParams::default(), &free).await.unwrap();
    assert_eq!(code(maps.get("a").await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn lists_have_pages_and_selectors_and_watches_follow_them() {
    let (api, maps) = server();
    for name in ["a", "b", "c"] {
        let mut new = map(name, "1");
        new.labels_mut().insert("odd".to_owned(), (name != "b").to_string());
        maps.create(&PostParams::default(), &new).await.unwrap();
    }
    let page = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(page.items.len(), 2);
    let token = page.metadata.continue_.unwrap();
    let rest = maps.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(rest.items[0].name_any(), "c");
    let odd = maps.list(&ListParams::default().labels("odd=true")).await.unwrap();
    assert_eq!(odd.items.len(), 2);

    let version = odd.metadata.resource_version.unwrap();
    let mut events = maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    maps.delete("b", &DeleteParams::default()).await.unwrap();
    let event = events.try_next().await.unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Deleted(map) if map.name_any() == "b"));
    api.compact(&self::maps());
    let expired = maps.watch(&WatchParams::default(), &version).await.err().map(code);
    assert_eq!(expired, Some(410));
}

#[tokio::test(start_paused = true)]
async fn both_kinds_of_discovery_and_kubes_watcher_work() {
    let (_api, maps) = server();
    let client = maps.clone().into_client();
    let aggregated = Discovery::new(client.clone()).run_aggregated().await.unwrap();
    let (resource, _) = aggregated.resolve_gvk(&self::maps()).unwrap();
    let (pinned, _) = discovery::pinned_kind(&client, &self::maps()).await.unwrap();
    assert_eq!(resource, pinned);

    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let mut events = watcher(maps, watcher::Config::default()).boxed();
    assert!(matches!(events.try_next().await.unwrap().unwrap(), watcher::Event::Init));
    assert!(matches!(events.try_next().await.unwrap().unwrap(), watcher::Event::InitApply(_)));
    assert!(matches!(events.try_next().await.unwrap().unwrap(), watcher::Event::InitDone));
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_is_refused_as_by_a_server_that_lacks_it() {
    let streaming = WatchParams { send_initial_events: true, ..WatchParams::default() };
    let (_api, maps) = server();
    let refused = maps.watch(&streaming, "0").await.err().map(code);
    assert_eq!(refused, Some(422));
}

#[tokio::test(start_paused = true)]
async fn requests_of_the_client_meet_the_ordered_faults_and_are_counted() {
    let (api, list) = server();
    let busy = Fault::TooManyRequests { retry_after: 7 };
    let codes = [(Fault::Forbidden, 403), (Fault::Status(401), 401), (Fault::Status(422), 422), (busy, 429)];
    for (fault, expected) in codes {
        api.fail_next(&maps(), Verb::List, fault);
        let kube::Error::Api(status) = list.list(&ListParams::default()).await.unwrap_err() else {
            panic!("{fault:?} has another answer than a status")
        };
        let seconds = status.details.map_or(0, |details| details.retry_after_seconds);
        assert_eq!((status.code, seconds), (expected, if fault == busy { 7 } else { 0 }));
        api.fail_next(&maps(), Verb::Watch, fault);
        let refused = list.watch(&WatchParams::default(), "1").await.err().map(code);
        assert_eq!(refused, Some(expected));
    }
    api.fail_next(&maps(), Verb::List, Fault::Truncated);
    let cut = list.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(cut, kube::Error::SerdeError(_)), "{cut}");
    list.list(&ListParams::default()).await.unwrap();
    assert_eq!((api.calls(&maps(), Verb::List), api.calls(&maps(), Verb::Watch)), (6, 4));
}

#[tokio::test(start_paused = true)]
async fn a_manager_and_a_writer_share_the_server() {
    let (api, maps) = server();
    let (manager, driver) = WatchManager::builder(api.client()).config(config()).build();
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let registrar = manager.registrar("r").unwrap();
    let handle = registrar.add(self::maps());
    registrar.wait_until(WatchReadiness::is_ready).await.unwrap();
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let mut registrar = registrar;
    while handle.store().get(Some("default"), "a").is_none() {
        registrar.next().await.unwrap();
    }
    shutdown.cancel();
    driver.await.unwrap();
}

/// The client is a `tower` service without a connection: clones are the same server.
#[tokio::test(start_paused = true)]
async fn lists_that_are_under_way_at_the_same_time_have_pages_of_their_own() {
    let (_api, objects) = server();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y"), ("e", "x"), ("f", "y")] {
        let object = json!({"metadata": {"name": name, "labels": {"app": app}}});
        objects.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    let page = |app: &str, token: Option<String>| {
        let params = ListParams::default().limit(1).labels(&format!("app={app}"));
        ListParams { continue_token: token, ..params }
    };
    let (mut names, mut tokens) = ([const { String::new() }; 2], [None, None]);
    for _ in 0..3 {
        for (list, app) in ["x", "y"].into_iter().enumerate() {
            let found = objects.list(&page(app, tokens[list].take())).await.unwrap();
            tokens[list] = found.metadata.continue_.clone().filter(|token| !token.is_empty());
            names[list] += &found.items[0].name_any();
        }
    }
    assert_eq!((names, tokens), (["ace", "bdf"].map(str::to_owned), [None, None]));
}

/// As etcd's: what an open watch has not sent is lost to it, and it says so.
#[tokio::test(start_paused = true)]
async fn a_compaction_ends_open_watches_that_have_not_sent_everything_and_no_others() {
    for lags in [false, true] {
        let (api, objects) = server();
        objects.create(&PostParams::default(), &map("a", "1")).await.unwrap();
        let (manager, driver) = WatchManager::builder_with_source(api.clone()).build();
        tokio::spawn(driver.run(CancellationToken::new()));
        let registrar = manager.registrar("r").unwrap();
        registrar.add(maps()).ready().await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        api.apply(&maps(), serde_json::json!({"metadata": {"name": "b", "namespace": "default"}})).unwrap();
        if !lags {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        api.compact(&maps());
        api.apply(&maps(), serde_json::json!({"metadata": {"name": "c", "namespace": "default"}})).unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        assert_eq!(manager.store(&maps()).unwrap().len(), 3);
        assert_eq!(api.calls(&maps(), Verb::List), if lags { 2 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn clients_of_clones_are_clients_of_one_server() {
    let (api, maps) = server();
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let other: Client = api.clone().client();
    assert_eq!(Api::<ConfigMap>::all(other).list(&ListParams::default()).await.unwrap().items.len(), 1);
}
