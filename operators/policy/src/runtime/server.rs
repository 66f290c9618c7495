//! HTTP over TLS or in the clear, for a few routes. Carries bytes and knows no policies.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::shutdown::Shutdown;

/// A client that has not sent its TLS hello or its headers by then is not one of ours.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection that is open when the drain begins may wait for its next request. Each answer closes its
/// connection by then, so only idle ones are still there at the end.
const LINGER: Duration = Duration::from_secs(2);
/// Longer than the longest admission timeout (30 s), so that a drain never cuts a request short.
const DRAIN: Duration = Duration::from_secs(35);
/// Connections at once. An API server keeps a handful; the rest of the room is for retries.
const CONNECTIONS: usize = 1024;

/// Answers requests. Panics are caught per connection, so one bad request ends one connection.
pub(super) trait Routes: Send + Sync + 'static {
    /// Answers one request.
    fn route(&self, request: Request<Incoming>) -> BoxFuture<'_, Response<Full<Bytes>>>;
}

/// One listening socket and what answers on it.
pub(super) struct Server {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) routes: Arc<dyn Routes>,
}

impl Server {
    /// Serves until the drain, then finishes the requests that have begun.
    ///
    /// From the moment the process is asked to end, each HTTP/1.1 answer asks its client to connect anew, so that
    /// pooled connections move to other pods before this one stops.
    pub(super) async fn run(self, shutdown: &Shutdown) {
        let graceful = GracefulShutdown::new();
        let tasks = TaskTracker::new();
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let begin = |(stream, permit): Accepted| {
            let connection = connection(
                stream,
                self.tls.clone(),
                self.routes.clone(),
                shutdown.clone(),
                graceful.watcher(),
            );
            tasks.spawn(async move {
                connection.await;
                drop(permit);
            });
        };
        loop {
            tokio::select! {
                // The drain comes first: a busy listener must not keep the process alive.
                biased;
                () = shutdown.drain.cancelled() => break,
                accepted = accept(&self.listener, &room) => accepted.into_iter().for_each(begin),
            }
        }
        // Clients that the kernel has already let in have been promised an answer.
        while let Some(accepted) = accept(&self.listener, &room).now_or_never() {
            accepted.into_iter().for_each(begin);
        }
        drop(self.listener);
        tasks.close();
        drain(graceful, &tasks).await;
    }
}

/// Lets connections end with the answer to their next request, then ends the idle ones.
async fn drain(graceful: GracefulShutdown, tasks: &TaskTracker) {
    if timeout(LINGER, tasks.wait()).await.is_ok() {
        return;
    }
    let drained = async {
        graceful.shutdown().await;
        tasks.wait().await;
    };
    if timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

type Accepted = (TcpStream, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(error) => {
            // Out of file descriptors, most likely: waiting is all that helps, and a loop would burn the core.
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    routes: Arc<dyn Routes>,
    shutdown: Shutdown,
    watcher: Watcher,
) {
    match tls {
        None => exchange(stream, routes, shutdown, watcher).await,
        Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
            Ok(Ok(stream)) => exchange(stream, routes, shutdown, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        },
    }
}

async fn exchange<S>(stream: S, routes: Arc<dyn Routes>, shutdown: Shutdown, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (routes, shutdown) = (routes.clone(), shutdown.clone());
        async move {
            let version = request.version();
            let mut response = routes.route(request).await;
            if shutdown.asked.is_cancelled() && version <= Version::HTTP_11 {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(30)));
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection ended");
    }
}
