//! Submits a CRD to a real API server, with dry run, and reads the answer.

use kube::Client;
use serde_json::Value;

use crate::verdict::Answer;

/// A number from the environment.
#[allow(dead_code, reason = "recordings have a fixed size")]
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Submits a CRD; panics when the server does not judge it.
pub(crate) async fn submit(client: &Client, crd: &Value, field_validation: &str) -> Answer {
    match dry_run(client, "apiextensions.k8s.io/v1/customresourcedefinitions", crd, field_validation).await {
        Ok(_) => Answer::Accepted,
        Err(kube::Error::Api(status)) if status.code == 422 => {
            let causes = status.details.into_iter().flat_map(|details| details.causes);
            Answer::Invalid(causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect())
        }
        Err(kube::Error::Api(status)) if status.code == 400 => Answer::Undecodable(status.message),
        Err(other) => panic!("the server did not judge: {other}\n{crd:#}"),
    }
}

/// Returns the JSON of the object that would be stored if this one were created.
pub(crate) async fn dry_run(
    client: &Client,
    resource: &str,
    object: &Value,
    field_validation: &str,
) -> kube::Result<String> {
    let request =
        http::Request::post(format!("/apis/{resource}?dryRun=All&fieldValidation={field_validation}"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(object).unwrap())
            .unwrap();
    client.request_text(request).await
}
