//! Requests of this crate's own against a server that answers by script, and the streams of a host, on a paused clock.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures::FutureExt;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::client::Body;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;

/// One answer of the server.
enum Answer {
    /// A body and its code.
    Json(u16, Value),
    /// A watch with these events, which ends after a time; nothing: never.
    Watch(Vec<Value>, Option<u64>),
}

#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    /// The time and the query of each request.
    seen: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Server {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    fn follow(&self) -> BoxStream<'static, String> {
        self.follow_by(None)
    }

    fn follow_by(&self, host: Option<Arc<dyn Follow>>) -> BoxStream<'static, String> {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            server.seen.lock().unwrap().push((Instant::now(), query));
            let answer = server.answers.lock().unwrap().pop_front();
            async move {
                match answer {
                    Some(Answer::Json(code, body)) => respond(code, vec![body], Some(0)),
                    Some(Answer::Watch(events, end)) => respond(200, events, end),
                    None => std::future::pending().await,
                }
            }
        });
        let changes = Changes::new(kube::Client::new(service, "n"), host);
        changes.follow(&config_maps()).map(|step| text(&step)).boxed()
    }

    /// The versions from which watches were opened.
    fn watches(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let version = |(_, query): &(Instant, String)| {
            let version = query.split('&').find_map(|part| part.strip_prefix("resourceVersion="))?;
            query.contains("watch=").then(|| version.to_owned())
        };
        seen.iter().filter_map(version).collect()
    }
}

fn respond(
    code: u16,
    lines: Vec<Value>,
    end: Option<u64>,
) -> Result<Response<UnsyncBoxBody<Bytes, std::io::Error>>, http::Error> {
    let frames = lines.into_iter().map(|line| Ok(Frame::data(Bytes::from(format!("{line}\n")))));
    let ended = async move {
        match end {
            Some(seconds) => sleep(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    let silence = ended.into_stream().filter_map(|()| async { None });
    let body = StreamBody::new(stream::iter(frames).chain(silence));
    Response::builder().status(code).body(body.boxed_unsync())
}

fn config_maps() -> FollowSelection {
    FollowSelection::new(ApiResource::erase::<ConfigMap>(&()), "n")
}

fn text(step: &Followed) -> String {
    match step {
        Followed::Begin => "begin".to_owned(),
        Followed::Found(object) => format!("found {}", object.name_any()),
        Followed::End => "end".to_owned(),
        Followed::Applied(object) => format!("applied {}", object.name_any()),
        Followed::Deleted(object) => format!("deleted {}", object.name_any()),
        Followed::Alive => "alive".to_owned(),
    }
}

/// A recorder of metrics, and how it shows the age of the copy.
fn recorder() -> (PrometheusRecorder, impl Fn() -> f64) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let age = move || {
        let rendered = handle.render();
        let line =
            rendered.lines().find(|line| line.starts_with("pod_status_watch_staleness_seconds{")).unwrap();
        assert!(line.contains(r#"kind="ConfigMap""#), "{line}");
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    (recorder, age)
}

fn object(name: &str, version: u32) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version.to_string()}})
}

fn page(names: &[&str], version: u32, next: &str) -> Answer {
    let items: Vec<Value> = names.iter().map(|name| object(name, 1)).collect();
    let metadata = json!({"resourceVersion": version.to_string(), "continue": next});
    let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items});
    Answer::Json(200, list)
}

fn event(type_: &str, object: Value) -> Value {
    json!({"type": type_, "object": object})
}

fn refusal(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "", "reason": ""})
}

/// The next events.
async fn take(stream: &mut BoxStream<'static, String>, count: usize) -> Vec<String> {
    let all = stream.take(count).collect();
    timeout(Duration::from_secs(3600), all).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_list_in_pages_and_then_every_change_once() {
    let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "12"}});
    let server = Server::new([
        page(&["a", "b"], 7, "more"),
        page(&["c"], 7, ""),
        Answer::Watch(vec![event("MODIFIED", object("a", 8)), event("DELETED", object("b", 9))], Some(30)),
        Answer::Watch(vec![event("BOOKMARK", bookmark)], Some(30)),
        Answer::Watch(vec![event("ADDED", object("d", 13))], Some(30)),
    ]);
    let mut events = server.follow();
    assert_eq!(take(&mut events, 5).await, ["begin", "found a", "found b", "found c", "end"]);
    assert_eq!(take(&mut events, 3).await, ["applied a", "deleted b", "applied d"]);
    assert_eq!(server.watches(), ["7", "9", "12"], "each watch begins where the last one ended");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_causes_a_new_list() {
    let too_old =
        [Answer::Json(410, refusal(410)), Answer::Watch(vec![event("ERROR", refusal(410))], Some(30))];
    for answer in too_old {
        let server =
            Server::new([page(&["a"], 7, ""), answer, page(&["b"], 20, ""), Answer::Watch(vec![], None)]);
        let mut events = server.follow();
        assert_eq!(take(&mut events, 6).await, ["begin", "found a", "end", "begin", "found b", "end"]);
        assert!(timeout(Duration::from_secs(20), events.next()).await.is_err());
        assert_eq!(server.watches(), ["7", "20"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_off_begins_again() {
    let server = Server::new([page(&["a"], 7, "more"), Answer::Json(500, refusal(500)), page(&["b"], 8, "")]);
    let events = take(&mut server.follow(), 5).await;
    assert_eq!(events, ["begin", "found a", "begin", "found b", "end"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_opened_again_where_it_ended_and_its_age_is_measured() {
    let (recorder, age) = recorder();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let server = Server::new([
        page(&[], 7, ""),
        Answer::Watch(vec![event("ADDED", object("a", 8))], None),
        Answer::Watch(vec![event("ADDED", object("b", 9))], Some(30)),
    ]);
    let mut events = server.follow();
    take(&mut events, 3).await;
    assert!(age() < 1.0, "{}", age());
    let began = Instant::now();
    assert!(timeout(Duration::from_secs(36), events.next()).await.is_err());
    assert!((30.0..=36.0).contains(&age()), "{}", age());
    assert_eq!(take(&mut events, 1).await, ["applied b"]);
    assert!(began.elapsed() <= Duration::from_secs(43), "{:?}", began.elapsed());
    assert_eq!(server.watches(), ["7", "8"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_asked_more_and_more_rarely() {
    let fails: [fn() -> Answer; 2] = [|| Answer::Json(500, refusal(500)), || Answer::Watch(vec![], Some(0))];
    for (number, fail) in fails.into_iter().enumerate() {
        let list = (number == 1).then(|| page(&[], 7, ""));
        let server = Server::new(list.into_iter().chain((0..10_000).map(|_| fail())));
        let mut events = server.follow();
        let followed = async { while events.next().await.is_some() {} };
        assert!(timeout(Duration::from_secs(600), followed).await.is_err());
        let requests = server.seen.lock().unwrap().len();
        assert!((10..=35).contains(&requests), "{requests} requests in ten minutes");
    }
}

/// A host whose stream says what the test sends, and what it was asked for.
#[derive(Debug)]
struct Host {
    steps: Mutex<Option<mpsc::UnboundedReceiver<Followed>>>,
    asked: Mutex<Vec<FollowSelection>>,
}

impl Follow for Host {
    fn follow(&self, selection: &FollowSelection) -> BoxStream<'static, Followed> {
        self.asked.lock().unwrap().push(selection.clone());
        let steps = self.steps.lock().unwrap().take().unwrap();
        stream::unfold(steps, |mut steps| async { Some((steps.recv().await?, steps)) }).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_watches_takes_the_place_of_requests_and_the_age_is_measured_all_the_same() {
    let (recorder, age) = recorder();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (send, steps) = mpsc::unbounded_channel();
    let host = Arc::new(Host { steps: Mutex::new(Some(steps)), asked: Mutex::default() });
    let server = Server::new([]);
    let mut events = server.follow_by(Some(host.clone()));
    let object = || serde_json::from_value(object("a", 1)).unwrap();
    for step in [Followed::Begin, Followed::Found(object()), Followed::End, Followed::Alive] {
        send.send(step).unwrap();
    }
    assert_eq!(take(&mut events, 3).await, ["begin", "found a", "end"]);
    let quiet = async |events: &mut BoxStream<'static, String>, seconds| {
        assert!(timeout(Duration::from_secs(seconds), events.next()).await.is_err());
    };
    quiet(&mut events, 60).await;
    assert!((54.0..=60.0).contains(&age()), "{}", age());
    send.send(Followed::Alive).unwrap();
    quiet(&mut events, 4).await;
    assert!(age() < 1.0, "{}", age());

    // A stream that ends makes nothing young.
    drop(send);
    quiet(&mut events, 300).await;
    assert!((290.0..=310.0).contains(&age()), "{}", age());
    assert_eq!(*host.asked.lock().unwrap(), [config_maps()]);
    assert!(server.seen.lock().unwrap().is_empty(), "requests beside the host's watch");
}
