//! The health port: `/readyz` by what is missing, `/healthz` by the tasks, `/metrics`, and the status page.

use admission_server::{Answer, Body, HealthRoutes, Routes};
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::{Request, Response, StatusCode};

use super::metrics::Metrics;
use super::status_page::StatusPage;
use super::supervisor::Supervisor;

/// The routes of the health port.
pub(super) struct OperatorHealth {
    /// Answers what has no other answer.
    pub(super) probes: HealthRoutes,
    /// Its tasks are what `/healthz` is about.
    pub(super) supervisor: Supervisor,
    pub(super) metrics: Metrics,
    pub(super) page: StatusPage,
}

impl Routes for OperatorHealth {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        match (request.uri().path(), self.supervisor.failed()) {
            ("/metrics", _) => answer(StatusCode::OK, self.metrics.render()),
            ("/healthz", Some(task)) => {
                answer(StatusCode::INTERNAL_SERVER_ERROR, format!("the task {task} ended\n"))
            }
            ("/", _) => Box::pin(self.page.clone().answer(request)),
            _ => self.probes.route(request),
        }
    }
}

/// The routes of `--prometheus-port`.
impl Routes for Metrics {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        match request.uri().path() {
            "/metrics" => answer(StatusCode::OK, self.render()),
            _ => answer(StatusCode::NOT_FOUND, "metrics are at /metrics\n".to_owned()),
        }
    }
}

fn answer(status: StatusCode, body: String) -> BoxFuture<'static, Answer> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    Box::pin(std::future::ready(response))
}
