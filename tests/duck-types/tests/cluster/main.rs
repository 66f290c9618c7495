//! Ducks on a real API server: what it keeps, whom it lets write, and when it refuses (K4, K5, K6, K9).
//!
//! `DUCK_CLUSTER_CASES` is the number of generated edits, 500 by default.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::panic)]
#![allow(missing_docs, unreachable_pub, clippy::cast_precision_loss)]

#[path = "../../../../crates/duck-types/tests/family/mod.rs"]
#[allow(dead_code, reason = "the checks without a server are in tests/property")]
mod family;
mod generated;
mod odd;
mod shared;

use std::collections::BTreeMap;
use std::time::Duration;

use control_plane::ControlPlane;
use duck_types::contract::{FieldSpec, FieldType, check_crd};
use duck_types::{ApplyError, Duck, DuckType, PatchPrecondition, StaleError, Write};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt, watcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

macro_rules! ducks {
    ($($name:ident at $path:literal)+) => {
        $(
            #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
            #[serde(transparent)]
            #[duck(path = $path)]
            struct $name(BTreeMap<String, Value>);
        )+
    };
}

ducks! {
    Probe at "/status/probe"
    Audit at "/status/audit"
    Delivery at "/spec/delivery"
    Closed at "/status/closed"
    Anything at "/status/anything"
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(paths("/spec/size", "/status/size"))]
struct Sizes {
    #[serde(default)]
    spec: Size,
    #[serde(default)]
    status: Size,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Size {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<i32>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/status/entries", list_map("", "name"))]
struct Entries(Vec<Entry>);

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Entry {
    name: String,
    state: String,
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("ducks.test.webtroller.dev", "v1", "Pond"))
}

fn crd() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let fields = |properties: Value| json!({"type": "object", "properties": properties});
    let text = json!({"type": "string"});
    let entry = fields(json!({"name": text, "state": text, "note": text}));
    let mut entries = json!({"type": "array", "items": entry, "x-kubernetes-list-type": "map"});
    entries["x-kubernetes-list-map-keys"] = json!(["name"]);
    entries["items"]["required"] = json!(["name"]);
    let mut status = fields(json!({
        "probe": open, "audit": open, "narrow": {"type": "object"}, "size": {"type": "integer", "format": "int32"},
        "closed": fields(json!({"known": text})), "entries": entries,
        "anything": {"type": "object", "additionalProperties": true},
    }));
    status["properties"]["beside"] = json!({"x-kubernetes-preserve-unknown-fields": true});
    status["properties"]["duck"] = json!({"x-kubernetes-preserve-unknown-fields": true});
    status["properties"]["sinkUri"] = json!({"x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ponds.ducks.test.webtroller.dev", "labels": {"ducks.test.webtroller.dev/v1": "v1"}},
        "spec": {
            "group": "ducks.test.webtroller.dev",
            "scope": "Namespaced",
            "names": {"kind": "Pond", "plural": "ponds", "singular": "pond"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": fields(json!({"spec": open, "status": status}))},
            }],
        },
    })
}

/// A fresh namespace with one object, `pond`.
async fn pond(prefix: &str, spec: Value) -> (kube::Client, String) {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = "ponds.ducks.test.webtroller.dev";
    crds.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(crd())).await.unwrap();
    timeout(LONG, await_condition(crds, name, is_crd_established())).await.unwrap().unwrap();
    let namespace = plane.namespace(prefix).await.unwrap();
    let object = DynamicObject::new("pond", &resource()).data(json!({"spec": spec}));
    plain(&client, &namespace).create(&PostParams::default(), &object).await.unwrap();
    (client, namespace)
}

fn plain(client: &kube::Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource())
}

fn api<T: DuckType>(client: &kube::Client, namespace: &str) -> Api<Duck<T>> {
    Api::namespaced_with(client.clone(), namespace, &resource())
}

async fn merge_status(client: &kube::Client, namespace: &str, status: Value) -> DynamicObject {
    let patch = Patch::Merge(json!({"status": status}));
    plain(client, namespace).patch_status("pond", &PatchParams::default(), &patch).await.unwrap()
}

fn fields(fields: Value) -> BTreeMap<String, Value> {
    serde_json::from_value(fields).unwrap()
}

const JSON: Write<'static> = Write::Json { manager: "test", precondition: PatchPrecondition::Version };
const LEAVES: Write<'static> = Write::Json { manager: "test", precondition: PatchPrecondition::Leaves };
const MERGE: Write<'static> = Write::Merge { manager: "test" };

#[tokio::test(flavor = "multi_thread")]
async fn two_ducks_with_their_own_managers_do_not_delete_each_other() {
    let (client, namespace) = pond("managers", json!({})).await;
    let (probes, audits) = (api::<Probe>(&client, &namespace), api::<Audit>(&client, &namespace));
    let resource = resource();
    let prober = Write::Apply { resource: &resource, manager: "prober" };
    let auditor = Write::Apply { resource: &resource, manager: "auditor" };

    let probe = probes.get("pond").await.unwrap();
    let up = |probe: &mut Probe| probe.0 = fields(json!({"up": true, "since": "t"}));
    probe.apply_or_default(&probes, prober, up).await.unwrap();
    // This copy of the object does not know what the prober wrote, and must not take it away.
    let audit = Duck::<Audit>::from(probe.into_object());
    let violations = |audit: &mut Audit| audit.0 = fields(json!({"violations": ["a", "b"]}));
    audit.apply_or_default(&audits, auditor, violations).await.unwrap();

    let probe = probes.get("pond").await.unwrap();
    let probe = probe.apply(&probes, prober, |probe| drop(probe.0.remove("since"))).await.unwrap();
    assert_eq!(
        probe.object().data["status"],
        json!({"probe": {"up": true}, "audit": {"violations": ["a", "b"]}})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_duck_with_two_managers_is_a_conflict_that_names_the_owner() {
    let (client, namespace) = pond("conflict", json!({})).await;
    let (probes, resource) = (api::<Probe>(&client, &namespace), resource());
    let probe = probes.get("pond").await.unwrap();
    let write = |manager| Write::Apply { resource: &resource, manager };
    let up = |up: bool| move |probe: &mut Probe| probe.0 = fields(json!({"up": up}));
    probe.apply_or_default(&probes, write("prober"), up(true)).await.unwrap();
    let error = probe.apply_or_default(&probes, write("other"), up(false)).await.unwrap_err();
    let ApplyError::Conflict(conflicts) = &error else { panic!("{error:?}") };
    assert_eq!((conflicts[0].field.as_str(), conflicts[0].manager.as_str()), (".status.probe.up", "prober"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_writes_spec_and_status() {
    let (client, namespace) = pond("split", json!({"size": 1, "other": 1})).await;
    let (sizes, resource) = (api::<Sizes>(&client, &namespace), resource());
    let apply = Write::Apply { resource: &resource, manager: "sizer" };
    for (size, write) in (2..).zip([JSON, MERGE, LEAVES, apply, apply]) {
        let current = sizes.get("pond").await.unwrap();
        let change = |sizes: &mut Sizes| (sizes.spec.size, sizes.status.size) = (Some(size), Some(size + 10));
        let force = |error: ApplyError| matches!(error, ApplyError::Conflict(_) | ApplyError::Partial { .. });
        match current.apply(&sizes, write, change).await {
            Ok(stored) => {
                let data = &stored.object().data;
                assert_eq!(data["spec"], json!({"size": size, "other": 1}), "{write:?}");
                assert_eq!(data["status"]["size"], json!(size + 10), "{write:?}");
            }
            Err(error) => assert!(matches!(write, Write::Apply { .. }) && force(error), "{write:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_edit_is_a_typed_error_with_the_changes() {
    for write in [JSON, MERGE, LEAVES] {
        let (client, namespace) = pond("stale", json!({"delivery": {"speed": 1}, "other": 1})).await;
        let ponds = api::<Delivery>(&client, &namespace);
        let old = ponds.get("pond").await.unwrap();
        let set =
            |speed: i32| move |delivery: &mut Delivery| drop(delivery.0.insert("speed".into(), json!(speed)));
        old.apply(&ponds, JSON, set(2)).await.unwrap();
        let error = old.apply(&ponds, write, set(3)).await.unwrap_err();
        let ApplyError::Stale(StaleError::Changed { changes }) = &error else { panic!("{error:?}") };
        assert_eq!(changes[0].pointer, "/spec/delivery/speed");
        assert_eq!((&changes[0].read, &changes[0].found), (&Some(json!(1)), &Some(json!(2))));

        let other = Patch::Merge(json!({"spec": {"other": 2}}));
        let fresh = ponds.get("pond").await.unwrap();
        ponds.patch("pond", &PatchParams::default(), &other).await.unwrap();
        match (write, fresh.apply(&ponds, write, set(4)).await) {
            // Only the leaves are tested, and another part was written: both writes survive.
            (Write::Json { precondition: PatchPrecondition::Leaves, .. }, Ok(stored)) => {
                assert_eq!(stored.object().data["spec"], json!({"delivery": {"speed": 4}, "other": 2}));
            }
            (_, Err(ApplyError::Stale(stale))) => assert_eq!(stale, StaleError::Changed { changes: vec![] }),
            (write, other) => panic!("{write:?}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_neither_revives_a_deleted_object_nor_touches_its_namesake() {
    let (client, namespace) = pond("deleted", json!({"delivery": {"speed": 1}})).await;
    let (ponds, resource) = (api::<Delivery>(&client, &namespace), resource());
    let old = ponds.get("pond").await.unwrap();
    ponds.delete("pond", &DeleteParams::default()).await.unwrap();
    let set = |delivery: &mut Delivery| drop(delivery.0.insert("speed".into(), json!(2)));
    let writes = [JSON, MERGE, LEAVES, Write::Apply { resource: &resource, manager: "m" }];
    for write in writes {
        let error = old.apply(&ponds, write, set).await.unwrap_err();
        assert!(matches!(error, ApplyError::Stale(StaleError::Deleted)), "{write:?}: {error:?}");
    }
    let again = DynamicObject::new("pond", &resource).data(json!({"spec": {"delivery": {"speed": 1}}}));
    plain(&client, &namespace).create(&PostParams::default(), &again).await.unwrap();
    for write in writes {
        let error = old.apply(&ponds, write, set).await.unwrap_err();
        assert!(matches!(error, ApplyError::Stale(StaleError::Recreated)), "{write:?}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_server_drops_is_reported() {
    let (client, namespace) = pond("dropped", json!({})).await;
    let closed = api::<Closed>(&client, &namespace);
    let duck = closed.get("pond").await.unwrap();
    let both = |closed: &mut Closed| closed.0 = fields(json!({"known": "x", "unknown": "x"}));
    let error = duck.apply_or_default(&closed, MERGE, both).await.unwrap_err();
    let ApplyError::Dropped(pointers) = &error else { panic!("{error:?}") };
    assert_eq!(pointers, &["/status/closed/unknown"]);
    let audits = api::<Anything>(&client, &namespace);
    let duck = audits.get("pond").await.unwrap();
    let nested =
        |anything: &mut Anything| anything.0 = fields(json!({"list": [{"any": "x"}], "texts": ["x"]}));
    let error = duck.apply_or_default(&audits, JSON, nested).await.unwrap_err();
    assert!(
        matches!(&error, ApplyError::Dropped(pointers) if pointers == &["/status/anything/list/0/any"]),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_of_a_keyed_list_have_their_own_owners() {
    let (client, namespace) = pond("keyed", json!({})).await;
    let (entries, resource) = (api::<Entries>(&client, &namespace), resource());
    let entry = |name: &str, state: &str| Entry { name: name.into(), state: state.into() };
    let none = entries.get("pond").await.unwrap();
    for (manager, name) in [("a", "x"), ("b", "y")] {
        let write = Write::Apply { resource: &resource, manager };
        none.apply_or_default(&entries, write, |entries| entries.0 = vec![entry(name, "up")]).await.unwrap();
    }
    let note = json!([{"name": "x", "state": "up", "note": "kept"}, {"name": "y", "state": "up"}]);
    merge_status(&client, &namespace, json!({"entries": note})).await;
    let stored = entries.get("pond").await.unwrap();
    // The first element goes to the end of the view; in the object it stays where it is, with its note.
    let stored = stored
        .apply(&entries, JSON, |entries| {
            entries.0[0].state = "down".into();
            entries.0.push(entry("z", "new"));
        })
        .await
        .unwrap();
    let expected = json!([
        {"name": "x", "state": "down", "note": "kept"},
        {"name": "y", "state": "up"},
        {"name": "z", "state": "new"},
    ]);
    assert_eq!(stored.object().data["status"]["entries"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_ducks_are_created_by_every_kind_of_patch() {
    let (client, namespace) = pond("absent", json!({})).await;
    let probes = api::<Probe>(&client, &namespace);
    for write in [JSON, MERGE, LEAVES] {
        let cleared = merge_status(&client, &namespace, json!({"probe": null})).await;
        let probe = Duck::<Probe>::from(cleared);
        let up = |probe: &mut Probe| probe.0 = fields(json!({"up": true, "nothing": []}));
        let stored = probe.apply_or_default(&probes, write, up).await.unwrap();
        assert_eq!(stored.view().unwrap().0, fields(json!({"up": true, "nothing": []})));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_survives_an_object_with_a_malformed_duck() {
    let (client, namespace) = pond("watch", json!({"delivery": "by hand"})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    let object = DynamicObject::new("good", &resource()).data(json!({"spec": {"delivery": {"speed": 1}}}));
    plain(&client, &namespace).create(&PostParams::default(), &object).await.unwrap();

    let seen = watcher(ponds, watcher::Config::default()).applied_objects().take(2);
    let seen: Vec<Duck<Delivery>> = timeout(LONG, seen.try_collect()).await.unwrap().unwrap();
    let mut views: Vec<bool> = seen.iter().map(|duck| duck.view().is_ok()).collect();
    views.sort_unstable();
    assert_eq!(views, [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_check_calls_dropped_is_dropped() {
    let (client, namespace) = pond("pruned", json!({})).await;
    let status = json!({
        "probe": {"any": "x"}, "narrow": {"any": "x"}, "missing": "x", "closed": {"known": "x", "unknown": "x"},
        "anything": {"text": "x", "object": {"any": "x"}, "list": [{"any": "x"}], "texts": ["x"]},
    });
    let stored = merge_status(&client, &namespace, status).await;

    let live = |path: &str| stored.data.pointer(path).is_some_and(|value| *value != json!({}));
    for (path, shape) in [
        ("/status/probe", FieldType::Object),
        ("/status/probe/any", FieldType::String),
        ("/status/narrow", FieldType::Object),
        ("/status/missing", FieldType::String),
        ("/status/closed/known", FieldType::String),
        ("/status/closed/unknown", FieldType::String),
        ("/status/anything/text", FieldType::String),
        ("/status/anything/object", FieldType::Object),
        ("/status/anything/object/any", FieldType::String),
    ] {
        let field = FieldSpec::write(path.parse().unwrap(), shape);
        assert_eq!(check_crd(&crd(), "v1", &[field]).violations.is_empty(), live(path), "{path}");
    }
    assert_eq!(stored.data.pointer("/status/anything/list"), Some(&json!([{}])));
    assert_eq!(stored.data.pointer("/status/anything/texts"), Some(&json!(["x"])));
}

/// The check derives bounds from integer formats; the API server enforces them.
#[tokio::test(flavor = "multi_thread")]
async fn integer_formats_are_bounds() {
    let (client, namespace) = pond("formats", json!({})).await;
    let patch = Patch::Merge(json!({"status": {"size": 3_000_000_000_u32}}));
    let api = plain(&client, &namespace);
    let error = api.patch_status("pond", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(error.to_string().contains("size"), "{error}");
}

/// A `test` of a list with a null in it ends the request without an answer, so no patch has one.
#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_a_null_in_a_list_fails_the_request() {
    let (client, namespace) = pond("nulls", json!({"delivery": {"list": [null, 1]}})).await;
    let test = |value: Value| json!([{"op": "test", "path": "/spec/delivery/list", "value": value}]);
    let patch = Patch::<()>::Json(serde_json::from_value(test(json!([null, 1]))).unwrap());
    let error = plain(&client, &namespace).patch("pond", &PatchParams::default(), &patch).await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "the server answers now: {error}");

    let ponds = api::<Delivery>(&client, &namespace);
    let shorter = |delivery: &mut Delivery| drop(delivery.0.insert("list".into(), json!([1])));
    let stored = ponds.get("pond").await.unwrap().apply(&ponds, JSON, shorter).await.unwrap();
    assert_eq!(stored.object().data["spec"]["delivery"]["list"], json!([1]));
}
