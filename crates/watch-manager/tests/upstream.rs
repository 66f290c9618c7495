//! The defects of kube 5.0's `watcher` that `docs/upstream` describes, each reproduced against a scripted server. A
//! test that fails here means that kube was fixed: remove its document.

#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt, stream};
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::core::DynamicObject;
use kube::runtime::reflector::{ReflectHandle, store_shared};
use kube::runtime::watcher::{Error, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
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

/// Queries of lists and watches, in the order of the requests.
type Queries = Arc<Mutex<Vec<String>>>;

/// A server that answers by the query of a request: status and body, after which a watch stays open if `open`.
fn scripted(answer: fn(&str) -> (u16, String), open: bool) -> (Api<ConfigMap>, Queries) {
    let queries = Queries::default();
    let seen = Arc::clone(&queries);
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let (code, body) = answer(&query);
        let is_watch = query.contains("watch=true");
        seen.lock().unwrap().push(query);
        let frame = stream::iter([Ok::<_, Infallible>(http_body::Frame::data(bytes::Bytes::from(body)))]);
        let rest = stream::pending().take(usize::from(is_watch && open));
        let body = http_body_util::StreamBody::new(frame.chain(rest));
        let response = Response::builder().status(code).body(body);
        async move { Ok::<_, Infallible>(response.unwrap()) }
    });
    (Api::all(Client::new(service, "default")), queries)
}

#[tokio::test(start_paused = true)]
async fn pages_that_expire_are_requested_in_pages_for_ever() {
    let answer = |query: &str| match query.contains("continue=") {
        true => (410, status(410)),
        false => (200, EMPTY.replace(r#""1""#, r#""1","continue":"more""#)),
    };
    let (api, queries) = scripted(answer, false);
    let mut completed = false;
    let events = watcher(api, watcher::Config::default()).default_backoff().for_each(|event| {
        completed |= matches!(event, Ok(Event::InitDone));
        std::future::ready(())
    });
    timeout(Duration::from_secs(300), events).await.unwrap_err();
    let queries = queries.lock().unwrap();
    assert!(!completed && queries.len() > 20);
    assert!(queries.iter().all(|query| query.contains("limit=500")), "{queries:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_in_a_stream_that_stays_open_is_not_followed_by_another_watch() {
    let answer = |query: &str| match query.contains("watch=true") {
        true => (
            200,
            format!(
                "{}\n",
                json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1",
            "status": "Failure", "message": "no", "code": 500}})
            ),
        ),
        false => (200, EMPTY.to_owned()),
    };
    let (api, queries) = scripted(answer, true);
    let mut failed = 0;
    let events = watcher(api, watcher::Config::default()).default_backoff().for_each(|event| {
        failed += usize::from(matches!(event, Err(Error::WatchError(_))));
        std::future::ready(())
    });
    timeout(Duration::from_secs(280), events).await.unwrap_err();
    let watches = queries.lock().unwrap().iter().filter(|query| query.contains("watch=true")).count();
    assert_eq!((failed, watches), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn any_semantic_is_lost_with_the_default_page_size() {
    let (api, queries) = scripted(|_| (200, EMPTY.to_owned()), true);
    let events = watcher(api, watcher::Config::default().any_semantic()).take(2).collect::<Vec<_>>();
    timeout(Duration::from_secs(60), events).await.unwrap();
    let list = queries.lock().unwrap()[0].clone();
    assert!(list.contains("limit=500") && !list.contains("resourceVersion"), "{list}");
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Counts wake-ups.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_reflect_handle_that_meets_a_deleted_object_is_not_woken_for_the_next() {
    let (_reader, writer) = store_shared::<ConfigMap>(10);
    let handle = writer.subscribe().unwrap();
    let events = [Event::Apply(map("a")), Event::Delete(map("a")), Event::Apply(map("b"))];
    let root = stream::iter(events.map(Ok::<_, Error>)).chain(stream::pending()).reflect_shared(writer);
    let mut root = pin!(root);
    while root.next().now_or_never().is_some() {}

    let (wakes, mut handle) = (Arc::new(Wakes::default()), pin!(handle));
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    assert!(handle.as_mut().poll_next(&mut context).is_pending(), "the object `a` is gone");
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "no wake-up will come");
    let Poll::Ready(Some(waiting)) = handle.as_mut().poll_next(&mut context) else {
        panic!("nothing was lost")
    };
    assert_eq!(waiting.name_any(), "b", "it was there all the time");
}

#[test]
fn the_documented_way_to_share_a_stream_delivers_nothing() {
    let delivered = |shared: bool| {
        let (_reader, writer) = store_shared::<ConfigMap>(10);
        let mut handle = pin!(writer.subscribe().unwrap());
        let events = stream::iter([Ok::<_, Error>(Event::Apply(map("a")))]).chain(stream::pending());
        let mut root = match shared {
            true => events.reflect_shared(writer).boxed(),
            // As in the examples of `Controller::for_shared_stream` and `owns_shared_stream`.
            false => events.reflect(writer).boxed(),
        };
        while root.next().now_or_never().is_some() {}
        handle.next().now_or_never().flatten().is_some()
    };
    assert_eq!((delivered(true), delivered(false)), (true, false));
}

/// Whether `T` is a stream. The inherent constant is found first, where its bound holds.
struct Check<T>(PhantomData<T>);

trait NotAStream {
    const IS_STREAM: bool = false;
}

impl<T> NotAStream for Check<T> {}

impl<T: Stream> Check<T> {
    const IS_STREAM: bool = true;
}

#[test]
fn a_shared_stream_of_dynamic_objects_is_not_a_stream() {
    let (fixed, dynamic) =
        (Check::<ReflectHandle<ConfigMap>>::IS_STREAM, Check::<ReflectHandle<DynamicObject>>::IS_STREAM);
    assert_eq!((fixed, dynamic), (true, false));
}
