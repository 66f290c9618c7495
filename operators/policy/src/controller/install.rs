//! Installs the operator's own CRDs and waits until the API server serves them.

use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::runtime::wait::{await_condition, conditions};
use serde_json::Value;
use tokio::time::timeout;

use super::apply::{apply, crd_resource};

const MANIFESTS: [&str; 3] = [
    include_str!("../../manifests/crds/constrainttemplates.yaml"),
    include_str!("../../manifests/crds/syncsets.yaml"),
    include_str!("../../manifests/crds/configs.yaml"),
];
/// An API server serves a CRD within a second; one that takes this long is not going to.
const ESTABLISH: Duration = Duration::from_secs(30);

/// Why the CRDs are not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The API server refused, or could not be reached.
    #[error("the CRD {name} could not be installed")]
    Apply {
        /// Which one.
        name: String,
        /// What the client said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server took it and does not serve it.
    #[error("the CRD {name} was installed but is not served: look at its conditions")]
    NotEstablished {
        /// Which one.
        name: String,
    },
    /// A manifest inside the binary is broken.
    #[error("a manifest of this binary cannot be read: {0}")]
    Manifest(String),
}

/// Installs the CRDs of templates, sync sets, configs and `more`. Installing them again changes nothing.
///
/// # Errors
/// See [`InstallError`].
pub async fn install(
    client: &kube::Client,
    more: impl IntoIterator<Item = Value>,
) -> Result<(), InstallError> {
    let mut crds = Vec::new();
    for manifest in MANIFESTS {
        let documents =
            crate::yaml::documents(manifest).map_err(|error| InstallError::Manifest(error.to_string()))?;
        crds.extend(documents.into_iter().map(|document| document.value));
    }
    crds.extend(more);
    try_join_all(crds.iter().map(|crd| install_one(client, crd))).await?;
    Ok(())
}

async fn install_one(client: &kube::Client, crd: &Value) -> Result<(), InstallError> {
    let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let failed = |source| InstallError::Apply { name: name.clone(), source: Box::new(source) };
    apply(client, &crd_resource(), crd).await.map_err(failed)?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let established = await_condition(api, &name, conditions::is_crd_established());
    match timeout(ESTABLISH, established).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(InstallError::NotEstablished { name }),
    }
}
