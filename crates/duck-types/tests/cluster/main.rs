//! Ducks on a real API server: what it keeps, whom it lets write, and when it refuses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::time::Duration;

use control_plane::ControlPlane;
use duck_types::{Duck, DuckPath, DuckType, Endpoint, FieldSpec, FieldType, ServerSideApply, check_crd};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt, watcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

macro_rules! duck {
    ($name:ident, $path:expr) => {
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        struct $name(BTreeMap<String, Value>);

        impl DuckType for $name {
            const NAME: &'static str = stringify!($name);
            fn path() -> DuckPath {
                $path
            }
        }
    };
}

duck!(Probe, DuckPath::status().child("probe"));
duck!(Audit, DuckPath::status().child("audit"));
duck!(Delivery, DuckPath::spec().child("delivery"));

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("ducks.test.webtroller.dev", "v1", "Pond"))
}

fn crd() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let fields = |properties: Value| json!({"type": "object", "properties": properties});
    let status = fields(json!({
        "probe": open, "audit": open, "narrow": {"type": "object"},
        "closed": fields(json!({"known": {"type": "string"}})),
    }));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ponds.ducks.test.webtroller.dev"},
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
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource());
    let object = DynamicObject::new("pond", &resource()).data(json!({"spec": spec}));
    api.create(&PostParams::default(), &object).await.unwrap();
    (client, namespace)
}

fn api<T: DuckType>(client: &kube::Client, namespace: &str) -> Api<Duck<T>> {
    Api::namespaced_with(client.clone(), namespace, &resource())
}

async fn send<T: DuckType>(api: &Api<Duck<T>>, apply: &ServerSideApply) -> kube::Result<Duck<T>> {
    let patch = Patch::Apply(&apply.body);
    match apply.endpoint {
        Endpoint::Object => api.patch(&apply.name, &apply.params, &patch).await,
        Endpoint::Status => api.patch_status(&apply.name, &apply.params, &patch).await,
    }
}

fn fields(fields: Value) -> BTreeMap<String, Value> {
    serde_json::from_value(fields).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_ducks_with_their_own_managers_do_not_delete_each_other() {
    let (client, namespace) = pond("managers", json!({})).await;
    let (probes, audits) = (api::<Probe>(&client, &namespace), api::<Audit>(&client, &namespace));

    let probe = probes.get("pond").await.unwrap();
    let diff = probe.edit_or_default(|probe| probe.0 = fields(json!({"up": true, "since": "t"}))).unwrap();
    send(&probes, &diff.apply(&resource(), "prober").unwrap()).await.unwrap();
    // This copy of the object does not know what the prober wrote, and must not take it away.
    let audit = Duck::<Audit>::from(probe.into_object());
    let diff = audit.edit_or_default(|audit| audit.0 = fields(json!({"violations": ["a", "b"]}))).unwrap();
    send(&audits, &diff.apply(&resource(), "auditor").unwrap()).await.unwrap();

    let probe = probes.get("pond").await.unwrap();
    let diff = probe.edit(|probe| drop(probe.0.remove("since"))).unwrap();
    let probe = send(&probes, &diff.apply(&resource(), "prober").unwrap()).await.unwrap();
    assert_eq!(
        probe.object().data["status"],
        json!({"probe": {"up": true}, "audit": {"violations": ["a", "b"]}})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_duck_with_two_managers_is_a_conflict_that_names_the_owner() {
    let (client, namespace) = pond("conflict", json!({})).await;
    let probes = api::<Probe>(&client, &namespace);
    let probe = probes.get("pond").await.unwrap();
    let diff = |up: bool| probe.edit_or_default(|probe| probe.0 = fields(json!({"up": up}))).unwrap();
    send(&probes, &diff(true).apply(&resource(), "prober").unwrap()).await.unwrap();
    let error = send(&probes, &diff(false).apply(&resource(), "other").unwrap()).await.unwrap_err();
    let kube::Error::Api(status) = error else { unreachable!("the server answered: {error}") };
    assert!(status.is_conflict() && status.message.contains("prober"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_patch_is_refused_when_the_object_has_changed() {
    let (client, namespace) = pond("stale", json!({"delivery": {"speed": 1}, "other": 1})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    let old = ponds.get("pond").await.unwrap();
    let faster = |delivery: &mut Delivery| drop(delivery.0.insert("speed".into(), json!(2)));
    let patch = |duck: &Duck<Delivery>| Patch::<()>::Json(duck.edit(faster).unwrap().json().unwrap());

    let merge = Patch::Merge(json!({"spec": {"other": 2}}));
    ponds.patch("pond", &PatchParams::default(), &merge).await.unwrap();
    let error = ponds.patch("pond", &PatchParams::default(), &patch(&old)).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.is_invalid()), "{error}");

    let fresh = ponds.get("pond").await.unwrap();
    let stored = ponds.patch("pond", &PatchParams::default(), &patch(&fresh)).await.unwrap();
    assert_eq!(stored.object().data["spec"], json!({"delivery": {"speed": 2}, "other": 2}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_patch_creates_what_is_absent() {
    let (client, namespace) = pond("absent", json!({})).await;
    let probes = api::<Probe>(&client, &namespace);
    let probe = probes.get("pond").await.unwrap();
    let diff = probe.edit_or_default(|probe| probe.0 = fields(json!({"up": true}))).unwrap();
    let patch = Patch::<()>::Json(diff.json().unwrap());
    assert_eq!(diff.endpoint(), Endpoint::Status);
    probes.patch_status("pond", &PatchParams::default(), &patch).await.unwrap();
    let stored = probes.get("pond").await.unwrap();
    assert_eq!(stored.view().unwrap().0, fields(json!({"up": true})));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_survives_an_object_with_a_malformed_duck() {
    let (client, namespace) = pond("watch", json!({"delivery": "by hand"})).await;
    let ponds = api::<Delivery>(&client, &namespace);
    let object = DynamicObject::new("good", &resource()).data(json!({"spec": {"delivery": {"speed": 1}}}));
    let plain: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource());
    plain.create(&PostParams::default(), &object).await.unwrap();

    let seen = watcher(ponds, watcher::Config::default()).applied_objects().take(2);
    let seen: Vec<Duck<Delivery>> = timeout(LONG, seen.try_collect()).await.unwrap().unwrap();
    let mut views: Vec<bool> = seen.iter().map(|duck| duck.view().is_ok()).collect();
    views.sort_unstable();
    assert_eq!(views, [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_check_calls_dropped_is_dropped() {
    let (client, namespace) = pond("pruned", json!({})).await;
    let plain: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &resource());
    let status = json!({
        "probe": {"any": "x"}, "narrow": {"any": "x"}, "missing": "x", "closed": {"known": "x", "unknown": "x"},
    });
    let patch = Patch::Merge(json!({"status": status}));
    let stored = plain.patch_status("pond", &PatchParams::default(), &patch).await.unwrap();

    let live = |path: &str| stored.data.pointer(path).is_some_and(|value| *value != json!({}));
    for (path, shape) in [
        ("/status/probe", FieldType::Object),
        ("/status/probe/any", FieldType::String),
        ("/status/narrow", FieldType::Object),
        ("/status/missing", FieldType::String),
        ("/status/closed/known", FieldType::String),
        ("/status/closed/unknown", FieldType::String),
    ] {
        let field = FieldSpec::write(path.parse().unwrap(), shape);
        assert_eq!(check_crd(&crd(), "v1", &[field]).is_empty(), live(path), "{path}");
    }
}
