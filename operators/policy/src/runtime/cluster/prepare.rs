//! The objects that must exist before anything is watched or served. An API server that is away, or not ready, is
//! waited for.

use std::collections::BTreeMap;
use std::time::Duration;

use admission_server::CertificateSet;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use pod_status::Aggregator;
use watch_manager::WatchManager;

use crate::api_error::reason;
use crate::controller::{InstallError, OwnCrdController, OwnCrds};
use crate::retry::Waits;
use crate::runtime::RunError;
use crate::runtime::args::{ServeArgs, WebhookArgs};

use super::{Cluster, identity};

/// The waits before another try.
const RETRY: Waits = Waits { first: Duration::from_millis(500), longest: Duration::from_secs(15) };

/// Everything that was found or made before anything is served.
pub(super) struct Prepared {
    certificates: CertificateSet,
    /// The labels of the pods behind the webhook's Service, if it is registered by one that exists.
    behind_service: Option<BTreeMap<String, String>>,
}

impl Prepared {
    /// The certificates, and the aggregator that waits for the pods behind the Service.
    pub(super) fn expecting(self, aggregator: Aggregator) -> (CertificateSet, Aggregator) {
        let aggregator = match self.behind_service {
            Some(labels) => aggregator.expects(labels, ["webhook"]),
            None => aggregator,
        };
        (self.certificates, aggregator)
    }
}

impl Cluster {
    /// Ensures the namespace, the CRDs and the certificate, and tries until that succeeds. The log and `/readyz` name
    /// the API server and the last failure.
    ///
    /// # Errors
    /// A defect of this binary; everything else may pass.
    pub(super) async fn prepare(&self, args: &ServeArgs, crds: &mut OwnCrds) -> Result<Prepared, RunError> {
        let mut wait = Duration::ZERO;
        loop {
            let error = match self.try_to_prepare(args, crds).await {
                Err(error) if is_passing(&error) => error,
                decided => return decided,
            };
            let reason = match &error {
                RunError::Cluster(error) => reason(error),
                error => error.to_string(),
            };
            wait = RETRY.following(wait);
            tracing::warn!(api_server = self.address, reason, retry = ?wait, "cannot start yet, will retry");
            self.starting
                .send_replace(Some(format!("start-up at the API server {}: {reason}", self.address)));
            tokio::time::sleep(wait).await;
        }
    }

    async fn try_to_prepare(&self, args: &ServeArgs, crds: &mut OwnCrds) -> Result<Prepared, RunError> {
        let namespace = &self.identity.namespace;
        identity::ensure_namespace(&self.client, namespace).await.map_err(RunError::Cluster)?;
        crds.install(&self.client).await?;
        let behind_service = self.selector(&args.webhook).await.map_err(RunError::Cluster)?;
        Ok(Prepared { certificates: self.certificates(args).await?, behind_service })
    }

    /// Keeps the CRDs as they are.
    pub(super) fn keep_crds(&self, manager: WatchManager, crds: OwnCrds) {
        let (client, watches) = (self.client.clone(), self.watches.clone());
        let upkeep = OwnCrdController { client, watches, manager, crds };
        self.supervisor.background("upkeep of CRDs", upkeep.run(self.shutdown.asked.clone()));
    }

    async fn selector(&self, webhook: &WebhookArgs) -> kube::Result<Option<BTreeMap<String, String>>> {
        if webhook.webhook_url_host.is_some() {
            return Ok(None);
        }
        let services: Api<Service> = Api::namespaced(self.client.clone(), &self.identity.namespace);
        let service = services.get_opt(&webhook.cert_service_name).await?;
        let selector = service.and_then(|service| service.spec?.selector);
        Ok(selector.filter(|labels| !labels.is_empty()))
    }
}

fn is_passing(error: &RunError) -> bool {
    match error {
        RunError::Cluster(_) | RunError::CertificateContended { .. } => true,
        RunError::Install(error) => !matches!(error, InstallError::Manifest(_)),
        _ => false,
    }
}
