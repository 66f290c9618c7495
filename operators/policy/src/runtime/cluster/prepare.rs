//! The objects that must exist before anything is watched or served. An API server that is away, or not ready, is
//! waited for.

use std::time::Duration;

use admission_server::CertificateSet;

use crate::api_error::reason;
use crate::controller::{InstallError, OwnCrds};
use crate::runtime::RunError;
use crate::runtime::args::ServeArgs;

use super::{Cluster, identity};

/// The first wait before another try, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

impl Cluster {
    /// Ensures the namespace, the CRDs and the certificate, and tries until that succeeds. The log and `/readyz` name
    /// the API server and the last failure.
    ///
    /// # Errors
    /// A defect of this binary; everything else may pass.
    pub(super) async fn prepare(
        &self,
        args: &ServeArgs,
        crds: &mut OwnCrds,
    ) -> Result<CertificateSet, RunError> {
        let (mut wait, longest) = RETRY;
        loop {
            let error = match self.try_to_prepare(args, crds).await {
                Err(error) if is_passing(&error) => error,
                decided => return decided,
            };
            let reason = match &error {
                RunError::Cluster(error) => reason(error),
                error => error.to_string(),
            };
            tracing::warn!(api_server = self.address, reason, retry = ?wait, "cannot start yet, will retry");
            self.starting
                .send_replace(Some(format!("start-up at the API server {}: {reason}", self.address)));
            tokio::time::sleep(wait).await;
            wait = wait.saturating_mul(2).min(longest);
        }
    }

    async fn try_to_prepare(&self, args: &ServeArgs, crds: &mut OwnCrds) -> Result<CertificateSet, RunError> {
        let namespace = &self.identity.namespace;
        identity::ensure_namespace(&self.client, namespace).await.map_err(RunError::Cluster)?;
        crds.install(&self.client).await?;
        self.certificates(args).await
    }
}

fn is_passing(error: &RunError) -> bool {
    match error {
        RunError::Cluster(_) | RunError::CertificateContended { .. } => true,
        RunError::Install(error) => !matches!(error, InstallError::Manifest(_)),
        _ => false,
    }
}
