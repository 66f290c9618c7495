//! The health port: `/readyz` by what is missing, `/healthz` by the tasks, and `/metrics`.

use admission_server::{Answer, Body, HealthRoutes, Routes};
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::{Request, Response, StatusCode};

use super::metrics::Metrics;
use super::supervisor::Supervisor;

/// The routes of the health port.
pub(super) struct OperatorHealth {
    probes: HealthRoutes,
    supervisor: Supervisor,
    metrics: Metrics,
}

impl OperatorHealth {
    /// Routes that answer `/readyz` by `readiness`, `/healthz` by the tasks of `supervisor`, and `/metrics` with
    /// `metrics`.
    pub(super) fn new(
        readiness: impl Fn() -> Result<(), Vec<String>> + Send + Sync + 'static,
        supervisor: Supervisor,
        metrics: Metrics,
    ) -> Self {
        Self { probes: HealthRoutes::new(readiness), supervisor, metrics }
    }
}

impl Routes for OperatorHealth {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        match (request.uri().path(), self.supervisor.failed()) {
            ("/metrics", _) => answer(StatusCode::OK, self.metrics.render()),
            ("/healthz", Some(task)) => {
                answer(StatusCode::INTERNAL_SERVER_ERROR, format!("the task {task} ended\n"))
            }
            _ => self.probes.route(request),
        }
    }
}

pub(super) fn answer(status: StatusCode, body: String) -> BoxFuture<'static, Answer> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    Box::pin(std::future::ready(response))
}
