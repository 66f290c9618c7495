//! Server-side apply of plain JSON objects.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use super::FIELD_MANAGER;

/// The resource of CustomResourceDefinitions.
pub(super) fn crd_resource() -> ApiResource {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    ApiResource::from_gvk_with_plural(&gvk, "customresourcedefinitions")
}

/// Applies a cluster-scoped object as its sole author. The API server writes nothing when nothing changes.
pub(super) async fn apply(
    client: &kube::Client,
    resource: &ApiResource,
    object: &Value,
) -> kube::Result<DynamicObject> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object)).await
}
