//! The rule as an admission controller of our own, which also keeps the requests that the API server sends.

use std::sync::{Arc, Mutex, PoisonError};

use admission_server::{AdmissionRequest, AdmissionRoutes, validate};
use serde_json::Value;

/// The last dry run, as the API server has sent it: with the defaults of the object filled in.
#[derive(Clone, Default)]
pub(crate) struct LastRequest(Arc<Mutex<Option<String>>>);

impl LastRequest {
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The handler. It is asked about the scale subresource too: a `Scale` has its replicas in the same place.
    pub(crate) fn routes(&self) -> AdmissionRoutes {
        let kept = self.clone();
        AdmissionRoutes::new().with_handler(
            "/validate",
            validate(move |request| {
                // Kubernetes' own controllers write to the same Deployments; only the cases are dry runs.
                if request.dry_run {
                    *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.json().to_owned());
                }
                judge(request)
            }),
        )
    }
}

fn judge(request: &AdmissionRequest) -> Result<(), String> {
    if request.operation == "DELETE" {
        return Ok(());
    }
    let object: Value = request.object().map_err(|error| error.to_string())?.unwrap_or_default();
    match object.pointer("/spec/replicas").and_then(Value::as_i64) {
        Some(3..=10) => Ok(()),
        Some(replicas) => Err(format!("{replicas} replicas; 3 to 10 are allowed")),
        None => Err("spec.replicas is missing; 3 to 10 are allowed".to_owned()),
    }
}
