//! The RBAC roles that a declaration needs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{Declaration, DeclaredAccess};

/// The annotation of a role with the finalizers that its controller adds and removes, separated by commas: so that who reads
/// a finalizer in the cluster finds the controller.
pub const FINALIZERS: &str = "controllers.webtroller.dev/finalizers";

// === impl Declaration ===

impl Declaration {
    /// Returns the rights in the controller's namespace, as a Role with the controller's name.
    #[must_use]
    pub fn role(&self, namespace: &str) -> Role {
        let own = || self.all().iter().filter(|access| !access.everywhere);
        let metadata = ObjectMeta { namespace: Some(namespace.to_owned()), ..self.metadata(own()) };
        Role { metadata, rules: Some(rules(own())) }
    }

    /// Returns the rights in all namespaces and on kinds that have none, as a ClusterRole with the controller's name, or `None` when it
    /// needs none.
    #[must_use]
    pub fn cluster_role(&self) -> Option<ClusterRole> {
        let everywhere = || self.all().iter().filter(|access| access.everywhere);
        let (metadata, rules) = (self.metadata(everywhere()), rules(everywhere()));
        (!rules.is_empty()).then(|| ClusterRole { metadata, rules: Some(rules), ..ClusterRole::default() })
    }

    fn metadata<'a>(&self, all: impl Iterator<Item = &'a DeclaredAccess>) -> ObjectMeta {
        let finalizers: BTreeSet<&str> =
            all.flat_map(|access| &access.finalizers_added).map(String::as_str).collect();
        let finalizers = finalizers.into_iter().collect::<Vec<_>>().join(",");
        let annotations = (!finalizers.is_empty()).then(|| [(FINALIZERS.to_owned(), finalizers)].into());
        ObjectMeta { name: Some(self.name().to_owned()), annotations, ..ObjectMeta::default() }
    }
}

/// One rule for each resource, in order: the same declaration makes the same text.
fn rules<'a>(all: impl Iterator<Item = &'a DeclaredAccess>) -> Vec<PolicyRule> {
    let mut verbs = BTreeMap::<_, BTreeSet<_>>::new();
    for call in all.flat_map(DeclaredAccess::calls) {
        verbs.entry((call.group, call.resource)).or_default().insert(call.verb);
    }
    let rule = |((group, resource), verbs): (_, BTreeSet<_>)| PolicyRule {
        api_groups: Some(vec![group]),
        resources: Some(vec![resource]),
        verbs: verbs.into_iter().collect(),
        ..PolicyRule::default()
    };
    verbs.into_iter().map(rule).collect()
}
