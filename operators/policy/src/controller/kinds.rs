//! The kinds that the controllers watch.

use kube::core::{ApiResource, GroupVersionKind};
use pod_status::ParentKind;
use std::sync::LazyLock;

/// Constraint templates, in the version they are stored in.
pub static TEMPLATE: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("templates.gatekeeper.sh", "v1", "ConstraintTemplate"));
/// Namespaces, for namespace selectors.
pub static NAMESPACE: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("", "v1", "Namespace"));
/// Which kinds policies may refer to: one author's list.
pub(super) static SYNC_SET: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("syncset.gatekeeper.sh", "v1alpha1", "SyncSet"));
/// Which kinds policies may refer to: the operator's own list.
pub(super) static CONFIG: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("config.gatekeeper.sh", "v1alpha1", "Config"));

/// Suspends enforcement until a moment.
pub(super) static BREAK_GLASS: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("enforcement.webtroller.dev", "v1alpha1", "BreakGlass"));

/// The version in which constraints are watched.
pub(super) const CONSTRAINT_VERSION: &str = "v1beta1";

/// The watch key of a constraint kind.
pub(super) fn constraint(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk(constraint_framework::api::CONSTRAINTS_GROUP, CONSTRAINT_VERSION, kind)
}

/// A kind as reports name it: in whatever version.
pub(super) fn parent_kind(gvk: &GroupVersionKind) -> ParentKind {
    ParentKind::new(&gvk.group, &gvk.kind)
}

/// The resource of a constraint kind: its CRD's plural is the kind in lower case.
pub(super) fn constraint_resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&constraint(kind), &kind.to_lowercase())
}

/// The resource of CustomResourceDefinitions.
pub(super) fn crd_resource() -> ApiResource {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    ApiResource::from_gvk_with_plural(&gvk, "customresourcedefinitions")
}
