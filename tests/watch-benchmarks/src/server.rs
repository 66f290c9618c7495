//! `FakeApi` over HTTP on the loopback interface, for peers in another language. Counts the requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use watch_manager::testing::FakeApi;

/// The requests by what they ask for: `discovery`, `list` or `watch`.
pub type Counts = BTreeMap<&'static str, usize>;

/// A running server; dropping it closes it.
pub struct Server {
    /// Its address.
    pub address: SocketAddr,
    counts: Arc<Mutex<Counts>>,
    accepting: AbortHandle,
}

impl Server {
    /// Serves `api` on a free port.
    ///
    /// # Errors
    /// No port is free.
    pub async fn start(api: &FakeApi) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (address, counts) = (listener.local_addr()?, Arc::<Mutex<Counts>>::default());
        let accepting = tokio::spawn(accept(listener, api.client(), Arc::clone(&counts))).abort_handle();
        Ok(Self { address, counts, accepting })
    }

    /// The requests since the last call.
    #[must_use]
    pub fn take_counts(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A client that talks to this server over TCP.
    ///
    /// # Errors
    /// The address is not a URL.
    pub fn client(&self) -> Result<kube::Client> {
        Ok(kube::Client::try_from(kube::Config::new(self.url().parse()?))?)
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, client: kube::Client, counts: Arc<Mutex<Counts>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (client, counts) = (client.clone(), Arc::clone(&counts));
        let service = service_fn(move |request| {
            let kind = classify(&request);
            let mut counted = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counted.entry(kind).or_default();
            *count = count.saturating_add(1);
            drop(counted);
            answer(client.clone(), request)
        });
        connections.spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(client: kube::Client, request: Request<Incoming>) -> Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(client.send(Request::from_parts(parts, Body::from(body.to_vec()))).await?)
}

fn classify(request: &Request<Incoming>) -> &'static str {
    let segments = request.uri().path().split('/').filter(|part| !part.is_empty()).count();
    let is_core = request.uri().path().starts_with("/api/") || request.uri().path() == "/api";
    if segments < if is_core { 3 } else { 4 } {
        return "discovery";
    }
    let query = request.uri().query().unwrap_or_default();
    if query.contains("watch=true") || query.contains("watch=1") { "watch" } else { "list" }
}
