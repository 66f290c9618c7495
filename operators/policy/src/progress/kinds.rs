//! The kinds that the cluster serves, from aggregated discovery, and the names that users call them by.

use kube::core::GroupVersion;
use kube::core::discovery::v2::{APIGroupDiscoveryList, APIResourceDiscovery};
use kube::discovery::ApiResource;

use crate::api_version::group_version;

/// Kubernetes' own kinds whose objects may have an empty status for ever: a CronJob that has not come to its time yet, a claim that no
/// Pod uses, and a level that nothing reports about.
const SILENT: [(&str, &str); 3] = [
    ("batch", "cronjobs"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("resource.k8s.io", "resourceclaims"),
];

/// A kind in the version that the API server prefers.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
    /// Objects have a status that a controller writes as soon as it sees them.
    pub(super) has_status: bool,
    listable: bool,
    /// Plural, singular, short names, and the kind in lower case.
    names: Vec<String>,
}

/// All kinds; each once for a group, in the order of the API server's preference.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// Group versions whose server does not answer, as `metrics.k8s.io/v1beta1`.
    pub(super) stale: Vec<String>,
}

// === impl Kinds ===

impl Kinds {
    /// The kinds of the lists at `/api` and `/apis`.
    pub(super) fn of(lists: impl IntoIterator<Item = APIGroupDiscoveryList>) -> Self {
        let mut known = Self::default();
        for group in lists.into_iter().flat_map(|list| list.items) {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            for version in group.versions {
                let called = version.version.unwrap_or_default();
                if version.freshness.as_deref() == Some("Stale") {
                    known.stale.push(GroupVersion::gv(&name, &called).api_version());
                }
                version.resources.into_iter().for_each(|resource| known.add(&name, &called, resource));
            }
        }
        known
    }

    fn add(&mut self, group: &str, version: &str, resource: APIResourceDiscovery) {
        let kind = resource.response_kind.and_then(|kind| kind.kind).unwrap_or_default();
        let plural = resource.resource.unwrap_or_default();
        let is_known = |known: &Kind| known.resource.group == group && known.resource.plural == plural;
        if kind.is_empty() || self.kinds.iter().any(is_known) {
            return;
        }
        let singular = resource.singular_resource.unwrap_or_default();
        let names = [plural.clone(), singular, kind.to_lowercase()].into_iter().chain(resource.short_names);
        let is_status = |name: &Option<String>| name.as_deref() == Some("status");
        self.kinds.push(Kind {
            namespaced: resource.scope.as_deref() == Some("Namespaced"),
            has_status: resource.subresources.iter().any(|subresource| is_status(&subresource.subresource))
                && !SILENT.contains(&(group, plural.as_str())),
            listable: ["get", "list"].iter().all(|verb| resource.verbs.iter().any(|has| has == verb)),
            names: names.filter(|name| !name.is_empty()).collect(),
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: GroupVersion::gv(group, version).api_version(),
                kind,
                plural,
            },
        });
    }

    /// The kind of a name as `kubectl` takes it: `deploy`, `Deployment`, `deployments.apps`, `deployments.v1.apps`.
    ///
    /// # Errors
    /// The message for the user when no kind or several have the name.
    pub(super) fn named(&self, name: &str) -> Result<&Kind, String> {
        let name = name.to_lowercase();
        let (short, group) = name.split_once('.').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
        let in_group = |kind: &&Kind| {
            let ApiResource { group: actual, version, .. } = &kind.resource;
            group.is_none_or(|group| group == actual || group == format!("{version}.{actual}"))
        };
        let of_name = self.kinds.iter().filter(|kind| kind.names.iter().any(|known| known == short));
        let found: Vec<_> = of_name.filter(in_group).collect();
        match found.as_slice() {
            [] => Err(format!("the cluster serves no kind {name}; see `kubectl api-resources`")),
            [one] => Ok(one),
            // Kubernetes' own kinds first, as for `kubectl`.
            several => several.iter().find(|kind| kind.resource.group.is_empty()).copied().ok_or_else(|| {
                let names = several
                    .iter()
                    .map(|Kind { resource, .. }| resource.plural.clone() + "." + &resource.group);
                format!("several kinds are called {name}: use {}", names.collect::<Vec<_>>().join(" or "))
            }),
        }
    }

    /// The names of the APIServices of the group versions whose server does not answer, as `v1beta1.metrics.k8s.io`.
    pub(super) fn stale_registrations(&self) -> Vec<String> {
        let name = |stale: &String| match group_version(stale) {
            ("", _) => None,
            (group, version) => Some(format!("{version}.{group}")),
        };
        self.stale.iter().filter_map(name).collect()
    }

    /// The kind of a reference. Without a group, the only kind of that name.
    pub(super) fn of_type(&self, group: Option<&str>, kind: &str) -> Option<&Kind> {
        let has = |known: &&Kind| {
            known.resource.kind == kind && group.is_none_or(|group| group == known.resource.group)
        };
        self.kinds.iter().find(has)
    }

    /// The kinds whose objects others can own. Events are read by the object that they are about.
    pub(super) fn listable(&self, namespaced_only: bool) -> impl Iterator<Item = &Kind> {
        let has_objects =
            |kind: &&Kind| kind.resource.kind != "Event" && kind.resource.group != "metrics.k8s.io";
        let in_scope = move |kind: &&Kind| kind.namespaced || !namespaced_only;
        self.kinds.iter().filter(|kind| kind.listable).filter(has_objects).filter(in_scope)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(plural: &str, kind: &str, short: &[&str]) -> serde_json::Value {
        json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "shortNames": short,
               "singularResource": kind.to_lowercase(), "verbs": ["get", "list"]})
    }

    fn kinds() -> Kinds {
        let group = |name: &str, version: &str, resources: Vec<serde_json::Value>| json!({"metadata": {"name": name}, "versions": [{"version": version, "resources": resources}]});
        let core = json!({"items": [group("", "v1", vec![resource("pods", "Pod", &["po"])])]});
        let others = json!({"items": [
            group("apps", "v1", vec![resource("deployments", "Deployment", &["deploy"])]),
            group("a.example.com", "v1", vec![resource("machines", "Machine", &[])]),
            group("b.example.com", "v2", vec![resource("machines", "Machine", &[]), resource("pods", "Pod", &[])]),
        ]});
        Kinds::of([core, others].map(|list| serde_json::from_value(list).unwrap()))
    }

    #[track_caller]
    fn check(name: &str, expected: Result<&str, &str>) {
        let kinds = kinds();
        let found =
            kinds.named(name).map(|kind| format!("{} {}", kind.resource.api_version, kind.resource.kind));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{name}");
    }

    #[test]
    fn kinds_are_found_by_the_names_that_kubectl_takes() {
        for name in ["deploy", "Deployment", "deployments", "deployment.apps", "deployments.v1.apps"] {
            check(name, Ok("apps/v1 Deployment"));
        }
        check("po", Ok("v1 Pod"));
        check("pods.b.example.com", Ok("b.example.com/v2 Pod"));
    }

    #[test]
    fn a_status_is_not_awaited_of_kinds_that_are_well_without_one() {
        let found = |group: &str, plural: &str, kind: &str| {
            let mut resource = resource(plural, kind, &[]);
            resource["subresources"] = json!([{"subresource": "status"}]);
            let list = json!({"items": [{"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [resource]}]}]});
            Kinds::of([serde_json::from_value(list).unwrap()]).of_type(None, kind).unwrap().has_status
        };
        assert!(found("batch", "jobs", "Job"));
        assert!(!found("batch", "cronjobs", "CronJob"));
        assert!(found("example.com", "cronjobs", "CronJob"));
    }

    #[test]
    fn a_name_of_several_kinds_is_refused_with_the_names_to_choose_from() {
        check("pods", Ok("v1 Pod"));
        check(
            "machine",
            Err("several kinds are called machine: use machines.a.example.com or machines.b.example.com"),
        );
        check("machine.b.example.com", Ok("b.example.com/v2 Machine"));
        check("lease", Err("the cluster serves no kind lease; see `kubectl api-resources`"));
    }
}
