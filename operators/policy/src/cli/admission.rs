//! From an object in a file to the AdmissionReview that an API server would send about it.

use serde_json::{Value, json};

/// The AdmissionReview for creating `object`; an AdmissionReview stands for itself.
pub fn admission_review(object: &Value) -> Value {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/kind") == "AdmissionReview" {
        return object.clone();
    }
    let (group, version) = text("/apiVersion").rsplit_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = json!({"group": group, "version": version, "kind": text("/kind")});
    // Only the API server knows the plural; policies that look at it are rare, and this is right for most kinds.
    let resource =
        json!({"group": group, "version": version, "resource": format!("{}s", text("/kind").to_lowercase())});
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
    fn an_admission_review_stands_for_itself() {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"operation": "DELETE"}});
        assert_eq!(admission_review(&review), review);
    }
}
