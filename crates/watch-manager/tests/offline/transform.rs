//! The hook that changes objects before they are stored.

use std::time::Duration;

use kube::core::Expression;
use serde_json::{Value, json};
use tokio::time::sleep;
use watch_manager::testing::{FakeApi, Fault};
use watch_manager::{CancellationToken, Interest, Registrar, Verb, WatchManager};

use crate::bench::{config, during, gvk, until};

const MINUTE: Duration = Duration::from_secs(60);

/// A registrar of things on a server, behind the hook.
async fn transformed(api: &FakeApi, transform: fn(&mut Value)) -> (WatchManager, Registrar) {
    api.serve(&gvk("Thing"), "things");
    for name in ["a", "b"] {
        api.apply(&gvk("Thing"), json!({"metadata": {"name": name, "namespace": "n"}, "data": "long"}))
            .unwrap();
    }
    let builder = WatchManager::builder_with_source(api.clone()).config(config());
    let (manager, driver) = builder.transform(move |_, value| transform(value)).build();
    tokio::spawn(driver.run(CancellationToken::new()));
    let mut registrar = manager.registrar("r").unwrap();
    let _ = registrar.add(gvk("Thing"));
    until(&mut registrar, "ready").await;
    (manager, registrar)
}

#[tokio::test(start_paused = true)]
async fn a_transform_changes_what_is_stored() {
    let api = FakeApi::new();
    let (manager, mut registrar) = transformed(&api, |value| value["data"] = "short".into()).await;
    let store = manager.store(&gvk("Thing")).unwrap();
    assert!(store.objects().iter().all(|object| object.to_value().unwrap()["data"] == "short"));
    api.apply(&gvk("Thing"), json!({"metadata": {"name": "c"}, "data": "long"})).unwrap();
    assert_eq!(during(&mut registrar, MINUTE).await, ["apply c"]);
    assert_eq!(store.get(None, "c").unwrap().to_value().unwrap()["data"], "short");
}

/// Keys, deletes and the version from which a watch goes on are the server's.
#[tokio::test(start_paused = true)]
async fn a_transform_cannot_change_the_identity_of_an_object() {
    for transform in [
        |value: &mut Value| *value = json!({}),
        |value: &mut Value| value["metadata"] = Value::Null,
        |value: &mut Value| value["metadata"] = json!({"name": "other", "namespace": "m", "uid": "u"}),
        |value: &mut Value| value["metadata"]["resourceVersion"] = "999999".into(),
    ] {
        let api = FakeApi::new();
        let (manager, mut registrar) = transformed(&api, transform).await;
        let store = manager.store(&gvk("Thing")).unwrap();
        let (a, b) = (store.get(Some("n"), "a"), store.get(Some("n"), "b"));
        if store.undecodable() == 2 {
            assert!(store.is_empty(), "metadata that is not an object");
            continue;
        }
        assert!(a.is_some_and(|a| a.uid() != "u") && b.is_some(), "{:?}", store.objects());
        sleep(MINUTE).await;
        // Breaks, and goes on where it was.
        api.apply(&gvk("Thing"), json!({"metadata": {"name": "c", "namespace": "n"}})).unwrap();
        until(&mut registrar, "apply c").await;
        api.interrupt(&gvk("Thing"), Some(Fault::Unavailable));
        api.delete(&gvk("Thing"), Some("n"), "a");
        let said = during(&mut registrar, MINUTE).await;
        assert_eq!(said.iter().filter(|line| *line == "delete a").count(), 1, "{said:?}");
        assert!(!said.contains(&"apply c".to_owned()), "nothing is delivered twice: {said:?}");
        assert_eq!((store.len(), api.calls(&gvk("Thing"), Verb::List)), (2, 1));
    }
}

/// The server selects by the labels that it has, so the manager does too where it selects in its place.
#[tokio::test(start_paused = true)]
async fn a_transform_cannot_change_what_a_label_selector_matches() {
    for transform in [
        |value: &mut Value| value["metadata"]["labels"] = json!({"app": "other"}),
        |value: &mut Value| value["metadata"]["labels"] = Value::Null,
    ] {
        let api = FakeApi::new();
        let (manager, _all) = transformed(&api, transform).await;
        let labelled = json!({"metadata": {"name": "c", "namespace": "n", "labels": {"app": "lamp"}}});
        api.apply(&gvk("Thing"), labelled).unwrap();
        sleep(MINUTE).await;
        for (app, expected) in
            [("lamp", &["apply c", "synced", "ready"][..]), ("other", &["synced", "ready"])]
        {
            let mut registrar = manager.registrar(app).unwrap();
            let selector = Expression::Equal("app".to_owned(), app.to_owned());
            let _ = registrar.add(Interest::new(gvk("Thing")).labels(selector));
            assert_eq!(during(&mut registrar, MINUTE).await, expected, "{app}");
        }
    }
}
