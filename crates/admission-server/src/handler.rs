//! Handlers: code that judges or changes objects.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::request::AdmissionRequest;
use crate::response::AdmissionResponse;

/// Judges admission requests.
///
/// # Guarantees
/// An answer that is not there at [`AdmissionRequest::deadline`] is replaced by one of code 504, and a panic by one of
/// code 500.
pub trait AdmissionHandler: Send + Sync + 'static {
    /// Answers one request. The future is dropped at the deadline, or when the client goes away: what it has begun must be
    /// safe to leave at any await. The function of [`validate`] or [`mutate`] goes on to its end on its thread.
    fn admit(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse>;
}

struct Blocking<F>(Arc<F>);

impl<F> AdmissionHandler for Blocking<F>
where
    F: Fn(AdmissionRequest) -> AdmissionResponse + Send + Sync + 'static,
{
    fn admit(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse> {
        let judge = self.0.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || judge(request))
                .await
                .unwrap_or_else(|_| AdmissionResponse::error("the handler failed"))
        })
    }
}

/// Returns a handler that admits or refuses: `Err` holds the reason (403). It runs on a thread for blocking work.
pub fn validate<F>(judge: F) -> impl AdmissionHandler
where
    F: Fn(&AdmissionRequest) -> Result<(), String> + Send + Sync + 'static,
{
    Blocking(Arc::new(move |request: AdmissionRequest| match judge(&request) {
        Ok(()) => AdmissionResponse::allow(),
        Err(reason) => AdmissionResponse::deny(reason),
    }))
}

/// Returns a handler that changes the object in place or refuses it: `Err` holds the reason (403).
///
/// The patch is computed as the difference. Requests without an object (`DELETE`, some `CONNECT`) are admitted and not
/// shown to `change`. It runs on a thread for blocking work.
pub fn mutate<F>(change: F) -> impl AdmissionHandler
where
    F: Fn(&AdmissionRequest, &mut Value) -> Result<(), String> + Send + Sync + 'static,
{
    Blocking(Arc::new(move |request: AdmissionRequest| match request.object::<Value>() {
        Ok(None) => AdmissionResponse::allow(),
        Err(error) => AdmissionResponse::error(format!("the object is not JSON: {error}")),
        Ok(Some(before)) => {
            let mut after = before.clone();
            match change(&request, &mut after) {
                Err(reason) => AdmissionResponse::deny(reason),
                Ok(()) => AdmissionResponse::allow()
                    .with_changes(&before, &after)
                    .unwrap_or_else(|error| AdmissionResponse::error(error.to_string())),
            }
        }
    }))
}
