//! The identity of this process: a pod by its downward API, or a process beside the cluster.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use pod_status::PodIdentity;

/// The operations of every process, in the words of Gatekeeper's `--operation`.
const OPERATIONS: [&str; 3] = ["generate", "status", "webhook"];
const DEFAULT_NAMESPACE: &str = "gatekeeper-system";

/// The pod that the environment names; without one, a process of its own in `POD_NAMESPACE`.
pub(super) fn identity() -> PodIdentity {
    PodIdentity::from_downward_api(OPERATIONS).unwrap_or_else(|_| {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let namespace = variable("POD_NAMESPACE").unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        let name = variable("POD_NAME").unwrap_or_else(|| format!("webtroller-{}", std::process::id()));
        PodIdentity::detached(namespace, name, OPERATIONS)
    })
}

/// Creates the operator's namespace where it does not exist; in a cluster it does, because the pod lives there.
pub(super) async fn ensure_namespace(client: &kube::Client, name: &str) -> kube::Result<()> {
    let api: Api<Namespace> = Api::all(client.clone());
    if api.get_opt(name).await?.is_some() {
        return Ok(());
    }
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    match api.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other.map(|_| ()),
    }
}
