//! The check that a pod still runs anything, by a consistent read.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use serde_json::Value;

use crate::pace::answered_within;

/// Selects the pods that may run something. Finished ones linger as objects, an evicted one for days.
pub(crate) const UNFINISHED: &str = "status.phase!=Failed,status.phase!=Succeeded";

/// The kind Pod. A few of its fields are read, so no code is generated that reads the others.
pub(crate) fn resource() -> ApiResource {
    ApiResource::erase::<Pod>(&())
}

/// Returns true if the pod with this uid has ceased to run anything: its object is gone, is another pod's, or is
/// finished. A uid never comes back. The aggregator and the pod itself judge alike: otherwise one would create for ever
/// what the other sweeps.
pub(crate) async fn is_gone(
    pods: &Api<DynamicObject>,
    name: &str,
    uid: &str,
    limit: Duration,
) -> kube::Result<bool> {
    let Some(pod) = answered_within(limit, pods.get_opt(name)).await? else {
        return Ok(true);
    };
    let phase = pod.data.pointer("/status/phase").and_then(Value::as_str);
    let is_finished = matches!(phase, Some("Failed" | "Succeeded"));
    Ok(is_finished || pod.metadata.uid.as_deref() != Some(uid))
}
