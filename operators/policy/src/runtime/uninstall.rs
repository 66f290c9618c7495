//! `uninstall`: removes the webhook and stops the pods.

use std::process::ExitCode;
use std::time::Duration;

use crate::controller::Uninstall;

use super::{RunError, UninstallArgs};

pub(super) async fn run(args: &UninstallArgs) -> Result<ExitCode, RunError> {
    let config = kube::Config::infer().await.map_err(RunError::NoCluster)?;
    let client = kube::Client::try_from(config).map_err(RunError::Cluster)?;
    let removal = Uninstall {
        configuration: args.validating_webhook_configuration_name.clone(),
        deployment: args.deployment.clone().map(|name| (args.namespace.clone(), name)),
        patience: Duration::from_secs(args.patience),
    };
    removal.run(&client).await?;
    tracing::info!(configuration = removal.configuration, "webhook removed");
    Ok(ExitCode::SUCCESS)
}
