//! The RBAC roles that a declaration needs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{Access, Declaration};

// === impl Declaration ===

impl Declaration {
    /// The rights in the controller's namespace, as a Role with the controller's name.
    #[must_use]
    pub fn role(&self, namespace: &str) -> Role {
        let metadata = ObjectMeta {
            name: Some(self.name().to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        Role { metadata, rules: Some(rules(self.all().iter().filter(|access| !access.everywhere))) }
    }

    /// The rights in all namespaces and on kinds that have none, as a ClusterRole with the controller's name, or `None` when it
    /// needs none.
    #[must_use]
    pub fn cluster_role(&self) -> Option<ClusterRole> {
        let rules = rules(self.all().iter().filter(|access| access.everywhere));
        let metadata = ObjectMeta { name: Some(self.name().to_owned()), ..ObjectMeta::default() };
        let role = ClusterRole { metadata, rules: Some(rules), ..ClusterRole::default() };
        role.rules.as_ref().is_some_and(|rules| !rules.is_empty()).then_some(role)
    }
}

/// One rule for each resource, in order: the same declaration makes the same text.
fn rules<'a>(all: impl Iterator<Item = &'a Access>) -> Vec<PolicyRule> {
    let mut verbs = BTreeMap::<_, BTreeSet<_>>::new();
    for call in all.flat_map(Access::calls) {
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
