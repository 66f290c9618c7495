//! The kinds that are audited: those that the API server serves and that a constraint can match.

use std::collections::{BTreeMap, BTreeSet};

use constraint_framework::target::KindFilter;
use kube::core::ApiResource;
use kube::discovery::{ApiGroup, Scope, verbs};
use watch_manager::GroupVersionKind;

use super::place::AuditedKind;

/// A kind as the API server serves it in the version that it prefers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServedKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// It can be listed and watched.
    pub(super) followable: bool,
}

impl ServedKind {
    /// The kind that is audited.
    pub(super) fn audited(&self, stay: u64) -> AuditedKind {
        AuditedKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            namespaced: self.namespaced,
            stay,
        }
    }

    /// The resource, for requests.
    pub(super) fn resource(&self) -> ApiResource {
        ApiResource::from_gvk_with_plural(&self.gvk(), &self.plural)
    }

    pub(super) fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }

    fn is_named_by(&self, filter: &KindFilter) -> bool {
        let is =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        is(&filter.group, &self.group) && is(&filter.kind, &self.kind)
    }
}

/// The kinds of a group: each in the preferred version if it is there, else in the first other one. A kind that can
/// neither be listed nor read, such as TokenReview, has no objects: it is a question to the API server.
pub(super) fn served(group: &ApiGroup) -> Vec<ServedKind> {
    let mut kinds = BTreeMap::new();
    let preferred = group.preferred_version();
    for version in preferred.into_iter().chain(group.versions()) {
        for (resource, capabilities) in group.versioned_resources(version) {
            if ![verbs::LIST, verbs::GET].iter().any(|verb| capabilities.supports_operation(verb)) {
                continue;
            }
            let kind = ServedKind {
                group: resource.group.clone(),
                version: resource.version.clone(),
                kind: resource.kind.clone(),
                plural: resource.plural.clone(),
                namespaced: capabilities.scope == Scope::Namespaced,
                followable: [verbs::LIST, verbs::WATCH]
                    .iter()
                    .all(|verb| capabilities.supports_operation(verb)),
            };
            kinds.entry(resource.kind).or_insert(kind);
        }
    }
    kinds.into_values().collect()
}

/// The served kinds that one of these filters selects. One that cannot be followed is selected by its name alone: a filter that
/// names it gets the reason, and one with `*` does not mean it.
pub(super) fn selected<'a>(
    filters: impl IntoIterator<Item = &'a KindFilter>,
    served: &[ServedKind],
) -> BTreeSet<ServedKind> {
    let mut found = BTreeSet::new();
    for filter in filters {
        let named = served.iter().filter(|kind| kind.is_named_by(filter));
        found.extend(named.filter(|kind| kind.followable || filter.kind.is_some()).cloned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group: &str, kind: &str, followable: bool) -> ServedKind {
        ServedKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
            plural: kind.to_lowercase(),
            namespaced: true,
            followable,
        }
    }

    fn select(group: Option<&str>, name: Option<&str>) -> Vec<String> {
        let served =
            [kind("", "Pod", true), kind("apps", "Deployment", true), kind("metrics", "PodMetrics", false)];
        let filter = KindFilter { group: group.map(str::to_owned), kind: name.map(str::to_owned) };
        selected([&filter], &served).into_iter().map(|kind| kind.kind).collect()
    }

    #[test]
    fn kinds_are_selected_by_group_and_name_and_what_cannot_be_followed_by_name_alone() {
        assert_eq!(select(None, None), ["Pod", "Deployment"]);
        assert_eq!(select(Some(""), None), ["Pod"]);
        assert_eq!(select(None, Some("Deployment")), ["Deployment"]);
        assert_eq!(select(Some("extensions"), Some("Deployment")), [""; 0]);
        assert_eq!(select(None, Some("PodMetrics")), ["PodMetrics"]);
    }
}
