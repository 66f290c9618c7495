//! The aggregator's requests: consistent reads, and writes that fail when the decision is outdated.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::PartialObjectMeta;
use serde_json::{Map, Value, json};

use crate::aggregator::AggregatorConfig;
use crate::fold::{Decision, Parent, Reported, aggregate};
use crate::pace::answered;
use crate::parent::{ParentKey, ParentRef};
use crate::report::{Member, PodReport, REGISTRATION, SHARD_LABEL};
use crate::shape::Shape;

/// What became of one parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The stored status is right, or there is no parent any more.
    Done,
    /// The parent was written by somebody else after it was read.
    Stale,
}

pub(crate) struct Cluster {
    client: kube::Client,
    pub(crate) reports: Api<DynamicObject>,
    pub(crate) pod_metadata: Api<PartialObjectMeta<Pod>>,
    pods: Api<Pod>,
    params: PatchParams,
}

impl Cluster {
    pub(crate) fn new(client: kube::Client, config: &AggregatorConfig) -> Self {
        Self {
            reports: Api::namespaced_with(client.clone(), &config.namespace, &config.kind.api_resource()),
            pod_metadata: Api::namespaced(client.clone(), &config.namespace),
            pods: Api::namespaced(client.clone(), &config.namespace),
            client,
            // Forced: the fields are this crate's own. A status written by the software it replaces is owned
            // by another manager and must be taken over.
            params: PatchParams::apply(&config.field_manager).force(),
        }
    }

    /// Every registration, by a list that is as new as the request. One that cannot be read is a member
    /// that never reports: somebody is there, and nothing is known about them.
    pub(crate) async fn registrations(&self) -> kube::Result<Vec<Member>> {
        let params = ListParams::default().labels(&format!("{SHARD_LABEL}={REGISTRATION}"));
        let objects = self.reports.list(&params).await?;
        let member = |object: DynamicObject| {
            let name = object.metadata.name.unwrap_or_default();
            let report: Result<PodReport, _> = serde_json::from_value(object.data);
            report.map(|report| report.pod).unwrap_or_else(|_| Member { id: name, ..Member::default() })
        };
        Ok(objects.items.into_iter().map(member).collect())
    }

    /// Whether the pod with this uid has ceased to run anything. A uid never comes back.
    pub(crate) async fn is_pod_gone(&self, name: &str, uid: &str) -> kube::Result<bool> {
        let Some(pod) = self.pods.get_opt(name).await? else {
            return Ok(true);
        };
        let phase = pod.status.and_then(|status| status.phase);
        let finished = matches!(phase.as_deref(), Some("Failed" | "Succeeded"));
        Ok(finished || pod.metadata.uid.as_deref() != Some(uid))
    }

    /// Deletes what a run has left behind. Does not rely on the garbage collector, which one broken API
    /// service can stop in the whole cluster. What fails is swept with the next batch.
    pub(crate) async fn sweep(&self, run: &Member, objects: &[(String, String)]) {
        for (name, uid) in objects {
            let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: None };
            let params = DeleteParams::default().preconditions(preconditions);
            match answered(self.reports.delete(name, &params)).await {
                Ok(_) => tracing::info!(name, pod = run.id, "swept a report of a pod that is gone"),
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
                Err(error) => tracing::warn!(name, %error, "cannot sweep a report of a pod that is gone"),
            }
        }
    }

    /// Reads the parent, decides, and writes if that changes anything.
    pub(crate) async fn fold(
        &self,
        shape: &Shape,
        reference: &ParentRef,
        members: &[Member],
        reported: &[Reported],
    ) -> kube::Result<Written> {
        let api: Api<DynamicObject> = match &reference.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &shape.resource),
            None => Api::all_with(self.client.clone(), &shape.resource),
        };
        let object = match api.get_opt(&reference.name).await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(Written::Done),
            // A kind that is not served any more is answered without a Status object: only the code tells.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Written::Done),
            Err(error) => return Err(error),
        };
        let parent = Parent {
            key: ParentKey {
                reference: reference.clone(),
                uid: object.metadata.uid.clone().unwrap_or_default(),
            },
            generation: object.metadata.generation.unwrap_or_default(),
        };
        let previous = object.data.get("status").unwrap_or(&Value::Null);
        let now = Time(Timestamp::now());
        let Decision::Write(status) = aggregate(shape, &parent, members, reported, previous, &now) else {
            return Ok(Written::Done);
        };
        let body = body(shape, &parent, object.metadata.resource_version.as_deref(), status);
        match api.patch_status(&reference.name, &self.params, &Patch::Apply(&body)).await {
            Ok(_) => Ok(Written::Done),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(Written::Stale),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Written::Done),
            Err(error) => Err(error),
        }
    }
}

/// The apply of a status. The uid and the version that were read make it fail for a recreated parent, and
/// when another writer, such as an aggregator whose Lease is over, came in between.
fn body(shape: &Shape, parent: &Parent, version: Option<&str>, status: Map<String, Value>) -> Value {
    let mut body = json!({
        "apiVersion": shape.resource.api_version,
        "kind": shape.resource.kind,
        "metadata": {
            "name": parent.key.reference.name,
            "uid": parent.key.uid,
            "resourceVersion": version,
        },
        "status": status,
    });
    if let (Some(namespace), Some(metadata)) =
        (&parent.key.reference.namespace, body.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    body
}
