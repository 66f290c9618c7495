//! The connections that watches share: HTTP/2, up to [`WATCHES`] on each.
//!
//! kube's client speaks HTTP/1.1, where a watch occupies a connection: with 550 policies as many handshakes at each start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt as _, Shared};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

/// Watches on one connection at most. What serves HTTP/2 lets a client have 100 requests at a time, or more: RFC 9113
/// (6.5.2) recommends it, and the API server and the usual proxies do.
const WATCHES: u16 = 90;
/// Bytes of a watch that wait to be read. A connection takes as many for each of its watches, so that none waits for another.
const UNREAD: u32 = 128 * 1024;
/// A connection without a sign of life for so long is asked for one.
const PING_AFTER: Duration = Duration::from_secs(30);
/// The deadline for that sign. A connection that misses it is closed, and its watches begin again.
const PING_ANSWER: Duration = Duration::from_secs(15);
/// A server that spoke HTTP/1.1 is asked again after so long: it may have been replaced.
const ASK_AGAIN: Duration = Duration::from_secs(600);

/// The connections to one API server.
pub(super) struct SharedConnections {
    server: Arc<Server>,
    open: Mutex<Vec<Connection>>,
}

/// The address and the parameters of new connections.
struct Server {
    address: (String, u16),
    name: ServerName<'static>,
    tls: TlsConnector,
    deadline: Duration,
}

/// A connection, or the attempt to make one, which all who wait for it share.
#[derive(Clone)]
struct Connection {
    spoken: Shared<BoxFuture<'static, Result<Spoken, Arc<BoxError>>>>,
    /// A copy for each watch, and one in the list.
    place: Place,
}

/// Counts as a watch of its connection while it exists.
pub(super) type Place = Arc<()>;

/// The protocol that the server chose.
#[derive(Clone)]
enum Spoken {
    Http1 {
        since: Instant,
    },
    Http2(
        SendRequest<Body>,
        #[expect(dead_code, reason = "drives the connection until the last copy is dropped")] Driver,
    ),
}

type Driver = Arc<AbortOnDropHandle<()>>;

impl SharedConnections {
    /// The connections to the server of `config`; `None` where it is not asked by TLS, without which nothing is negotiated.
    pub(super) fn new(config: &kube::Config, deadline: Duration) -> kube::Result<Option<Self>> {
        let uri = &config.cluster_url;
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(config.tls_server_name.clone().unwrap_or_else(|| host.clone()));
        let (Some("https"), Ok(name)) = (uri.scheme_str(), name) else { return Ok(None) };
        let mut tls = config.rustls_client_config()?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let address = (host, uri.port_u16().unwrap_or(443));
        let server = Server { address, name, tls: TlsConnector::from(Arc::new(tls)), deadline };
        Ok(Some(Self { server: Arc::new(server), open: Mutex::default() }))
    }

    /// Returns true if the server speaks HTTP/2. Makes a connection if there is none with a free place.
    ///
    /// # Errors
    ///
    /// The connection cannot be made.
    pub(super) async fn speak_http2(&self) -> Result<bool, BoxError> {
        Ok(matches!(self.connection().await?, (Spoken::Http2(..), _)))
    }

    /// Sends `request`. A connection that turns out to be closed costs one more attempt, on another.
    pub(super) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<(Response<Incoming>, Place), BoxError> {
        for _ in 0..2 {
            let (Spoken::Http2(mut sender, _), place) = self.connection().await? else { break };
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok((answer, place)),
                Err(mut refused) => match refused.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(refused.into_error().into()),
                },
            }
        }
        Err("the connection was closed before the request was sent".into())
    }

    async fn connection(&self) -> Result<(Spoken, Place), BoxError> {
        let Connection { spoken, place } = self.with_room();
        match spoken.await {
            Ok(spoken) => Ok((spoken, place)),
            Err(error) => Err(error.to_string().into()),
        }
    }

    fn with_room(&self) -> Connection {
        let mut open = self.lock();
        open.retain(Connection::is_usable);
        if let Some(connection) = open.iter().find(|connection| connection.has_room()) {
            return connection.clone();
        }
        let server = self.server.clone();
        let spoken = async move { server.connect().await.map_err(Arc::new) }.boxed().shared();
        let connection = Connection { spoken, place: Place::default() };
        open.push(connection.clone());
        connection
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn is_usable(&self) -> bool {
        match self.spoken.peek() {
            None => true,
            Some(Ok(Spoken::Http2(sender, _))) => !sender.is_closed(),
            Some(Ok(Spoken::Http1 { since })) => since.elapsed() < ASK_AGAIN,
            Some(Err(_)) => false,
        }
    }

    fn has_room(&self) -> bool {
        let http1 = matches!(self.spoken.peek(), Some(Ok(Spoken::Http1 { .. })));
        http1 || Arc::strong_count(&self.place) <= usize::from(WATCHES)
    }
}

impl Server {
    async fn connect(&self) -> Result<Spoken, BoxError> {
        let made = tokio::time::timeout(self.deadline, self.handshake()).await;
        made.map_err(|_| format!("no connection within {} s", self.deadline.as_secs()))?
    }

    async fn handshake(&self) -> Result<Spoken, BoxError> {
        let (host, port) = &self.address;
        let stream = TcpStream::connect((host.as_str(), *port)).await?;
        stream.set_nodelay(true)?;
        let stream = self.tls.connect(self.name.clone(), stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Ok(Spoken::Http1 { since: Instant::now() });
        }
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(UNREAD)
            .initial_connection_window_size(UNREAD.saturating_mul(WATCHES.into()))
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_ANSWER)
            .keep_alive_while_idle(true);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        // The error is not lost: each watch on the connection ends with it.
        let driver = tokio::spawn(async move { connection.await.unwrap_or_default() });
        Ok(Spoken::Http2(sender, Arc::new(AbortOnDropHandle::new(driver))))
    }
}

#[cfg(test)]
mod tests;
