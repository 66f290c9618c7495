//! An HTTP proxy between one process and the API server, which fails by script.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::hangs::{self, Hangs};

type Answer = UnsyncBoxBody<Bytes, std::io::Error>;

/// The proxy of one process.
pub struct Proxy {
    /// The process reaches nothing, and its open connections are silent.
    cut: watch::Sender<bool>,
    accepting: AbortHandle,
    pub kubeconfig: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

#[derive(Clone)]
struct Script {
    client: kube::Client,
    cut: watch::Receiver<bool>,
    /// Every so many requests one fails; 0 is never.
    every: u64,
    count: Arc<AtomicU64>,
    hangs: Hangs,
}

impl Proxy {
    /// A proxy that lets one of `every` requests fail, and leaves those unanswered that `hangs` takes.
    pub async fn start(client: kube::Client, kubeconfig: PathBuf, every: u64, hangs: Hangs) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let (cut, is_cut) = watch::channel(false);
        let script = Script { client, cut: is_cut, every, count: Arc::default(), hangs };
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let script = script.clone();
                let service = service_fn(move |request| script.clone().answer(request));
                let server = hyper::server::conn::http1::Builder::new();
                tokio::spawn(async move { server.serve_connection(TokioIo::new(stream), service).await });
            }
        });
        Self { cut, accepting: accepting.abort_handle(), kubeconfig }
    }

    /// Cuts the process off, or connects it again.
    pub fn cut(&self, is_cut: bool) {
        self.cut.send_replace(is_cut);
    }
}

impl Script {
    async fn answer(self, request: Request<Incoming>) -> Result<Response<Answer>, std::io::Error> {
        self.connected().await;
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let (is_write, kind) = (parts.method != Method::GET, hangs::kind(&parts));
        // Their callers wait for 30 s, so that one of each kind must do. All others wait for a few seconds.
        let is_patient = ["LIST podreports", "WATCH podreports", "LIST pods", "WATCH pods", "GET pods"]
            .into_iter()
            .chain(["GET policies", "PATCH policies/status", "DELETE podreports"])
            .any(|patient| patient == kind);
        let is_taken = self.every > 0 && is_patient && self.hangs.takes(&kind);
        let round = number.checked_div(self.every).unwrap_or_default();
        let fault = (number.checked_rem(self.every) == Some(0)).then_some(round % 6);
        let forward = self.client.send(Request::from_parts(parts, Body::from(bytes.to_vec())));
        match fault {
            _ if is_taken => return unanswered(forward, number).await,
            Some(0) => return Ok(refusal(429)),
            Some(1) => return Ok(refusal(504)),
            Some(2) => return Ok(refusal(if is_write { 409 } else { 500 })),
            Some(3) if !is_patient => return unanswered(forward, round / 6).await,
            // A report that is refused as too large is divided, and an entry alone becomes an error for good.
            Some(4) if is_write && kind.ends_with("podreports") => return Ok(refusal(503)),
            Some(4) => return Ok(refusal(if is_write { 413 } else { 410 })),
            _ => {}
        }
        let Ok(answer) = forward.await else { return Ok(refusal(503)) };
        self.connected().await;
        let (parts, body) = answer.into_parts();
        if fault == Some(5) {
            return Ok(Response::from_parts(parts, broken_off(body)));
        }
        let frames = body.into_data_stream().then(move |data| {
            let script = self.clone();
            async move {
                script.connected().await;
                data.map(Frame::data).map_err(std::io::Error::other)
            }
        });
        Ok(Response::from_parts(parts, StreamBody::new(frames).boxed_unsync()))
    }

    async fn connected(&self) {
        let _ = self.cut.clone().wait_for(|is_cut| !is_cut).await;
    }
}

/// Half of these are carried out, and half never arrive. None is answered.
async fn unanswered(
    forward: impl Future<Output = kube::Result<Response<Body>>>,
    number: u64,
) -> Result<Response<Answer>, std::io::Error> {
    if number.is_multiple_of(2) {
        let _ = forward.await;
    }
    std::future::pending().await
}

/// Half of the first part of an answer; then the connection breaks.
fn broken_off(body: Body) -> Answer {
    let first = body.into_data_stream().take(1).map(|data| {
        let data = data.map_err(std::io::Error::other)?;
        Ok(Frame::data(data.slice(..data.len() / 2)))
    });
    let end = futures::stream::once(async { Err(std::io::ErrorKind::ConnectionReset.into()) });
    StreamBody::new(first.chain(end)).boxed_unsync()
}

fn refusal(code: u16) -> Response<Answer> {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        429 => "TooManyRequests",
        504 => "Timeout",
        _ => "ServiceUnavailable",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "by script",
        "reason": reason, "details": {"retryAfterSeconds": 1},
    });
    let body = Full::new(Bytes::from(status.to_string())).map_err(|never| match never {}).boxed_unsync();
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.header("retry-after", "1").body(body).unwrap()
}
