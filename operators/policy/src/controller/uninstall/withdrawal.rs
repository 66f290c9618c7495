//! Takes back what the operator said in statuses: nothing is `Enforced` once its pods are gone.
//!
//! Server-side apply knows which fields are whose. An apply of an empty status removes those that only the operator has
//! written; what another program, such as Gatekeeper's manager, has written since then stays.

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{UninstallError, step};
use crate::controller::kinds::{CONFIG, SYNC_SET, TEMPLATE, constraint_resource};

/// The field managers of what pods report and of what the audit finds.
const MANAGERS: [&str; 2] = ["pod-status-aggregator", "webtroller-audit"];
/// Requests at the same time.
const REQUESTS: usize = 8;

/// Removes the operator's fields from the statuses of templates, constraints, SyncSets and Configs.
pub(super) async fn withdraw(client: &kube::Client) -> Result<(), UninstallError> {
    let templates = ApiResource::from_gvk_with_plural(&TEMPLATE, "constrainttemplates");
    let known = list(client, &templates).await?;
    let kind = |template: &DynamicObject| {
        template.data.pointer("/spec/crd/spec/names/kind").and_then(Value::as_str).map(constraint_resource)
    };
    let constraints: Vec<_> = known.iter().filter_map(kind).collect();
    let others = [(&*SYNC_SET, "syncsets"), (&*CONFIG, "configs")];
    let others = others.map(|(gvk, plural)| ApiResource::from_gvk_with_plural(gvk, plural));
    clear(client, &templates, known).await?;
    for resource in constraints.iter().chain(&others) {
        let listed = list(client, resource).await?;
        clear(client, resource, listed).await?;
    }
    Ok(())
}

/// The objects of a kind; none where the API server does not serve it.
async fn list(client: &kube::Client, resource: &ApiResource) -> Result<Vec<DynamicObject>, UninstallError> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let listed = step(format!("list {}", resource.plural), api.list(&ListParams::default())).await?;
    Ok(listed.map(|listed| listed.items).unwrap_or_default())
}

async fn clear(
    client: &kube::Client,
    resource: &ApiResource,
    objects: Vec<DynamicObject>,
) -> Result<(), UninstallError> {
    let removals =
        |object: DynamicObject| removals(&object).into_iter().map(move |one| (object.clone(), one));
    let removals = objects.into_iter().flat_map(removals);
    let clearing = removals.map(|(object, removal)| clear_one(client, resource, object, removal));
    stream::iter(clearing).buffer_unordered(REQUESTS).try_collect().await
}

/// A request that removes fields of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Removal {
    /// Those of a field manager.
    Of(&'static str),
    /// All of them.
    Whole,
}

/// Returns what has to be sent for an object. Where no other client has written into its status, that goes as a whole:
/// an apply that removes every field leaves `null`, which schemas refuse.
fn removals(object: &DynamicObject) -> Vec<Removal> {
    let writes_status = |entry: &&ManagedFieldsEntry| {
        entry.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:status").is_some())
    };
    let entries = object.metadata.managed_fields.iter().flatten().filter(writes_status);
    let writers: Vec<_> = entries.filter_map(|entry| entry.manager.as_deref()).collect();
    let ours: Vec<_> = MANAGERS.into_iter().filter(|manager| writers.contains(manager)).collect();
    match writers.iter().all(|writer| ours.contains(writer)) {
        true if ours.is_empty() => Vec::new(),
        true => vec![Removal::Whole],
        false => ours.into_iter().map(Removal::Of).collect(),
    }
}

async fn clear_one(
    client: &kube::Client,
    resource: &ApiResource,
    object: DynamicObject,
    removal: Removal,
) -> Result<(), UninstallError> {
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let name = object.metadata.name.unwrap_or_default();
    // Not an object of this name that was created meanwhile.
    let metadata = json!({"name": name, "uid": object.metadata.uid});
    let (parameters, patch) = match removal {
        Removal::Of(manager) => {
            let (version, kind) = (&resource.api_version, &resource.kind);
            let empty = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "status": {}});
            (PatchParams::apply(manager), Patch::Apply(empty))
        }
        Removal::Whole => {
            (PatchParams::default(), Patch::Merge(json!({"metadata": metadata, "status": null})))
        }
    };
    let clearing = api.patch_status(&name, &parameters, &patch);
    step(format!("clear the status of {} {name}", resource.kind), clearing).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(writers: &[(&str, &str)], expected: &[Removal]) {
        let entry = |(manager, part): &(&str, &str)| {
            json!({"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
                   "fieldsV1": {*part: {}}})
        };
        let entries: Vec<_> = writers.iter().map(entry).collect();
        let object = json!({"metadata": {"name": "a", "managedFields": entries}});
        assert_eq!(removals(&serde_json::from_value(object).unwrap()), expected, "{writers:?}");
    }

    #[test]
    fn what_others_wrote_into_a_status_stays() {
        let [reports, audit] = MANAGERS;
        let others = [("kubectl", "f:spec"), ("gatekeeper", "f:status")];
        check(&[others[0]], &[]);
        check(&others, &[]);
        check(&[others[0], (reports, "f:status"), (audit, "f:status")], &[Removal::Whole]);
        check(&[others[1], (reports, "f:status"), (audit, "f:status")], &MANAGERS.map(Removal::Of));
        check(&[others[1], (audit, "f:status")], &[Removal::Of(audit)]);
    }
}
