//! The drain: requests that have begun are answered, and the server ends.

use admission_server::{CancellationToken, Limits, Server};
use hyper::StatusCode;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::client::{Client, PATIENCE, post, review, routes, start};

#[tokio::test]
async fn a_request_that_has_begun_is_answered_and_idle_connections_end() {
    let running = start(Limits::default()).await;
    let _silent = running.connect().await.unwrap();
    let mut idle = running.client().await;
    idle.ask("/validate", &review("u", "a")).await;
    let mut client = running.client().await;
    let begun = tokio::spawn(async move { client.ask("/never?timeout=3s", &review("u", "a")).await });
    // The other connection's answer shows that the server runs; the request may still be on its way, and is accepted.
    idle.ask("/validate", &review("u", "a")).await;
    running.shutdown.cancel();
    let (_, body) = timeout(PATIENCE, begun).await.unwrap().unwrap();
    assert_eq!(body["response"]["status"]["code"], 504, "{body}");
    timeout(PATIENCE, running.server).await.expect("the server ends").unwrap();
}

/// With a drain signal the server goes on serving; without one, connections move when it is shut down.
#[tokio::test]
async fn a_pooled_connection_ends_with_its_next_answer_from_the_drain_signal_or_the_shutdown_on() {
    for signalled in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (draining, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let server = Server::new(listener, routes());
        let server = if signalled { server.with_drain_signal(draining.clone()) } else { server };
        let server = tokio::spawn(server.run(shutdown.clone()));
        let client = async || Client::over(TcpStream::connect(address).await.unwrap()).await;
        let mut pooled = client().await;
        for _ in 0..2 {
            assert_eq!(pooled.ask("/validate", &review("u", "a")).await.0, StatusCode::OK);
        }
        if signalled { &draining } else { &shutdown }.cancel();
        assert_eq!(pooled.ask("/validate", &review("u", "a")).await.0, StatusCode::OK);
        assert!(pooled.send(post("/validate", review("u", "a"))).await.is_err(), "kept, {signalled}");
        if signalled {
            assert_eq!(client().await.ask("/validate", &review("u", "a")).await.0, StatusCode::OK);
        }
        shutdown.cancel();
        timeout(PATIENCE, server).await.expect("the server ends").unwrap();
    }
}
