//! Submits a schema as a CRD to a real API server, with dry run, and reads the answer.

use std::collections::BTreeSet;

use kube::Client;
use serde_json::{Value, json};

/// What the server answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// Nothing to say.
    Accepted,
    /// The errors as the server words them.
    Invalid(BTreeSet<String>),
    /// The request could not be decoded, or holds unknown fields under strict validation.
    Undecodable(String),
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A CRD with this schema, and with the status subresource if asked for.
pub(crate) fn crd(schema: &Value, status: bool) -> Value {
    let mut version =
        json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    if status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
        },
    })
}

/// Submits a CRD; panics when the server does not judge it.
pub(crate) async fn submit(client: &Client, crd: &Value, field_validation: &str) -> Answer {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation={field_validation}"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(crd).unwrap())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => Answer::Accepted,
        Err(kube::Error::Api(status)) if status.code == 422 => {
            let causes = status.details.into_iter().flat_map(|details| details.causes);
            Answer::Invalid(causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect())
        }
        Err(kube::Error::Api(status)) if status.code == 400 => Answer::Undecodable(status.message),
        Err(other) => panic!("the server did not judge: {other}\n{crd:#}"),
    }
}
