//! `/healthz` and `/readyz`, in the clear, for the kubelet and for people.

use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};

use super::server::Routes;

/// What is still missing before this process is ready; `Ok` when nothing is.
pub(super) type Readiness = dyn Fn() -> Result<(), Vec<String>> + Send + Sync;

/// The routes of the health port.
pub(super) struct HealthRoutes {
    pub(super) readiness: Box<Readiness>,
}

impl Routes for HealthRoutes {
    fn route(&self, request: Request<Incoming>) -> BoxFuture<'_, Response<Full<Bytes>>> {
        let (status, body) = match request.uri().path() {
            "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
            "/readyz" => match (self.readiness)() {
                Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
                Err(missing) => {
                    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{}\n", missing.join("\n")))
                }
            },
            _ => (StatusCode::NOT_FOUND, "ask /healthz or /readyz\n".to_owned()),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = status;
        Box::pin(std::future::ready(response))
    }
}
