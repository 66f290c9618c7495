//! The rule as files, which a reader applies as they are.

use anyhow::{Context, Result};
use go_compat::sigs_yaml::documents;
use serde_json::Value;

pub(crate) const TEMPLATE: &str = include_str!("template.yaml");
pub(crate) const CONSTRAINT: &str = include_str!("constraint.yaml");
pub(crate) const CLUSTER_POLICY: &str = include_str!("cluster-policy.yaml");
pub(crate) const ADMISSION_POLICY: &str = include_str!("admission-policy.yaml");
pub(crate) const INVERTED: &str = include_str!("admission-policy-inverted.yaml");

/// The objects of a file.
pub(crate) fn all(text: &str) -> Result<Vec<Value>> {
    Ok(documents(text)?
        .into_iter()
        .map(|document| document.value)
        .filter(|object| !object.is_null())
        .collect())
}

/// The first object of a file.
pub(crate) fn one(text: &str) -> Result<Value> {
    all(text)?.into_iter().next().context("an empty file")
}
