//! The kinds that the controllers watch.

use constraint_framework::api::{CONSTRAINTS_GROUP, TEMPLATES_GROUP};
use kube::core::{ApiResource, GroupVersionKind};
use pod_status::ParentKind;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Constraint templates, in the version they are stored in.
pub static TEMPLATE: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk(TEMPLATES_GROUP, "v1", "ConstraintTemplate"));
/// Namespaces, for namespace selectors.
pub static NAMESPACE: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("", "v1", "Namespace"));
/// The kind of lists of what policies may refer to, one for each author.
pub(super) static SYNC_SET: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("syncset.gatekeeper.sh", "v1alpha1", "SyncSet"));
/// The kind of the operator's own list of what policies may refer to.
pub(super) static CONFIG: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("config.gatekeeper.sh", "v1alpha1", "Config"));

/// Suspends enforcement until a moment.
pub(super) static BREAK_GLASS: LazyLock<GroupVersionKind> =
    LazyLock::new(|| GroupVersionKind::gvk("enforcement.webtroller.dev", "v1alpha1", "BreakGlass"));

/// The version in which constraints are watched, unless their CRD serves other versions only.
pub(super) const CONSTRAINT_VERSION: &str = "v1beta1";

/// The watch key of a constraint kind.
pub(super) fn constraint(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk(CONSTRAINTS_GROUP, CONSTRAINT_VERSION, kind)
}

/// A kind as reports name it: in whatever version.
pub(super) fn parent_kind(gvk: &GroupVersionKind) -> ParentKind {
    ParentKind::new(&gvk.group, &gvk.kind)
}

/// The resource of a constraint kind: its CRD's plural is the kind in lower case.
pub(super) fn constraint_resource(kind: &str) -> ApiResource {
    resource(&constraint(kind))
}

fn resource(constraint: &GroupVersionKind) -> ApiResource {
    ApiResource::from_gvk_with_plural(constraint, &constraint.kind.to_lowercase())
}

/// The constraint kinds that are watched in another version than `v1beta1`. The aggregator reads and writes their
/// statuses in that version. Clones are the same set.
#[derive(Clone, Debug, Default)]
pub struct OtherVersions(Arc<RwLock<BTreeMap<String, GroupVersionKind>>>);

impl OtherVersions {
    /// Notes the version in which a kind is watched.
    pub(super) fn watched(&self, constraint: &GroupVersionKind) {
        let mut others = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if constraint.version == CONSTRAINT_VERSION {
            others.remove(&constraint.kind);
        } else {
            others.insert(constraint.kind.clone(), constraint.clone());
        }
    }

    /// The resource of a constraint kind, in the version in which it is watched.
    pub(super) fn resource(&self, kind: &str) -> ApiResource {
        let others = self.0.read().unwrap_or_else(PoisonError::into_inner);
        others.get(kind).map_or_else(|| constraint_resource(kind), resource)
    }
}
