//! Takes the webhook out of the API server's way before the operator's pods go.
//!
//! A webhook configuration that outlives its pods refuses every write under `failurePolicy: Fail`, and running pods
//! repair a configuration that is merely deleted. So the order is:
//!
//! 1. The configuration loses its webhooks and gets the annotation [`UNINSTALLED`]; pods leave such a one alone.
//! 2. The Deployment is scaled to zero, and its pods end.
//! 3. What the pods said in statuses is taken back, such as `Enforced`.
//! 4. The configuration is deleted.
//!
//! Each step can be repeated, so a run that was killed is continued by running the command again.

mod withdrawal;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::{interval, timeout};

use withdrawal::withdraw;

use crate::api_error::reason;

/// The annotation of a webhook configuration that is being removed.
pub const UNINSTALLED: &str = "webtroller.dev/uninstalled";

/// No step needs longer than a request that the API server gives up on.
const REQUEST: Duration = Duration::from_secs(30);
/// The interval at which the pods are counted while they end.
const POLL: Duration = Duration::from_millis(500);

/// The objects to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uninstall {
    /// The name of the ValidatingWebhookConfiguration.
    pub configuration: String,
    /// The namespace of the operator.
    pub namespace: String,
    /// The Deployment to scale to zero. Without one nothing may be deployed in the namespace.
    pub deployment: Option<String>,
    /// The time that the pods may take to end.
    pub patience: Duration,
}

/// The step that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UninstallError {
    /// The API server refused a request.
    #[error("could not {step}: {reason}")]
    Request {
        /// The attempted step.
        step: String,
        /// The cause.
        reason: String,
    },
    /// The webhook's pods run, and would register it again.
    #[error(
        "the pods of the Deployment {deployment} would register the webhook again; add --deployment {deployment}"
    )]
    Deployed {
        /// The Deployment.
        deployment: String,
    },
    /// The API server did not answer in time.
    #[error("could not {step}: no answer from the API server within {} s; run the command again", REQUEST.as_secs())]
    NoAnswer {
        /// The attempted step.
        step: String,
    },
    /// The pods are still there.
    #[error(
        "{left} pods of {deployment} still run; the webhook is out of the way: when they have ended, or were deleted with --force \
         because their node is lost, run the command again to delete its configuration"
    )]
    PodsLeft {
        /// The number.
        left: usize,
        /// The Deployment.
        deployment: String,
    },
}

impl Uninstall {
    /// Removes the webhook, then the pods and what they said in statuses, then the configuration. Objects that are already gone count as removed.
    ///
    /// Returns false if there was no configuration of this name.
    ///
    /// # Errors
    /// See [`UninstallError`]; every step that was completed stays completed.
    pub async fn run(&self, client: &kube::Client) -> Result<bool, UninstallError> {
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
        let name = self.configuration.as_str();
        if self.deployment.is_none() {
            self.refuse_while_deployed(client).await?;
        }
        let without_webhooks = json!({"metadata": {"annotations": {UNINSTALLED: "true"}}, "webhooks": []});
        let patch = Patch::Merge(&without_webhooks);
        let emptied = step(
            format!("take the webhooks out of {name}"),
            configurations.patch(name, &PatchParams::default(), &patch),
        )
        .await?;
        if let Some(deployment) = &self.deployment {
            self.stop_pods(client, &self.namespace, deployment).await?;
            withdraw(client).await?;
        }
        step(format!("delete {name}"), configurations.delete(name, &DeleteParams::default())).await?;
        Ok(emptied.is_some())
    }

    /// An account that may not list Deployments is taken at its word.
    async fn refuse_while_deployed(&self, client: &kube::Client) -> Result<(), UninstallError> {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), &self.namespace);
        let own = ListParams::default().labels("app.kubernetes.io/name=webtroller");
        let listed = timeout(REQUEST, deployments.list(&own)).await;
        let running =
            |deployment: &Deployment| deployment.spec.as_ref().is_none_or(|spec| spec.replicas != Some(0));
        let found = listed.into_iter().flatten().flat_map(|list| list.items).find(running);
        let name = found.and_then(|deployment| deployment.metadata.name);
        name.map_or(Ok(()), |deployment| Err(UninstallError::Deployed { deployment }))
    }

    async fn stop_pods(
        &self,
        client: &kube::Client,
        namespace: &str,
        name: &str,
    ) -> Result<(), UninstallError> {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let Some(deployment) = step(format!("read the Deployment {name}"), deployments.get(name)).await?
        else {
            return Ok(());
        };
        let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
        step(format!("scale {name} to zero"), deployments.patch_scale(name, &PatchParams::default(), &none))
            .await?;
        let labels = deployment.spec.and_then(|spec| spec.selector.match_labels).unwrap_or_default();
        let selector =
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let listed = ListParams::default().labels(&selector);
        let last_seen = AtomicUsize::new(0);
        let ended = timeout(self.patience, all_gone(&pods, &listed, name, &last_seen)).await;
        let left = last_seen.into_inner();
        ended.unwrap_or_else(|_| Err(UninstallError::PodsLeft { left, deployment: name.to_owned() }))
    }
}

/// Counts the pods until there are none; `left` holds the last count.
async fn all_gone(
    pods: &Api<Pod>,
    listed: &ListParams,
    name: &str,
    left: &AtomicUsize,
) -> Result<(), UninstallError> {
    let mut tick = interval(POLL);
    loop {
        tick.tick().await;
        let found = step(format!("count the pods of {name}"), pods.list(listed)).await?;
        let count = found.map_or(0, |pods| pods.items.len());
        left.store(count, Ordering::Relaxed);
        if count == 0 {
            return Ok(());
        }
    }
}

/// Makes one request; `None` when its object does not exist.
async fn step<T>(
    what: String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, UninstallError> {
    match timeout(REQUEST, request).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Ok(None),
        Ok(Err(error)) => Err(UninstallError::Request { step: what, reason: reason(&error) }),
        Err(_) => Err(UninstallError::NoAnswer { step: what }),
    }
}
