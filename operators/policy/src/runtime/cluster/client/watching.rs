//! Sends watches over connections that they share, where the API server speaks HTTP/2, and ends those that are silent for too long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::{Request, Response};
use kube::client::{Body, ClientBuilder, ConfigExt as _};
use tokio::time::{Instant, Sleep};
use tower::{BoxError, Service, ServiceBuilder};

use super::shared::{Place, SharedConnections};

/// Sends watches over shared connections where the server is reached by TLS, and all else as kube's client does.
#[derive(Clone)]
pub(super) struct ApiServer {
    requests: kube::Client,
    watches: Option<Watches>,
}

#[derive(Clone)]
struct Watches {
    connections: Arc<SharedConnections>,
    /// Adds the address and the credentials, and sends over one of `connections`. Nothing is retried here: that is up to
    /// what watches.
    client: kube::Client,
}

impl ApiServer {
    /// The server of `config`. A shared connection is given up after `deadline` without one, a watch after `silence`.
    pub(super) fn new(
        requests: kube::Client,
        config: &kube::Config,
        deadline: Duration,
        silence: Duration,
    ) -> kube::Result<Self> {
        let Some(connections) = SharedConnections::new(config, deadline)?.map(Arc::new) else {
            return Ok(Self { requests, watches: None });
        };
        let shared = connections.clone();
        let send = tower::service_fn(move |request| watch(shared.clone(), request, silence));
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .layer(config.extra_headers_layer()?)
            .service(send);
        let client = ClientBuilder::new(service, requests.default_namespace()).build();
        Ok(Self { requests, watches: Some(Watches { connections, client }) })
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let client = match &self.watches {
            Some(watches) if is_watch(&request) && watches.connections.speak_http2().await? => {
                &watches.client
            }
            _ => &self.requests,
        };
        Ok(client.send(request).await?)
    }
}

impl Service<Request<Body>> for ApiServer {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().answer(request))
    }
}

fn is_watch(request: &Request<Body>) -> bool {
    request
        .uri()
        .query()
        .is_some_and(|query| query.split('&').any(|parameter| matches!(parameter, "watch=true" | "watch=1")))
}

async fn watch(
    connections: Arc<SharedConnections>,
    request: Request<Body>,
    silence: Duration,
) -> Result<Response<Watch<hyper::body::Incoming>>, BoxError> {
    let (answer, place) = connections.send(request).await?;
    Ok(answer.map(|frames| Watch::new(frames, silence, place)))
}

/// The answer to a watch. It ends with an error once nothing has come for as long as a watch may be silent.
struct Watch<B> {
    frames: B,
    silence: Duration,
    end: Pin<Box<Sleep>>,
    _place: Place,
}

impl<B> Watch<B> {
    fn new(frames: B, silence: Duration, place: Place) -> Self {
        Self { frames, silence, end: Box::pin(tokio::time::sleep(silence)), _place: place }
    }
}

impl<B: HttpBody<Data = Bytes, Error = hyper::Error> + Unpin> HttpBody for Watch<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.frames).poll_frame(cx) {
            let end = Instant::now().checked_add(self.silence).unwrap_or_else(Instant::now);
            self.end.as_mut().reset(end);
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        ready!(self.end.as_mut().poll(cx));
        let message = format!("no data received for {} s", self.silence.as_secs());
        Poll::Ready(Some(Err(std::io::Error::new(std::io::ErrorKind::TimedOut, message).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.frames.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use tokio::time::{Interval, interval};

    use super::*;

    /// Sends `frames` frames, one a minute, and then nothing.
    struct Slow {
        frames: usize,
        minutes: Interval,
    }

    impl HttpBody for Slow {
        type Data = Bytes;
        type Error = hyper::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
            let Some(left) = self.frames.checked_sub(1) else { return Poll::Pending };
            ready!(self.minutes.poll_tick(cx));
            self.frames = left;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"bookmark")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_ends_once_it_says_nothing() {
        let minutes = interval(Duration::from_secs(60));
        let (started, silence) = (Instant::now(), Duration::from_secs(90));
        let mut watch = Watch::new(Slow { frames: 3, minutes }, silence, Place::default());
        for _ in 0..3 {
            watch.frame().await.unwrap().unwrap();
        }
        let error = watch.frame().await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no data received for 90 s");
        assert_eq!(started.elapsed(), Duration::from_secs(2 * 60 + 90));
    }

    #[test]
    fn watches_are_told_apart_from_other_requests() {
        let is_watch = |uri: &str| is_watch(&Request::get(uri).body(Body::empty()).unwrap());
        assert!(is_watch("/api/v1/pods?allowWatchBookmarks=true&watch=true") && is_watch("/apis?watch=1"));
        assert!(!is_watch("/api/v1/watch=true") && !is_watch("/api/v1/pods?limit=500&watch=false"));
    }
}
