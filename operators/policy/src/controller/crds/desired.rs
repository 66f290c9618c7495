//! The CRD that one version of a template asks for.

use std::collections::BTreeMap;

use constraint_framework::policyset::CompiledTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::DynamicObject;
use pod_status::ParentKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::controller::kinds::{TEMPLATE, crd_resource};

use super::decision::Live;
use super::observed::{Observed, Owner};

/// Rises when a release asks for other CRDs than the one before. A pod leaves CRDs of a higher revision alone, so that
/// two releases do not undo each other's writes during an upgrade.
pub(in crate::controller) const REVISION: u64 = 2;
/// The annotation that holds [`REVISION`].
pub(in crate::controller) const REVISION_ANNOTATION: &str = "webtroller.dev/revision";

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
    ) -> Self {
        let crd = crd(&compiled);
        let text =
            |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let labels = crd.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Self {
            name: text("/metadata/name"),
            kind: text("/spec/names/kind"),
            labels: labels.collect(),
            fingerprint: fingerprint(crd.get("spec").unwrap_or(&Value::Null)),
            template,
            generation,
            compiled,
        }
    }

    /// The same CRD, asked for by a later generation of the template.
    pub(in crate::controller) fn at(&self, generation: i64) -> Self {
        Self { generation, ..self.clone() }
    }

    /// Whether `seen` is this CRD. `accepted` is a pair of fingerprints: of a CRD that was sent, and of what the API
    /// server made of it.
    pub(super) fn matches(&self, seen: &Observed, accepted: Option<&(String, String)>) -> bool {
        let live = self.live(seen, accepted);
        live.owner == super::decision::Owner::Mine
            && !live.terminating
            && (live.matches || live.revision > REVISION)
    }

    /// What the decision about a write needs to know of the CRD that exists.
    pub(super) fn live(&self, seen: &Observed, accepted: Option<&(String, String)>) -> Live {
        use super::decision::Owner as Whose;
        let was_accepted =
            accepted.is_some_and(|(sent, kept)| *sent == self.fingerprint && *kept == seen.fingerprint);
        let labelled = self.labels.iter().all(|(name, value)| seen.labels.get(name) == Some(value));
        let is_constraint_crd =
            seen.labels.get("gatekeeper.sh/constraint").is_some_and(|value| value == "yes");
        Live {
            owner: match &seen.owner {
                Owner::Template { uid, .. } if *uid == self.template.uid => Whose::Mine,
                Owner::Template { name, .. } if *name == self.template.reference.name => Whose::Predecessor,
                Owner::Template { name, .. } => Whose::Stranger(format!("ConstraintTemplate {name}")),
                Owner::Other { kind, name } => Whose::Stranger(format!("{kind} {name}")),
                Owner::None if is_constraint_crd => Whose::Nobody,
                Owner::None => {
                    Whose::Stranger("another client: it has no label gatekeeper.sh/constraint".to_owned())
                }
            },
            kind: seen.kind.clone(),
            terminating: seen.terminating,
            matches: labelled && (was_accepted || seen.fingerprint == self.fingerprint),
            revision: seen.revision,
        }
    }

    /// The CRD as a new object.
    pub(super) fn object(&self) -> DynamicObject {
        self.over(DynamicObject::new(&self.name, &crd_resource()))
    }

    /// `live` with this CRD's owner, labels, annotations and spec. Labels, annotations and owners that other clients
    /// added stay, except for another controller.
    pub(super) fn over(&self, mut live: DynamicObject) -> DynamicObject {
        live.labels_mut().extend(self.labels.clone());
        live.annotations_mut().insert(REVISION_ANNOTATION.to_owned(), REVISION.to_string());
        live.owner_references_mut().retain(|owner| owner.controller != Some(true));
        live.owner_references_mut().push(reference(&self.template));
        let spec = crd(&self.compiled).get_mut("spec").map(Value::take).unwrap_or_default();
        if let Some(data) = live.data.as_object_mut() {
            data.insert("spec".to_owned(), spec);
        } else {
            live.data = json!({ "spec": spec });
        }
        live
    }
}

/// The CRD of a template's constraints, with the column that templates have, too.
fn crd(compiled: &CompiledTemplate) -> Value {
    let mut crd = compiled.crd();
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        add_enforced_column(version);
        merge_conditions_by_type(version);
    }
    crd
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

/// The audit and the aggregator each have conditions of their own, and apply them without knowing of the other's.
fn merge_conditions_by_type(version: &mut Value) {
    if let Some(status) = version.pointer_mut("/schema/openAPIV3Schema/properties/status") {
        *status = json!({
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"conditions": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                "items": {
                    "type": "object",
                    "required": ["type"],
                    "properties": {"type": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": true,
                },
            }},
        });
    }
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

/// A short text that differs when the value does. A field that is null counts as absent, as for the API server.
pub(in crate::controller) fn fingerprint(value: &Value) -> String {
    let mut digest = Sha256::new();
    feed(&mut digest, value);
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Each value is preceded by a letter for its type, and each text by its length, so that no two values feed the same
/// bytes. Fields come in the order of their names.
fn feed(digest: &mut Sha256, value: &Value) {
    let mut text = |letter: &str, text: &str| {
        digest.update(letter);
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    match value {
        Value::Null => digest.update("z"),
        Value::Bool(value) => digest.update(if *value { "t" } else { "f" }),
        Value::Number(number) => text("n", &number.to_string()),
        Value::String(string) => text("s", string),
        Value::Array(entries) => {
            digest.update("[");
            entries.iter().for_each(|entry| feed(digest, entry));
            digest.update("]");
        }
        Value::Object(fields) => {
            digest.update("{");
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                digest.update(name.len().to_le_bytes());
                digest.update(name);
                feed(digest, value);
            }
            digest.update("}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i64).prop_map(Value::from),
            "[a-b]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-b]{0,2}", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    fn without_nulls(value: &Value) -> Value {
        match value {
            Value::Array(entries) => entries.iter().map(without_nulls).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(_, value)| !value.is_null());
                Value::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
            }
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn fingerprints_are_equal_exactly_when_the_values_are_but_for_null_fields(a in value(), b in value()) {
            prop_assert_eq!(fingerprint(&a) == fingerprint(&b), without_nulls(&a) == without_nulls(&b));
            prop_assert_eq!(fingerprint(&a), fingerprint(&without_nulls(&a)));
        }
    }
}
