//! The health port: `/readyz` by what is missing, `/healthz` by the tasks, `/metrics`, and the status page.

use admission_server::{Answer, Body, HealthRoutes, Routes};
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::metrics::Metrics;
use super::status_page::StatusPage;
use super::supervisor::Supervisor;

/// The type of the Prometheus text format. Prometheus 3 does not read an answer without it.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";

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
        if let Some(refused) = refused(request.method()) {
            return ready(refused);
        }
        match (request.uri().path(), self.supervisor.failed()) {
            ("/metrics", _) => ready(self.metrics.answer()),
            ("/healthz", Some(task)) => {
                ready(text(StatusCode::INTERNAL_SERVER_ERROR, format!("the task {task} ended\n")))
            }
            ("/", _) => Box::pin(self.page.clone().answer()),
            _ => self.probes.route(request),
        }
    }
}

/// The routes of `--prometheus-port`.
impl Routes for Metrics {
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer> {
        ready(match (refused(request.method()), request.uri().path()) {
            (Some(refused), _) => refused,
            (None, "/metrics") => self.answer(),
            (None, _) => text(StatusCode::NOT_FOUND, "metrics are at /metrics\n".to_owned()),
        })
    }
}

impl Metrics {
    fn answer(&self) -> Answer {
        typed(StatusCode::OK, METRICS_TYPE, self.render())
    }
}

/// The answer to a request that does not read.
fn refused(method: &Method) -> Option<Answer> {
    if [Method::GET, Method::HEAD].contains(method) {
        return None;
    }
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "read it with GET\n".to_owned());
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    Some(answer)
}

fn text(status: StatusCode, body: String) -> Answer {
    typed(status, TEXT_TYPE, body)
}

fn typed(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn ready(answer: Answer) -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_write_is_refused_with_the_methods_that_read() {
        assert!(refused(&Method::GET).is_none() && refused(&Method::HEAD).is_none());
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let answer = refused(&method).unwrap();
            assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(answer.headers()[ALLOW], "GET, HEAD");
        }
    }
}
