//! A namespace of a test's own on a shared control plane.
//!
//! It does not delete the namespace: the control plane goes as a whole.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::ready::DEADLINE;
use crate::{ControlPlane, Error};

impl ControlPlane {
    /// Creates a namespace `<prefix>-<random>` and waits until pods can be created in it, which needs its
    /// default service account.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or the controller manager does not create the service account in time.
    pub async fn namespace(&self, prefix: &str) -> Result<String, Error> {
        let client = self.client()?;
        let metadata = ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let created = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
        let created: Namespace = created.map_err(Error::kube(format!("create namespace {prefix}-…")))?;
        let name = created.metadata.name.unwrap_or_default();
        until_usable(client, &name).await?;
        Ok(name)
    }
}

async fn until_usable(client: Client, name: &str) -> Result<(), Error> {
    let accounts = Api::<ServiceAccount>::namespaced(client, name);
    let exists = await_condition(accounts, "default", |found: Option<&ServiceAccount>| found.is_some());
    match timeout(DEADLINE, exists).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(Error::NamespaceUnusable { name: name.to_owned(), after: DEADLINE }),
    }
}
