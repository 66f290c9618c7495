//! The admission webhook: an AdmissionReview in, the same AdmissionReview with an answer out.
//!
//! Decoding, judging and answering; the server that carries the bytes is in `runtime`.

mod decode;
mod respond;

use std::sync::Arc;

use constraint_framework::driver::Budget;
use constraint_framework::policyset::PolicySet;
use constraint_framework::review::{EnforcementPoint, Review, Verdict};
use constraint_framework::target::AdmissionTarget;
use tokio::sync::Semaphore;

use crate::handle::PolicyHandle;

use super::Namespaces;
use decode::Request;
pub use decode::{DecodeError, MAX_BODY_BYTES};
pub use respond::{Answer, refusal};

/// The `/v1/admit` endpoint.
pub struct Webhook {
    policies: PolicyHandle,
    namespaces: Arc<dyn Namespaces>,
    budget: Budget,
    permits: Arc<Semaphore>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that judges at most `concurrency` reviews at once; the others wait their turn.
    pub fn new(
        policies: PolicyHandle,
        namespaces: Arc<dyn Namespaces>,
        budget: Budget,
        concurrency: usize,
    ) -> Self {
        Self { policies, namespaces, budget, permits: Arc::new(Semaphore::new(concurrency.max(1))) }
    }

    /// Answers one request body.
    ///
    /// Cancel-safe: dropping the future abandons the request, and nothing else.
    ///
    /// # Errors
    /// A body that is no AdmissionReview. Everything that goes wrong later is an answer with the request's UID.
    pub async fn admit(&self, body: &[u8]) -> Result<Answer, DecodeError> {
        let request = Request::decode(body)?;
        let answer = match self.judge(&request).await {
            Ok(verdict) => Answer::verdict(&request, &verdict),
            Err(reason) => Answer::error(&request, &reason),
        };
        tracing::debug!(uid = request.uid, allowed = answer.is_allowed(), "admission reviewed");
        Ok(answer)
    }

    async fn judge(&self, request: &Request) -> Result<Verdict, String> {
        let mut review = AdmissionTarget.request(request.json.get()).map_err(|error| chain(&error))?;
        if let Some(namespace) = request.namespace() {
            review.namespace_object =
                self.namespaces.get(namespace).await.map_err(|error| error.to_string())?;
        }
        let permit = self.permits.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let policies = self.policies.current();
        let budget = self.budget;
        // Policies compute for milliseconds, and may panic where an engine is wrong: neither must reach the
        // threads that keep connections alive.
        tokio::task::spawn_blocking(move || {
            // Kept by the thread, not by the request: a client that gives up does not make room for another thread.
            let _permit = permit;
            verdict(&policies, &review, &budget)
        })
        .await
        .map_err(|_| "the policies could not be evaluated: an engine failed".to_owned())
    }
}

fn verdict(policies: &PolicySet, review: &Review, budget: &Budget) -> Verdict {
    policies.review(review, EnforcementPoint::WEBHOOK, budget)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
