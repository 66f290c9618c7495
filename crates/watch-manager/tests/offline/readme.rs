//! The fragments of the README, in the order in which it has them: they compile, and do what it says.

use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{Expression, GroupVersionKind};
use kube::runtime::watcher::Event;
use serde_json::json;
use watch_manager::testing::FakeApi;
use watch_manager::{Interest, WatchManager, stream};

use crate::bench::{Bench, gvk};

#[tokio::test(start_paused = true)]
async fn a_kind_is_waited_for() -> Result<(), Box<dyn Error>> {
    let (bench, gadgets) = (Bench::new(), gvk("Gadget"));
    bench.api.serve(&gadgets, "gadgets");
    bench.api.apply(&gadgets, json!({"metadata": {"name": "lamp"}}));
    let registrar = bench.registrar("r");

    let handle = registrar.add(gadgets);
    handle.ready_within(Duration::from_secs(30)).await?; // the error has the state of the kind
    let lamp = handle.store().get(None, "lamp");

    assert!(lamp.is_some());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_kind_is_asked_for() {
    let (bench, pods) = (Bench::new(), gvk("Pod"));
    bench.api.serve(&pods, "pods");
    let registrar = bench.registrar("r");
    let selector = Expression::Equal("app".to_owned(), "web".to_owned());

    let handle =
        registrar.add(Interest::new(pods).namespaces(["team-a", "team-b"]).labels(selector).metadata_only());

    handle.ready().await.unwrap();
    assert_eq!(bench.api.open_watches(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_object_is_watched() {
    let (api, config_maps) = (FakeApi::new(), GroupVersionKind::gvk("", "v1", "ConfigMap"));
    api.serve(&config_maps, "configmaps");
    api.apply(&config_maps, json!({"metadata": {"name": "settings", "namespace": "team-a"}}));
    let client = api.client();

    let settings = Interest::new(config_maps).namespaces(["team-a"]).fields("metadata.name=settings");
    let events = WatchManager::builder(client).watch(settings); // a stream that does its own work
    let events = stream::watcher_events::<ConfigMap>(events); // as `kube::runtime::watcher`, feature `runtime`

    let events: Vec<_> = events.map(Result::unwrap).take(3).collect().await;
    assert!(matches!(&events[..], [Event::Init, Event::InitApply(_), Event::InitDone]), "{events:?}");
}

#[test]
fn the_fragments_are_those_of_the_readme() {
    let plain = |text: &str| {
        let code = text.lines().map(|line| line.split("//").next().unwrap());
        code.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).collect::<String>()
    };
    let (here, readme) = (plain(include_str!("readme.rs")), include_str!("../../README.md"));
    let fragments: Vec<_> = readme.split("```rust,ignore\n").skip(1).collect();
    assert!(!fragments.is_empty());
    for fragment in fragments {
        let (fragment, _) = fragment.split_once("```").unwrap();
        assert!(here.contains(&plain(fragment)), "no test has {fragment}");
    }
}
