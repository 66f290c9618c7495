//! HTTP over TLS or in the clear: accepts connections, bounds them, and drains.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::{Answer, overloaded};
use crate::body::Body;
use crate::connections::{Connection, Places};
use crate::eviction::{Peer, Phase};
use crate::in_flight::InFlight;
use crate::limits::Limits;
use crate::tls::Tls;

/// Time that a connection which is open when the drain begins may wait for its next request. Each answer closes its
/// connection by then, so only idle ones are left at the end.
const LINGER: Duration = Duration::from_secs(2);
/// Longer than the longest admission timeout (30 s), so that a drain never cuts a request short.
const DRAIN: Duration = Duration::from_secs(35);
/// Time in which a connection that has to go may flush what it has.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after a failed accept: without file descriptors, only waiting helps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const HTTP2_PING: Duration = Duration::from_secs(30);
const HEADER_BYTES: u32 = 16 << 10;

/// Answers requests.
pub trait Routes: Send + Sync + 'static {
    /// Answers one request. The future is dropped when the client goes away; a panic in it ends the connection.
    fn route(&self, request: Request<Body>) -> BoxFuture<'_, Answer>;
}

/// One listening socket and what answers on it.
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    routes: Arc<dyn Routes>,
    limits: Limits,
    drain_signal: Option<CancellationToken>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { listener, tls, limits, .. } = self;
        f.debug_struct("Server")
            .field("listener", listener)
            .field("tls", tls)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Returns a server in the clear with default limits.
    pub fn new(listener: TcpListener, routes: impl Routes) -> Self {
        let routes = Arc::new(routes);
        Self { listener, tls: None, routes, limits: Limits::default(), drain_signal: None }
    }

    /// Serves HTTPS.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the token that is cancelled when the process has been asked to end, some time before the token of
    /// [`run`](Self::run).
    ///
    /// From then on each HTTP/1.1 answer carries `Connection: close`, so that pooled connections move to other processes while
    /// this one still serves. Without this signal, answers carry it once `run` has been cancelled.
    #[must_use]
    pub fn with_drain_signal(self, draining: CancellationToken) -> Self {
        Self { drain_signal: Some(draining), ..self }
    }

    /// Serves until `shutdown` is cancelled, then finishes the requests that have begun, and returns.
    ///
    /// # Guarantees
    /// - After the cancellation the socket closes; connections that the kernel has completed by then are served.
    /// - Requests that have begun are answered. Idle connections have 2 s for another request; after that they are closed.
    /// - It returns at most 37 s after the cancellation: the 2 s, and 35 s for the requests, which is longer than the longest
    ///   timeout of an admission webhook (30 s). What is left then is logged, and its tasks go on until they end.
    /// - A failed `accept` is logged and tried again after 100 ms; it does not end the server.
    ///
    /// # Assumptions
    /// It runs on a tokio runtime with I/O and time enabled, on which it spawns a task for each connection. Dropping the future
    /// closes the socket; open connections go on until their clients or the limits end them. So cancel the token and await the
    /// future.
    pub async fn run(self, shutdown: CancellationToken) {
        let Self { listener, tls, routes, limits, drain_signal } = self;
        let tasks = TaskTracker::new();
        let draining = drain_signal.unwrap_or_else(|| shutdown.clone());
        let shared = Arc::new(Shared::new(tls, routes, limits, draining));
        let begin = |(stream, address): (TcpStream, SocketAddr)| {
            if let Some(connection) = shared.clone().connection(stream, address) {
                tasks.spawn(connection);
            }
        };
        loop {
            tokio::select! {
                // The shutdown comes first: a busy listener must not keep the process alive.
                biased;
                () = shutdown.cancelled() => break,
                accepted = accept(&listener) => accepted.into_iter().for_each(begin),
            }
        }
        // The kernel has completed the connections in its queue: their clients are sending already.
        while let Some(accepted) = accept(&listener).now_or_never() {
            accepted.into_iter().for_each(begin);
        }
        drop(listener);
        tasks.close();
        drain(&tasks, &shared.close).await;
    }
}

/// Lets connections end with the answer to their next request, then ends the idle ones.
async fn drain(tasks: &TaskTracker, close: &CancellationToken) {
    if timeout(LINGER, tasks.wait()).await.is_ok() {
        return;
    }
    close.cancel();
    if timeout(DRAIN, tasks.wait()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

/// The state that all connections of a server share.
struct Shared {
    tls: Option<Tls>,
    routes: Arc<dyn Routes>,
    limits: Arc<Limits>,
    /// Cancelled when answers ask HTTP/1.1 clients to connect anew.
    draining: CancellationToken,
    /// Cancelled when connections must end after the requests that they have begun.
    close: CancellationToken,
    connections: Arc<Places>,
    requests: Arc<Places>,
    bytes: Arc<InFlight>,
    http: auto::Builder<TokioExecutor>,
}

impl Shared {
    fn new(tls: Option<Tls>, routes: Arc<dyn Routes>, limits: Limits, draining: CancellationToken) -> Self {
        Self {
            tls,
            routes,
            draining,
            close: CancellationToken::new(),
            connections: Places::new(limits.connections, limits.connections_per_peer),
            requests: Places::new(limits.requests, limits.requests.div_ceil(2)),
            bytes: InFlight::new(limits.bytes_in_flight),
            http: http(&limits),
            limits: Arc::new(limits),
        }
    }

    /// Serves one connection, or drops it where every other one is busy.
    fn connection(self: Arc<Self>, stream: TcpStream, address: SocketAddr) -> Option<BoxFuture<'static, ()>> {
        let peer = Peer::from(address.ip());
        let Some(place) = self.connections.take(peer, Phase::Silent) else {
            tracing::warn!(%address, "connection refused: all others are busy");
            return None;
        };
        let connection = Connection::new(place);
        Some(Box::pin(async move {
            let Some(tls) = &self.tls else { return self.serve(stream, peer, &connection).await };
            let accepted = tokio::select! {
                accepted = timeout(self.limits.handshake, tls.accept(stream)) => accepted,
                () = connection.evicted() => return,
                () = self.close.cancelled() => return,
            };
            match accepted {
                Ok(Ok(stream)) => self.serve(stream, peer, &connection).await,
                Ok(Err(error)) => tracing::debug!(%error, %address, "TLS handshake failed"),
                Err(_) => tracing::debug!(%address, "TLS handshake timed out"),
            }
        }))
    }

    async fn serve<S>(self: &Arc<Self>, stream: S, peer: Peer, connection: &Arc<Connection>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let service = service_fn(|request: Request<Incoming>| {
            let (shared, connection) = (self.clone(), connection.clone());
            async move { Ok::<_, Infallible>(shared.answer(request, peer, &connection).await) }
        });
        let exchange = self.http.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(exchange);
        let farewell = tokio::select! {
            ended = exchange.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = connection.evicted() => CLOSE_TIMEOUT,
            () = connection.silent_for_too_long(&self.limits) => CLOSE_TIMEOUT,
            () = self.close.cancelled() => DRAIN,
        };
        exchange.as_mut().graceful_shutdown();
        if timeout(farewell, exchange).await.is_err() {
            tracing::debug!("connection closed");
        }
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Peer,
        connection: &Arc<Connection>,
    ) -> Answer {
        let version = request.version();
        let mut answer = match self.requests.take(peer, Phase::Reading) {
            None => overloaded("overloaded: too many requests are being judged; try again"),
            Some(place) => {
                let exchange = connection.begin(place);
                let reservation = self.bytes.reserve(peer);
                let body =
                    |body| Body::new(body, exchange.clone(), reservation, self.limits.clone(), version);
                let request = request.map(body);
                self.routes.route(request).await
            }
        };
        if self.draining.is_cancelled() && version <= Version::HTTP_11 {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

fn http(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // hyper counts the time between two requests as reading the next header; the time for the first one is counted by
    // `Connection::silent_for_too_long`, because hyper does not bound the time before the first byte.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.idle);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(HTTP2_PING))
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(HEADER_BYTES)
        .initial_stream_window_size(limits.stream_window)
        .initial_connection_window_size(limits.connection_window);
    builder
}
