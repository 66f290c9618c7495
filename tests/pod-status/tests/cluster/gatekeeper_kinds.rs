//! Gatekeeper's other pod-status kinds: what is reported is accepted by schemas like Gatekeeper's, and comes back.

use std::time::Duration;

use control_plane::ControlPlane;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::await_condition;
use pod_status::{
    Aggregator, AggregatorConfig, LeaseClaim, ParentKey, ParentRef, PodError, PodIdentity, PodStatusKind,
    ReporterConfig, Shape,
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::scene::{LONG, Scene, condition, ids, install};

/// A kind, its parents, and what its schema knows beyond the common fields.
struct Row {
    kind: PodStatusKind,
    group: &'static str,
    parent: &'static str,
    plural: &'static str,
    uid: &'static str,
    is_namespaced: bool,
    /// A flag of the status.
    flag: Option<&'static str>,
    /// The fields that an error must have.
    required: &'static [&'static str],
}

const ROWS: [Row; 6] = [
    Row {
        kind: PodStatusKind::TEMPLATE,
        group: "templates.gatekeeper.sh",
        parent: "ConstraintTemplate",
        plural: "constrainttemplates",
        uid: "templateUID",
        is_namespaced: false,
        flag: None,
        required: &["code", "message"],
    },
    Row {
        kind: PodStatusKind::CONFIG,
        group: "config.gatekeeper.sh",
        parent: "Config",
        plural: "configs",
        uid: "configUID",
        is_namespaced: true,
        flag: None,
        required: &["message", "type"],
    },
    Row {
        kind: PodStatusKind::EXPANSION,
        group: "expansion.gatekeeper.sh",
        parent: "ExpansionTemplate",
        plural: "expansiontemplates",
        uid: "templateUID",
        is_namespaced: false,
        flag: None,
        required: &["message"],
    },
    Row {
        kind: PodStatusKind::MUTATOR,
        group: "mutations.gatekeeper.sh",
        parent: "Assign",
        plural: "assign",
        uid: "mutatorUID",
        is_namespaced: false,
        flag: Some("enforced"),
        required: &["message"],
    },
    Row {
        kind: PodStatusKind::PROVIDER,
        group: "externaldata.gatekeeper.sh",
        parent: "Provider",
        plural: "providers",
        uid: "providerUID",
        is_namespaced: false,
        flag: Some("active"),
        required: &["errorTimestamp", "message", "retryable", "type"],
    },
    Row {
        kind: PodStatusKind::CONNECTION,
        group: "connection.gatekeeper.sh",
        parent: "Connection",
        plural: "connections",
        uid: "connectionUID",
        is_namespaced: true,
        flag: Some("active"),
        required: &["message", "type"],
    },
];

impl Row {
    fn resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(self.group, "v1beta1", self.parent);
        ApiResource::from_gvk_with_plural(&gvk, self.plural)
    }

    fn status_schema(&self) -> Value {
        let (text, flag) = (json!({"type": "string"}), json!({"type": "boolean"}));
        let time = json!({"type": "string", "format": "date-time"});
        let error = json!({
            "type": "object", "required": self.required,
            "properties": {
                "type": text, "code": text, "message": text, "location": text, "retryable": flag, "errorTimestamp": time,
            },
        });
        let mut properties = json!({
            "id": text, self.uid: text, "operations": {"type": "array", "items": text},
            "observedGeneration": {"type": "integer", "format": "int64"},
            "errors": {"type": "array", "items": error},
        });
        if let Some(name) = self.flag {
            properties[name] = flag;
        }
        json!({"type": "object", "properties": {"status": {"type": "object", "properties": properties}}})
    }

    async fn install(&self, client: &kube::Client) {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let parent = json!({"type": "object", "properties": {"spec": open, "status": open}});
        let subresources = json!({"status": {}});
        install(client, &definition(&self.resource(), self.is_namespaced, &parent, &subresources)).await;
        let status = self.kind.api_resource();
        install(client, &definition(&status, true, &self.status_schema(), &json!({}))).await;
    }
}

fn definition(resource: &ApiResource, is_namespaced: bool, schema: &Value, subresources: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", resource.plural, resource.group)},
        "spec": {
            "group": resource.group, "scope": if is_namespaced { "Namespaced" } else { "Cluster" },
            "names": {
                "kind": resource.kind, "plural": resource.plural, "singular": resource.kind.to_lowercase(),
            },
            "versions": [{
                "name": resource.version, "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn shape(parent: &ParentRef) -> Option<Shape> {
    let row = ROWS.iter().find(|row| row.group == parent.group)?;
    Some(Shape::new(row.resource(), row.uid))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pod_status_kind_carries_errors_and_success_to_the_parent() {
    let plane = ControlPlane::shared().await.unwrap();
    let scene = Scene::new(plane, "kinds").await;
    for row in &ROWS {
        row.install(&scene.client).await;
    }
    let kinds = || ROWS.iter().map(|row| row.kind);
    let identity = PodIdentity::detached(&scene.namespace, "one", ["status"]);
    let claim = LeaseClaim::new(&identity, "pod-status-aggregator").duration(Duration::from_secs(3));
    let config = AggregatorConfig::new(&identity, shape).claim(claim).per_parent(kinds());
    tokio::spawn(Aggregator::new(scene.client.clone(), config).run(CancellationToken::new()));
    let config = ReporterConfig::default().debounce(Duration::from_millis(20)).per_parent(kinds());
    let pod = scene.pod("pod-1", &["webhook"]).await;
    let (reporter, _driver) = scene.reporter_with(&pod, config).await;

    for row in &ROWS {
        let resource = row.resource();
        let parents: Api<DynamicObject> = if row.is_namespaced {
            Api::namespaced_with(scene.client.clone(), &scene.namespace, &resource)
        } else {
            Api::all_with(scene.client.clone(), &resource)
        };
        let body = json!({
            "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a-b"}, "spec": {},
        });
        let parent = parents.patch("a-b", &PatchParams::apply("user"), &Patch::Apply(&body)).await.unwrap();
        let (key, generation) = (ParentKey::of(&parent, &resource), parent.metadata.generation.unwrap());
        let until = async |reason: &str| {
            let is_so = |object: Option<&DynamicObject>| {
                let status = object.and_then(|object| object.data.get("status")).unwrap_or(&Value::Null);
                condition(status, "Ingested").1 == reason
            };
            let found = timeout(LONG, await_condition(parents.clone(), "a-b", is_so)).await;
            found.unwrap_or_else(|_| panic!("{}: never {reason}", row.parent)).unwrap().unwrap().data["status"].clone()
        };
        let detail = row.flag.map_or(json!({}), |flag| json!({ flag: true }));
        reporter.ingested(&key, generation, Err(PodError::new("Wrong", "not readable").into()), &detail);
        let status = until("IngestError").await;
        assert_eq!(ids(&status), ["pod-1"]);
        assert_eq!(status["byPod"][0]["errors"], json!([{"code": "Wrong", "message": "not readable"}]));
        assert_eq!(status["byPod"][0][row.uid], key.uid);

        reporter.ingested(&key, generation, Ok(()), &detail);
        until("IngestedByAllPods").await;
        // Gatekeeper's controller finds it by name, label and fields.
        let statuses: Api<DynamicObject> =
            Api::namespaced_with(scene.client.clone(), &scene.namespace, &row.kind.api_resource());
        let name = row.kind.object_name("pod-1", &key.reference);
        let stored = statuses.get(&name).await.unwrap();
        assert_eq!(stored.labels()["internal.gatekeeper.sh/pod"], "pod-1");
        assert_eq!(stored.data["status"][row.uid], key.uid);
        assert_eq!(stored.data["status"]["errors"], json!([]));
        if let Some(flag) = row.flag {
            assert_eq!(stored.data["status"][flag], true);
        }
    }
}
