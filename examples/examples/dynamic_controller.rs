//! A controller whose kinds are data: a ConfigMap names them, and the objects of one namespace are reconciled.
//!
//! ```text
//! cargo run -p examples --example dynamic_controller     # a server in memory; ends by itself
//! ```

use std::error::Error;

use serde_json::json;
use watch_manager::testing::FakeApi;
use watch_manager::{CancellationToken, EventKind, GroupVersionKind, Interest, WatchManager, WatchedObject};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let api = server();
    let (manager, driver) = WatchManager::builder_with_source(api.clone()).build(); // or `builder(client)`
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let mut config = manager.registrar("config")?;
    let mut objects = manager.registrar("objects")?;
    let _ = config.add(GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let mut reconciled = std::collections::BTreeSet::new();
    while reconciled.len() < 3 {
        tokio::select! {
            Some(event) = config.next() => if let EventKind::Applied(map) = event.kind {
                objects.replace(kinds(&map)?);
            },
            Some(event) = objects.next() => match event.kind {
                EventKind::Applied(object) => {
                    reconciled.insert(object.key().to_string());
                    println!("reconcile {} {}", event.gvk.kind, object.key());
                    // The second kind is asked for when the first is reconciled.
                    api.apply(&GroupVersionKind::gvk("", "v1", "ConfigMap"), names("Lamp Stove"));
                }
                EventKind::Deleted(object) => println!("clean up {} {}", event.gvk.kind, object.key()),
                _ => {}
            },
        }
    }
    println!("watched: {:?}", manager.watched().iter().map(|gvk| gvk.kind.as_str()).collect::<Vec<_>>());
    shutdown.cancel();
    Ok(driver.await?)
}

/// The kinds that the ConfigMap names, in the namespace `shop`.
fn kinds(map: &WatchedObject) -> Result<Vec<Interest>, serde_json::Error> {
    let map = map.to_value()?;
    let names = map.pointer("/data/kinds").and_then(serde_json::Value::as_str).unwrap_or_default();
    let interest =
        |kind| Interest::new(GroupVersionKind::gvk("example.com", "v1", kind)).namespaces(["shop"]);
    Ok(names.split_whitespace().map(interest).collect())
}

fn names(kinds: &str) -> serde_json::Value {
    json!({"metadata": {"name": "kinds", "namespace": "default"}, "data": {"kinds": kinds}})
}

/// Two lamps and a stove in `shop`, a lamp elsewhere; only lamps are named.
fn server() -> FakeApi {
    let api = FakeApi::new();
    let maps = GroupVersionKind::gvk("", "v1", "ConfigMap");
    api.serve(&maps, "configmaps");
    api.apply(&maps, names("Lamp"));
    for (kind, name, namespace) in [
        ("Lamp", "desk", "shop"),
        ("Lamp", "door", "shop"),
        ("Lamp", "bed", "home"),
        ("Stove", "oven", "shop"),
    ] {
        let gvk = GroupVersionKind::gvk("example.com", "v1", kind);
        if name != "door" && name != "bed" {
            api.serve(&gvk, &format!("{}s", kind.to_lowercase()));
        }
        api.apply(&gvk, json!({"metadata": {"name": name, "namespace": namespace}}));
    }
    api
}
