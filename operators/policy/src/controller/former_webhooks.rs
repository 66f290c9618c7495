//! Removes the webhook configurations that earlier settings of this installation have left behind.
//!
//! Helm refuses an upgrade that renames the configuration. A program that only renders the chart does not know what runs in
//! the cluster: it applies the new names, and removes the former Service. A configuration that calls such a Service refuses
//! every write under `failurePolicy: Fail`.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Service;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::webhook_registration::EPOCH;
use super::{WebhookClient, WebhookConfiguration};
use crate::api_error::reason;

/// The interval of looking. Pods of the former settings restore what they have registered until they end.
const PERIOD: Duration = Duration::from_secs(15);

/// Removes what earlier settings have registered.
pub struct FormerRegistrations {
    /// Lists and deletes configurations.
    pub client: kube::Client,
    /// The configuration that is registered now.
    pub configuration: watch::Receiver<WebhookConfiguration>,
    /// Nothing is removed before this is true.
    pub ready: watch::Receiver<bool>,
}

impl std::fmt::Debug for FormerRegistrations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FormerRegistrations").finish_non_exhaustive()
    }
}

impl FormerRegistrations {
    /// Removes former registrations until `shutdown`.
    ///
    /// # Guarantees
    /// Cancel-safe: each request removes one configuration.
    pub async fn run(self, shutdown: CancellationToken) {
        tokio::select! {
            () = self.keep() => {}
            () = shutdown.cancelled() => {}
        }
    }

    async fn keep(&self) {
        // The sender lives as long as the process serves.
        let _ = self.ready.clone().wait_for(|ready| *ready).await;
        let mut clock = interval(PERIOD);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            if let Err(error) = self.remove_found().await {
                let reason = reason(&error);
                tracing::warn!(reason, "former webhook configurations cannot be removed, will retry");
            }
        }
    }

    async fn remove_found(&self) -> kube::Result<()> {
        let present = self.configuration.borrow().clone();
        let WebhookClient::Service { namespace, name } = &present.client else { return Ok(()) };
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let written = ListParams::default().labels("gatekeeper.sh/system=yes");
        for other in configurations.list(&written).await? {
            let Some(called) = called(&other, namespace).filter(|_| other.name_any() != present.name) else {
                continue;
            };
            if called != *name && services.get_opt(&called).await?.is_some() {
                continue;
            }
            let (uid, resource_version) = (other.uid(), other.resource_version());
            let only_this = Preconditions { uid, resource_version };
            let parameters = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
            match configurations.delete(&other.name_any(), &parameters).await {
                Ok(_) => tracing::warn!(
                    configuration = other.name_any(),
                    service = called,
                    "removed: earlier settings have left it behind"
                ),
                Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The one Service of `namespace` that a configuration calls, if an operator has written it.
fn called(configuration: &ValidatingWebhookConfiguration, namespace: &str) -> Option<String> {
    configuration.annotations().get(EPOCH)?;
    let webhooks = configuration.webhooks.as_ref()?;
    let services = webhooks.iter().map(|webhook| webhook.client_config.service.as_ref());
    let mut names = services.map(|service| {
        service.filter(|service| service.namespace == namespace).map(|service| service.name.clone())
    });
    let first = names.next()??;
    names.all(|name| name.as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_an_operator_of_this_namespace_has_written_is_looked_at() {
        let configuration = |annotation: &str, namespaces: &[&str]| {
            let service = |namespace: &&str| json!({"clientConfig": {"service": {"name": "s", "namespace": namespace}}});
            let webhooks: Vec<_> = namespaces
                .iter()
                .map(|namespace| {
                    let mut webhook = service(namespace);
                    webhook["name"] = json!("a.b.c");
                    webhook["admissionReviewVersions"] = json!(["v1"]);
                    webhook["sideEffects"] = json!("None");
                    webhook
                })
                .collect();
            let metadata = json!({"name": "n", "annotations": {annotation: "1"}});
            serde_json::from_value(json!({"metadata": metadata, "webhooks": webhooks})).unwrap()
        };
        assert_eq!(called(&configuration(EPOCH, &["own", "own"]), "own").as_deref(), Some("s"));
        assert_eq!(called(&configuration(EPOCH, &["own", "other"]), "own"), None);
        assert_eq!(called(&configuration(EPOCH, &[]), "own"), None);
        assert_eq!(called(&configuration("another-program", &["own"]), "own"), None);
    }
}
