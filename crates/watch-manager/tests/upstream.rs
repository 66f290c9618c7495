//! The defects of kube 5.0's `watcher` that `docs/upstream` describes, each reproduced against a scripted server. A
//! test that fails here means that kube was fixed: remove its document.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, timeout};

/// The requests that a scripted server answered.
#[derive(Default)]
struct Counts {
    lists: AtomicUsize,
    watches: AtomicUsize,
}

/// A server that answers lists and watches with a status and a body.
fn server(list: (u16, &str), watch: (u16, &str)) -> (Api<ConfigMap>, Arc<Counts>) {
    let counts: Arc<Counts> = Arc::default();
    let (seen, list, watch) =
        (Arc::clone(&counts), (list.0, list.1.to_owned()), (watch.0, watch.1.to_owned()));
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=true");
        let (count, (code, body)) = if is_watch { (&seen.watches, &watch) } else { (&seen.lists, &list) };
        count.fetch_add(1, Ordering::Relaxed);
        let response = Response::builder().status(*code).body(Body::from(body.clone().into_bytes()));
        async move { Ok::<_, Infallible>(response.unwrap()) }
    });
    (Api::all(Client::new(service, "default")), counts)
}

fn status(code: u16) -> String {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": code})
        .to_string()
}

const EMPTY: &str =
    r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;

#[tokio::test(start_paused = true)]
async fn the_default_backoff_does_not_grow_while_lists_fail() {
    let (api, counts) = server((404, &status(404)), (404, &status(404)));
    let events = watcher(api, watcher::Config::default()).default_backoff().for_each(async |_| {});
    timeout(Duration::from_secs(300), events).await.unwrap_err();
    let lists = counts.lists.load(Ordering::Relaxed);
    // Delays that grow to 30 s with jitter would allow for about 20.
    assert!(lists > 100, "{lists} lists in 300 s");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_has_expired_at_the_start_of_a_watch_is_requested_for_ever() {
    let (api, counts) = server((200, EMPTY), (410, &status(410)));
    let events = watcher(api, watcher::Config::default()).default_backoff().for_each(async |_| {});
    timeout(Duration::from_secs(300), events).await.unwrap_err();
    let (lists, watches) = (counts.lists.load(Ordering::Relaxed), counts.watches.load(Ordering::Relaxed));
    assert!(lists == 1 && watches > 5, "{lists} lists and {watches} watches");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_opened_again_without_delay() {
    let (api, counts) = server((200, EMPTY), (200, ""));
    let begun = Instant::now();
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let enough = async {
        while counts.watches.load(Ordering::Relaxed) < 1_000 {
            tokio::task::yield_now().await;
        }
    };
    let follow = async { while events.next().await.is_some() {} };
    tokio::select! { () = enough => {}, () = follow => {} }
    assert_eq!(begun.elapsed(), Duration::ZERO, "a thousand requests took time");
}
