//! Namespaces for the webhook: from the watch, and from the API server for one that is too new to be there.

use constraint_framework::review::Document;
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use watch_manager::WatchManager;

use crate::controller::NAMESPACE;
use crate::enforce::{NamespaceError, Namespaces};

/// Reads Namespaces without ever starting a watch.
pub(super) struct NamespaceStore {
    manager: WatchManager,
    api: Api<Namespace>,
}

impl NamespaceStore {
    pub(super) fn new(manager: WatchManager, client: kube::Client) -> Self {
        Self { manager, api: Api::all(client) }
    }

    fn watched(&self, name: &str) -> Option<Document> {
        let object = self.manager.store(&NAMESPACE)?.get(None, name)?;
        Document::from_json_string(object.json().to_owned()).ok()
    }

    async fn live(&self, name: &str) -> Result<Option<Document>, NamespaceError> {
        let unavailable = |reason: String| NamespaceError::Unavailable { name: name.to_owned(), reason };
        let namespace = self.api.get_opt(name).await.map_err(|error| unavailable(error.to_string()))?;
        let namespace = namespace.ok_or_else(|| NamespaceError::NotFound(name.to_owned()))?;
        let value = serde_json::to_value(&namespace).map_err(|error| unavailable(error.to_string()))?;
        Document::from_value(&value).map(Some).map_err(|error| unavailable(error.to_string()))
    }
}

impl Namespaces for NamespaceStore {
    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Document>, NamespaceError>> {
        match self.watched(name) {
            Some(namespace) => std::future::ready(Ok(Some(namespace))).boxed(),
            None => self.live(name).boxed(),
        }
    }
}
