//! A contract as data: to publish, to check definitions with, and to compare with another one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::{check_crd, served};
use super::discovery::labelled_versions;
use super::report::{Problem, Report, Unverified, Violation};
use super::{ContractChange, DiscoverError, FieldSpec, Impact, Provider};

/// The scope of the objects that keep a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Either.
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
    pub scope: Scope,
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
    /// A contract without versions.
    #[must_use]
    pub fn new(name: impl Into<String>, label_prefix: impl Into<String>) -> Self {
        let (name, label_prefix) = (name.into(), label_prefix.into());
        Self { name, label_prefix, scope: Scope::Any, versions: Vec::new() }
    }

    /// Adds a version.
    #[must_use]
    pub fn version(mut self, name: &str, fields: impl IntoIterator<Item = FieldSpec>) -> Self {
        self.versions.push(VersionSpec { name: name.to_owned(), fields: fields.into_iter().collect() });
        self
    }

    /// Demands a scope.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The newest version of this contract that the definition keeps by its labels, and the API version for it.
    ///
    /// # Errors
    ///
    /// [`DiscoverError`]: no label, no version that both know, or none that is served.
    pub fn discover(&self, crd: &Value) -> Result<Provider, DiscoverError> {
        Provider::discover(self, crd)
    }

    /// The newest contract version that the labels of a definition name for an API version of it.
    #[must_use]
    pub fn contract_version_of<'a>(&'a self, crd: &'a Value, api_version: &str) -> Option<&'a str> {
        let labelled = labelled_versions(self, crd);
        let mut naming =
            labelled.into_iter().filter(|(_, versions)| versions.iter().any(|v| v == api_version));
        naming.next().map(|(contract, _)| contract)
    }

    /// Compares a CustomResourceDefinition (v1, as JSON) with every contract version that its labels claim, in every
    /// API version that they name. For continuous integration: a label that is forgotten, names a version that is not
    /// served, or claims a shape that the schema does not have, is a violation.
    #[must_use]
    pub fn check_crd(&self, crd: &Value) -> Report {
        let mut report = Report::default();
        if let Err(error) = self.discover(crd) {
            let (at, schema) = (String::new(), "/metadata/labels".to_owned());
            report.unverified.push(Unverified { at, schema, field_use: None, reason: error.to_string() });
        }
        self.check_scope(crd, &mut report);
        let served = served(crd);
        for (contract, versions) in labelled_versions(self, crd) {
            let Some(contract) = self.versions.iter().find(|version| version.name == contract) else {
                continue;
            };
            for version in versions {
                if served.contains(&version) {
                    report.extend(check_crd(crd, &version, &contract.fields));
                } else {
                    let problem = Problem::NotServed { version, served: served.clone() };
                    let schema = format!("/metadata/labels/{}~1{}", self.label_prefix, contract.name);
                    report.violations.push(Violation { at: String::new(), schema, field_use: None, problem });
                }
            }
        }
        report
    }

    fn check_scope(&self, crd: &Value, report: &mut Report) {
        let found = crd.pointer("/spec/scope").and_then(Value::as_str).unwrap_or("not stated");
        let fits = match self.scope {
            Scope::Any => true,
            Scope::Namespaced => found == "Namespaced",
            Scope::Cluster => found == "Cluster",
        };
        if !fits {
            let problem = Problem::Scope { wanted: self.scope, found: found.to_owned() };
            let (at, schema) = (String::new(), "/spec/scope".to_owned());
            report.violations.push(Violation { at, schema, field_use: None, problem });
        }
    }

    /// The changes from this contract to `new`, for those who provide it.
    #[must_use]
    pub fn diff(&self, new: &Self) -> Vec<ContractChange> {
        super::difference::diff(self, new)
    }

    /// The effect of the change from this contract to `new` on one provider, a CustomResourceDefinition (v1, as JSON).
    ///
    /// [`diff`](Self::diff) assumes a provider that does no more than the old contract asks for; a definition may do
    /// more, less, or keep a version that did not change.
    #[must_use]
    pub fn impact(&self, new: &Self, crd: &Value) -> Impact {
        super::impact::impact(self, new, crd)
    }
}
