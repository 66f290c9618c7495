//! `uninstall`: removes the webhook and stops the pods.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use crate::controller::Uninstall;

use super::{RunError, UninstallArgs};

pub(super) async fn run(args: &UninstallArgs) -> Result<ExitCode, RunError> {
    let config = kube::Config::infer().await.map_err(RunError::NoCluster)?;
    let client = kube::Client::try_from(config).map_err(RunError::Cluster)?;
    let removal = Uninstall {
        configuration: args.validating_webhook_configuration_name.clone(),
        namespace: args.namespace.clone(),
        deployment: args.deployment.clone(),
        patience: Duration::from_secs(args.patience),
    };
    // Ignore write errors, here and below: standard error or output is closed.
    let notify = |waits: &str| {
        let _ = writeln!(std::io::stderr(), "{waits}");
    };
    let removed = removal.run(&client, notify).await?;
    let outcome = if removed.existed { "removed" } else { "there is no such webhook configuration" };
    let _ = writeln!(std::io::stdout(), "{}: {outcome}", removed.configuration);
    Ok(ExitCode::SUCCESS)
}
