//! A contract with Rust types: one view, read through whichever contract version a provider keeps.

use std::fmt;

use kube::core::DynamicObject;
use thiserror::Error;

use super::{ContractScope, ContractSpec, FieldSpec, Provider};
use crate::view::root;
use crate::{DuckError, DuckType, view};

/// A contract whose versions are read as `V`.
///
/// Each version has its own duck type, because path and shape can change between versions; all of them convert into
/// `V`, so the consumer sees one type.
pub struct Contract<V> {
    spec: ContractSpec,
    readers: Vec<(String, Reader<V>)>,
}

type Reader<V> = fn(&DynamicObject) -> Result<V, DuckError>;

/// The reason why an object cannot be read through a contract.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContractError {
    /// The contract does not have this version.
    #[error("contract version {version:?} is not one of {known:?}")]
    Version {
        /// The version that was asked for.
        version: String,
        /// The versions of the contract.
        known: Vec<String>,
    },
    /// The object does not keep the contract.
    #[error("{provider} does not keep contract version {version}: {source}")]
    Duck {
        /// The kind of the object.
        provider: String,
        /// The contract version.
        version: String,
        /// The error of the view.
        source: DuckError,
    },
}

impl<V> Contract<V> {
    /// Returns a contract without versions. `label_prefix` is the part of the label before the slash.
    #[must_use]
    pub fn new(name: impl Into<String>, label_prefix: impl Into<String>) -> Self {
        Self { spec: ContractSpec::new(name, label_prefix), readers: Vec::new() }
    }

    /// Adds a version that is read as `D`.
    #[must_use]
    pub fn version<D: DuckType + Into<V>>(
        mut self,
        name: &str,
        fields: impl IntoIterator<Item = FieldSpec>,
    ) -> Self {
        self.spec = self.spec.version(name, fields);
        self.readers.push((name.to_owned(), |object| Ok(view::<D>(&*root::<D>(object)?)?.into())));
        self
    }

    /// Demands a scope.
    #[must_use]
    pub fn scope(mut self, scope: ContractScope) -> Self {
        self.spec = self.spec.scope(scope);
        self
    }

    /// Returns the contract as data.
    #[must_use]
    pub fn spec(&self) -> &ContractSpec {
        &self.spec
    }

    /// Reads an object of a provider through the contract version that the provider keeps.
    ///
    /// # Errors
    ///
    /// [`ContractError`]: an unknown contract version, or an object that does not keep it.
    pub fn view(&self, provider: &Provider, object: &DynamicObject) -> Result<V, ContractError> {
        let version = &provider.contract_version;
        let Some((_, reader)) = self.readers.iter().find(|(name, _)| name == version) else {
            let known = self.readers.iter().map(|(name, _)| name.clone()).collect();
            return Err(ContractError::Version { version: version.clone(), known });
        };
        reader(object).map_err(|source| ContractError::Duck {
            provider: provider.resource.kind.clone(),
            version: version.clone(),
            source,
        })
    }
}

impl<V> fmt::Debug for Contract<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Contract").field(&self.spec).finish()
    }
}
