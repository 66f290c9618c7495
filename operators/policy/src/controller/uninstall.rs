//! Takes the webhook out of the API server's way before the operator's pods go.
//!
//! A webhook configuration that outlives its pods refuses every write under `failurePolicy: Fail`, and running pods
//! repair a configuration that is merely deleted. So the order is, once it is known that all of it is webtroller's (`target`)
//! and that no other process of it would go on (`left`):
//!
//! 1. The configuration loses its webhooks and gets the annotation [`UNINSTALLED`]; pods leave such a one alone.
//! 2. The Deployment is scaled to zero, and its pods end.
//! 3. What the pods said in statuses is taken back, such as `Enforced`.
//! 4. The configuration is deleted.
//!
//! Each step can be repeated, so a run that was killed is continued by running the command again.

mod running;
mod target;
mod withdrawal;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
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
    /// The name of the ValidatingWebhookConfiguration. Without one it is that of the Deployment's arguments, or the usual one.
    pub configuration: Option<String>,
    /// The namespace of the Deployment.
    pub namespace: String,
    /// The Deployment to scale to zero. If there is none, nothing of the operator may run anywhere.
    pub deployment: Option<String>,
    /// The time that the pods, or processes outside the cluster, may take to end.
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
        "the pods of the Deployment {namespace}/{deployment} would register the webhook again; add --deployment {deployment} \
         --namespace {namespace}"
    )]
    Deployed {
        /// The Deployment's namespace.
        namespace: String,
        /// The Deployment.
        deployment: String,
    },
    /// Processes run that belong to no Deployment of the operator.
    #[error(
        "webtroller runs as {runs} and would register the webhook again; end it, and run the command again"
    )]
    Running {
        /// Their names, with their namespaces.
        runs: String,
    },
    /// Another program's Deployment.
    #[error(
        "the Deployment {namespace}/{deployment} is not webtroller's: it lacks the label {}",
        target::LABEL
    )]
    ForeignDeployment {
        /// The Deployment's namespace.
        namespace: String,
        /// The Deployment.
        deployment: String,
    },
    /// Another program's configuration.
    #[error("{name} was not written by webtroller, and stays{}", target::hint(.registered))]
    ForeignConfiguration {
        /// The configuration.
        name: String,
        /// Those that webtroller has written.
        registered: Vec<String>,
    },
    /// The name is another one.
    #[error("there is no webhook configuration {name}{}", target::hint(.registered))]
    OtherConfiguration {
        /// The configuration that does not exist.
        name: String,
        /// Those that webtroller has written.
        registered: Vec<String>,
    },
    /// The pods keep another configuration than the one that is to be removed.
    #[error(
        "the pods of the Deployment {deployment} keep {kept}, and not {name}; leave out --validating-webhook-configuration-name"
    )]
    Mismatch {
        /// The configuration that is to be removed.
        name: String,
        /// The one in the Deployment's arguments.
        kept: String,
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

/// The steps that were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The name of the configuration.
    pub configuration: String,
    /// There was one.
    pub existed: bool,
}

impl Uninstall {
    /// Removes the webhook, then the pods and what they said in statuses, then the configuration. Objects that are already gone
    /// count as removed. `notify` is called with what is waited for.
    ///
    /// # Errors
    /// See [`UninstallError`]; every step that was completed stays completed.
    ///
    /// # Guarantees
    /// Cancel-safe: it can be run again, and continues where it was.
    pub async fn run(&self, client: &kube::Client, notify: impl Fn(&str)) -> Result<Removed, UninstallError> {
        let deployment = self.own_deployment(client).await?;
        if deployment.is_none() {
            running::refuse_deployed(client, &self.namespace).await?;
            running::until_none(client, self.patience, notify).await?;
        }
        let name = self.configuration_name(deployment.as_ref())?;
        let found = target::own_configuration(client, &name).await?;
        if found.is_none() {
            target::refuse_other_name(client, &name).await?;
        }
        if let Some(uid) = &found {
            take_out(client, &name, uid).await?;
        }
        if let Some(deployment) = &deployment {
            self.stop_pods(client, deployment).await?;
        }
        withdraw(client).await?;
        // Pods that were still running may have restored it after another client deleted it.
        let last = target::own_configuration(client, &name).await?;
        let existed = found.is_some() || last.is_some();
        if let Some(uid) = last {
            delete(client, &name, uid).await?;
        }
        Ok(Removed { configuration: name, existed })
    }

    async fn stop_pods(
        &self,
        client: &kube::Client,
        deployment: &DynamicObject,
    ) -> Result<(), UninstallError> {
        let deployments: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &self.namespace, &target::deployments());
        let name = &deployment.name_any();
        let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
        step(format!("scale {name} to zero"), deployments.patch_scale(name, &PatchParams::default(), &none))
            .await?;
        let labels = deployment.data.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
        let selector = labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
        let pods = pods(client, &self.namespace);
        let listed = ListParams::default().labels(&selector);
        let last_seen = AtomicUsize::new(0);
        let ended = timeout(self.patience, all_gone(&pods, &listed, name, &last_seen)).await;
        let left = last_seen.into_inner();
        ended.unwrap_or_else(|_| Err(UninstallError::PodsLeft { left, deployment: name.clone() }))
    }
}

/// Empties the configuration, unless it is another one of that name by now.
async fn take_out(client: &kube::Client, name: &str, uid: &str) -> Result<(), UninstallError> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let metadata = json!({"uid": uid, "annotations": {UNINSTALLED: "true"}});
    let patch = Patch::Merge(json!({"metadata": metadata, "webhooks": []}));
    let parameters = PatchParams::default();
    let patching = configurations.patch(name, &parameters, &patch);
    step(format!("take the webhooks out of {name}"), patching).await.map(drop)
}

async fn delete(client: &kube::Client, name: &str, uid: String) -> Result<(), UninstallError> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let only_this = Preconditions { uid: Some(uid), resource_version: None };
    let parameters = DeleteParams::default().preconditions(only_this);
    step(format!("delete {name}"), configurations.delete(name, &parameters)).await.map(drop)
}

fn pods(client: &kube::Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Pod>(&()))
}

/// Counts the pods until there are none; `left` holds the last count.
async fn all_gone(
    pods: &Api<DynamicObject>,
    listed: &ListParams,
    name: &str,
    left: &AtomicUsize,
) -> Result<(), UninstallError> {
    let mut tick = interval(POLL);
    loop {
        tick.tick().await;
        let found = step(format!("count the pods of {name}"), pods.list_metadata(listed)).await?;
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

/// As [`step`], of a request that an account may lack the right to make: then it is taken at its word, and this is `None`.
async fn step_if_allowed<T>(
    what: String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<Option<T>, UninstallError> {
    let request = async {
        match request.await {
            Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(None),
            answer => answer.map(Some),
        }
    };
    step(what, request).await.map(Option::flatten)
}

#[cfg(test)]
mod tests;
