//! From an object in a file to the AdmissionReview that an API server would send about it.

use serde_json::{Value, json};

use crate::api_version::group_version;

/// Returns the AdmissionReview for creating `object`; an AdmissionReview stands for itself.
pub fn admission_review(object: &Value) -> Value {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/kind") == "AdmissionReview" {
        return object.clone();
    }
    let (group, version) = group_version(text("/apiVersion"));
    let kind = json!({"group": group, "version": version, "kind": text("/kind")});
    let resource = json!({"group": group, "version": version, "resource": plural(text("/kind"))});
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": format!("{}/{}", text("/metadata/namespace"), text("/metadata/name")),
            "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
            "name": text("/metadata/name"), "namespace": text("/metadata/namespace"),
            "operation": "CREATE",
            "userInfo": {"username": "standalone", "groups": ["system:authenticated"]},
            "object": object, "oldObject": null, "dryRun": false, "options": null
        }
    })
}

/// The plural of a kind, as Kubernetes names resources. Only the API server knows it; this is right for its own kinds.
pub(super) fn plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    let vowel = |stem: &str| stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match name.strip_suffix('y') {
        _ if name == "endpoints" => name,
        Some(stem) if !vowel(stem) => format!("{stem}ies"),
        _ if name.ends_with(['s', 'x']) || name.ends_with("ch") || name.ends_with("sh") => {
            format!("{name}es")
        }
        _ => format!("{name}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_becomes_a_create_request() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}});
        let request = &admission_review(&object)["request"];
        assert_eq!(request["kind"], json!({"group": "apps", "version": "v1", "kind": "Deployment"}));
        assert_eq!((&request["resource"]["resource"], &request["object"]), (&json!("deployments"), &object));
    }

    #[test]
    fn plurals_are_those_of_kubernetes() {
        for (kind, expected) in [
            ("Pod", "pods"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Endpoints", "endpoints"),
            ("StorageClass", "storageclasses"),
        ] {
            assert_eq!(plural(kind), expected);
        }
    }

    #[test]
    fn an_admission_review_stands_for_itself() {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"operation": "DELETE"}});
        assert_eq!(admission_review(&review), review);
    }
}
