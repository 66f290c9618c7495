//! `/healthz` and `/readyz`, for the kubelet and for people.

use std::fmt;

use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};

use crate::answer::Answer;
use crate::body::Body;
use crate::server::Routes;

/// Reports what is missing before the process is ready; `Ok` when nothing is.
pub type ReadinessCheck = dyn Fn() -> Result<(), ReadinessError> + Send + Sync;

/// The error that a process is not ready yet, with what is missing. `Display` is one missing thing a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadinessError(Vec<String>);

impl From<Vec<String>> for ReadinessError {
    fn from(missing: Vec<String>) -> Self {
        Self(missing)
    }
}

impl IntoIterator for ReadinessError {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for ReadinessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for ReadinessError {}

/// The routes of a health port. `/healthz` answers 200 while the process serves; `/readyz` answers 503 with a line for
/// each missing thing.
pub struct HealthRoutes {
    readiness: Box<ReadinessCheck>,
}

impl fmt::Debug for HealthRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthRoutes").finish_non_exhaustive()
    }
}

impl HealthRoutes {
    /// Creates routes that answer `/readyz` by `readiness`, which is called for each request and must not block.
    pub fn new(readiness: impl Fn() -> Result<(), ReadinessError> + Send + Sync + 'static) -> Self {
        Self { readiness: Box::new(readiness) }
    }
}

impl Routes for HealthRoutes {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        let (status, body) = match request.uri().path() {
            "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
            "/readyz" => match (self.readiness)() {
                Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
                Err(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{missing}\n")),
            },
            _ => (StatusCode::NOT_FOUND, "ask /healthz or /readyz\n".to_owned()),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = status;
        let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        Box::pin(std::future::ready(response))
    }
}
