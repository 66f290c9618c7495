//! References in the spec of an object, found by their form: no kind is known beforehand.
//!
//! ```text
//! spec.infrastructureRef: {apiVersion: infra.example.com/v1, kind: SmallMachine, name: web}
//! spec.issuerRef:         {group: cert-manager.io, kind: Issuer, name: ca}
//! ```
//!
//! Three fields of Kubernetes' own kinds have only a name, and what they name is the reason for which Pods wait or stay.

use serde_json::Value;

use crate::api_version::group_version;

/// Fields with a name alone, and the kind of the core group that they name.
const BY_NAME: [(&str, &str); 3] =
    [("nodeName", "Node"), ("claimName", "PersistentVolumeClaim"), ("volumeName", "PersistentVolume")];

/// An object that another one names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The field, as `spec.infrastructureRef`.
    pub(super) field: String,
    /// `None` when the reference leaves it out.
    pub(super) group: Option<String>,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
}

/// The references below `spec`: maps in fields that end with `Ref`, and in lists that end with `Refs`, with at least a
/// kind and a name.
pub(super) fn references(object: &Value) -> Vec<Reference> {
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        visit("spec", spec, &mut found);
    }
    found
}

/// The references below `spec` that are a name alone, as `spec.nodeName: worker-1`.
pub(super) fn by_name(object: &Value) -> Vec<Reference> {
    let mut found = Vec::new();
    if let Some(spec) = object.get("spec") {
        visit_names("spec", spec, &mut found);
    }
    found
}

fn visit_names(path: &str, value: &Value, found: &mut Vec<Reference>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let field = format!("{path}.{name}");
                let kind = BY_NAME.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
                let named = kind.zip(value.as_str()).filter(|(_, name)| !name.is_empty());
                found.extend(named.map(|(kind, name)| Reference {
                    field: field.clone(),
                    group: Some(String::new()),
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                    namespace: None,
                }));
                visit_names(&field, value, found);
            }
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| visit_names(&format!("{path}[{index}]"), item, found));
        }
        _ => {}
    }
}

fn visit(path: &str, value: &Value, found: &mut Vec<Reference>) {
    match value {
        Value::Object(fields) => {
            let is_reference = path.ends_with("Ref")
                || path.trim_end_matches(']').trim_end_matches(char::is_numeric).ends_with("Refs[");
            found.extend(is_reference.then(|| Reference::of(path, value)).flatten());
            fields.iter().for_each(|(name, value)| visit(&format!("{path}.{name}"), value, found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| visit(&format!("{path}[{index}]"), item, found));
        }
        _ => {}
    }
}

impl Reference {
    fn of(field: &str, value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        // A program in Go writes a reference that is not set with empty fields.
        let set = |name: &str| text(name).filter(|text| !text.is_empty());
        let of_version = |version: String| group_version(&version).0.to_owned();
        Some(Self {
            field: field.to_owned(),
            group: text("apiVersion").map(of_version).or_else(|| text("apiGroup")).or_else(|| text("group")),
            kind: set("kind")?,
            name: set("name")?,
            namespace: text("namespace"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_found_by_their_form() {
        let found = references(&json!({"spec": {
            "infrastructureRef": {"apiVersion": "infra.example.com/v1", "kind": "Small", "name": "a"},
            "scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController", "name": "b", "namespace": "c"},
            "parentRefs": [{"group": "gateway.example.com", "kind": "Gateway", "name": "d"}],
            "nested": [{"issuerRef": {"kind": "Issuer", "name": "e"}}],
            "secretRef": {"name": "without-kind"},
            "notSetRef": {"apiVersion": "", "kind": "", "name": ""},
            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"},
            "subject": {"kind": "User", "name": "in-another-field"},
        }, "status": {"otherRef": {"kind": "A", "name": "b"}}}));
        let short: Vec<_> =
            found.iter().map(|found| (found.field.as_str(), found.group.as_deref())).collect();
        assert_eq!(
            short,
            [
                ("spec.infrastructureRef", Some("infra.example.com")),
                ("spec.nested[0].issuerRef", None),
                ("spec.parentRefs[0]", Some("gateway.example.com")),
                ("spec.scaleTargetRef", Some("")),
            ]
        );
        assert_eq!(found[3].namespace.as_deref(), Some("c"));
    }

    #[test]
    fn names_of_nodes_and_claims_are_references_too() {
        let found = by_name(&json!({"spec": {
            "nodeName": "worker-1", "volumeName": "",
            "volumes": [{"name": "a"}, {"persistentVolumeClaim": {"claimName": "data"}}],
        }}));
        let short: Vec<_> = found.iter().map(|found| (found.field.as_str(), found.kind.as_str())).collect();
        assert_eq!(
            short,
            [
                ("spec.nodeName", "Node"),
                ("spec.volumes[1].persistentVolumeClaim.claimName", "PersistentVolumeClaim")
            ]
        );
    }
}
