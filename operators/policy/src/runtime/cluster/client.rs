//! The client of the API server: each request has a deadline, and a connection that says nothing is given up.

use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::{Request, Response};
use kube::client::{Body, ClientBuilder};
use tower::{BoxError, Layer, Service};

use self::watching::ApiServer;

mod shared;
mod watching;

/// The deadline of a request's answer; of the first byte for a watch. Longer than any delay that an overloaded API
/// server recovers from.
const ANSWER: Duration = Duration::from_secs(30);
/// The deadline for a connection to the API server.
const CONNECT: Duration = Duration::from_secs(10);
/// A watch without changes brings a bookmark about once a minute, so a connection that is silent for longer is dead.
const SILENCE: Duration = Duration::from_secs(90);

/// The client for `config`.
pub(super) fn client(mut config: kube::Config) -> kube::Result<kube::Client> {
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(SILENCE);
    config.write_timeout = Some(ANSWER);
    let requests = ClientBuilder::try_from(config.clone())?.build();
    let (namespace, valid_until) = (requests.default_namespace().to_owned(), *requests.valid_until());
    let server = ApiServer::new(requests, &config, CONNECT, SILENCE)?;
    let builder = ClientBuilder::new(server, namespace).with_valid_until(valid_until);
    Ok(builder.with_layer(&DeadlineLayer).build())
}

struct DeadlineLayer;

struct Deadline<S>(S);

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Deadline(inner)
    }
}

impl<S, B> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            match tokio::time::timeout(ANSWER, answer).await {
                Ok(answer) => answer,
                Err(_) => Err(format!("the API server did not answer within {} s", ANSWER.as_secs()).into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_never_answered_fails_by_its_deadline() {
        let silent =
            tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, BoxError>>());
        let started = tokio::time::Instant::now();
        let answer = DeadlineLayer.layer(silent).call(Request::new(Body::empty())).await;
        assert!(answer.unwrap_err().to_string().contains("30 s"));
        assert_eq!(started.elapsed(), ANSWER);
    }
}
