//! The CRD that one version of a template asks for.

use std::collections::BTreeMap;

use constraint_framework::IngestError;
use constraint_framework::policyset::CompiledTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::DynamicObject;
use pod_status::ParentKey;
use serde_json::{Value, json};

use crate::controller::kinds::TEMPLATE;
use crate::own_watch::crd_resource;

use super::decision::Live;
use super::observed::{Observed, Owner};
use super::revision::{REVISION, REVISION_ANNOTATION, fingerprint};

/// A constraint CRD to be.
#[derive(Clone, Debug)]
pub(in crate::controller) struct Desired {
    pub(in crate::controller) name: String,
    pub(in crate::controller) template: ParentKey,
    /// The generation of the template that asks for it.
    pub(in crate::controller) generation: i64,
    pub(super) kind: String,
    pub(super) fingerprint: String,
    labels: BTreeMap<String, String>,
    /// Makes the `spec`, which is large and rarely needed.
    compiled: CompiledTemplate,
}

impl Desired {
    pub(in crate::controller) fn new(
        template: ParentKey,
        generation: i64,
        compiled: CompiledTemplate,
    ) -> Result<Self, IngestError> {
        let crd = crd(&compiled)?;
        let text =
            |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let labels = crd.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Self {
            name: text("/metadata/name"),
            kind: text("/spec/names/kind"),
            labels: labels.collect(),
            fingerprint: fingerprint(crd.get("spec").unwrap_or(&Value::Null)),
            template,
            generation,
            compiled,
        })
    }

    /// The same CRD, asked for by a later generation of the template.
    pub(in crate::controller) fn at(&self, generation: i64) -> Self {
        Self { generation, ..self.clone() }
    }

    /// Returns true if `seen` is this CRD. `accepted` is a pair of fingerprints: of a CRD that was sent, and of what
    /// the API server made of it.
    pub(super) fn matches(&self, seen: &Observed, accepted: Option<&(String, String)>) -> bool {
        let live = self.live(seen, accepted);
        live.owner == super::decision::Owner::Mine
            && !live.terminating
            && (live.matches || live.revision > REVISION)
    }

    /// Returns what the decision about a write needs to know of the CRD that exists.
    pub(super) fn live(&self, seen: &Observed, accepted: Option<&(String, String)>) -> Live {
        use super::decision::Owner as LiveOwner;
        let was_accepted =
            accepted.is_some_and(|(sent, kept)| *sent == self.fingerprint && *kept == seen.fingerprint);
        let labelled = self.labels.iter().all(|(name, value)| seen.labels.get(name) == Some(value));
        let is_constraint_crd =
            seen.labels.get("gatekeeper.sh/constraint").is_some_and(|value| value == "yes");
        Live {
            owner: match &seen.owner {
                Owner::Template { uid, .. } if *uid == self.template.uid => LiveOwner::Mine,
                Owner::Template { name, .. } if *name == self.template.reference.name => {
                    LiveOwner::Predecessor
                }
                Owner::Template { name, .. } => LiveOwner::Other(format!("ConstraintTemplate {name}")),
                Owner::Other { kind, name } => LiveOwner::Other(format!("{kind} {name}")),
                Owner::None if is_constraint_crd => LiveOwner::None,
                Owner::None => {
                    LiveOwner::Other("another client: it has no label gatekeeper.sh/constraint".to_owned())
                }
            },
            kind: seen.kind.clone(),
            terminating: seen.terminating,
            matches: labelled && (was_accepted || seen.fingerprint == self.fingerprint),
            revision: seen.revision,
        }
    }

    /// The CRD as a new object.
    pub(super) fn object(&self) -> Result<DynamicObject, IngestError> {
        self.over(DynamicObject::new(&self.name, &crd_resource()))
    }

    /// `live` with this CRD's owner, labels, annotations and spec. Labels, annotations and owners that other clients
    /// added stay, except for another controller.
    pub(super) fn over(&self, mut live: DynamicObject) -> Result<DynamicObject, IngestError> {
        live.labels_mut().extend(self.labels.clone());
        live.annotations_mut().insert(REVISION_ANNOTATION.to_owned(), REVISION.to_string());
        live.owner_references_mut().retain(|owner| owner.controller != Some(true));
        live.owner_references_mut().push(reference(&self.template));
        let spec = crd(&self.compiled)?.get_mut("spec").map(Value::take).unwrap_or_default();
        if let Some(data) = live.data.as_object_mut() {
            data.insert("spec".to_owned(), spec);
        } else {
            live.data = json!({ "spec": spec });
        }
        Ok(live)
    }
}

/// The CRD of a template's constraints, with the column that templates have, too.
fn crd(compiled: &CompiledTemplate) -> Result<Value, IngestError> {
    let mut crd = compiled.crd()?;
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        add_enforced_column(version);
        declare_status(version);
    }
    Ok(crd)
}

/// Garbage collection removes the CRD, and with it every constraint, when the template is deleted.
fn reference(template: &ParentKey) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/{}", TEMPLATE.group, TEMPLATE.version),
        kind: TEMPLATE.kind.clone(),
        name: template.reference.name.clone(),
        uid: template.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The audit and the aggregator each have conditions of their own, and apply them without knowing of the other's: the list
/// is merged by type. Before any pod has looked, the default says that no generation was observed: kstatus takes an object
/// without a status for one that is done.
fn declare_status(version: &mut Value) {
    let Some(status) = version.pointer_mut("/schema/openAPIV3Schema/properties/status") else { return };
    let count = |description: &str| json!({"type": "integer", "description": description});
    *status = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "default": {"observedGeneration": -1},
        "properties": {
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Generation that the status is about; -1 before any pod has looked.",
            },
            "summary": {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
                "description": "Numbers of pods.",
                "properties": {
                    "pods": count("Pods that are to report."),
                    "ingested": count("Pods that have ingested observedGeneration."),
                    "enforcing": count("Pods that enforce observedGeneration."),
                    "failed": count("Pods that failed to ingest observedGeneration; their errors are in byPod."),
                },
            },
            "conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {"type": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": true,
                },
            },
        },
    });
}

fn add_enforced_column(version: &mut Value) {
    let Some(version) = version.as_object_mut() else { return };
    let columns = version.entry("additionalPrinterColumns").or_insert_with(|| json!([]));
    if let Some(columns) = columns.as_array_mut() {
        let column = json!({
            "description": "Whether every pod enforces the present generation", "name": "enforced", "type": "string",
            "jsonPath": ".status.conditions[?(@.type=='Enforced')].status"
        });
        columns.push(column);
    }
}

#[cfg(test)]
mod tests {
    use constraint_framework::api::ConstraintTemplate;
    use constraint_framework::policyset::Compiler;

    use super::*;

    #[test]
    fn the_api_server_takes_the_definition_and_its_status_is_in_progress_before_a_pod_has_looked() {
        let rego = "package a\nviolation[{\"msg\": \"no\"}] { true }";
        let template = json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": "a"},
            "spec": {
                "crd": {"spec": {"names": {"kind": "A"}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
            },
        });
        let template = ConstraintTemplate::from_value(&template).unwrap();
        let crd = crd(&Compiler::default().compile(&template).unwrap()).unwrap();
        let found = schema_merge::validate_crd(&crd);
        let refused: Vec<_> = found.iter().filter(|found| found.is_error()).collect();
        assert!(refused.is_empty(), "{refused:?}");
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let status = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
            assert_eq!(status["default"], json!({"observedGeneration": -1}), "{version}");
            assert_eq!(status["properties"]["conditions"]["x-kubernetes-list-type"], "map", "{version}");
            assert!(status["properties"]["summary"]["properties"]["enforcing"].is_object(), "{version}");
        }
    }
}
