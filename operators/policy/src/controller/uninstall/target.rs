//! Finds what is to be removed, and refuses what is not webtroller's.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::{UNINSTALLED, Uninstall, UninstallError, step, step_if_allowed};
use crate::controller::webhook_registration::EPOCH;

/// The label of the operator's Deployments.
pub(super) const LABEL: &str = "app.kubernetes.io/name=webtroller";
/// The name without an argument, here and of `webtroller serve`.
const USUAL: &str = "gatekeeper-validating-webhook-configuration";
const FLAG: &str = "validating-webhook-configuration-name";

/// The kind Deployment. A few of its fields are read, so no code is generated that reads the others.
pub(super) fn deployments() -> ApiResource {
    ApiResource::erase::<Deployment>(&())
}

impl Uninstall {
    /// The Deployment to stop, if it exists.
    pub(super) async fn own_deployment(
        &self,
        client: &kube::Client,
    ) -> Result<Option<DynamicObject>, UninstallError> {
        let Some(name) = &self.deployment else { return Ok(None) };
        let deployments: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &self.namespace, &deployments());
        let found = step(format!("read the Deployment {name}"), deployments.get(name)).await?;
        let is_foreign = |deployment: &DynamicObject| {
            let (key, value) = LABEL.split_once('=').unwrap_or_default();
            deployment.labels().get(key).is_none_or(|found| found != value)
        };
        if found.as_ref().is_some_and(is_foreign) {
            let (namespace, deployment) = (self.namespace.clone(), name.clone());
            return Err(UninstallError::ForeignDeployment { namespace, deployment });
        }
        Ok(found)
    }

    /// The configuration that the pods keep, or the one that is named.
    pub(super) fn configuration_name(
        &self,
        deployment: Option<&DynamicObject>,
    ) -> Result<String, UninstallError> {
        let kept = deployment.map(|deployment| kept_by(deployment).unwrap_or_else(|| USUAL.to_owned()));
        match (&self.configuration, kept) {
            (Some(name), Some(kept)) if *name != kept => {
                let deployment = deployment.map(ResourceExt::name_any).unwrap_or_default();
                Err(UninstallError::Mismatch { name: name.clone(), kept, deployment })
            }
            (name, kept) => Ok(kept.or_else(|| name.clone()).unwrap_or_else(|| USUAL.to_owned())),
        }
    }
}

/// The name in the arguments of a Deployment's containers. Of a flag that is repeated the last value counts.
fn kept_by(deployment: &DynamicObject) -> Option<String> {
    let containers = deployment.data.pointer("/spec/template/spec/containers")?.as_array()?;
    containers.iter().find_map(|container| {
        let lists = ["command", "args"].map(|field| container.get(field).and_then(Value::as_array));
        let args: Vec<_> = lists.into_iter().flatten().flatten().filter_map(Value::as_str).collect();
        let following = args.iter().skip(1).copied().map(Some).chain([None]);
        let value = |(arg, next): (&&str, Option<&str>)| match arg.trim_start_matches('-').split_once('=') {
            Some((FLAG, value)) => Some(value.to_owned()),
            None if arg.starts_with('-') && arg.trim_start_matches('-') == FLAG => next.map(str::to_owned),
            _ => None,
        };
        args.iter().zip(following).filter_map(value).last()
    })
}

/// The uid of the configuration of this name, if it exists.
pub(super) async fn own_configuration(
    client: &kube::Client,
    name: &str,
) -> Result<Option<String>, UninstallError> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let found = step(format!("read {name}"), configurations.get(name)).await?;
    let Some(found) = found else { return Ok(None) };
    if !is_ours(&found) {
        let registered = registered(client).await?;
        return Err(UninstallError::ForeignConfiguration { name: name.to_owned(), registered });
    }
    Ok(Some(found.uid().unwrap_or_default()))
}

/// Refuses a name that does not exist while webtroller has registered another one.
pub(super) async fn refuse_other_name(client: &kube::Client, name: &str) -> Result<(), UninstallError> {
    let registered = registered(client).await?;
    if registered.is_empty() {
        return Ok(());
    }
    Err(UninstallError::OtherConfiguration { name: name.to_owned(), registered })
}

/// The configurations that webtroller has written.
async fn registered(client: &kube::Client) -> Result<Vec<String>, UninstallError> {
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let all = ListParams::default();
    let listed = step_if_allowed("list webhook configurations".to_owned(), configurations.list(&all)).await?;
    Ok(listed.into_iter().flatten().filter(is_ours).map(|found| found.name_any()).collect())
}

/// The operator has written it, or an uninstallation that was not completed.
fn is_ours(configuration: &ValidatingWebhookConfiguration) -> bool {
    [EPOCH, UNINSTALLED].iter().any(|key| configuration.annotations().contains_key(*key))
}

/// The end of a message about a name: what else there is.
pub(super) fn hint(registered: &[String]) -> String {
    match registered {
        [] => String::new(),
        [name] => format!("; webtroller has registered {name}: add --{FLAG} {name}"),
        names => format!("; webtroller has registered {}: name one with --{FLAG}", names.join(", ")),
    }
}
