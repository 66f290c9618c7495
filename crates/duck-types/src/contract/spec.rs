//! A contract as data: to publish, to check definitions with, and to compare with another one.

use serde::{Deserialize, Serialize};

use super::FieldSpec;

/// The scope of the objects that keep a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContractScope {
    /// Namespaced or cluster-scoped.
    #[default]
    Any,
    /// In a namespace.
    Namespaced,
    /// Not in a namespace.
    Cluster,
}

/// A contract without Rust types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ContractSpec {
    /// The name in messages, such as `infrastructure cluster`.
    pub name: String,
    /// The part of the label before the slash, such as `cluster.x-k8s.io`.
    pub label_prefix: String,
    /// The scope of the objects.
    #[serde(default)]
    pub scope: ContractScope,
    /// The versions, in any order.
    pub versions: Vec<VersionSpec>,
}

/// One version of a contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct VersionSpec {
    /// The name, which is the part of the label after the slash.
    pub name: String,
    /// The fields.
    pub fields: Vec<FieldSpec>,
}

impl ContractSpec {
    /// Returns a contract without versions.
    #[must_use]
    pub fn new(name: impl Into<String>, label_prefix: impl Into<String>) -> Self {
        let (name, label_prefix) = (name.into(), label_prefix.into());
        Self { name, label_prefix, scope: ContractScope::Any, versions: Vec::new() }
    }

    /// Adds a version.
    #[must_use]
    pub fn version(mut self, name: &str, fields: impl IntoIterator<Item = FieldSpec>) -> Self {
        self.versions.push(VersionSpec { name: name.to_owned(), fields: fields.into_iter().collect() });
        self
    }

    /// Demands a scope.
    #[must_use]
    pub fn scope(mut self, scope: ContractScope) -> Self {
        self.scope = scope;
        self
    }
}
