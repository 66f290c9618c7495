//! Tests of `source/discovery`: who shares a request, and who sends one. Time is virtual.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::Request;
use kube::client::Body;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::{KubeSource, Served, Source, SourceError};
use super::*;
use crate::testing::FakeApi;

/// A source on a server in memory that serves gadgets, whose discovery may be kept from answering.
struct Discovering {
    source: KubeSource,
    /// Requests for all groups.
    asked: Arc<AtomicUsize>,
    /// Answers wait for this.
    gate: watch::Sender<bool>,
    fails: Arc<AtomicBool>,
}

impl Discovering {
    fn new() -> Self {
        let api = FakeApi::new();
        api.serve(&gadget(), "gadgets");
        let (inner, asked) = (api.client(), Arc::<AtomicUsize>::default());
        let (gate, fails) = (watch::Sender::new(true), Arc::<AtomicBool>::default());
        let (count, open, broken) = (asked.clone(), gate.subscribe(), fails.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_discovery = request.uri().path() == "/apis";
            count.fetch_add(usize::from(is_discovery), Ordering::Relaxed);
            let (inner, mut open, fails) = (inner.clone(), open.clone(), broken.load(Ordering::Relaxed));
            async move {
                if is_discovery {
                    let _ = open.wait_for(|open| *open).await;
                }
                match is_discovery && fails {
                    true => Err(kube::Error::Service("cut".into())),
                    false => inner.send(request).await,
                }
            }
        });
        Self { source: KubeSource::new(Client::new(service, "default")), asked, gate, fails }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn resolve(&self, freshness: Freshness) -> JoinHandle<Result<Served, SourceError>> {
        let source = self.source.clone();
        tokio::spawn(async move { source.resolve(&any_version(), freshness).await })
    }
}

fn gadget() -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", "v1", "Gadget")
}

fn any_version() -> GroupVersionKind {
    GroupVersionKind::gvk("example.com", "", "Gadget")
}

#[tokio::test(start_paused = true)]
async fn who_asks_while_discovery_is_under_way_shares_it_also_when_the_first_gives_up() {
    let server = Discovering::new();
    server.gate.send_replace(false);
    let mut asking: Vec<_> = (0..5).map(|_| server.resolve(Freshness::Recent)).collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    asking.remove(0).abort();
    server.gate.send_replace(true);
    for asked in asking {
        assert!(asked.await.unwrap().is_ok());
    }
    assert!(server.resolve(Freshness::Recent).await.unwrap().is_ok());
    assert_eq!(server.asked(), 1);
    tokio::time::sleep(RECENT).await;
    assert!(server.resolve(Freshness::Recent).await.unwrap().is_ok());
    assert_eq!(server.asked(), 2);
}

/// One that hangs would otherwise be waited for by everybody, for ever.
#[tokio::test(start_paused = true)]
async fn who_asks_a_second_after_a_request_that_hangs_sends_another() {
    let server = Discovering::new();
    server.gate.send_replace(false);
    let hanging = server.resolve(Freshness::Recent);
    tokio::time::sleep(RECENT).await;
    let later = server.resolve(Freshness::Recent);
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(server.asked(), 2);
    server.gate.send_replace(true);
    assert!(later.await.unwrap().is_ok() && hanging.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_by_the_requests_that_wait_and_by_no_other() {
    let server = Discovering::new();
    server.fails.store(true, Ordering::Relaxed);
    let asking = [server.resolve(Freshness::Recent), server.resolve(Freshness::Recent)];
    for asked in asking {
        assert!(matches!(asked.await.unwrap(), Err(SourceError::Unavailable(_))));
    }
    assert_eq!(server.asked(), 1);
    server.fails.store(false, Ordering::Relaxed);
    assert!(server.resolve(Freshness::Recent).await.unwrap().is_ok());
    assert_eq!(server.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_now_on_comes_from_a_request_that_was_sent_after_the_call() {
    let server = Discovering::new();
    server.gate.send_replace(false);
    let before = server.resolve(Freshness::Recent);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let now = server.resolve(Freshness::Now);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(server.asked(), 2);
    let shares = server.resolve(Freshness::Recent);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(server.asked(), 2, "what is asked for now is recent too");
    server.gate.send_replace(true);
    for asked in [before, now, shares] {
        assert!(asked.await.unwrap().is_ok());
    }
}
