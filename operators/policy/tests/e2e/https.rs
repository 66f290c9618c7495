//! Requests to the webhook without an API server between: for input that an API server would never send.

use admission_server::ServingCertificate;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::cluster::{Cluster, NAMESPACE};

/// One kept-alive connection.
pub(crate) struct Connection(SendRequest<Full<Bytes>>);

/// The webhook's authority, from the Secret that all pods share.
pub(crate) async fn authority(cluster: &Cluster) -> ServingCertificate {
    let secret = ["secret", "gatekeeper-webhook-server-cert", "-n", NAMESPACE];
    let encoded = cluster.get(&secret, "{.data}").await;
    let data: std::collections::BTreeMap<String, k8s_openapi::ByteString> =
        serde_json::from_str(&encoded).unwrap();
    let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
    ServingCertificate { authority: text("ca.crt"), certificate: text("tls.crt"), key: text("tls.key") }
}

impl Connection {
    pub(crate) async fn open(address: &str, trusted: &ServingCertificate) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        let connector = TlsConnector::from(Arc::clone(&trusted.client_config().unwrap()));
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = connector.connect(name, stream).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    /// Sends one request; `Err` when the connection broke before the whole answer came.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<(StatusCode, bool, String)> {
        self.0.ready().await?;
        let answer = self.0.send_request(request).await?;
        let status = answer.status();
        let closes = answer.headers().get("connection").is_some_and(|value| value == "close");
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, closes, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// A POST to `/v1/admit`.
pub(crate) fn post(content_type: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let request = Request::post("/v1/admit").header("host", "127.0.0.1").header("content-type", content_type);
    request.body(Full::from(body.into())).unwrap()
}

/// An AdmissionReview about a Deployment with this many replicas.
pub(crate) fn deployment_review(uid: &str, replicas: u32) -> String {
    serde_json::json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": uid, "operation": "CREATE", "namespace": "default",
            "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
                "spec": {"replicas": replicas}}
        }
    })
    .to_string()
}
