//! An HTTP proxy in front of the API server. A script decides what becomes of each request, and which events of watches
//! arrive.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::{StreamExt, TryStreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

type Reply = UnsyncBoxBody<Bytes, std::io::Error>;

/// The treatment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The API server answers it.
    Pass,
    /// It is answered by a failure with this code and reason.
    Fail(u16, &'static str),
    /// It never reaches the API server, and is never answered.
    Stuck,
    /// The API server carries it out, and the answer is lost on its way.
    Unanswered,
    /// It reaches the API server when the proxy is told to [release](Scripted::release) it.
    Late,
}

type Script = Box<dyn FnMut(&Method, &str) -> Fate + Send>;

struct Shared {
    client: kube::Client,
    script: Mutex<Script>,
    /// Lines of watches that hold one of these do not arrive.
    lost: Mutex<Vec<String>>,
    /// Text in answers that arrives as another.
    changed: Mutex<Option<(&'static str, &'static str)>>,
    /// Ends the watches that are open.
    cut: Mutex<CancellationToken>,
    /// The number of requests that did not pass.
    hit: watch::Sender<usize>,
    /// Late requests are on their way.
    released: watch::Sender<bool>,
}

/// The proxy, and a kubeconfig that leads through it.
pub(crate) struct Scripted {
    shared: Arc<Shared>,
    folder: tempfile::TempDir,
    accepting: AbortHandle,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Scripted {
    /// A proxy that passes everything to the API server of `kubeconfig`, as its user.
    pub(crate) async fn start(kubeconfig: &Path) -> Self {
        let mut own = Kubeconfig::read_from(kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(own.clone(), &options).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cluster = own.clusters[0].cluster.as_mut().unwrap();
        cluster.server = Some(format!("http://{address}"));
        own.auth_infos.iter_mut().for_each(|user| user.auth_info = Some(AuthInfo::default()));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), serde_json::to_string(&own).unwrap()).unwrap();
        let shared = Arc::new(Shared {
            client: kube::Client::try_from(config).unwrap(),
            script: Mutex::new(Box::new(|_, _| Fate::Pass)),
            lost: Mutex::default(),
            changed: Mutex::default(),
            cut: Mutex::default(),
            hit: watch::Sender::new(0),
            released: watch::Sender::new(false),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Self { shared, folder, accepting }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Asks `script` about each request from now on, by its method and its path with the query.
    pub(crate) fn script(&self, script: impl FnMut(&Method, &str) -> Fate + Send + 'static) {
        *self.shared.script.lock().unwrap() = Box::new(script);
    }

    /// The first request that `chosen` chooses meets this fate, and all others pass.
    pub(crate) fn once(&self, fate: Fate, chosen: impl Fn(&Method, &str) -> bool + Send + 'static) {
        let mut is_done = false;
        self.script(move |method, path| match !is_done && chosen(method, path) {
            true => {
                is_done = true;
                fate
            }
            false => Fate::Pass,
        });
    }

    /// Events of watches that hold one of these texts do not arrive from now on.
    pub(crate) fn lose(&self, texts: &[&str]) {
        *self.shared.lost.lock().unwrap() = texts.iter().map(|text| (*text).to_owned()).collect();
    }

    /// This text arrives as the other one from now on, in lists, watches and single objects.
    pub(crate) fn change(&self, text: &'static str, other: &'static str) {
        *self.shared.changed.lock().unwrap() = Some((text, other));
    }

    /// Ends the watches that are open.
    pub(crate) fn cut(&self) {
        std::mem::take(&mut *self.shared.cut.lock().unwrap()).cancel();
    }

    /// Lets the late requests reach the API server.
    pub(crate) fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Changes whenever a request has not passed; its value is how many have not.
    pub(crate) fn hits(&self) -> watch::Receiver<usize> {
        self.shared.hit.subscribe()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = shared.clone();
        let service = service_fn(move |request| respond(shared.clone(), request));
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // It ends when the process at the other end does.
        tokio::spawn(connection);
    }
}

async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Reply>, std::io::Error> {
    let path = request.uri().path_and_query().unwrap().as_str().to_owned();
    let fate = (shared.script.lock().unwrap())(request.method(), &path);
    if fate != Fate::Pass {
        println!("{fate:?}: {} {path}", request.method());
        shared.hit.send_modify(|count| *count += 1);
    }
    match fate {
        Fate::Pass => ask(&shared, request).await,
        Fate::Fail(code, reason) => Ok(failure(code, reason)),
        Fate::Stuck => std::future::pending().await,
        Fate::Late => carried_out_late(shared, request).await,
        Fate::Unanswered => {
            let answer = ask(&shared, request).await?;
            drop(answer.into_body().collect().await);
            std::future::pending().await
        }
    }
}

/// The sender of the request may be frozen or gone by then.
async fn carried_out_late(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, std::io::Error> {
    let mut released = shared.released.subscribe();
    released.wait_for(|released| *released).await.map_err(std::io::Error::other)?;
    ask(&shared, request).await
}

async fn ask(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Response<Reply>, std::io::Error> {
    let (mut parts, body) = request.into_parts();
    let is_watch = parts.uri.query().is_some_and(|query| query.contains("watch=true"));
    for header in ["accept-encoding", "host", "connection"] {
        parts.headers.remove(header);
    }
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let answer = shared.client.send(Request::from_parts(parts, Body::from(body.to_vec()))).await;
    let (mut parts, body) = answer.map_err(std::io::Error::other)?.into_parts();
    for header in ["content-length", "transfer-encoding", "connection"] {
        parts.headers.remove(header);
    }
    let body = body.map_err(std::io::Error::other);
    let body = if is_watch { events(shared, body) } else { whole(shared, body).await? };
    Ok(Response::from_parts(parts, body))
}

impl Shared {
    fn change(&self, text: String) -> String {
        self.changed.lock().unwrap().map_or(text.clone(), |(known, other)| text.replace(known, other))
    }
}

/// Passes on the answer to a request that is not a watch.
async fn whole(
    shared: &Shared,
    body: impl hyper::body::Body<Data = Bytes, Error = std::io::Error> + Send + 'static,
) -> Result<Reply, std::io::Error> {
    if shared.changed.lock().unwrap().is_none() {
        return Ok(body.boxed_unsync());
    }
    let text = String::from_utf8(body.collect().await?.to_bytes().to_vec()).unwrap();
    Ok(Full::from(shared.change(text)).map_err(|never: Infallible| match never {}).boxed_unsync())
}

/// The events of a watch, line by line, without those that are lost.
fn events(
    shared: &Arc<Shared>,
    body: impl hyper::body::Body<Data = Bytes, Error = std::io::Error> + Send + 'static,
) -> Reply {
    let (shared, cut) = (shared.clone(), shared.cut.lock().unwrap().clone());
    let mut pending = Vec::new();
    let data = BodyStream::new(body.map_err(std::io::Error::other).boxed_unsync())
        .try_filter_map(async |frame| Ok(frame.into_data().ok()));
    let lines = data.map_ok(move |data| {
        pending.extend_from_slice(&data);
        let end = pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let whole: Vec<u8> = pending.drain(..end).collect();
        let whole = String::from_utf8(whole).unwrap();
        let lost = shared.lost.lock().unwrap();
        let arrives = |line: &&str| !lost.iter().any(|text| line.contains(text));
        let kept: String = whole.split_inclusive('\n').filter(arrives).collect();
        Frame::data(Bytes::from(shared.change(kept)))
    });
    StreamBody::new(lines.take_until(cut.cancelled_owned()).boxed()).boxed_unsync()
}

fn failure(code: u16, reason: &str) -> Response<Reply> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": reason,
        "reason": reason, "code": code,
    });
    let body = Full::from(status.to_string()).map_err(|never: Infallible| match never {});
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.body(body.boxed_unsync()).unwrap()
}
