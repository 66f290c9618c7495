//! The CRD of a template's constraints: applied, owned by the template, and served before anyone watches it.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::runtime::wait::{await_condition, conditions};
use pod_status::ParentKey;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::apply::{apply, crd_resource};

/// An API server serves a CRD within a second, a loaded one within a few.
const ESTABLISH: Duration = Duration::from_secs(30);

/// Applies `crd` as owned by `template`, and returns once the API server serves it.
///
/// Garbage collection removes the CRD, and with it every constraint, when the template is deleted.
pub(super) async fn establish(
    client: kube::Client,
    template: ParentKey,
    mut crd: Value,
) -> Result<(), String> {
    let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    refuse_strangers(&api, &name, &template).await?;
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("ownerReferences".to_owned(), json!([owner(&template)]));
    }
    apply(&client, &crd_resource(), &crd)
        .await
        .map_err(|error| format!("the CRD {name} was refused: {error}"))?;
    let established = await_condition(api, &name, conditions::is_crd_established());
    match timeout(ESTABLISH, established).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("the CRD {name} could not be watched: {error}")),
        Err(_) => Err(format!(
            "the CRD {name} is not served after {} s: look at its conditions",
            ESTABLISH.as_secs()
        )),
    }
}

fn owner(template: &ParentKey) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "name": template.reference.name, "uid": template.uid, "controller": true, "blockOwnerDeletion": true
    })
}

/// A CRD of that name which something else controls is not ours to overwrite. One whose template was deleted and
/// created again is: garbage collection is about to remove it, and the next try then creates it anew.
async fn refuse_strangers(
    api: &Api<CustomResourceDefinition>,
    name: &str,
    template: &ParentKey,
) -> Result<(), String> {
    let existing =
        api.get_opt(name).await.map_err(|error| format!("the CRD {name} could not be read: {error}"))?;
    let Some(existing) = existing else { return Ok(()) };
    if existing.metadata.deletion_timestamp.is_some() {
        return Err(format!("the CRD {name} is being deleted; it is created again when it is gone"));
    }
    let owner =
        existing.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    match owner {
        Some(owner) if owner.uid == template.uid => Ok(()),
        Some(owner) => {
            Err(format!("the CRD {name} belongs to {} {}; choose another kind", owner.kind, owner.name))
        }
        None if is_constraint_crd(&existing) => Ok(()),
        None => {
            Err(format!("the CRD {name} exists and is no constraint's; delete it, or choose another kind"))
        }
    }
}

/// The label that every constraint CRD carries, Gatekeeper's too.
fn is_constraint_crd(crd: &CustomResourceDefinition) -> bool {
    let labels = crd.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get("gatekeeper.sh/constraint")).is_some_and(|value| value == "yes")
}
