//! Stores and their driver on a server of a few lines, which lists one object and keeps watches open.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

use futures::FutureExt;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::*;

#[derive(Clone, Debug, serde::Deserialize, crate::DuckType)]
#[duck(crate = "crate", path = "/status/size")]
struct Size(u8);

struct Server {
    client: Client,
    /// The number of watches that are open.
    open: watch::Receiver<usize>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, open) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, sender.clone()));
            }
        });
        let client = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
        Self { client, open }
    }

    async fn has_open(&mut self, count: usize) {
        let reached = self.open.wait_for(|open| *open == count);
        timeout(DEADLINE, reached).await.expect("the watches change").unwrap();
    }
}

/// Answers one request. A watch ends when its client closes the connection.
async fn serve(mut stream: TcpStream, open: watch::Sender<usize>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let request = String::from_utf8(request).unwrap();
    let head = "Content-Type: application/json\r\nConnection: close\r\n\r\n";
    if request.contains("watch=true") {
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes()).await.unwrap();
        open.send_modify(|open| *open += 1);
        let _ = stream.read(&mut [0]).await;
        return open.send_modify(|open| *open -= 1);
    }
    let (status, body) = match request.contains("/missings") {
        true => ("404 Not Found", json!({"kind": "Status", "status": "Failure", "code": 404})),
        false => ("200 OK", list()),
    };
    stream.write_all(format!("HTTP/1.1 {status}\r\n{head}{body}").as_bytes()).await.unwrap();
}

fn list() -> Value {
    json!({"kind": "ThingList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "1"}, "items": [
        {"metadata": {"name": "a", "resourceVersion": "1"}, "status": {"size": 3}}
    ]})
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", kind))
}

fn sizes(store: &Store<Projected<Size>>) -> Vec<u8> {
    store.state().iter().map(|object| object.view().unwrap().0).collect()
}

#[tokio::test]
async fn callers_share_one_watch_until_the_driver_is_shut_down() {
    let mut server = Server::start().await;
    let (stores, driver) = DuckStores::<Size>::new(server.client.clone());
    let shutdown = CancellationToken::new();
    let driver = tokio::spawn(driver.run(shutdown.clone()));
    let things = resource("Thing");
    let (one, other) = futures::join!(stores.get(&things), stores.get(&things));
    let store = one.unwrap();
    assert_eq!((sizes(&store), sizes(&other.unwrap())), (vec![3], vec![3]));
    server.has_open(1).await;
    shutdown.cancel();
    driver.await.unwrap();
    server.has_open(0).await;
    assert_eq!(sizes(&store), [3], "the last state is kept");
    assert!(matches!(stores.get(&things).await, Err(StoreError::ShutDown)));
    assert!(matches!(stores.get(&resource("Other")).await, Err(StoreError::ShutDown)));
}

#[tokio::test]
async fn the_driver_ends_with_the_stores() {
    let mut server = Server::start().await;
    let (stores, driver) = DuckStores::<Size>::new(server.client.clone());
    let driver = tokio::spawn(driver.run(CancellationToken::new()));
    stores.get(&resource("Thing")).await.unwrap();
    server.has_open(1).await;
    drop(stores);
    timeout(DEADLINE, driver).await.expect("it ends").unwrap();
    server.has_open(0).await;
}

#[tokio::test]
async fn a_start_that_fails_is_not_kept() {
    let server = Server::start().await;
    let (stores, driver) = DuckStores::<Size>::new(server.client.clone());
    let mut driver = std::pin::pin!(driver.run(CancellationToken::new()));
    for _ in 0..2 {
        let missing = resource("Missing");
        let failed = tokio::select! {
            failed = stores.get(&missing) => failed,
            () = &mut driver => panic!("the driver has ended"),
        };
        assert!(matches!(failed, Err(StoreError::List { plural, .. }) if plural == "missings"));
    }
    assert!(driver.now_or_never().is_none(), "it waits for the next resource");
}
