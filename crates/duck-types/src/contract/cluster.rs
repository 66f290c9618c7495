//! Discovery in a cluster.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use thiserror::Error;
use tokio::time::timeout;

use super::{ContractSpec, DiscoverError, Provider};

/// The longest wait for one page of definitions.
const DEADLINE: Duration = Duration::from_secs(30);
/// The number of definitions per page; a definition can have several hundred kilobytes.
const PAGE: u32 = 50;

/// The reason why definitions could not be listed.
#[non_exhaustive]
#[derive(Debug, Error)]
pub enum ListError {
    /// The API server refused, or cannot be reached.
    #[error("could not list CustomResourceDefinitions")]
    Api(#[from] kube::Error),
    /// The API server did not answer.
    #[error("no list of CustomResourceDefinitions within {} s", DEADLINE.as_secs())]
    Deadline(#[from] tokio::time::error::Elapsed),
}

impl ContractSpec {
    /// Lists the definitions that are labelled with a version of this contract, each with its provider or the reason
    /// why it does not provide the contract.
    ///
    /// # Guarantees
    /// - Each definition is in the answer once, in the order of their names.
    /// - It sends at least one request for each version of the contract, for pages of 50 definitions, each with a deadline of 30 s. It
    ///   writes nothing and repeats nothing; dropping it at any point is harmless.
    ///
    /// # Assumptions
    /// The client may list CustomResourceDefinitions. The lists of several versions are not one snapshot: a label that changes
    /// meanwhile may be missed.
    ///
    /// # Errors
    /// [`ListError`] if one of the lists fails. There is no partial answer.
    pub async fn providers(
        &self,
        client: &Client,
    ) -> Result<Vec<Result<Provider, DiscoverError>>, ListError> {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let mut found = std::collections::BTreeMap::new();
        // Label selectors have no "or", so there is one list per contract version.
        for version in &self.versions {
            let label = format!("{}/{}", self.label_prefix, version.name);
            let mut parameters = ListParams::default().labels(&label).limit(PAGE);
            loop {
                let page = timeout(DEADLINE, crds.list(&parameters)).await??;
                let next = page.metadata.continue_.filter(|token| !token.is_empty());
                for crd in page.items {
                    let name = crd.metadata.name.clone().unwrap_or_default();
                    let crd = serde_json::to_value(crd).map_err(kube::Error::SerdeError)?;
                    found.insert(name, self.discover(&crd));
                }
                match next {
                    Some(token) => parameters = parameters.continue_token(&token),
                    None => break,
                }
            }
        }
        Ok(found.into_values().collect())
    }
}
