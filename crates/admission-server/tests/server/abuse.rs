//! Clients that occupy what they do not use: a new client is answered all the same, and memory is bounded.

use std::convert::Infallible;
use std::time::Duration;

use admission_server::{CancellationToken, HealthRoutes, Limits, Server};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::client::{Client, PATIENCE, Running, connect_from, post, review, start};

const MIB: usize = 1 << 20;

fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// 1,024 clients shake hands and then say nothing. The next one, from the same host, is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_do_not_keep_a_new_client_out() {
    let running = start(Limits::default()).await;
    let mut silent = Vec::new();
    for _ in 0..1_024 {
        silent.push(running.connect().await.unwrap());
    }
    running.answers().await;
    // And before TLS: sockets that never send a hello.
    let mut mute = Vec::new();
    for _ in 0..600 {
        mute.push(TcpStream::connect(running.address).await.unwrap());
    }
    running.answers().await;
}

/// 1,100 sockets on a health port; liveness answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_sockets_on_the_health_port_do_not_fail_liveness() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::new(listener, HealthRoutes::new(|| Ok(()))).with_limits(Limits::health());
    let shutdown = CancellationToken::new();
    tokio::spawn(server.run(shutdown.clone()));
    let mut silent = Vec::new();
    for _ in 0..1_100 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/healthz").header("host", "a").body(Empty::<Bytes>::new()).unwrap();
    let answer = timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    shutdown.cancel();
}

#[tokio::test]
async fn a_connection_without_a_first_request_is_closed() {
    let mut limits = Limits::default();
    (limits.handshake, limits.first_request) = (Duration::from_millis(200), Duration::from_millis(200));
    let running = start(limits).await;
    let mut without_hello = TcpStream::connect(running.address).await.unwrap();
    let mut without_request = running.connect().await.unwrap();
    let mut with_half_a_header = running.connect().await.unwrap();
    with_half_a_header.write_all(b"POST /validate HTTP/1.1\r\nhost: a\r\n").await.unwrap();
    let mut byte = [0];
    for read in [
        timeout(PATIENCE, without_hello.read(&mut byte)).await,
        timeout(PATIENCE, without_request.read(&mut byte)).await,
        timeout(PATIENCE, with_half_a_header.read(&mut byte)).await,
    ] {
        assert!(matches!(read.expect("must be closed"), Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn a_connection_that_has_asked_is_kept_for_the_idle_time() {
    let mut limits = Limits::default();
    (limits.first_request, limits.idle) = (Duration::from_millis(50), Duration::from_millis(400));
    let running = start(limits).await;
    let mut client = running.client().await;
    let begun = std::time::Instant::now();
    client.ask("/validate", &review("u", "a")).await;
    let lost = async { while client.send(post("/validate", review("u", "a"))).await.is_ok() {} };
    // While it asks it stays, far beyond the time for the first request.
    assert!(timeout(Duration::from_millis(200), lost).await.is_err(), "{:?}", begun.elapsed());
}

/// Opens `streams` requests on one HTTP/2 connection, each with a body that is all but complete.
async fn flood(
    running: &Running,
    source: [u8; 4],
    streams: usize,
) -> Vec<tokio::task::JoinHandle<StatusCode>> {
    let config = running.certificate.client_config().unwrap();
    let stream = connect_from(source, running.address, &config, &["h2"]).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let chunk = Bytes::from(vec![b' '; 16 << 10]);
    let send = |_| {
        let mut sender = sender.clone();
        let chunks = futures::stream::iter(std::iter::repeat_n(chunk.clone(), 7 * MIB / (16 << 10) - 1))
            .map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)))
            .chain(futures::stream::pending());
        let request = Request::post("https://a/validate").header("content-type", "application/json");
        let request = request.body(BodyExt::boxed(StreamBody::new(chunks))).unwrap();
        tokio::spawn(async move {
            sender.ready().await.unwrap();
            sender.send_request(request).await.map_or(StatusCode::GONE, |answer| answer.status())
        })
    };
    (0..streams).map(send).collect()
}

/// Four HTTP/2 connections with 100 bodies of 7 MiB each, none complete: 2.7 GiB if they were kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_in_flight_are_bounded_in_total() {
    let mut limits = Limits::default();
    limits.body = 2 * PATIENCE;
    let running = start(limits).await;
    let before = resident();
    let mut streams = Vec::new();
    for last in 2..6 {
        streams.extend(flood(&running, [127, 0, 0, last], 100).await);
    }
    // Answers come only for what is refused; the others wait for the rest of their bodies.
    let mut refused = 0_usize;
    let mut answers: FuturesUnordered<_> = streams.into_iter().collect();
    let mut most = resident();
    while refused < 300 {
        let answer = timeout(PATIENCE, answers.next()).await.expect("most bodies must be refused").unwrap();
        let status = answer.unwrap();
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        refused += 1;
        most = most.max(resident());
    }
    let grown = most.saturating_sub(before);
    println!("resident memory grew by {} MiB", grown / MIB);
    assert!(grown < 256 * MIB, "{grown}");
    running.answers().await;
}

/// While large bodies fill the budget, a small review passes, and a large one is refused at once and clearly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_review_passes_while_large_ones_are_shed() {
    let mut limits = Limits::default();
    limits.bytes_in_flight = MIB;
    let running = start(limits).await;
    let padded = review("u", "good") + &" ".repeat(2 * MIB);
    let (status, body) = running.client().await.ask("/validate", &padded).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    assert!(body["response"]["status"]["message"].as_str().unwrap().starts_with("overloaded:"), "{body}");
    running.answers().await;
}

/// All places for requests are taken by bodies that never end: the one that has waited longest gives way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incomplete_request_gives_way_to_a_new_one() {
    let mut limits = Limits::default();
    (limits.requests, limits.body) = (8, 2 * PATIENCE);
    let running = start(limits).await;
    let mut streams: FuturesUnordered<_> = flood(&running, [127, 0, 0, 1], 4).await.into_iter().collect();
    let first = async {
        loop {
            tokio::select! {
                first = streams.next() => return first.unwrap().unwrap(),
                () = running.answers() => {}
            }
        }
    };
    let status = timeout(PATIENCE, first).await.expect("one gives way");
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
}

/// A request that is being judged is never given up for a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_judged_stays_and_the_new_one_is_told() {
    let mut limits = Limits::default();
    limits.requests = 2;
    let running = start(limits).await;
    let mut client = running.client().await;
    let judged = tokio::spawn(async move { client.ask("/never?timeout=3s", &review("u", "a")).await });
    // One place for each peer: until the first request has it, others are answered.
    let mut other = Client::over(running.connect().await.unwrap()).await;
    let shed = async {
        loop {
            let (status, body) = other.ask("/validate", &review("u", "a")).await;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                return body;
            }
        }
    };
    let body = timeout(PATIENCE, shed).await.unwrap();
    assert!(body["response"]["status"]["message"].as_str().unwrap().contains("too many requests"), "{body}");
    let (status, body) = judged.await.unwrap();
    assert_eq!((status, body["response"]["status"]["code"].as_u64()), (StatusCode::OK, Some(504)), "{body}");
}
