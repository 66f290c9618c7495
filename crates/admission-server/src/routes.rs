//! The routes of a webhook port: each path has a handler, and everything around a review is checked first.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, json_answer, overloaded, refusal};
use crate::body::{Body, BodyError};
use crate::handler::AdmissionHandler;
use crate::health::{ReadinessCheck, ReadinessError};
use crate::request::AdmissionRequest;
use crate::response::AdmissionResponse;
use crate::server::Routes;

/// The API server's own limit; a longer `?timeout=` is not one of its requests.
const LONGEST: Duration = Duration::from_secs(30);
/// The part of a timeout that is kept for the way of the answer.
const RESERVE: u32 = 6;
const MOST_RESERVE: Duration = Duration::from_millis(500);

/// Routes from paths to handlers.
pub struct AdmissionRoutes {
    handlers: BTreeMap<String, Arc<dyn AdmissionHandler>>,
    readiness: Box<ReadinessCheck>,
    timeout: Duration,
}

impl std::fmt::Debug for AdmissionRoutes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<_> = self.handlers.keys().collect();
        f.debug_struct("AdmissionRoutes")
            .field("paths", &paths)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Default for AdmissionRoutes {
    fn default() -> Self {
        Self::new()
    }
}

type HttpError = (StatusCode, String);

impl AdmissionRoutes {
    /// Creates routes without a handler, which answer 404. Requests without `?timeout=` have 10 s, the API server's default.
    pub fn new() -> Self {
        Self { handlers: BTreeMap::new(), readiness: Box::new(|| Ok(())), timeout: Duration::from_secs(10) }
    }

    /// Adds a handler for the reviews that are posted to `path`.
    #[must_use]
    pub fn with_handler(mut self, path: impl Into<String>, handler: impl AdmissionHandler) -> Self {
        self.handlers.insert(path.into(), Arc::new(handler));
        self
    }

    /// Answers 503 with what is missing while `readiness` returns an error. It is called for each request and must not block.
    #[must_use]
    pub fn with_readiness(
        self,
        readiness: impl Fn() -> Result<(), ReadinessError> + Send + Sync + 'static,
    ) -> Self {
        Self { readiness: Box::new(readiness), ..self }
    }

    /// Replaces the time for requests without `?timeout=`.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    async fn admit(&self, request: Request<Body>) -> Result<Answer, HttpError> {
        let arrival = Instant::now();
        let Some(handler) = self.handlers.get(request.uri().path()) else {
            return Err((StatusCode::NOT_FOUND, self.usage()));
        };
        if request.method() != Method::POST {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let mut answer = refusal(status, &self.usage());
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            return Ok(answer);
        }
        if !is_json(&request) {
            return Err((
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send Content-Type: application/json".to_owned(),
            ));
        }
        (self.readiness)().map_err(|missing| (StatusCode::SERVICE_UNAVAILABLE, missing.to_string()))?;
        let deadline = arrival.checked_add(time_to_answer(request.uri().query(), self.timeout));
        let deadline = deadline.unwrap_or(arrival);
        let body = request.into_body().read().await;
        let body = match body {
            Ok(body) => body,
            Err(error @ BodyError::Overloaded) => return Ok(overloaded(&error.to_string())),
            Err(error) => return Err((error.status(), error.to_string())),
        };
        let request = AdmissionRequest::decode(body, deadline)
            .map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))?;
        Ok(answer(handler.as_ref(), request).await)
    }

    fn usage(&self) -> String {
        let paths: Vec<_> = self.handlers.keys().map(String::as_str).collect();
        format!("post an AdmissionReview to {}", paths.join(" or "))
    }
}

impl Routes for AdmissionRoutes {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            self.admit(request).await.unwrap_or_else(|(status, message)| refusal(status, &message))
        })
    }
}

async fn answer(handler: &dyn AdmissionHandler, request: AdmissionRequest) -> Answer {
    let judged = AssertUnwindSafe(async { handler.admit(request.clone()).await }).catch_unwind();
    let response = match timeout_at(request.deadline, judged).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => AdmissionResponse::error("the handler failed"),
        Err(_) => AdmissionResponse::timeout("the request was not judged in time"),
    };
    let status = match response.is_unavailable() {
        true => StatusCode::SERVICE_UNAVAILABLE,
        false => StatusCode::OK,
    };
    tracing::debug!(uid = request.uid, allowed = response.is_allowed(), "admission reviewed");
    json_answer(status, response.body(&request))
}

/// The time from the arrival of a request to its answer: the API server's timeout without the way back.
fn time_to_answer(query: Option<&str>, default: Duration) -> Duration {
    let value = |pair: &str| pair.strip_prefix("timeout=").and_then(go_compat::duration::parse_unsigned);
    let timeout =
        query.and_then(|query| query.split('&').find_map(value)).filter(|timeout| !timeout.is_zero());
    let timeout = timeout.unwrap_or(default).min(LONGEST);
    timeout.saturating_sub(timeout.checked_div(RESERVE).unwrap_or_default().min(MOST_RESERVE))
}

fn is_json(request: &Request<Body>) -> bool {
    let content_type =
        request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_the_api_server_is_honoured_with_time_for_the_answer() {
        let time = |query| time_to_answer(query, Duration::from_secs(10)).as_millis();
        assert_eq!(time(Some("timeout=3s")), 2_500);
        assert_eq!(time(Some("a=b&timeout=30s")), 29_500);
        assert_eq!(time(Some("timeout=600ms")), 500);
        assert_eq!(time(Some("timeout=99h")), 29_500);
        for query in [None, Some("timeout=0s"), Some("timeout=soon"), Some("timeoutX=1s")] {
            assert_eq!(time(query), 9_500);
        }
    }

    #[test]
    fn timeouts_are_read_as_go_writes_them() {
        let nanoseconds =
            |text| go_compat::duration::parse_unsigned(text).map(|duration| duration.as_nanos());
        for (text, expected) in [
            ("3s", 3_000_000_000),
            ("1m30s", 90_000_000_000),
            ("2.5s", 2_500_000_000),
            ("300ms", 300_000_000),
            ("1.5h", 5_400_000_000_000),
            ("7\u{b5}s", 7_000),
            ("7\u{3bc}s", 7_000),
            ("0", 0),
        ] {
            assert_eq!(nanoseconds(text), Some(expected), "{text}");
        }
        for text in ["", "3", "s", "-3s", "3 s", "3d", ".s", "1e3s", "99999999999999999999h"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
