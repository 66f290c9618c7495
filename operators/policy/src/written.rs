//! Marks on what the operator writes: its name as the field manager, and the time.

use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;

/// Returns the parameters of a request that creates or replaces an object as this field manager.
pub(crate) fn written_by(field_manager: &str) -> PostParams {
    PostParams { field_manager: Some(field_manager.to_owned()), ..PostParams::default() }
}

/// Returns the time, to the second, as Kubernetes and Gatekeeper write it.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
