//! Discovery by the labels of CustomResourceDefinitions, as in Cluster API.

use std::cmp::Reverse;

use kube::core::{ApiResource, Version};
use serde_json::Value;
use thiserror::Error;

use super::ContractSpec;

/// A kind that keeps a contract: in which version of the contract, and in which version of its API.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Provider {
    /// The version of the contract.
    pub contract_version: String,
    /// The resource, in the highest served version that the label names.
    pub resource: ApiResource,
    /// True if its objects live in namespaces.
    pub namespaced: bool,
}

/// The reason why a definition does not provide a contract.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiscoverError {
    /// No label of the contract.
    #[error(
        "{crd} has no label {label_prefix}/<contract version>: label it with the versions that keep the contract"
    )]
    NoLabel {
        /// The name of the definition.
        crd: String,
        /// The contract's [`ContractSpec::label_prefix`].
        label_prefix: String,
    },
    /// Labels, but none for a contract version that is known here.
    #[error("{crd} keeps the contract versions {found:?}, and {known:?} are known here")]
    NoCompatible {
        /// The name of the definition.
        crd: String,
        /// The contract versions in its labels.
        found: Vec<String>,
        /// The contract versions that are known here.
        known: Vec<String>,
    },
    /// The label names only versions that the definition does not serve.
    #[error(
        "{crd} promises contract version {contract_version} for {labelled:?}, and serves only {served:?}"
    )]
    NotServed {
        /// The name of the definition.
        crd: String,
        /// The contract version.
        contract_version: String,
        /// The versions in the label.
        labelled: Vec<String>,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// Not a CustomResourceDefinition.
    #[error("{crd} has no {pointer}: a CustomResourceDefinition (v1) is needed")]
    Malformed {
        /// The name of the definition.
        crd: String,
        /// The missing field.
        pointer: &'static str,
    },
}

impl ContractSpec {
    /// Returns the newest version of this contract that the definition keeps by its labels, and the API version for it.
    ///
    /// # Errors
    ///
    /// [`DiscoverError`]: no label, no version that both know, or none that is served.
    pub fn discover(&self, crd: &Value) -> Result<Provider, DiscoverError> {
        Provider::discover(self, crd)
    }

    /// Returns the newest contract version that the labels of a definition name for an API version of it.
    #[must_use]
    pub fn contract_version_of<'a>(&'a self, crd: &'a Value, api_version: &str) -> Option<&'a str> {
        let labelled = labelled_versions(self, crd);
        let mut naming =
            labelled.into_iter().filter(|(_, versions)| versions.iter().any(|v| v == api_version));
        naming.next().map(|(contract, _)| contract)
    }
}

impl Provider {
    pub(super) fn discover(contract: &ContractSpec, crd: &Value) -> Result<Self, DiscoverError> {
        let name = name(crd);
        let served = served(crd);
        let mut labelled = labelled_versions(contract, crd).into_iter();
        let known: Vec<String> = contract.versions.iter().map(|version| version.name.clone()).collect();
        let Some((contract_version, versions)) = labelled.find(|(name, _)| known.iter().any(|v| v == name))
        else {
            let found: Vec<String> =
                all_labels(contract, crd).map(|(version, _)| version.to_owned()).collect();
            return Err(if found.is_empty() {
                DiscoverError::NoLabel { crd: name, label_prefix: contract.label_prefix.clone() }
            } else {
                DiscoverError::NoCompatible { crd: name, found, known }
            });
        };
        let usable = versions.iter().filter(|version| served.contains(version));
        match usable.max_by_key(|version| Version::parse(version).priority()) {
            Some(version) => Ok(Self {
                contract_version: contract_version.to_owned(),
                resource: resource(crd, version)?,
                namespaced: crd.pointer("/spec/scope").is_some_and(|scope| scope == "Namespaced"),
            }),
            None => Err(DiscoverError::NotServed {
                crd: name,
                contract_version: contract_version.to_owned(),
                labelled: versions,
                served,
            }),
        }
    }
}

/// The known contract versions in the labels of a definition with the API versions they name, newest first. Empty
/// labels and empty parts, as in `v1__v2_`, do not count.
pub(super) fn labelled_versions<'a>(
    contract: &'a ContractSpec,
    crd: &'a Value,
) -> Vec<(&'a str, Vec<String>)> {
    let labels = all_labels(contract, crd).map(|(version, text)| {
        let mut parts: Vec<String> =
            text.split('_').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        parts.sort_unstable();
        parts.dedup();
        (version, parts)
    });
    let mut labels: Vec<_> = labels.filter(|(_, parts)| !parts.is_empty()).collect();
    labels.sort_by_key(|(version, _)| Reverse(Version::parse(version).priority()));
    labels
}

fn all_labels<'a>(contract: &'a ContractSpec, crd: &'a Value) -> impl Iterator<Item = (&'a str, &'a str)> {
    let labels = crd.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| {
        let version = key.strip_prefix(contract.label_prefix.as_str())?.strip_prefix('/')?;
        // Other labels with the prefix (`provider`, `aggregate-to-manager`) are not contract versions.
        let is_version = !matches!(Version::parse(version), Version::Nonconformant(_))
            || contract.versions.iter().any(|known| known.name == version);
        is_version.then_some((version, value.as_str()?))
    })
}

/// The plural is the definition's own word, not a guess from the kind.
fn resource(crd: &Value, version: &str) -> Result<ApiResource, DiscoverError> {
    let text = |pointer: &'static str| {
        let found = crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        found.ok_or_else(|| DiscoverError::Malformed { crd: name(crd), pointer })
    };
    let (group, kind, plural) =
        (text("/spec/group")?, text("/spec/names/kind")?, text("/spec/names/plural")?);
    let (api_version, version) = (format!("{group}/{version}"), version.to_owned());
    Ok(ApiResource { group, version, api_version, kind, plural })
}

/// The names of the versions that a definition serves.
pub(crate) fn served(crd: &Value) -> Vec<String> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let served = versions.filter(|version| version.get("served") == Some(&Value::Bool(true)));
    served.filter_map(|version| version.get("name")?.as_str().map(str::to_owned)).collect()
}

fn name(crd: &Value) -> String {
    let name = crd.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or("the definition").to_owned()
}

#[cfg(test)]
mod tests;
