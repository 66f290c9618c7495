//! Asks the webhook over its own HTTPS endpoint, as an API server would.

use admission_server::ServingCertificate;
use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::cli::{Manifest, admission_review};
use crate::runtime::RunError;

/// The answer of the webhook about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) allowed: bool,
    pub(super) message: String,
    pub(super) warnings: Vec<String>,
}

/// A client that trusts the webhook's own authority only.
pub(super) struct Client {
    address: SocketAddr,
    connector: TlsConnector,
}

impl Client {
    pub(super) fn new(address: SocketAddr, certificate: &ServingCertificate) -> Result<Self, RunError> {
        let mut config = certificate.client_config()?.as_ref().clone();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { address, connector: TlsConnector::from(std::sync::Arc::new(config)) })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}/v1/admit", self.address)
    }

    /// Sends every object, in order. What fails is an answer too: people must see it beside the others.
    pub(super) async fn judge(&self, reviews: &[Manifest]) -> Vec<Result<Judged, String>> {
        let mut answers = Vec::new();
        for review in reviews {
            answers
                .push(self.send(&admission_review(&review.object)).await.map_err(|error| error.to_string()));
        }
        answers
    }

    async fn send(&self, review: &Value) -> Result<Judged, Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(self.address).await?;
        let stream = self.connector.connect(ServerName::from(self.address.ip()), stream).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let request = Request::builder()
            .method(Method::POST)
            .uri("/v1/admit")
            .header(HOST, self.address.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::<Bytes>::from(review.to_string()))?;
        let exchange = async {
            let answer = sender.send_request(request).await?;
            Ok::<_, hyper::Error>(answer.into_body().collect().await?.to_bytes())
        };
        // The connection must be driven for the exchange to get anywhere; whichever ends first tells the rest.
        let body = tokio::select! {
            body = exchange => body?,
            ended = connection => return Err(ended.err().map_or("the connection was closed".into(), Into::into)),
        };
        Ok(Judged::read(&serde_json::from_slice(&body)?))
    }
}

impl Judged {
    fn read(answer: &Value) -> Self {
        let text =
            |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let warnings = answer.pointer("/response/warnings").and_then(Value::as_array);
        Self {
            allowed: answer.pointer("/response/allowed") == Some(&Value::Bool(true)),
            message: text("/response/status/message"),
            warnings: warnings.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}
