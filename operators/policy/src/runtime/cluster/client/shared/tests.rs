//! Against a server of this process that speaks TLS, with the protocols that a test lists.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::*;
use crate::runtime::cluster::client::client;

/// An API server that answers `/endless` with data that never ends, and all else with one event.
struct Peer {
    config: kube::Config,
    connections: Arc<AtomicUsize>,
    hang_up: tokio::sync::watch::Sender<()>,
    _accepting: AbortOnDropHandle<()>,
}

impl Peer {
    async fn start(protocols: &[&str]) -> Self {
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let tls =
            ServerConfig::builder().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key);
        let mut tls = tls.unwrap();
        tls.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config =
            kube::Config::new(format!("https://{}", listener.local_addr().unwrap()).parse().unwrap());
        config.root_cert = Some(vec![cert.der().to_vec()]);
        let (connections, hang_up) = (Arc::<AtomicUsize>::default(), tokio::sync::watch::Sender::new(()));
        let accepting =
            accept(listener, TlsAcceptor::from(Arc::new(tls)), connections.clone(), hang_up.clone());
        let _accepting = AbortOnDropHandle::new(tokio::spawn(accepting));
        Self { config, connections, hang_up, _accepting }
    }

    fn client(&self) -> kube::Client {
        client(self.config.clone()).unwrap()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    connections: Arc<AtomicUsize>,
    hang_up: tokio::sync::watch::Sender<()>,
) {
    let mut serving = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, connections, mut end) = (tls.clone(), connections.clone(), hang_up.subscribe());
        serving.spawn(async move {
            let stream = tls.accept(stream).await.unwrap();
            connections.fetch_add(1, Ordering::Relaxed);
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let (stream, service) = (TokioIo::new(stream), service_fn(answer));
            let serve = async {
                match http2 {
                    true => http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await,
                    false => http1::Builder::new().serve_connection(stream, service).await,
                }
            };
            tokio::select! {
                _ = serve => {}
                _ = end.changed() => {}
            }
        });
    }
}

async fn answer(
    request: Request<Incoming>,
) -> Result<Response<StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>>, Infallible> {
    let frame = |_| Ok(Frame::data(Bytes::from(vec![b'a'; 1_000])));
    let frames = match request.uri().path() {
        "/endless" => stream::repeat(()).map(frame).boxed(),
        _ => stream::iter([()]).map(frame).chain(stream::pending()).boxed(),
    };
    Ok(Response::new(StreamBody::new(frames)))
}

async fn begin(client: &kube::Client, path: &str) -> Response<Body> {
    let request = Request::get(format!("{path}?watch=true")).body(Body::empty()).unwrap();
    client.send(request).await.unwrap()
}

/// An answer whose first event has come.
async fn watch(client: &kube::Client, path: &str) -> Response<Body> {
    let mut answer = begin(client, path).await;
    assert_eq!(answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap().len(), 1_000);
    answer
}

#[tokio::test]
async fn ninety_watches_share_a_connection() {
    let peer = Peer::start(&["h2", "http/1.1"]).await;
    let client = peer.client();
    let watches: Vec<_> =
        stream::iter(0..250).map(|_| watch(&client, "/")).buffer_unordered(250).collect().await;
    assert_eq!((watches.len(), peer.connections()), (250, 3));
    drop(watches);
}

#[tokio::test]
async fn the_place_of_a_watch_that_ended_is_free() {
    let peer = Peer::start(&["h2"]).await;
    let client = peer.client();
    for _ in 0..250 {
        watch(&client, "/").await;
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn each_watch_has_a_connection_where_the_server_speaks_http_1() {
    let peer = Peer::start(&["http/1.1"]).await;
    let client = peer.client();
    let _watches = (watch(&client, "/").await, watch(&client, "/").await);
    // One that the server was asked for its protocol on.
    assert_eq!(peer.connections(), 3);
}

#[tokio::test]
async fn watches_begin_again_on_another_connection_when_theirs_is_closed() {
    let peer = Peer::start(&["h2"]).await;
    let client = peer.client();
    let mut first = watch(&client, "/").await;
    peer.hang_up.send_replace(());
    first.body_mut().frame().await.unwrap().unwrap_err();
    watch(&client, "/").await;
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn a_watch_that_nobody_reads_does_not_stop_the_others_of_its_connection() {
    let peer = Peer::start(&["h2"]).await;
    let client = peer.client();
    let unread: Vec<_> = stream::iter(0..80).then(|_| begin(&client, "/endless")).collect().await;
    for _ in 0..1_000 {
        watch(&client, "/").await;
    }
    assert_eq!(peer.connections(), 1);
    drop(unread);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_again() {
    let peer = Peer::start(&["h2"]).await;
    let mut config = peer.config.clone();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    config.cluster_url = format!("https://{gone}").parse().unwrap();
    let connections = SharedConnections::new(&config, Duration::from_secs(10)).unwrap().unwrap();
    for _ in 0..2 {
        let error = connections.speak_http2().await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
    }
    assert!(connections.lock().len() <= 1);
}
