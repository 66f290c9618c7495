//! A running server and the clients of the tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use admission_server::{
    AdmissionRoutes, CancellationToken, Limits, Routes, Server, ServingCertificate, Tls, TlsOptions, mutate,
    validate,
};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// Far more than any step takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: ServingCertificate,
    pub(crate) tls: Tls,
    pub(crate) shutdown: CancellationToken,
    pub(crate) server: JoinHandle<()>,
}

/// Handlers for everything that the tests ask.
pub(crate) fn routes() -> AdmissionRoutes {
    let judge = |name: &str| match name {
        "bad" => Err("bad is forbidden".to_owned()),
        "panic" => panic!("a handler that panics"),
        _ => Ok(()),
    };
    AdmissionRoutes::new()
        .with_handler("/validate", validate(move |request| judge(&request.name)))
        .with_handler("/never", Never)
        .with_handler(
            "/mutate",
            mutate(|_, object| {
                object["metadata"]["labels"]["team"] = json!("shop");
                Ok(())
            }),
        )
}

/// A handler that is never done.
struct Never;

impl admission_server::AdmissionHandler for Never {
    fn admit(
        &self,
        _: admission_server::AdmissionRequest,
    ) -> futures::future::BoxFuture<'_, admission_server::AdmissionResponse> {
        Box::pin(std::future::pending())
    }
}

pub(crate) async fn start(limits: Limits) -> Running {
    start_with(limits, TlsOptions::default(), routes()).await
}

pub(crate) async fn start_with(limits: Limits, options: TlsOptions, routes: impl Routes) -> Running {
    let certificate = ServingCertificate::generate(&["127.0.0.1".to_owned()]).unwrap();
    let tls = Tls::new(&certificate, options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let server = Server::new(listener, routes).with_tls(tls.clone()).with_limits(limits);
    let server = tokio::spawn(server.run(shutdown.clone()));
    Running { address, certificate, tls, shutdown, server }
}

impl Running {
    pub(crate) async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        connect(self.address, &self.certificate.client_config().unwrap(), &[]).await
    }

    pub(crate) async fn client(&self) -> Client {
        Client::over(self.connect().await.unwrap()).await
    }

    /// A new client gets its answer.
    pub(crate) async fn answers(&self) {
        let asked = async { self.client().await.ask("/validate", &review("u", "good")).await };
        let (status, body) = timeout(PATIENCE, asked).await.expect("a new client must be answered");
        assert_eq!((status, &body["response"]["allowed"]), (StatusCode::OK, &json!(true)), "{body}");
    }
}

/// TLS from an address of its own: each test client of another "host" binds to another 127.x.y.z.
pub(crate) async fn connect_from(
    source: [u8; 4],
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    handshake(socket.connect(address).await?, config, protocols).await
}

pub(crate) async fn connect(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    handshake(TcpStream::connect(address).await?, config, protocols).await
}

async fn handshake(
    stream: TcpStream,
    config: &Arc<ClientConfig>,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = ClientConfig::clone(config);
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
}

/// A kept-alive HTTP/1.1 connection.
pub(crate) struct Client(SendRequest<Full<Bytes>>);

impl Client {
    pub(crate) async fn over(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<(StatusCode, Value)> {
        let answer = self.0.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(crate) async fn ask(&mut self, path: &str, body: &str) -> (StatusCode, Value) {
        self.send(post(path, body.to_owned())).await.unwrap()
    }
}

pub(crate) fn post(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post(path).header("host", "a").header("content-type", "application/json");
    request.body(Full::from(body.into())).unwrap()
}

/// A review about an object of this name.
pub(crate) fn review(uid: &str, name: &str) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": uid, "operation": "CREATE", "name": name, "object": {"metadata": {"name": name, "labels": {}}}}
    })
    .to_string()
}
