//! Writes of a Lease, each of which replaces the version that was read.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use tokio::time::Instant;

use crate::pace::answered_within;
/// One write, and when it was started.
pub(super) async fn attempt(
    api: Api<Lease>,
    wanted: Lease,
    limit: Duration,
) -> (Instant, kube::Result<Lease>) {
    let started = Instant::now();
    (started, write(&api, &wanted, limit).await)
}

/// Creates the Lease if it has no version, else replaces that version; a conflict if there is a newer one.
pub(super) async fn write(api: &Api<Lease>, wanted: &Lease, limit: Duration) -> kube::Result<Lease> {
    let (name, params) = (wanted.metadata.name.clone().unwrap_or_default(), PostParams::default());
    if wanted.metadata.resource_version.is_none() {
        return answered_within(limit, api.create(&params, wanted)).await;
    }
    answered_within(limit, api.replace(&name, &params, wanted)).await
}

pub(super) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_already_exists())
}
