//! The functions of the README, in the order in which it has them: they do what it says. Its programs compile as documentation tests.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{Expression, GroupVersionKind, Selector};
use kube::runtime::watcher::Event;
use serde_json::json;
use watch_manager::testing::FakeApi;
use watch_manager::{
    Interest, NotReadyError, Registrar, WatchEvent, WatchHandle, WatchManager, WatchedObject, stream,
};

use crate::bench::{Bench, gvk};

async fn lamp(
    registrar: &Registrar,
    gadgets: GroupVersionKind,
) -> Result<Option<Arc<WatchedObject>>, NotReadyError> {
    let handle = registrar.add(gadgets);
    handle.ready_within(Duration::from_secs(30)).await?; // the error has the state of the kind
    Ok(handle.store().get(None, "lamp"))
}

fn watch_pods(registrar: &Registrar, pods: GroupVersionKind, selector: Selector) -> WatchHandle {
    let interest = Interest::new(pods).namespaces(["team-a", "team-b"]).labels(selector);
    registrar.add(interest.metadata_only())
}

fn watch_settings(client: kube::Client, config_maps: GroupVersionKind) -> impl Stream<Item = WatchEvent> {
    let settings = Interest::new(config_maps).namespaces(["team-a"]).fields("metadata.name=settings");
    WatchManager::builder(client).watch(settings) // a stream that does its own work
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_waited_for() {
    let (bench, gadgets) = (Bench::new(), gvk("Gadget"));
    bench.api.serve(&gadgets, "gadgets");
    bench.api.apply(&gadgets, json!({"metadata": {"name": "lamp"}}));
    assert!(lamp(&bench.registrar("r"), gadgets).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_kind_is_asked_for() {
    let (bench, pods) = (Bench::new(), gvk("Pod"));
    bench.api.serve(&pods, "pods");
    let selector = Expression::Equal("app".to_owned(), "web".to_owned());
    let registrar = bench.registrar("r");
    watch_pods(&registrar, pods, selector.into()).ready().await.unwrap();
    assert_eq!(bench.api.open_watches(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_object_is_watched() {
    let (api, config_maps) = (FakeApi::new(), GroupVersionKind::gvk("", "v1", "ConfigMap"));
    api.serve(&config_maps, "configmaps");
    api.apply(&config_maps, json!({"metadata": {"name": "settings", "namespace": "team-a"}}));
    let events = stream::watcher_events::<ConfigMap>(watch_settings(api.client(), config_maps));
    let events: Vec<_> = events.map(Result::unwrap).take(3).collect().await;
    assert!(matches!(&events[..], [Event::Init, Event::InitApply(_), Event::InitDone]), "{events:?}");
}

#[test]
fn the_functions_are_those_of_the_readme() {
    let plain = |text: &str| {
        let code = text.lines().map(|line| line.split("//").next().unwrap());
        let code = code.filter(|line| !line.starts_with("use "));
        code.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).collect::<String>()
    };
    let (here, readme) = (plain(include_str!("readme.rs")), include_str!("../../README.md"));
    // The first is the program at the head.
    let functions: Vec<_> = readme.split("```rust\n").skip(2).collect();
    assert!(!functions.is_empty());
    for function in functions {
        let (function, _) = function.split_once("```").unwrap();
        assert!(here.contains(&plain(function)), "no test has {function}");
    }
}
