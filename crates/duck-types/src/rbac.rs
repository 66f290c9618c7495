//! Roles for ducks: a consumer binds one aggregated role, and each provider adds its rules by a label.
//!
//! ```
//! use duck_types::rbac::{Access, aggregated_cluster_role, provider_role};
//!
//! let label = [("duck.example.com/addressable", "true")];
//! let consumer = aggregated_cluster_role("addressable-resolver", label);
//! let provider = provider_role("broker-addressable", label).allow("example.com", "brokers", Access::Read).build();
//! assert_eq!(consumer["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"], provider["metadata"]["labels"]);
//! ```
//!
//! Roles are JSON, ready for an apply or a manifest: the Kubernetes version of typed roles is the binary's choice.

use serde_json::{Map, Value, json};

use crate::{Endpoint, Place};

/// The access that a role grants to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// get, list and watch.
    Read,
    /// Also patch, of the object.
    WriteObject,
    /// Also patch, of its status.
    WriteStatus,
}

impl Access {
    /// Returns the access that edits of a duck need. For kinds without a status subresource, whose status is written with the
    /// object, it is always [`Access::WriteObject`].
    #[must_use]
    pub fn to_write(place: &Place) -> Vec<Self> {
        let needs = |endpoint| place.paths().iter().any(|path| path.endpoint() == endpoint);
        let both = [(Endpoint::Object, Self::WriteObject), (Endpoint::Status, Self::WriteStatus)];
        both.into_iter().filter(|(endpoint, _)| needs(*endpoint)).map(|(_, access)| access).collect()
    }
}

/// Returns the role of a consumer: it has no rules of its own, and the API server fills in those of all roles with `labels`.
#[must_use]
pub fn aggregated_cluster_role<'a>(
    name: &str,
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": object(labels)}]},
        "rules": [],
    })
}

/// Begins the role that a provider ships, with the labels that its consumers aggregate.
#[must_use]
pub fn provider_role<'a>(name: &str, labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> ProviderRole {
    ProviderRole { name: name.to_owned(), labels: object(labels), rules: Vec::new() }
}

/// A role that gives consumers access to a provider's resources.
#[derive(Clone, Debug)]
pub struct ProviderRole {
    name: String,
    labels: Value,
    rules: Vec<Value>,
}

impl ProviderRole {
    /// Grants access to a resource; `resource` is its plural.
    #[must_use]
    pub fn allow(mut self, group: &str, resource: &str, access: Access) -> Self {
        let mut rule = |resource: &str, verbs: &[&str]| {
            let rule = json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        };
        rule(resource, &["get", "list", "watch"]);
        match access {
            Access::Read => {}
            Access::WriteObject => rule(resource, &["patch"]),
            Access::WriteStatus => rule(&format!("{resource}/status"), &["patch"]),
        }
        self
    }

    /// Returns the role.
    #[must_use]
    pub fn build(self) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": self.name, "labels": self.labels},
            "rules": self.rules,
        })
    }
}

fn object<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    labels.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests;
