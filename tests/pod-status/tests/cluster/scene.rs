//! The scene that the tests share: a namespace with pods, a kind of parent, reporters and aggregators in this process.

use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use pod_status::{
    Aggregator, AggregatorConfig, LeaseClaim, ParentChanges, ParentKey, ParentRef, PodIdentity, ReportKind,
    ReporterConfig, Shape, StatusReporter,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(60);

pub fn policies() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("test.webtroller.dev", "v1", "Policy"))
}

/// A kind that is first served without the subresource `status`.
pub fn bares() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("test.webtroller.dev", "v1", "Bare"))
}

/// The status is open, as in every constraint that a template generates.
fn policy_crd() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "policies.test.webtroller.dev"},
        "spec": {
            "group": "test.webtroller.dev",
            "scope": "Cluster",
            "names": {"kind": "Policy", "plural": "policies", "singular": "policy"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

fn shape(parent: &ParentRef) -> Option<Shape> {
    let resource = match parent.kind.as_str() {
        "Policy" => policies(),
        "Bare" => bares(),
        "Ticket" => ApiResource::from_gvk(&GroupVersionKind::gvk("test.webtroller.dev", "v1", "Ticket")),
        _ => return None,
    };
    let shape = Shape::new(resource, "policyUID").latch("created").enforced_field("enforced");
    Some(shape.enforced_by(["webhook"]))
}

pub struct Scene {
    pub client: kube::Client,
    pub namespace: String,
    pub policies: Api<DynamicObject>,
    pub reports: Api<DynamicObject>,
    pub pods: Api<Pod>,
}

impl Scene {
    pub async fn new(plane: &ControlPlane, prefix: &str) -> Self {
        let client = plane.client().unwrap();
        let namespace = plane.namespace(prefix).await.unwrap();
        install(&client, &policy_crd()).await;
        install(&client, &serde_json::to_value(ReportKind::default().crd()).unwrap()).await;
        Self {
            policies: Api::all_with(client.clone(), &policies()),
            reports: Api::namespaced_with(client.clone(), &namespace, &ReportKind::default().api_resource()),
            pods: Api::namespaced(client.clone(), &namespace),
            client,
            namespace,
        }
    }

    /// A pod; nothing runs it, this process reports in its name.
    pub async fn pod(&self, name: &str, operations: &[&str]) -> PodIdentity {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "none.invalid/none"}]},
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pod = self.pods.create(&PostParams::default(), &pod).await.unwrap();
        let variable = |variable: &str| match variable {
            "POD_NAME" => Some(name.to_owned()),
            "POD_NAMESPACE" => Some(self.namespace.clone()),
            _ => pod.metadata.uid.clone(),
        };
        PodIdentity::from_variables(variable, operations.iter().copied()).unwrap()
    }

    pub async fn delete_pod(&self, name: &str) {
        self.pods.delete(name, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    pub async fn reporter(&self, identity: &PodIdentity) -> (StatusReporter, JoinHandle<()>) {
        let config = ReporterConfig::default().debounce(Duration::from_millis(20));
        self.reporter_with(identity, config).await
    }

    pub async fn reporter_with(
        &self,
        identity: &PodIdentity,
        config: ReporterConfig,
    ) -> (StatusReporter, JoinHandle<()>) {
        let (reporter, driver) = StatusReporter::new(self.client.clone(), identity.clone(), config);
        let driver = tokio::spawn(driver.run(CancellationToken::new()));
        timeout(LONG, reporter.registered()).await.unwrap().unwrap();
        (reporter, driver)
    }

    pub fn aggregator(&self, holder: &str) -> (CancellationToken, JoinHandle<()>) {
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(self.idle_aggregator(holder).run(shutdown.clone()));
        (shutdown, task)
    }

    pub fn aggregator_with_changes(&self, holder: &str) -> (ParentChanges, JoinHandle<()>) {
        let aggregator = self.idle_aggregator(holder);
        let changes = aggregator.parent_changes();
        let task = tokio::spawn(aggregator.run(CancellationToken::new()));
        (changes, task)
    }

    pub fn idle_aggregator(&self, holder: &str) -> Aggregator {
        let identity = PodIdentity::detached(&self.namespace, holder, ["status"]);
        let mut claim = LeaseClaim::new(&identity, "pod-status-aggregator").duration(Duration::from_secs(3));
        claim.holder = holder.to_owned();
        let config = AggregatorConfig::new(&identity, shape).claim(claim).debounce(Duration::from_millis(20));
        Aggregator::new(self.client.clone(), config)
    }

    /// Creates a policy, or changes its spec. Returns its key and generation.
    pub async fn policy(&self, name: &str, spec: Value) -> (ParentKey, i64) {
        let body = json!({
            "apiVersion": "test.webtroller.dev/v1", "kind": "Policy", "metadata": {"name": name}, "spec": spec,
        });
        let params = PatchParams::apply("user").force();
        let policy = self.policies.patch(name, &params, &Patch::Apply(&body)).await.unwrap();
        (ParentKey::of(&policy, &policies()), policy.metadata.generation.unwrap())
    }

    /// Waits until the status of the policy fulfils `wanted`, and returns it.
    pub async fn status(&self, name: &str, wanted: impl Fn(&Value) -> bool + Send) -> Value {
        let condition = |object: Option<&DynamicObject>| {
            wanted(object.and_then(|object| object.data.get("status")).unwrap_or(&Value::Null))
        };
        match timeout(LONG, await_condition(self.policies.clone(), name, condition)).await {
            Ok(found) => found.unwrap().unwrap().data["status"].clone(),
            Err(_) => {
                let last = self.policies.get(name).await.unwrap();
                panic!("the status never became as wanted; it is {:#}", last.data["status"])
            }
        }
    }
}

pub async fn install(client: &kube::Client, crd: &Value) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd["metadata"]["name"].as_str().unwrap();
    crds.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(crd)).await.unwrap();
    timeout(LONG, await_condition(crds, name, is_crd_established())).await.unwrap().unwrap();
}

/// The ids in `byPod`.
pub fn ids(status: &Value) -> Vec<&str> {
    let entries = status["byPod"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry["id"].as_str()).collect()
}

/// The status and the reason of one condition.
pub fn condition<'a>(status: &'a Value, type_: &str) -> (&'a str, &'a str) {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == type_);
    found.map_or(("", ""), |c| (c["status"].as_str().unwrap(), c["reason"].as_str().unwrap()))
}

pub fn enforced() -> Value {
    json!({"enforced": true})
}
